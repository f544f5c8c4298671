"""rmsnorm: rows over their root mean square."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera_rules.ops.precision import Array, quiet, rounded, sizes, widened
from tessera_rules.oracle.bounds import Precision, phi


@quiet
def along_rows(x: Array, eps: float) -> Array:
    """Return x / √(mean(x²) + eps) of the rows of a float64 array (M, N)."""
    if not x.shape[-1]:
        return x.copy()
    result: Array = x / np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) + eps)
    return result


@quiet
def reference64(x: Any, weight: Any = None, eps: float = 1e-6) -> Array:
    """Return the normalised rows in float64, unrounded; see `reference`."""
    sizes("rmsnorm", {"x": (x, "M N"), "weight": (weight, "N")})
    y = along_rows(widened(x), eps)
    return y if weight is None else y * widened(weight)


def reference(x: Any, weight: Any = None, eps: float = 1e-6) -> Array:
    """Return x / √(mean(x²) + eps) · weight, over N.

    Args: ``x`` (M, N), ``weight`` (N), any layout, one dtype. Returns (M, N) in x's dtype. A row of zeros gives zeros, and NaN
    where eps is 0 too. A NaN or an infinity makes the mean of its row so.
    Source: B. Zhang, R. Sennrich, "Root Mean Square Layer Normalization", arXiv:1910.07467, equation 4.

    >>> reference(np.array([[3.0, 4.0]]), eps=0.0) * np.sqrt(12.5)
    array([[3., 4.]])
    """
    return rounded(reference64(x, weight, eps), np.asarray(x).dtype)


def rows_error(precision: Precision, x: Array, y: Array, eps: float, error: Array | float = 0.0) -> Array:
    """Return the error of the normalised rows y of rows x that are off by up to ``error``, but for the rounding of the result.

    (φ(N) + 4) roundings of |x| / σ and of |y|, and what the error of x does to x and to the root.
    """
    if not x.size:
        return np.zeros(x.shape)
    sigma = np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) + eps)
    moved = error / sigma
    count = phi(x.shape[-1]) + 4
    result: Array = precision.acc * count * (np.abs(x) / sigma + np.abs(y)) + moved + np.abs(y) * np.mean(np.abs(x) / sigma * moved, axis=-1, keepdims=True)
    return result


def error_bound(precision: Precision, result: Array, x: Any, weight: Any = None, eps: float = 1e-6) -> Array:
    """Return the error of the normalised rows times |weight|, and the rounding of the result."""
    wide = widened(x)
    error = rows_error(precision, wide, along_rows(wide, eps), eps)
    return (error if weight is None else error * np.abs(widened(weight))) + precision.acc * np.abs(result) + precision.rounding(result)
