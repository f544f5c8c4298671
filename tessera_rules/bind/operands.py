"""The step `bind` for arrays: do the operands fit the op's patterns? A mistake is the caller's, and names operand and dimension."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from attrs import define, field, frozen

from tessera_rules.arbiter.request import allow_of, check_request, device_of, require_of, threads_of
from tessera_rules.arbiter.words import dtype_name, value_of
from tessera_rules.bind.arrays import ArrayView, view
from tessera_rules.bind.memory import check_reach
from tessera_rules.compile.evaluate import UNKNOWN, ClauseError, evaluate
from tessera_rules.compile.operators import shown
from tessera_rules.errors import OperandError
from tessera_rules.model.request import Request
from tessera_rules.model.show import show
from tessera_rules.model.terms import Apply, Const, Fact, Term
from tessera_rules.model.values import REQUIRED, Op, Operand, StatedLayout
from tessera_rules.nearest import did_you_mean

TARGETS = {"cpu": "x86", "cuda": "nvidia", "rocm": "rocm"}
"""Where arrays lie, as ArrayView.device begins, and the target that computes there."""


@frozen(eq=False)
class Operands:
    """Operands that fit: the request that they make, and per operand that is given the array and what it is."""

    request: Request
    arrays: Mapping[str, Any]
    views: Mapping[str, ArrayView]


def request_from_operands(op: Op, positional: Sequence[Any], named: Mapping[str, Any], attrs: Mapping[str, Any], target: str | None, **words: Any) -> Request:
    """Return the request that arrays make; see `bind_operands`."""
    return bind_operands(op, positional, named, attrs, target, **words).request


def bind_operands(
    op: Op,
    positional: Sequence[Any] = (),
    named: Mapping[str, Any] | None = None,
    attrs: Mapping[str, Any] | None = None,
    target: str | None = None,
    *,
    threads: int | None = None,
    allow: Collection[str] = (),
    require: Collection[str] = (),
    device: int | None = None,
) -> Operands:
    """Match arrays against the patterns of an op.

    ``positional`` come in the op's order, optional ones too; None stands for one that is not given. ``named`` holds operands
    and attributes by name, ``attrs`` attributes. Without a target it is the one where the arrays are. Nothing is copied.

    Raises: `OperandError` for a missing, surplus or unknown operand, a rank or size that does not fit, a dtype, an attribute
    that the op lacks or whose value does not fit, a check that does not hold.
    """
    given, values = _sorted(op, positional, named or {}, attrs or {})
    views = {name: view(x, name) for name, x in given.items()}
    for name, it in views.items():
        check_reach(name, it)
    typed = _attributes(op, values)
    dims = _Shapes(op, views, typed).bind()
    dtype = _dtype(op, views)
    where = _device(op, views)
    _results(op, dtype, dims, typed)
    layouts = {name: _layout(op.operands[name], it) for name, it in views.items()}
    optional = frozenset(name for name in views if op.operands[name].optional)
    ordinal = device_of(device) if device is not None else int(where.partition(":")[2] or 0)
    place = target if target is not None else TARGETS[where.partition(":")[0]]
    request = Request(
        op, place, dtype, dims, typed, optional, layouts, None if threads is None else threads_of(threads), allow_of(allow), require_of(require), ordinal
    )
    if op.checks:
        check_request(request)
    return Operands(request, given, views)


def _sorted(op: Op, positional: Sequence[Any], named: Mapping[str, Any], attrs: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return operands that are given, in the op's order, and attributes."""
    names = list(op.operands)
    if len(positional) > len(names):
        raise OperandError(
            f"{op.name} takes {len(names)} operand{'s' if len(names) != 1 else ''} at most, and {len(positional)} are given",
            hint=f"they are {', '.join(names)}",
        )
    by_name: dict[str, Any] = dict(zip(names, positional, strict=False))
    values = dict(attrs)
    for key, value in named.items():
        if key in op.operands:
            if key in by_name:
                raise OperandError(f"operand '{key}' of {op.name} is given by position and by name")
            by_name[key] = value
        elif key in values:
            raise OperandError(f"'{key}' is given twice to {op.name}")
        else:
            values[key] = value
    for key in values:
        if key not in op.attrs:
            known = [*op.operands, *op.attrs]
            raise OperandError(f"op {op.name} has no operand or attribute '{key}'", hint=did_you_mean(key, known, "name"))
    given: dict[str, Any] = {}
    for name, operand in op.operands.items():
        if by_name.get(name) is not None:
            given[name] = by_name[name]
        elif not operand.optional:
            raise OperandError(f"operand '{name}' of {op.name} is missing", hint=f"{op.name} takes {_signature(op)}")
    return given, values


def _signature(op: Op) -> str:
    return ", ".join(f"{name}{'?' if operand.optional else ''} {_pattern(operand)}" for name, operand in op.operands.items())


def _pattern(operand: Operand) -> str:
    return f"[{', '.join(show(term) for term in operand.shape)}]"


def _attributes(op: Op, values: Mapping[str, Any]) -> dict[str, Any]:
    typed: dict[str, Any] = {}
    for name, attr in op.attrs.items():
        if name in values:
            value = values[name]
            if attr.type.kind == "dtype" and value is not None and not isinstance(value, str):
                value = dtype_name(value)
            typed[name] = value_of(value, attr.type, f"attribute '{name}' of {op.name}")
        elif attr.default is REQUIRED:
            raise OperandError(f"attribute '{name}' of {op.name} has no default, and is not given", hint=f"{name} is {attr.type.describe()}")
        else:
            typed[name] = attr.default
    return typed


@define
class _Shapes:
    """Binds dimensions. ``met`` says of each which operand and axis gave its size."""

    op: Op
    views: Mapping[str, ArrayView]
    attrs: Mapping[str, Any]
    dims: dict[str, int] = field(factory=dict)
    met: dict[str, str] = field(factory=dict)

    def bind(self) -> dict[str, int]:
        """Return every dimension. Raises `OperandError`."""
        computed: list[tuple[str, int, Term, int]] = []
        for name, it in self.views.items():
            operand = self.op.operands[name]
            if len(it.shape) != len(operand.shape):
                raise self._error(name, f"has rank {len(it.shape)} (shape {list(it.shape)}), and {self.op.name} takes {_pattern(operand)}")
            for axis, (term, size) in enumerate(zip(operand.shape, it.shape, strict=True)):
                if isinstance(term, Fact) and term.key.startswith("dim:"):
                    self._meet(term.key[4:], size, name, axis)
                else:
                    computed.append((name, axis, term, size))
        self._solve(computed)
        for name, axis, term, size in computed:
            wanted = self._value(term)
            if wanted is UNKNOWN:
                raise self._error(name, f"has size {size} at axis {axis}, from which {show(term)} cannot be told")
            if isinstance(wanted, ClauseError):
                raise self._error(name, f"has size {size} at axis {axis}, where {show(term)} has no value: {wanted.message}")
            if wanted != size:
                raise self._error(name, f"has size {size} at axis {axis}, and {show(term)} is {wanted}{self._sources(term)}", self.dims)
        for dim in self.op.dims:
            if dim not in self.dims:
                self._absent(dim)
        return {dim: self.dims[dim] for dim in self.op.dims if dim in self.dims}

    def _meet(self, dim: str, size: int, name: str, axis: int) -> None:
        known = self.dims.get(dim)
        if known is None:
            self._range(dim, size, name, axis)
            self.dims[dim], self.met[dim] = size, f"axis {axis} of '{name}'"
        elif known != size:
            pattern = _pattern(self.op.operands[name])
            raise self._error(name, f"has {dim} = {size} at axis {axis} of {pattern}, and {self.met[dim]} has {dim} = {known}", {dim: known})

    def _range(self, name: str, size: int, operand: str, axis: int) -> None:
        dim = self.op.dims[name]
        if size < dim.low or (dim.high is not None and size > dim.high) or (size - dim.low) % dim.step:
            sizes = f"{dim.low}..{'' if dim.high is None else dim.high}" + (f" step {dim.step}" if dim.step != 1 else "")
            raise OperandError(
                f"operand '{operand}' of {self.op.name} has {name} = {size} at axis {axis}, and {name} is in {sizes}", values={name: size}, span=dim.span
            )

    def _solve(self, computed: list[tuple[str, int, Term, int]]) -> None:
        """Bind a dimension that stands only inside a sum or product, such as K in ``[N, 2 * K]``."""
        again = True
        while again:
            again = False
            for name, axis, term, size in computed:
                if self._value(term) is not UNKNOWN:
                    continue
                found = self._inverted(term, size)
                if found is not None:
                    self._meet(*found, name, axis)
                    again = True

    def _inverted(self, term: Term, size: int) -> tuple[str, int] | None:
        if isinstance(term, Fact):
            return (term.key[4:], size) if term.key.startswith("dim:") and size >= 0 else None
        if not isinstance(term, Apply) or term.op not in ("add", "sub", "mul"):
            return None
        left, right = (self._value(arg) for arg in term.args)
        if (left is UNKNOWN) == (right is UNKNOWN) or isinstance(left, ClauseError) or isinstance(right, ClauseError):
            return None
        open_term, known = (term.args[0], right) if left is UNKNOWN else (term.args[1], left)
        match term.op:
            case "add":
                return self._inverted(open_term, size - known)
            case "sub":
                return self._inverted(open_term, size + known if left is UNKNOWN else known - size)
        return self._inverted(open_term, size // known) if known > 0 and size % known == 0 else None

    def _value(self, term: Term) -> Any:
        try:
            return evaluate(term, self._lookup)
        except ClauseError as problem:
            return problem

    def _lookup(self, key: str) -> Any:
        kind, _, name = key.partition(":")
        return self.dims.get(name, UNKNOWN) if kind == "dim" else self.attrs.get(name, UNKNOWN)

    def _sources(self, term: Term) -> str:
        from tessera_rules.model.terms import facts

        known = [(fact.key[4:], fact.shown) for fact in facts(term) if fact.key[4:] in self.met]
        return "".join(f", {label} = {self.dims[dim]} from {self.met[dim]}" for dim, label in known)

    def _absent(self, dim: str) -> None:
        """A dimension that only operands which are not given have is no mistake; one of an operand that is here is."""
        for name in self.views:
            for term in self.op.operands[name].shape:
                if not isinstance(term, Const) and f"dim:{dim}" in _keys(term):
                    pattern = _pattern(self.op.operands[name])
                    raise self._error(name, f"has shape {list(self.views[name].shape)}, from which dimension {dim} of {pattern} cannot be told")

    def _error(self, name: str, said: str, values: Mapping[str, Any] | None = None) -> OperandError:
        return OperandError(f"operand '{name}' of {self.op.name} {said}", values=values, span=self.op.operands[name].span)


def _keys(term: Term) -> frozenset[str]:
    from tessera_rules.model.terms import reads

    return reads(term)


def _dtype(op: Op, views: Mapping[str, ArrayView]) -> str | None:
    """Return the request's dtype, every operand's own checked against it."""
    leader = op.dtype_operand if op.dtype_operand in views else next((name for name in views if op.operands[name].dtypes is None), None)
    dtype = None if leader is None else views[leader].dtype
    if dtype is not None and op.dtypes is not None and dtype not in op.dtypes:
        raise OperandError(f"operand '{leader}' of {op.name} is {dtype}, and {op.name} takes {', '.join(op.dtypes)}", hint=f"{leader}.astype(…)")
    for name, it in views.items():
        allowed = op.operands[name].dtypes
        if allowed is None and it.dtype != dtype:
            raise OperandError(f"operand '{name}' of {op.name} is {it.dtype}, and '{leader}' is {dtype}: they have one dtype")
        if allowed is not None and it.dtype not in allowed:
            raise OperandError(f"operand '{name}' of {op.name} is {it.dtype}, and it is {' or '.join(allowed)}")
    return dtype


def _device(op: Op, views: Mapping[str, ArrayView]) -> str:
    """Return where the operands lie: one place for all."""
    first = next(iter(views), None)
    for name, it in views.items():
        if first is not None and it.device != views[first].device:
            raise OperandError(f"operand '{name}' of {op.name} lies on {it.device}, and '{first}' on {views[first].device}: they lie in one place")
        if op.operands[name].inout and it.readonly:
            raise OperandError(f"operand '{name}' of {op.name} is written to, and this array is read-only")
    return "cpu" if first is None else views[first].device


def _results(op: Op, dtype: str | None, dims: Mapping[str, int], attrs: Mapping[str, Any]) -> None:
    """See that the sizes of results have values and are sizes."""
    facts = {f"dim:{name}": size for name, size in dims.items()} | {f"attr:{name}": value for name, value in attrs.items()}
    for result in op.results:
        for axis, term in enumerate(result.shape):
            try:
                size = evaluate(term, lambda key: facts.get(key, UNKNOWN))
            except ClauseError as problem:
                raise OperandError(f"the result of {op.name} has no size at axis {axis}, {show(term)}: {problem.message}") from None
            if size is not UNKNOWN and size < 0:
                raise OperandError(f"the result of {op.name} would have size {shown(size)} at axis {axis}, {show(term)}", values=dict(dims))


def _layout(operand: Operand, it: ArrayView) -> StatedLayout:
    """Return what a request says of an array: alignment, strides in elements where they are not dense, and its dtype where the op leaves a choice."""
    return StatedLayout(it.align, None if it.contiguous else it.strides, it.dtype if operand.dtypes is not None and len(operand.dtypes) > 1 else None)
