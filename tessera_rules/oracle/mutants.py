"""The oracle tests itself: wrong kernels, made of the right results of a proof's own probes, that its budget has to tell from right.

A wrong kernel that passes every probe on which its results differ by more than a little means that the budget is vacuous (T20).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from attrs import evolve, frozen

from tessera_rules.bind.arrays import dtype_of
from tessera_rules.bind.inputs import operand_dtype
from tessera_rules.bind.results import Contract, contracts
from tessera_rules.dtypes import FORMATS, holds
from tessera_rules.model.request import Request
from tessera_rules.model.terms import Fact
from tessera_rules.model.values import REQUIRED
from tessera_rules.oracle.judge import judge
from tessera_rules.oracle.reference import higher_reference

Array = np.ndarray[Any, Any]
MATTERS = 0.02
"""Of the root mean square of a result: what differs by less may well pass a budget that somebody states."""
TILES = (16, 32, 64)
LOWER = {"f64": "f32", "f32": "bf16", "tf32": "bf16", "f16": "bf16", "bf16": "f8e4m3", "c128": "c64"}
"""The next dtype down, to which a wrong kernel might round its operands."""


@frozen(eq=False)
class Seen:
    """One probe with what a right result is, unrounded (``wide``) and as it is compared with, and how far off it may be."""

    label: str
    request: Request
    operands: dict[str, Array]
    wide: tuple[Array, ...]
    references: tuple[Array, ...]
    allowed: tuple[Any, ...]
    exact: bool

    def rejects(self, results: Sequence[Any]) -> bool:
        """Whether these results are told from right ones."""
        made = contracts(self.request)
        return any(
            not judge(result, reference, bound, dtype_of(contract.dtype)).ok
            for result, reference, bound, contract in zip(results, self.references, self.allowed, made, strict=True)
        )

    def right(self) -> tuple[Array, ...]:
        """Return the right results, each rounded once."""
        return tuple(rounded(reference, contract) for reference, contract in zip(self.wide, contracts(self.request), strict=True))

    def recomputed(self, operands: dict[str, Array], request: Request | None = None) -> tuple[Array, ...]:
        """Return the right results for other operands or another request."""
        asked = request or self.request
        return tuple(rounded(each, contract) for each, contract in zip(higher_reference(asked, operands), contracts(asked), strict=True))


def rounded(value: Array, contract: Contract) -> Array:
    """Return a result rounded once to what the op says it is: to nearest, ties to even; integers saturate, NaN is 0 there."""
    kind = dtype_of(contract.dtype)
    wide = np.asarray(value)
    with np.errstate(all="ignore"):
        if kind.kind not in "iu":
            return wide.astype(kind)
        low, high = np.iinfo(kind).min, np.iinfo(kind).max
        whole = np.nan_to_num(np.rint(wide), nan=0.0)
        inside = (whole >= float(low)) & (whole < float(high))
        result: Array = np.where(whole > 0, high, low).astype(kind)
        result[inside] = whole[inside].astype(kind)
        return result


Wrong = Callable[[Seen], Sequence[Any] | None]


def survivors(seen: Sequence[Seen], names: frozenset[str]) -> list[str]:
    """Return the names of wrong kernels that no probe tells from right, though some result of theirs differs by more than a little.

    ``names`` are the attributes and optional operands that the candidate takes.
    """
    return _passing(seen, wrong_kernels(seen, names))


def fine_survivors(seen: Sequence[Seen]) -> list[str]:
    """Return the names of slightly wrong kernels that no probe tells from right: a factor of 1.001, truncation, operands one dtype down.

    Where an author states a budget, or nothing of an op is exact, such a kernel may be within its rights: worth a note, no verdict.
    """
    return _passing(seen, FINE)


def _passing(seen: Sequence[Seen], kernels: Iterable[tuple[str, Wrong]]) -> list[str]:
    ordered = sorted(seen, key=lambda each: not each.exact)
    found = []
    for name, wrong in kernels:
        matters = False
        for each in ordered:
            try:
                results = wrong(each)
            except Exception:  # not a kernel for this request
                continue
            if results is None:
                continue
            if each.rejects(results):
                matters = False
                break
            matters = matters or differs(each.right(), results)
        if matters:
            found.append(name)
    return found


def differs(right: Sequence[Array], wrong: Sequence[Any]) -> bool:
    """Whether some element is off by more than `MATTERS` of the root mean square, or of another class."""
    for one, two in zip(right, wrong, strict=True):
        if not isinstance(two, np.ndarray) or one.shape != two.shape or one.dtype != two.dtype:
            return True
        kind = np.complex128 if np.iscomplexobj(one) else np.float64
        a, b = one.astype(kind), two.astype(kind)
        if (np.isfinite(a) != np.isfinite(b)).any():
            return True
        finite = np.isfinite(a)
        if finite.any():
            scale = float(np.sqrt(np.mean(np.square(np.abs(a[finite])))))
            if float(np.max(np.abs(a[finite] - b[finite]))) > MATTERS * scale:
                return True
    return False


def wrong_kernels(seen: Sequence[Seen], names: frozenset[str]) -> Iterator[tuple[str, Wrong]]:
    """Yield wrong kernels by name."""
    yield "zeros", lambda each: [np.zeros_like(x) for x in each.right()]
    yield "a row wrong", lambda each: _on_results(each, _last_row_wrong)
    yield "two columns swapped", lambda each: _on_results(each, _columns_swapped)
    yield "one NaN", lambda each: _on_results(each, _one_nan)
    yield "another shape", lambda each: [x[None] for x in each.right()]
    yield "a stale output", lambda each: _on_results(each, lambda x: np.roll(x.reshape(-1), 1).reshape(x.shape) if x.size > 1 else None)
    for tile in TILES:
        yield f"rows past the last full tile of {tile} unwritten", lambda each, tile=tile: _on_results(each, lambda x: _tail_rows(x, tile))  # type: ignore[misc]
    request = seen[0].request if seen else None
    if request is None:
        return
    for dim in summed(request):
        yield f"last {dim} dropped", lambda each, dim=dim: _dropped(each, dim, 1)  # type: ignore[misc]
        for tile in TILES:
            yield f"{dim} past the last full tile of {tile} dropped", lambda each, dim=dim, tile=tile: _dropped(each, dim, tile)  # type: ignore[misc]
    for name in request.op.attrs:
        if name in names:
            yield f"{name} ignored", lambda each, name=name: _without_attr(each, name)  # type: ignore[misc]
    for name, operand in request.op.operands.items():
        if operand.optional and name in names:
            yield f"{name} skipped", lambda each, name=name: _zeroed(each, name)  # type: ignore[misc]
        elif len(operand.shape) >= 2:
            yield f"{name} transposed", lambda each, name=name: _transposed(each, name)  # type: ignore[misc]
        elif not operand.optional and operand.dtypes is None:
            yield f"{name} skipped", lambda each, name=name: _zeroed(each, name)  # type: ignore[misc]


def summed(request: Request) -> list[str]:
    """Return the dimensions of float operands that no result has: what the op sums over."""
    kept = {term.key for result in request.op.results for term in result.shape if isinstance(term, Fact)}
    kept |= {term.key for result in request.op.results if result.inout for term in request.op.operands[result.inout].shape if isinstance(term, Fact)}
    found: dict[str, None] = {}
    for operand in request.op.operands.values():
        if operand.dtypes is None:
            found.update({term.key[4:]: None for term in operand.shape if isinstance(term, Fact) and term.key not in kept})
    return list(found)


def _paired(each: Seen) -> Iterator[tuple[Array, Contract]]:
    return zip(each.wide, contracts(each.request), strict=True)


def _on_results(each: Seen, change: Callable[[Array], Array | None]) -> Sequence[Any] | None:
    changed = [change(x.copy()) for x in each.right()]
    return None if any(x is None for x in changed) else changed


def _last_row_wrong(x: Array) -> Array | None:
    if not x.size:
        return None
    rows = x.reshape(-1, x.shape[-1]) if x.ndim else x.reshape(1, 1)
    rows[-1] = -rows[-1] if x.dtype.kind != "b" else ~rows[-1]
    return x


def _columns_swapped(x: Array) -> Array | None:
    if x.ndim < 1 or x.shape[-1] < 2:
        return None
    x[..., [0, -1]] = x[..., [-1, 0]]
    return x


def _one_nan(x: Array) -> Array | None:
    if not x.size or x.dtype.kind in "iub":
        return None
    flat = x.reshape(-1)
    flat[x.size // 2] = np.nan
    return x


def _tail_rows(x: Array, tile: int) -> Array | None:
    if x.ndim < 2 or x.shape[-2] <= tile or not x.shape[-2] % tile:
        return None
    x[..., x.shape[-2] // tile * tile :, :] = 0
    return x


def _dropped(each: Seen, dim: str, tile: int) -> Sequence[Any] | None:
    size = each.request.dims[dim]
    keep = size - 1 if tile == 1 else size // tile * tile
    if size < 2 or keep == size or keep == 0:
        return None
    changed = dict(each.operands)
    for name, operand in each.request.op.operands.items():
        if name not in changed or operand.dtypes is not None:
            continue
        for axis, term in enumerate(operand.shape):
            if isinstance(term, Fact) and term.key == f"dim:{dim}":
                x = changed[name].copy()
                x[(slice(None),) * axis + (slice(keep, None),)] = 0
                changed[name] = x
    return each.recomputed(changed)


def _without_attr(each: Seen, name: str) -> Sequence[Any] | None:
    default = each.request.op.attrs[name].default
    if default is REQUIRED or each.request.attrs[name] == default:
        return None
    return each.recomputed(each.operands, evolve(each.request, attrs={**each.request.attrs, name: default}))


def _zeroed(each: Seen, name: str) -> Sequence[Any] | None:
    if name not in each.operands:
        return None
    return each.recomputed({**each.operands, name: np.zeros_like(each.operands[name])})


def _transposed(each: Seen, name: str) -> Sequence[Any] | None:
    """The bytes of an operand read as if its last two axes were stored the other way round."""
    x = each.operands.get(name)
    if x is None or min(x.shape[-2:]) < 2 or operand_dtype(each.request, each.request.op.operands[name]) in ("i32", "i64"):
        return None
    *outer, rows, columns = x.shape
    return each.recomputed({**each.operands, name: np.ascontiguousarray(x).reshape(*outer, columns, rows).swapaxes(-1, -2)})


def _truncated(each: Seen) -> Sequence[Any] | None:
    found = []
    for reference, contract in _paired(each):
        if FORMATS[contract.dtype].kind != "float" or FORMATS[contract.dtype].precision >= 24:
            return None
        near = rounded(reference, contract)
        wide = near.astype(np.float64)
        with np.errstate(all="ignore"):
            shrunk = rounded(wide * (1 - 2.0 ** -FORMATS[contract.dtype].precision), contract)
        found.append(np.where(np.isfinite(wide) & (np.abs(wide) > np.abs(reference)), shrunk, near).astype(near.dtype))
    return found


def _operands_down(each: Seen) -> Sequence[Any] | None:
    changed = {}
    for name, x in each.operands.items():
        dtype = operand_dtype(each.request, each.request.op.operands[name])
        lower = LOWER.get(dtype)
        if lower is None or holds(lower, dtype):
            changed[name] = x
            continue
        with np.errstate(all="ignore"):
            changed[name] = x.astype(dtype_of(lower)).astype(x.dtype)
    return each.recomputed(changed)


FINE: tuple[tuple[str, Wrong], ...] = (
    ("a factor of 1.001", lambda each: [rounded(reference * 1.001, contract) for reference, contract in _paired(each)]),
    ("truncated, not rounded", _truncated),
    ("operands one dtype down", _operands_down),
)
