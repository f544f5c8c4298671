"""What the NumPy lanes share: working copies that BLAS takes, row blocks that fit a cache, results rounded to their dtype.

Arithmetic is in f64 for f64, else in f32: f16, bf16 and narrower operands are widened exactly, and a result is rounded once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from tessera_rules.declined import Declined

Array = np.ndarray[Any, Any]
P = ParamSpec("P")
T = TypeVar("T")

BLOCK_BYTES = 1 << 18
"""Bytes of a block of rows that a chain of passes goes over: a quarter of a 1 MiB second-level cache, with two scratch blocks beside it."""


def quiet(function: Callable[P, T]) -> Callable[P, T]:
    """Return the function without NumPy's warnings: overflow to infinity and NaN are results here."""

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        with np.errstate(all="ignore"):
            return function(*args, **kwargs)

    return called


def working_dtype(x: Array) -> np.dtype[Any]:
    """Return the dtype in which arithmetic on x is done: f64 for f64, else f32."""
    return np.dtype(np.float64 if x.dtype == np.float64 else np.float32)


def widened(x: Array) -> Array:
    """Return x in its working dtype: x itself where it has that, else an exact copy with its axes in the same order."""
    dtype = working_dtype(x)
    return x if x.dtype == dtype else x.astype(dtype, order="K")


def for_blas(x: Array) -> Array:
    """Return x in its working dtype as NumPy hands it to BLAS without a loop of its own: aligned, the last two axes a matrix

    with one unit stride and no broadcast, reversal or overlap; copied where it is not so.

    >>> x = np.ones((4, 6), np.float32)
    >>> for_blas(x) is x, for_blas(x.T).base is x, for_blas(x[::-1]).base is None
    (True, True, True)
    """
    x = widened(x)
    item = x.itemsize
    rows, columns = x.strides[-2:]
    m, n = x.shape[-2:]
    straight = columns == item and rows >= n * item and rows % item == 0
    turned = rows == item and columns >= m * item and columns % item == 0
    return x if x.flags.aligned and (straight or turned) else np.ascontiguousarray(x)


def blocks(shape: tuple[int, ...], itemsize: int) -> Iterator[slice]:
    """Yield slices of the rows of a matrix, each about `BLOCK_BYTES`."""
    rows, columns = shape
    step = max(1, BLOCK_BYTES // max(1, columns * itemsize))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def delivered(value: Array, dtype: np.dtype[Any], out: Array | None) -> Array:
    """Return a result in its dtype, in ``out`` where it is given."""
    if out is not None:
        if out is not value:
            out[...] = value.astype(dtype, copy=False)
        return out
    return value.astype(dtype, copy=False)


def declined_ranks(**ranks: tuple[Array | None, int]) -> Declined | None:
    """Return a decline where an operand has another rank than its kernel takes.

    >>> declined_ranks(a=(np.ones(3), 2)).reason
    'a has rank 1, and this kernel takes rank 2'
    """
    for name, (x, rank) in ranks.items():
        if x is not None and x.ndim != rank:
            return Declined(f"{name} has rank {x.ndim}, and this kernel takes rank {rank}")
    return None
