"""A candidate bound on this machine: called with arrays, checked before entry, and held to what it must give back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import define, field

from tessera_rules.arbiter.facts import RequestFacts
from tessera_rules.bind.arrays import ArrayView, as_kind, as_numpy, like, view
from tessera_rules.bind.ccall import Prepared
from tessera_rules.bind.memory import EMPTY, NOWHERE, check_memory, check_reach
from tessera_rules.bind.native import Call, slots_of, status_of, workspace_bytes
from tessera_rules.bind.outcome import BrokenContract, KernelFailed, Unbound
from tessera_rules.bind.python import PythonCallable, bind_python, workspace_array
from tessera_rules.bind.results import Contract, contracts
from tessera_rules.compile.evaluate import UNKNOWN
from tessera_rules.declined import Declined
from tessera_rules.errors import OperandError
from tessera_rules.machine.cpu import usable_cores
from tessera_rules.model.request import Request
from tessera_rules.model.terms import reads
from tessera_rules.model.values import Candidate, NativeBinding, Op, Operand, PythonBinding

MEMO = 256
"""Layouts whose arguments are kept for each bound candidate."""


@define(eq=False)
class Plan:
    """What every call of one request shares: the contract of results, and what each operand must be."""

    request: Request
    results: tuple[Contract, ...]
    operands: tuple[tuple[Operand, tuple[int, ...], str | None], ...]

    @staticmethod
    def of(request: Request) -> Plan:
        """Return the plan of a request."""
        facts = RequestFacts(request)
        given = [operand for name, operand in request.op.operands.items() if not operand.optional or name in request.given]
        sizes = {operand.name: facts.sizes(operand.shape) for operand in given}
        for name, shape in sizes.items():
            if UNKNOWN in shape:
                raise OperandError(f"the sizes of operand '{name}' of {request.op.name} are still open", hint="state every dimension")
        dtypes = [facts(f"dtype:{operand.name}") for operand in given]
        expected = tuple(
            (operand, tuple(int(n) for n in sizes[operand.name] if n is not UNKNOWN), None if dtype is UNKNOWN else _stored(dtype))
            for operand, dtype in zip(given, dtypes, strict=True)
        )
        return Plan(request, contracts(request), expected)

    def check(self, views: Mapping[str, ArrayView]) -> None:
        """Hold operands to the request: presence, shape, dtype; what is written to can be written. Raises `OperandError`."""
        op = self.request.op
        for operand, shape, dtype in self.operands:
            it = views.get(operand.name)
            if it is None:
                said = "is given in the request, and is not here" if operand.optional else "is missing"
                raise OperandError(f"operand '{operand.name}' of {op.name} {said}", span=operand.span)
            if it.shape != shape:
                raise OperandError(f"operand '{operand.name}' of {op.name} has shape {list(it.shape)}, and the request says {list(shape)}", span=operand.span)
            if dtype is not None and it.dtype != dtype:
                raise OperandError(f"operand '{operand.name}' of {op.name} is {it.dtype}, and the request says {dtype}", span=operand.span)
            if operand.inout and it.readonly:
                raise OperandError(f"operand '{operand.name}' of {op.name} is written to, and this array is read-only")
        if len(views) > len(self.operands):
            name = next(name for name in views if all(name != operand.name for operand, _, _ in self.operands))
            raise OperandError(f"operand '{name}' of {op.name} is here, and not given in the request")


@define(eq=False)
class Bound:
    """A candidate that can be called. ``digest`` names the bytes of what it runs."""

    candidate: Candidate = field(repr=lambda candidate: candidate.name)
    op: Op = field(repr=lambda op: op.name)
    digest: str = field(repr=False)
    device_facts: Mapping[str, Any] = field(factory=dict, kw_only=True, repr=False)
    last: Plan | None = field(default=None, init=False, repr=False)

    def plan(self, request: Request) -> Plan:
        """Return the plan of a request; that of the last one is kept."""
        last = self.last
        if last is None or last.request is not request:
            last = self.last = Plan.of(request)
        return last

    def call(
        self,
        arrays: Mapping[str, Any],
        request: Request,
        *,
        out: Any = None,
        threads: int | None = None,
        stream: int | None = None,
        views: Mapping[str, ArrayView] | None = None,
        poison: bool = False,
    ) -> Any:
        """Run once, and return the result in the kind of array that came in (a tuple where the op has several).

        ``arrays`` maps operands to arrays; one that is absent or None is not given. ``out`` is where the result goes (a tuple
        for several); left out, it is allocated, with ``poison`` filled with bytes 0xFF first, which every float reads as NaN.
        An ``inout`` operand is written in place. The request's attributes are passed.

        Raises: `OperandError` for operands that are not those of the request; `Declined`; `KernelFailed`.
        """
        frame = _Frame.make(self, arrays, request, out, threads or request.threads or usable_cores(), stream, views, poison)
        return frame.finished(self.run(frame))

    def run(self, frame: _Frame) -> tuple[Any, ...]:
        """Enter the kernel. Each kind of binding does this its own way."""
        raise NotImplementedError


@define(eq=False)
class _Frame:
    """One call: operands with their views, outputs, and the contract."""

    bound: Bound
    request: Request
    arrays: dict[str, Any]
    views: dict[str, ArrayView]
    results: tuple[Contract, ...]
    outs: dict[str, Any]
    given_out: bool
    threads: int
    stream: int | None
    poison: bool

    @staticmethod
    def make(
        bound: Bound,
        arrays: Mapping[str, Any],
        request: Request,
        out: Any,
        threads: int,
        stream: int | None,
        views: Mapping[str, ArrayView] | None,
        poison: bool,
    ) -> _Frame:
        """Return the frame of a call, its operands and outputs checked."""
        given = {name: arrays[name] for name in bound.op.operands if arrays.get(name) is not None}
        seen = {name: views[name] if views is not None and name in views else view(x, name) for name, x in given.items()}
        plan = bound.plan(request)
        frame = _Frame(bound, request, given, seen, plan.results, {}, out is not None, threads, stream, poison)
        plan.check(seen)
        if out is not None:
            frame.outs.update(taken_outputs(bound.op, plan.results, out))
        return frame

    def make_outs(self) -> None:
        """Allocate the outputs that the caller did not give, in the kind of the first operand."""
        for result in self.results:
            if result.inout is None and result.name not in self.outs:
                x = like(self.prototype, result.shape, _stored(result.dtype))
                if self.poison:
                    as_numpy(x).view(np.uint8).fill(0xFF) if result.shape else as_numpy(x).reshape(1).view(np.uint8).fill(0xFF)
                self.outs[result.name] = x

    @property
    def prototype(self) -> Any:
        """The array whose kind results have."""
        return next(iter(self.arrays.values()), EMPTY)

    def finished(self, found: tuple[Any, ...]) -> Any:
        """Return results as the caller gets them, held to the contract. Raises `KernelFailed`."""
        final = []
        for result, x in zip(self.results, found, strict=True):
            target = self.arrays[result.inout] if result.inout is not None else self.outs.get(result.name) if self.given_out else None
            if x is None:
                x = target
            if x is None:
                raise BrokenContract(f"returned nothing where '{result.name}' was expected")
            if target is not None and x is target:
                final.append(target)
                continue
            x = self._held(result, x)
            if target is not None:
                _copied(x, target)
            final.append(target if target is not None else as_kind(x, self.prototype))
        return final[0] if len(final) == 1 else tuple(final)

    def _held(self, result: Contract, x: Any) -> Any:
        try:
            it = view(x, result.name)
        except OperandError as problem:
            raise BrokenContract(f"returned no array for '{result.name}': {problem.message}") from None
        if it.shape != result.shape:
            raise BrokenContract(f"returned shape {list(it.shape)} where '{result.name}' has {list(result.shape)}")
        if it.dtype != _stored(result.dtype):
            raise BrokenContract(f"returned {it.dtype} where '{result.name}' is {result.dtype}")
        return x


def taken_outputs(op: Op, results: tuple[Contract, ...], out: Any) -> dict[str, Any]:
    """Return the caller's outputs by the result that goes there: an array, or a tuple of them. Raises `OperandError` where one does not fit."""
    own = [result for result in results if result.inout is None]
    several = out if isinstance(out, tuple | list) else (out,)
    if len(several) != len(own):
        raise OperandError(f"{op.name} writes {len(own)} results of its own, and {len(several)} outputs are given")
    for result, x in zip(own, several, strict=True):
        it = view(x, result.name)
        if it.shape != result.shape or it.dtype != _stored(result.dtype):
            raise OperandError(f"output '{result.name}' is {list(it.shape)} {it.dtype}, and the result is {list(result.shape)} {result.dtype}")
        if it.readonly:
            raise OperandError(f"output '{result.name}' is read-only")
        check_reach(result.name, it)
    return {result.name: x for result, x in zip(own, several, strict=True)}


def _copied(x: Any, target: Any) -> None:
    """Put a result where the caller wants it, unless it lies there."""
    one, two = view(x), view(target)
    if (one.address, one.strides) != (two.address, two.strides):
        np.copyto(as_numpy(target), as_numpy(x), casting="no")


def _stored(dtype: str) -> str:
    return "f32" if dtype == "tf32" else dtype


@define(eq=False)
class PythonBound(Bound):
    """A Python callable. Host operands reach it as NumPy arrays (views, no copy), device operands as they came."""

    callable: PythonCallable = field(repr=lambda callable: callable.path)

    def passed(self, name: str, x: Any) -> Any:
        """Return an operand as the callable gets it."""
        return x

    def ready_operands(self) -> Mapping[str, Any]:
        """Return the operands that are the same at every call, as they are passed."""
        return {}

    def run(self, frame: _Frame) -> tuple[Any, ...]:
        """Call with what the callable takes."""
        takes = self.callable
        values: dict[str, Any] = dict.fromkeys(self.op.operands)
        for name, x in frame.arrays.items():
            values[name] = self.passed(name, as_numpy(x, name) if frame.views[name].on_host else x)
        values.update(frame.request.attrs)
        values["threads"], values["stream"] = frame.threads, frame.stream
        own = [result for result in frame.results if result.inout is None]
        if "out" in takes.extras:
            frame.make_outs()
            outs = tuple(as_numpy(frame.outs[result.name]) if view(frame.outs[result.name]).on_host else frame.outs[result.name] for result in own)
            values["out"] = outs[0] if len(outs) == 1 else outs or None
        if "workspace" in takes.extras:
            values["workspace"] = workspace_array(workspace_bytes(self.candidate, RequestFacts(frame.request)))
        found = takes(values)
        several = found if isinstance(found, tuple) and len(frame.results) > 1 else (found,) if len(frame.results) == 1 else (None,) * len(frame.results)
        if len(several) != len(frame.results):
            raise BrokenContract(f"{takes.path} returned {len(several)} results where {self.op.name} has {len(frame.results)}")
        if "out" in takes.extras:
            several = tuple(frame.outs.get(result.name) if x is None else x for result, x in zip(frame.results, several, strict=True))
        return several


@define(eq=False)
class NativeBound(Bound):
    """A C function of a library that lies at ``path``."""

    path: str
    function: Any = field(repr=False)
    memo: dict[Any, Prepared] = field(factory=dict, repr=False)
    reads_align: bool = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        binding = self.candidate.bind
        assert isinstance(binding, NativeBinding)
        terms = [argument.value for argument in binding.arguments if argument.value is not None]
        terms += [clause.term for clause in self.candidate.implied] + ([self.candidate.workspace] if self.candidate.workspace is not None else [])
        self.reads_align = any(key.startswith("align:") for term in terms for key in reads(term))

    def run(self, frame: _Frame) -> tuple[Any, ...]:
        """Check memory, pack, enter, and read the status."""
        frame.make_outs()
        outs = {name: view(x, name) for name, x in frame.outs.items()}
        both = frame.views | outs
        check_memory(self.candidate, both, (*outs, *(result.inout for result in frame.results if result.inout is not None)))
        prepared = self._prepared(frame, outs, both)
        addresses = {name: it.address or NOWHERE for name, it in both.items()}
        binding = self.candidate.bind
        assert isinstance(binding, NativeBinding)
        status = status_of(binding, prepared(addresses))
        if status == "decline":
            raise Declined(f"{binding.symbol} returned its decline status")
        if status != "ok":
            raise KernelFailed(f"{binding.symbol} returned status {status}", status)
        return tuple(frame.arrays[result.inout] if result.inout is not None else frame.outs[result.name] for result in frame.results)

    def call_of(self, frame: _Frame, outs: Mapping[str, ArrayView]) -> Call:
        """Return what a call passes."""
        return Call(self.candidate, frame.request, frame.views, outs, frame.results, frame.threads, self.device_facts)

    def _prepared(self, frame: _Frame, outs: Mapping[str, ArrayView], both: Mapping[str, ArrayView]) -> Prepared:
        request = frame.request
        layouts = tuple([(name, it.shape, it.strides, it.dtype) for name, it in both.items()])
        aligns = tuple([it.align for it in both.values()]) if self.reads_align else ()
        key = (layouts, aligns, request.dtype, tuple(request.attrs.values()), tuple(request.dims.values()), frame.threads, request.device)
        found = self.memo.get(key)
        if found is None:
            if len(self.memo) >= MEMO:
                self.memo.clear()
            binding = self.candidate.bind
            assert isinstance(binding, NativeBinding)
            found = self.memo[key] = Prepared(self.function, slots_of(self.call_of(frame, outs)), binding.returns)
        return found


def bind(candidate: Candidate, op: Op, device_facts: Mapping[str, Any] | None = None) -> Bound | Unbound:
    """Return a candidate as something that can be called, or why it cannot be (T4: whatever its probes say).

    A source is compiled if it has to be, a library loaded, a module imported.
    """
    from tessera_rules.bind.digest import binding_digest, library_digest

    facts = device_facts or {}
    if isinstance(candidate.bind, PythonBinding):
        found = bind_python(candidate, op)
        if isinstance(found, Unbound):
            return found
        return PythonBound(candidate, op, binding_digest(candidate), found, device_facts=facts)
    from tessera_rules.bind.library import load_function

    loaded = load_function(candidate.bind)
    if isinstance(loaded, Unbound):
        return loaded
    return NativeBound(candidate, op, library_digest(candidate.bind, loaded.digest), loaded.path, loaded.function, device_facts=facts)
