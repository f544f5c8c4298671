"""The requests that a candidate is probed on: sizes from its own clauses' edges, attributes at values that matter, layouts.

Every one of them is asked of the arbiter's own gate first: what a clause refuses is not probed, what is admitted has to be
served right, or declined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import prod
from typing import Any

import numpy as np
from attrs import evolve, frozen

from tessera_rules.arbiter.facts import RequestFacts
from tessera_rules.arbiter.gates import require
from tessera_rules.arbiter.request import check_request
from tessera_rules.arbiter.situation import Situation
from tessera_rules.bind.inputs import operand_dtype
from tessera_rules.compile.evaluate import UNKNOWN
from tessera_rules.errors import TesseraError
from tessera_rules.machine.base import Machine
from tessera_rules.model.request import DEFAULT_ALIGN, Request
from tessera_rules.model.terms import Apply, Const, Term, reads
from tessera_rules.model.types import Type
from tessera_rules.model.values import Candidate, Dim, Op, Ruleset, StatedLayout
from tessera_rules.oracle.families import Family
from tessera_rules.oracle.probes.draft import Asked, sizes

SHAPES = 24
"""Shapes besides the one in hand."""
ELEMENTS = 1 << 16
"""Elements of the largest operand of a probe, where the clauses admit such small ones."""
USUAL = (1, 2, 3, 5, 8, 16, 17, 31, 32, 33, 64, 65, 97, 127, 129, 257)
"""Sizes at, before and after the tiles that kernels are written in, and primes."""


@frozen(eq=False)
class Variant:
    """A request to probe, and what is special about it."""

    label: str
    request: Request


@frozen(eq=False)
class Admission:
    """Asks the gates whether a candidate serves a request."""

    ruleset: Ruleset
    machine: Machine
    candidate: Candidate

    def __call__(self, request: Request) -> bool:
        """Whether every requirement holds; the op's own checks are asked first."""
        if any(size < dim.low or (dim.high is not None and size > dim.high) or (size - dim.low) % dim.step for size, dim in _sizes(request)):
            return False
        try:
            check_request(request)
            if any(size is UNKNOWN or size < 0 for name in ("out", *request.op.operands) for size in RequestFacts(request).shape(name)):
                return False
            situation = Situation(self.ruleset, request, self.machine, assumed=None)
            return all(outcome is None for outcome in require(situation, self.candidate))
        except (TesseraError, KeyError):
            return False


def _sizes(request: Request) -> Iterator[tuple[int, Dim]]:
    for name, dim in request.op.dims.items():
        if name in request.dims:
            yield request.dims[name], dim


def variants(candidate: Candidate, request: Request, admits: Admission, family: Family, rng: np.random.Generator, computes: str | None) -> list[Variant]:
    """Return the requests to probe around one that the candidate serves, which is not among them."""
    plain = evolve(request, layouts={})
    base = plain if admits(plain) else request
    found = _shapes(candidate, base, admits, rng)
    near = [each.request for each in found] + ([base] if elements(base) <= room(base.op) else [])
    small = min(near, key=_distance_from_medium, default=base)
    telling = [evolve(small, dims={**small.dims, **sizes}) for sizes in family.sizes]
    for each in [each for each in telling if admits(each)] or [small]:
        found += _attributes(each, admits, family, Asked(each, computes, rng))
    found += _layouts(small, admits)
    return found


def _distance_from_medium(request: Request) -> float:
    """Order requests by how far their sizes are from 20: large enough for every fault, small enough to be quick."""
    return float(sum(abs(np.log2((size + 1) / 20.0)) + (100.0 if size < 2 else 0.0) for size in request.dims.values()))


# ---- sizes --------------------------------------------------------------------------------------------------------------


def points(candidate: Candidate, op: Op, name: str, in_hand: int | None) -> list[int]:
    """Return sizes of a dimension that may show a fault: the edges that its clauses state, one before and after, and the usual ones."""
    found = {0, 1, *USUAL}
    if in_hand is not None and in_hand <= ELEMENTS:
        found |= {in_hand, in_hand - 1, in_hand + 1}
    for clause in (*candidate.requires, *candidate.implied, *op.checks):
        for number in _numbers(clause.term, f"dim:{name}"):
            found |= {number - 1, number, number + 1, 2 * number, 3 * number, 2 * number + 1}
    dim = op.dims[name]
    found |= {dim.low, dim.low + dim.step}
    if dim.high is not None:
        found |= {dim.high, dim.high - dim.step}
    return sorted(size for size in found if dim.low <= size <= (dim.high if dim.high is not None else ELEMENTS) and (size - dim.low) % dim.step == 0)


def _numbers(term: Term, key: str) -> Iterator[int]:
    """Yield the integers that stand in the innermost operators with a fact."""
    if not isinstance(term, Apply) or key not in reads(term):
        return
    for arg in term.args:
        yield from _numbers(arg, key)
    if term.op in ("and", "or", "not", "if"):
        return
    for arg in term.args:
        if isinstance(arg, Const):
            values = arg.value if isinstance(arg.value, tuple) else (arg.value,)
            yield from (value for value in values if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= ELEMENTS)


def room(op: Op) -> int:
    """Return how many elements the largest operand of a probe may have: fewer where many sizes multiply into the work."""
    return ELEMENTS if len(op.dims) <= 4 else ELEMENTS // 16


def elements(request: Request) -> int:
    """Return the elements of the largest operand or result."""
    return max((prod(sizes(request, name)) for name in ("out", *request.op.operands)), default=0)


def _shapes(candidate: Candidate, request: Request, admits: Callable[[Request], bool], rng: np.random.Generator) -> list[Variant]:
    """Return requests whose sizes cover the telling points of each dimension, and pairs of them as far as `SHAPES` go."""
    names = list(request.op.dims)
    choices: dict[str, list[int]] = {}
    small = {name: min(request.dims[name], 24 if len(names) <= 4 else 5) for name in names}
    for name in names:
        telling = points(candidate, request.op, name, request.dims.get(name))
        alone = [size for size in telling if admits(evolve(request, dims={**request.dims, name: size}))]
        choices[name] = alone or [request.dims[name]]
    pool: dict[tuple[int, ...], Request] = {}
    tried = set()
    for attempt in range(40 * SHAPES):
        if len(pool) >= 8 * SHAPES:
            break
        dims = {name: int(rng.choice(choices[name])) for name in names}
        if attempt % 4 == 0:  # one dimension at a telling point, the others small
            chosen = names[(attempt // 4) % len(names)] if names else ""
            dims = {name: dims[name] if name == chosen else small[name] for name in names}
        key = tuple(dims.values())
        if key in tried:
            continue
        tried.add(key)
        each = evolve(request, dims=dims)
        if elements(each) <= room(request.op) and admits(each):
            pool[key] = each
    return [Variant(" ".join(f"{name}={size}" for name, size in each.dims.items()), each) for each in _covering(pool, SHAPES)]


def _covering(pool: Mapping[tuple[int, ...], Request], count: int) -> list[Request]:
    """Return few requests that hold each single size and then as many pairs of sizes as they can."""
    features = {key: _features(key) for key in pool}
    left: set[Any] = set().union(*features.values()) if features else set()
    chosen: list[Request] = []
    while left and len(chosen) < count:
        best = max(features, key=lambda key: sum(1.0 if len(feature) == 2 else 0.05 for feature in features[key] & left))
        if not features[best] & left:
            break
        left -= features[best]
        chosen.append(pool[best])
    return chosen


def _features(key: tuple[int, ...]) -> set[Any]:
    if 0 in key:  # with nothing to compute the other sizes show nothing
        return {(axis, 0) for axis, size in enumerate(key) if size == 0}
    single = {(axis, size) for axis, size in enumerate(key)}
    pairs = {(one, key[one], two, key[two]) for one in range(len(key)) for two in range(one)}
    return single | pairs


# ---- attributes ---------------------------------------------------------------------------------------------------------


def _attributes(request: Request, admits: Callable[[Request], bool], family: Family, asked: Asked) -> list[Variant]:
    """Return the request with each attribute at a value that matters, each optional operand given or not, and the op's combinations."""
    found: list[Variant] = []

    def add(label: str, other: Request) -> None:
        if admits(other):
            found.append(Variant(label, other))

    for name, attr in request.op.attrs.items():
        for value in family.values(name) or _values(attr.type):
            if value != request.attrs[name] or isinstance(value, bool) is not isinstance(request.attrs[name], bool):
                add(f"{name}={_said(value)}", evolve(request, attrs={**request.attrs, name: value}))
    for name, operand in request.op.operands.items():
        if operand.optional:
            add(f"{name} {'not ' if name in request.given else ''}given", evolve(request, given=request.given ^ {name}))
    for attrs, given in family.structures(asked):
        label = " ".join([*(f"{name}={_said(value)}" for name, value in attrs.items()), *sorted(given)])
        add(label, evolve(request, attrs={**request.attrs, **attrs}, given=frozenset(given)))
    return found


def _values(kind: Type) -> Iterable[Any]:
    """Return values of a type that an implementation would not invent (T24)."""
    empty: tuple[Any, ...] = (None,) if kind.nullable else ()
    match kind.kind:
        case "bool":
            return (True, False, *empty)
        case "word":
            return (*kind.words, *empty)
        case "float":
            return (0.6875, -1.75, *empty)
        case "int":
            return (1, 3, 7, *empty)
        case "list" if kind.item is not None and kind.item.kind == "word":
            words = kind.item.words
            return ((), *((word,) for word in words[:8]), tuple(words[:2]), tuple(reversed(words[:2])))
    return empty


def _said(value: Any) -> str:
    return f"[{','.join(map(str, value))}]" if isinstance(value, tuple | list) else "null" if value is None else str(value).lower()


# ---- layouts ------------------------------------------------------------------------------------------------------------


def _layouts(request: Request, admits: Callable[[Request], bool]) -> list[Variant]:
    """Return the request with each operand in layouts that callers have: a gap between rows, transposed, misaligned, broadcast."""
    found: list[Variant] = []
    for name, operand in request.op.operands.items():
        if operand.optional and name not in request.given:
            continue
        shape = sizes(request, name)
        dtype = request.layouts[name].dtype if name in request.layouts else None
        for label, align, strides in _strides(shape, item_bytes(request, name), inout=operand.inout):
            each = evolve(request, layouts={**request.layouts, name: StatedLayout(align, strides, dtype)})
            if admits(each):
                found.append(Variant(f"{name} {label}", each))
    return found


def item_bytes(request: Request, name: str) -> int:
    """Return the bytes of an element of an operand in memory."""
    from tessera_rules.bind.arrays import dtype_of

    return int(dtype_of(operand_dtype(request, request.op.operands[name])).itemsize)


def _strides(shape: tuple[int, ...], item: int, *, inout: bool) -> Iterator[tuple[str, int, tuple[int, ...] | None]]:
    """Yield name, alignment and strides in elements."""
    if not shape or not all(shape):
        return
    yield "misaligned by one element", item, None
    if len(shape) == 1:
        if shape[0] > 1:
            yield "with every third element", DEFAULT_ALIGN, (3,)
            yield "reversed", item, (-1,)
        return
    rows, columns = shape[-2:]
    outer = list(shape[:-2])

    def whole(ld: int, row: int, column: int, block: int) -> tuple[int, ...]:
        strides = [row, column]
        for size in reversed(outer):
            strides.insert(0, block)
            block *= size
        return tuple(strides)

    if rows > 1 and columns > 1:
        yield "with a gap between rows", item, whole(columns + 3, columns + 3, 1, rows * (columns + 3))
        yield "transposed", DEFAULT_ALIGN, whole(rows, 1, rows, rows * columns)
        yield "transposed with a gap", item, whole(rows + 5, 1, rows + 5, (rows + 5) * columns)
        yield "with every second column", DEFAULT_ALIGN, whole(2 * columns, 2 * columns, 2, 2 * rows * columns)
        if not inout:
            yield "with rows reversed", item, whole(columns, -columns, 1, rows * columns)
            yield "broadcast over rows", DEFAULT_ALIGN, whole(columns, 0, 1, columns)
    if outer and not inout and outer[-1] > 1:
        strides = list(whole(columns, columns, 1, rows * columns))
        strides[len(outer) - 1] = 0
        yield "broadcast over an outer axis", DEFAULT_ALIGN, tuple(strides)
