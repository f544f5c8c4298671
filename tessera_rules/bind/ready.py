"""A bound candidate made ready for one kind of call: everything that shapes, strides and attributes decide is decided.

What is left for each call is what differs: addresses, a new output, the call itself, and a look at what came back. It becomes
one straight-line function, built as ``ast`` nodes. Only for NumPy operands and results that are not written in place; for
anything else `make_ready` returns None and the call takes the way of `Bound.call`.
"""

from __future__ import annotations

import ast
import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tessera_rules.arbiter.facts import RequestFacts
from tessera_rules.bind.address import address_of
from tessera_rules.bind.arrays import ArrayView, dtype_of, reach, view
from tessera_rules.bind.bound import Bound, NativeBound, PythonBound, _Frame
from tessera_rules.bind.ccall import CTYPES
from tessera_rules.bind.memory import NOWHERE
from tessera_rules.bind.native import slots_of, status_of, workspace_bytes
from tessera_rules.bind.outcome import BrokenContract, KernelFailed
from tessera_rules.bind.python import described, workspace_array
from tessera_rules.compile.python import function
from tessera_rules.declined import Declined
from tessera_rules.errors import OperandError
from tessera_rules.model.request import Request
from tessera_rules.model.values import NativeBinding

Array = np.ndarray[Any, Any]
Ready = Callable[[Sequence[Array], Sequence[int]], Any]
"""From operands, in the order of ``names``, and their addresses to the result. Raises `Declined`, `KernelFailed`, `OperandError`."""


def make_ready(bound: Bound, request: Request, arrays: Mapping[str, Array], names: Sequence[str], threads: int) -> Ready | None:
    """Return a call for operands of the shapes, strides, dtypes and alignments of these; ``names`` is their order."""
    op = bound.op
    if any(result.inout is not None for result in op.results) or any(operand.inout for operand in op.operands.values()):
        return None
    if any(type(x) is not np.ndarray for x in arrays.values()):
        return None
    frame = _Frame.make(bound, arrays, request, None, threads, None, None, False)
    if isinstance(bound, PythonBound):
        return _python(bound, frame, names)
    return _native(bound, frame, names) if isinstance(bound, NativeBound) and not bound.reads_align else None


def _outputs(frame: _Frame) -> list[tuple[tuple[int, ...], np.dtype[Any]]]:
    return [(result.shape, dtype_of("f32" if result.dtype == "tf32" else result.dtype)) for result in frame.results]


# ---- Python ----


def _python(bound: PythonBound, frame: _Frame, names: Sequence[str]) -> Ready | None:
    takes, request = bound.callable, frame.request
    if takes.by_position or "stream" in takes.extras:
        return None
    fixed: dict[str, Any] = dict.fromkeys(takes.operands)
    fixed |= {name: request.attrs[name] for name in takes.attrs}
    if "threads" in takes.extras:
        fixed["threads"] = frame.threads
    fixed |= takes.constants
    outputs = _outputs(frame)
    single, wants_out = len(outputs) == 1, "out" in takes.extras
    namespace: dict[str, Any] = {"f": takes.function, "empty": np.empty, "ndarray": np.ndarray, "finish": _Finish(bound, frame, names)}
    namespace |= {"Declined": Declined, "Broken": (Exception, SystemExit), "workspace": workspace_array, "outputs": outputs}
    body: list[ast.stmt] = [_unpacked("operands", "x", len(names))]
    keys: list[ast.expr | None] = []
    values: list[ast.expr] = []

    def passes(name: str, value: ast.expr) -> None:
        keys.append(ast.Constant(name))
        values.append(value)

    fixed |= (same := bound.ready_operands())
    for number, (name, value) in enumerate(fixed.items()):
        if name in names and name not in same:
            passes(name, _name(f"x{list(names).index(name)}"))
        else:
            namespace[f"c{number}"] = value
            passes(name, _name(f"c{number}"))
    made: ast.expr = ast.Constant(None)
    if wants_out:
        made = _empty(outputs, namespace)
        passes("out", _name("made"))
    if "workspace" in takes.extras:
        namespace["scratch"] = workspace_bytes(bound.candidate, RequestFacts(request))
        passes("workspace", _call(_name("workspace"), _name("scratch")))
    body.append(_set("made", made))
    call = ast.Call(_name("f"), [], [ast.keyword(None, ast.Dict(keys, values))])
    problem = ast.Call(ast.Attribute(_name("finish"), "raised", ast.Load()), [_name("problem")], [])
    handlers = [
        ast.ExceptHandler(_name("Declined"), None, [ast.Raise()]),
        ast.ExceptHandler(_name("Broken"), "problem", [ast.Raise(problem, _name("problem"))]),
    ]
    body.append(ast.Try([_set("found", call)], handlers, [], []))
    if wants_out:
        body.append(ast.If(ast.Compare(_name("found"), [ast.Is()], [_name("made")]), [ast.Return(_name("made"))], []))
    if single:
        namespace["shape"], namespace["dtype"] = outputs[0]
        plain = ast.BoolOp(
            ast.And(),
            [
                ast.Compare(_call(_name("type"), _name("found")), [ast.Is()], [_name("ndarray")]),
                ast.Compare(ast.Attribute(_name("found"), "shape", ast.Load()), [ast.Eq()], [_name("shape")]),
                ast.Compare(ast.Attribute(_name("found"), "dtype", ast.Load()), [ast.Eq()], [_name("dtype")]),
            ],
        )
        namespace["type"] = type
        body.append(ast.If(plain, [ast.Return(_name("found"))], []))
    body.append(ast.Return(_call(_name("finish"), _name("found"), _name("made"), _name("operands"))))
    return function("call", ["operands", "addresses"], body, namespace)


class _Finish:
    """Results of a Python callable that are not the plain case, as `Bound.call` has them."""

    def __init__(self, bound: PythonBound, frame: _Frame, names: Sequence[str]) -> None:
        self.bound, self.request, self.threads, self.names, self.count = bound, frame.request, frame.threads, names, len(frame.results)

    def raised(self, problem: BaseException) -> KernelFailed:
        """Return what a callable that raised comes to."""
        return KernelFailed(f"{self.bound.callable.path} raised {described(problem)}")

    def __call__(self, found: Any, made: Any, operands: Sequence[Array]) -> Any:
        """Return the results, held to the contract. Raises `Declined`, `KernelFailed`."""
        if isinstance(found, Declined):
            raise found
        if found is Declined:
            raise Declined
        single = self.count == 1
        several = found if isinstance(found, tuple) and not single else (found,) if single else (None,) * self.count
        if len(several) != self.count:
            raise BrokenContract(f"{self.bound.callable.path} returned {len(several)} results where {self.bound.op.name} has {self.count}")
        if made is not None:
            own = (made,) if single else made
            several = tuple(mine if x is None else x for x, mine in zip(several, own, strict=True))
        given = dict(zip(self.names, operands, strict=True))
        return _Frame.make(self.bound, given, self.request, None, self.threads, None, None, False).finished(several)


# ---- native ----


def _native(bound: NativeBound, frame: _Frame, names: Sequence[str]) -> Ready | None:
    binding = bound.candidate.bind
    assert isinstance(binding, NativeBinding)
    frame.make_outs()
    outs = {name: view(x, name) for name, x in frame.outs.items()}
    results = [result.name for result in frame.results]
    outputs = _outputs(frame)
    namespace: dict[str, Any] = {"f": bound.function, "empty": np.empty, "P": ctypes.c_void_p, "address_of": address_of, "inside": _inside}
    namespace |= {"fine": _fine(binding), "check": _Status(binding), "outside": OperandError, "scratch": _scratch, "outputs": outputs}
    body: list[ast.stmt] = [_unpacked("operands", "x", len(names)), _unpacked("addresses", "a", len(names))]
    for index, name in enumerate(names):
        low, high = _within(frame.views[name])
        base = ast.Compare(ast.Attribute(_name(f"x{index}"), "base", ast.Load()), [ast.IsNot()], [ast.Constant(None)])
        ends = [ast.BinOp(_name(f"a{index}"), ast.Add(), ast.Constant(end)) for end in (low, high)]
        within = ast.UnaryOp(ast.Not(), _call(_name("inside"), _name(f"x{index}"), *ends))
        raised = ast.Raise(_call(_name("outside"), ast.Constant(f"operand '{name}' reaches outside of its buffer")), None)
        body.append(ast.If(ast.BoolOp(ast.And(), [base, within]), [raised], []))
    body.append(_set("made", _empty(outputs, namespace)))
    arguments: list[ast.expr] = []
    for index, (ctype, kind, value) in enumerate(slots_of(bound.call_of(frame, outs))):
        if kind == "array" and value in outs:
            made = _name("made") if len(outputs) == 1 else ast.Subscript(_name("made"), ast.Constant(results.index(value)), ast.Load())
            arguments.append(_call(_name("P"), _call(_name("address_of"), made)))
        elif kind == "array" and frame.views[value].size:
            arguments.append(_call(_name("P"), _name(f"a{list(names).index(value)}")))
        elif kind == "workspace":
            namespace[f"n{index}"] = value
            body.append(_set(f"w{index}", _call(_name("scratch"), _name(f"n{index}"))))
            arguments.append(ast.Subscript(_name(f"w{index}"), ast.Constant(1), ast.Load()))
        else:
            namespace[f"c{index}"] = _converted(ctype, kind, value, namespace, f"k{index}")
            arguments.append(_name(f"c{index}"))
    body.append(_set("status", _call(_name("f"), *arguments)))
    odd = ast.Compare(_name("status"), [ast.NotEq()], [_name("fine")])
    body.append(ast.If(odd, [ast.Expr(_call(_name("check"), _name("status")))], []))
    body.append(ast.Return(_name("made")))
    return function("call", ["operands", "addresses"], body, namespace)


def _converted(ctype: str, kind: str, value: Any, namespace: dict[str, Any], name: str) -> Any:
    """Return an argument that is the same at every call; what it points to is kept under ``name``."""
    if kind == "scalar":
        return CTYPES[ctype](value)
    if kind == "bytes":
        memory = namespace[name] = ctypes.create_string_buffer(value, max(len(value), 1))
        return ctypes.c_void_p(ctypes.addressof(memory))
    return ctypes.c_void_p(NOWHERE if kind == "array" else None)


def _scratch(size: int) -> tuple[Any, ctypes.c_void_p]:
    """Return scratch memory with a pointer to where it is aligned."""
    memory = ctypes.create_string_buffer(size + 64)
    return memory, ctypes.c_void_p(-(-ctypes.addressof(memory) // 64) * 64)


class _Status:
    """Says of a status that is not the usual one what it is."""

    def __init__(self, binding: NativeBinding) -> None:
        self.binding = binding

    def __call__(self, status: Any) -> None:
        """Raise `Declined` or `KernelFailed` where it is not another word for fine."""
        word = status_of(self.binding, status)
        if word == "decline":
            raise Declined(f"{self.binding.symbol} returned its decline status")
        if word != "ok":
            raise KernelFailed(f"{self.binding.symbol} returned status {word}", word)


def _fine(binding: NativeBinding) -> Any:
    """Return the status that most calls return."""
    return None if binding.returns is None else binding.statuses.get("ok", 0)


def _within(it: ArrayView) -> tuple[int, int]:
    low, high = reach(it.shape, it.strides)
    return low * it.item_bytes, high * it.item_bytes


def _inside(x: Array, low: int, high: int) -> bool:
    """Whether the bytes that a view reaches are those of the array that it is a view of."""
    base = x.base
    if type(base) is np.ndarray and base.base is None:
        start = address_of(base)
        return start <= low and high <= start + base.nbytes
    bounds = view(x).buffer
    return bounds is None or low == high or (bounds[0] <= low and high <= bounds[1])


# ---- pieces of code ----


def _name(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _call(made: ast.expr, *arguments: ast.expr) -> ast.expr:
    return ast.Call(made, list(arguments), [])


def _set(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value, lineno=0)


def _unpacked(source: str, letter: str, count: int) -> ast.stmt:
    """Return ``x0, x1 = source``."""
    return ast.Assign([ast.Tuple([ast.Name(f"{letter}{i}", ast.Store()) for i in range(count)], ast.Store())], _name(source), lineno=0)


def _empty(outputs: Sequence[tuple[tuple[int, ...], np.dtype[Any]]], namespace: dict[str, Any]) -> ast.expr:
    """Return new outputs: one array, or a tuple of them."""
    made: list[ast.expr] = []
    for index, (shape, dtype) in enumerate(outputs):
        namespace[f"shape{index}"], namespace[f"dtype{index}"] = shape, dtype
        made.append(_call(_name("empty"), _name(f"shape{index}"), _name(f"dtype{index}")))
    return made[0] if len(made) == 1 else ast.Tuple(made, ast.Load())
