"""softmax over the last axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera_rules.ops.precision import Array, quiet, rounded, sizes, widened
from tessera_rules.oracle.bounds import Precision, phi


@quiet
def along_rows(x: Array) -> Array:
    """Return the softmax of the rows of a float64 array (M, N)."""
    if not x.shape[-1]:
        return x.copy()
    weights = np.exp(x - np.max(x, axis=-1, keepdims=True))
    total: Array = weights / np.sum(weights, axis=-1, keepdims=True)
    return total


@quiet
def reference64(x: Any) -> Array:
    """Return the softmax in float64, unrounded; see `reference`."""
    sizes("softmax", {"x": (x, "M N")})
    return along_rows(widened(x))


def reference(x: Any) -> Array:
    """Return exp(x − max) / Σ exp(x − max) over N.

    Args: ``x`` (M, N), any layout. Returns (M, N) in x's dtype. An element −Inf gives 0; a row of −Inf alone, one with an
    Inf and one with a NaN are NaN throughout, as 0/0 and Inf − Inf are.

    >>> reference(np.array([[0.0, -np.inf, 0.0]]))
    array([[0.5, 0. , 0.5]])
    """
    return rounded(reference64(x), np.asarray(x).dtype)


def rows_error(precision: Precision, x: Array, y: Array, error: Array | float = 0.0) -> Array:
    """Return the error of the softmax y of rows x that are off by up to ``error``, but for the rounding of the result.

    Relative: 2·range + φ(N) + 8 roundings (the differences from the maximum, the sum, exp and the division), and what
    the error of x and its weighted mean do to the exponentials.
    """
    if not x.size:
        return np.zeros(x.shape)
    finite = np.isfinite(x)
    high = np.max(np.where(finite, x, -np.inf), axis=-1, keepdims=True)
    low = np.min(np.where(finite, x, np.inf), axis=-1, keepdims=True)
    span = np.where(high >= low, high - low, 0.0)
    moved = np.where(y > 0, error, 0.0)
    drift = np.expm1(moved + np.sum(y * moved, axis=-1, keepdims=True))
    relative: Array = drift + precision.acc * (2 * span + phi(x.shape[-1]) + 8)
    return relative * y + precision.tiny


def error_bound(precision: Precision, result: Array, x: Any) -> Array:
    """Return the error of the softmax and the rounding of the result."""
    return rows_error(precision, widened(x), result) + precision.rounding(result)
