"""Exact products: integers whose sum of products every right kernel gets without an error, in any order, blocking or with FMA."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, log2

import numpy as np

from tessera_rules.dtypes import FORMATS
from tessera_rules.oracle.probes.draft import Array, Asked, Draft, random_drafts

WIDE = {"f32": 12, "bf16": 8, "f16": 11, "f64": 26}
NARROW_SUMS = 13
"""Bits of sums that are kept exactly for 8-bit floats: some matrix units have about 14."""


def pairs(asked: Asked, left: tuple[int, ...], right: tuple[int, ...], spare: int = 0) -> Iterator[tuple[str, Array, Array]]:
    """Yield exact factors of shapes (…, M, K) and (…, K, N); ``spare`` bits are left free in the sums.

    Wide: odd integers of as many bits as sums of K allow, times ±1, then the other way round; sparse: all bits that the dtype
    has, at most 7 terms a sum; small: dense small integers, which show every fault of an index; subnormal: a few times the smallest number above 0.
    """
    terms = max(1, left[-1])
    room = (NARROW_SUMS if asked.dtype.startswith("f8") else asked.sum_bits) - spare
    bits = max(1, min(WIDE.get(asked.dtype, asked.precision), asked.precision, room - ceil(log2(terms)) - 1))
    unit = 2.0**-6 if asked.dtype == "f16" else 1.0
    yield "wide exact, left", asked.odd(left, bits) * unit, asked.signs(right)
    yield "wide exact, right", asked.signs(left), asked.odd(right, bits) * unit
    if asked.dtype in ("f32", "f64"):
        full = min(asked.precision, room - 3)
        yield "sparse exact, left", _sparse(asked, asked.odd(left, full), -1), asked.signs(right)
        yield "sparse exact, right", asked.signs(left), _sparse(asked, asked.odd(right, full), -2)
    if asked.dtype.startswith("f8"):
        yield "small exact", asked.rng.integers(-2, 3, left).astype(np.float64), asked.rng.integers(-1, 3, right).astype(np.float64)
    else:
        yield "small exact", asked.rng.integers(-2, 4, left).astype(np.float64), asked.rng.integers(-1, 3, right).astype(np.float64)
    if asked.computes is None and not asked.dtype.startswith("f8"):
        # Multiples of the smallest number above 0: their products and sums are such too, and a kernel that flushes gives zeros.
        tiny = FORMATS[asked.dtype].min_exponent + 6
        yield "subnormal exact", np.ldexp(asked.rng.integers(-7, 8, left).astype(np.float64), tiny), asked.rng.integers(-1, 3, right).astype(np.float64)


def _sparse(asked: Asked, x: Array, axis: int) -> Array:
    """Keep at most 7 elements: the sum of an odd number of odd integers is odd, so that its last bit counts along an axis."""
    size = x.shape[axis]
    if size <= 7:
        return x
    rank = np.argsort(np.argsort(asked.rng.random(x.shape), axis=axis), axis=axis)
    kept: Array = np.where(rank < 7, x, 0.0)
    return kept


def is_power_of_two(x: float) -> bool:
    """Whether a number is ± a power of two.

    >>> is_power_of_two(-0.5), is_power_of_two(3.0), is_power_of_two(0.0)
    (True, False, False)
    """
    return bool(x != 0 and np.isfinite(x) and abs(np.frexp(x)[0]) == 0.5)


def bounded(asked: Asked, left: str, *right: str, special: bool = True) -> Iterator[Draft]:
    """Yield normal operands, outliers, rows that cancel, and NaN or Inf for a product of ``left`` with others."""
    yield from random_drafts(asked, outliers=True, special=special)
    normal = next(random_drafts(asked)).values
    terms = asked.shape(left)[-1]
    if terms >= 2:
        x = np.asarray(normal[left], dtype=np.float64).copy()
        half = terms // 2
        x[..., half : 2 * half] = -x[..., :half] * (1 + 2.0**-6)
        values = {**normal, left: x * 64}
        for name in right:
            y = np.asarray(normal[name], dtype=np.float64).copy()
            y[..., half : 2 * half, :] = y[..., :half, :]
            values[name] = y
        yield Draft("cancelling", values)
