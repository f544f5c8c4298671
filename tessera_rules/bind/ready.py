"""A bound candidate made ready for one kind of call: everything that shapes, strides and attributes decide is decided.

What is left for each call is what differs: addresses, a new output, the call itself, and a look at what came back. Only for
NumPy operands and results that are not written in place; for anything else `make_ready` returns None and the call takes the
way of `Bound.call`.
"""

from __future__ import annotations

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
from tessera_rules.bind.outcome import KernelFailed
from tessera_rules.bind.python import described, workspace_array
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
        return _python(bound, frame, arrays, names)
    return _native(bound, frame, names) if isinstance(bound, NativeBound) and not bound.reads_align else None


def _outputs(frame: _Frame) -> list[tuple[tuple[int, ...], np.dtype[Any]]]:
    return [(result.shape, dtype_of("f32" if result.dtype == "tf32" else result.dtype)) for result in frame.results]


# ---- Python ----


def _python(bound: PythonBound, frame: _Frame, arrays: Mapping[str, Array], names: Sequence[str]) -> Ready | None:
    takes, request = bound.callable, frame.request
    if takes.by_position or "stream" in takes.extras:
        return None
    fixed: dict[str, Any] = dict.fromkeys(takes.operands)
    fixed |= {name: request.attrs[name] for name in takes.attrs}
    if "threads" in takes.extras:
        fixed["threads"] = frame.threads
    fixed |= takes.constants
    passed = [(index, name) for index, name in enumerate(names) if name in takes.operands]
    scratch = workspace_bytes(bound.candidate, RequestFacts(request)) if "workspace" in takes.extras else None
    wants_out = "out" in takes.extras
    outputs = _outputs(frame)
    function, path, empty = takes.function, takes.path, np.empty
    (shape, dtype), single = outputs[0], len(outputs) == 1

    def call(operands: Sequence[Array], addresses: Sequence[int]) -> Any:
        values = fixed.copy()
        for index, name in passed:
            values[name] = operands[index]
        made: Any = None
        if wants_out:
            made = empty(shape, dtype) if single else tuple([empty(*each) for each in outputs])
            values["out"] = made
        if scratch is not None:
            values["workspace"] = workspace_array(scratch)
        try:
            found = function(**values)
        except Declined:
            raise
        except (Exception, SystemExit) as problem:
            raise KernelFailed(f"{path} raised {described(problem)}") from problem
        if found is made and made is not None:
            return found
        if single and type(found) is np.ndarray and found.shape == shape and found.dtype == dtype:
            return found
        return _held(found, made, dict(zip(names, operands, strict=True)))

    def _held(found: Any, made: Any, given: Mapping[str, Array]) -> Any:
        """Anything but the plain case, as `Bound.call` has it."""
        if isinstance(found, Declined):
            raise found
        if found is Declined:
            raise Declined
        one = _Frame.make(bound, given, request, None, frame.threads, None, None, False)
        several = found if isinstance(found, tuple) and not single else (found,) if single else (None,) * len(outputs)
        if len(several) != len(outputs):
            raise KernelFailed(f"{path} returned {len(several)} results where {bound.op.name} has {len(outputs)}")
        if made is not None:
            own = (made,) if single else made
            several = tuple(mine if x is None else x for x, mine in zip(several, own, strict=True))
        return one.finished(several)

    return call


# ---- native ----


def _native(bound: NativeBound, frame: _Frame, names: Sequence[str]) -> Ready | None:
    binding = bound.candidate.bind
    assert isinstance(binding, NativeBinding)
    frame.make_outs()
    outs = {name: view(x, name) for name, x in frame.outs.items()}
    slots = slots_of(bound.call_of(frame, outs))
    fixed: list[Any] = []
    kept: list[Any] = []  # what is pointed to lives as long as the call may be made
    given_at: list[tuple[int, int]] = []
    made_at: list[tuple[int, int]] = []
    scratch_at: list[tuple[int, int]] = []
    made_names = [result.name for result in frame.results]
    pointer = ctypes.c_void_p
    for index, (ctype, kind, value) in enumerate(slots):
        if kind == "array" and value in outs:
            made_at.append((index, made_names.index(value)))
        elif kind == "array" and frame.views[value].size:
            given_at.append((index, list(names).index(value)))
        elif kind == "workspace":
            scratch_at.append((index, value))
        if kind == "bytes":
            memory = ctypes.create_string_buffer(value, max(len(value), 1))
            kept.append(memory)
            fixed.append(pointer(ctypes.addressof(memory)))
        else:
            fixed.append(CTYPES[ctype](value) if kind == "scalar" else pointer(NOWHERE if kind == "array" else None))
    outputs = _outputs(frame)
    within = [_within(frame.views[name]) for name in names]
    function, empty, single = bound.function, np.empty, len(outputs) == 1
    shape, dtype = outputs[0]
    fine = _fine(binding)

    def call(operands: Sequence[Array], addresses: Sequence[int]) -> Any:
        for x, address, (low, high) in zip(operands, addresses, within, strict=True):
            if x.base is not None and not _inside(x, address + low, address + high):
                raise OperandError("an operand reaches outside of its buffer")
        args = fixed.copy()
        for index, place in given_at:
            args[index] = pointer(addresses[place])
        made: Any
        if single:
            made = empty(shape, dtype)
            for index, _ in made_at:
                args[index] = pointer(address_of(made))
        else:
            made = tuple([empty(*each) for each in outputs])
            for index, place in made_at:
                args[index] = pointer(address_of(made[place]))
        scratch = []
        for index, size in scratch_at:
            memory = ctypes.create_string_buffer(size + 64)
            scratch.append(memory)
            args[index] = pointer(-(-ctypes.addressof(memory) // 64) * 64)
        status = function(*args)
        if status != fine and (word := status_of(binding, status)) != "ok":
            if word == "decline":
                raise Declined(f"{binding.symbol} returned its decline status")
            raise KernelFailed(f"{binding.symbol} returned status {word}", word)
        return made

    call.kept = kept  # type: ignore[attr-defined]
    return call


def _fine(binding: NativeBinding) -> Any:
    """Return the status that most calls return."""
    return None if binding.returns is None else binding.statuses.get("ok", 0)


def _within(it: ArrayView) -> tuple[int, int]:
    low, high = reach(it.shape, it.strides)
    return low * it.item_bytes, high * it.item_bytes


def _inside(x: Array, low: int, high: int) -> bool:
    """Whether the bytes that a view reaches are those of the array that it is a view of; the slow way tells where that is not plain."""
    base = x.base
    if type(base) is np.ndarray and base.base is None:
        start = address_of(base)
        return start <= low and high <= start + base.nbytes
    bounds = view(x).buffer
    return bounds is None or low == high or (bounds[0] <= low and high <= bounds[1])
