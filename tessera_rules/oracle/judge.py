"""One result against the reference in higher precision: shape and dtype first, then classes, then the bound, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import frozen

Array = np.ndarray[Any, Any]


@frozen
class Judgement:
    """Whether a result is right. ``ratio`` is the largest error over its bound; ``max_error`` and ``budget`` belong to that element.

    ``why`` says what is wrong, None where nothing is. ``place`` is the index of the element that decided.
    """

    ok: bool
    max_error: float
    budget: float
    ratio: float
    place: tuple[int, ...] | None
    why: str | None


def _wrong(why: str, max_error: float = float("inf"), budget: float = 0.0, place: tuple[int, ...] | None = None) -> Judgement:
    return Judgement(False, max_error, budget, float("inf"), place, why)


def judge(result: Any, reference: Array, bound: Array | float, dtype: np.dtype[Any]) -> Judgement:
    """Return what a result is worth.

    ``result`` is what the candidate gave; ``reference`` the unrounded float64 (complex128) result of the same shape; ``bound``
    the largest error that is allowed, an array of that shape or a number; ``dtype`` what the result must have. An element whose
    reference is NaN must be NaN, an infinite one the same infinity, a finite one finite and inside the bound: it counts as
    right only by ``err <= bound``, so that nothing that fails to compare ever passes.

    >>> judge(np.array([1.0, 2.5]), np.array([1.0, 2.0]), 0.1, np.dtype("f8")).place
    (1,)
    """
    if not isinstance(result, np.ndarray):
        return _wrong(f"the result is a {type(result).__name__}, and an array of shape {reference.shape} was expected")
    if result.shape != reference.shape:
        return _wrong(f"the result has shape {result.shape}, and {reference.shape} was expected")
    if result.dtype != dtype:
        return _wrong(f"the result has dtype {result.dtype}, and {dtype} was expected")
    wide = result.astype(np.complex128 if np.iscomplexobj(reference) else np.float64)
    if reference.size == 0:
        return Judgement(True, 0.0, 0.0, 0.0, None, None)
    limit = np.broadcast_to(np.asarray(bound, dtype=np.float64), reference.shape)
    nan = np.isnan(reference)
    infinite = np.isinf(reference)
    overflow = _overflows(reference, limit, dtype)
    finite = ~(nan | infinite | overflow)
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(wide - np.where(finite, reference, 0))
    right = np.where(
        nan, np.isnan(wide), np.where(infinite, wide == reference, np.where(overflow, _overflowed(wide, reference, dtype) | (error <= limit), error <= limit))
    )
    if right.all():
        if not finite.any():
            return Judgement(True, 0.0, 0.0, 0.0, None, None)
        ratio = np.where(finite, _ratio(error, limit), 0.0)
        place = tuple(int(axis) for axis in np.unravel_index(int(np.argmax(ratio)), ratio.shape))
        return Judgement(True, float(error[place]), float(limit[place]), float(ratio[place]), place, None)
    with np.errstate(invalid="ignore"):
        badness = np.where(right, -1.0, np.where(finite & np.isfinite(wide), _ratio(error, limit), np.inf))
    place = tuple(int(axis) for axis in np.unravel_index(int(np.argmax(badness)), badness.shape))
    got, wanted = wide[place], reference[place]
    found = float(error[place]) if finite[place] and np.isfinite(wide[place]) else float("inf")
    count = int((~right).sum())
    why = f"element {list(place)} is {got:.9g}, and {wanted:.9g} was expected (within {limit[place]:.3g}); {count} of {right.size} elements are wrong"
    return Judgement(False, found, float(limit[place]), float(badness[place]), place, why)


def _ratio(error: Array, limit: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Array = np.where(error == 0, 0.0, error / limit)
    return ratio


def _overflows(reference: Array, limit: Array, dtype: np.dtype[Any]) -> Array:
    """Return where the finite reference lies beyond, or within the bound of, what the dtype can hold."""
    if dtype.kind in "iub" or np.iscomplexobj(reference):
        return np.zeros(reference.shape, dtype=bool)
    largest = _largest(dtype)
    with np.errstate(invalid="ignore"):
        beyond: Array = np.isfinite(reference) & (np.abs(reference) + limit > largest)
    return beyond


def _largest(dtype: np.dtype[Any]) -> float:
    if dtype.kind == "f" and dtype.itemsize > 1:
        return float(np.finfo(dtype).max)
    import ml_dtypes

    finfo: Any = ml_dtypes.finfo
    return float(finfo(dtype).max)


def _overflowed(wide: Array, reference: Array, dtype: np.dtype[Any]) -> Array:
    """Return where a result is what an overflow gives: the infinity of that sign; NaN or the largest value where the dtype has no infinity."""
    if np.iscomplexobj(wide) or dtype.kind in "iub":
        return np.zeros(wide.shape, dtype=bool)
    right: Array = np.isinf(wide) & (np.signbit(wide) == np.signbit(reference))
    if dtype.kind != "f" and dtype.itemsize == 1:
        right = right | np.isnan(wide) | ((np.abs(wide) == _largest(dtype)) & (np.signbit(wide) == np.signbit(reference)))
    return right
