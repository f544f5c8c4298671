"""layernorm: rows less their mean, over their standard deviation."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera_rules.ops.precision import Array, quiet, rounded, sizes, widened
from tessera_rules.oracle.bounds import Precision, phi


@quiet
def along_rows(x: Array, eps: float) -> Array:
    """Return (x − mean) / √(var + eps) of the rows of a float64 array (M, N), by two passes."""
    if not x.shape[-1]:
        return x.copy()
    centred = x - np.mean(x, axis=-1, keepdims=True)
    result: Array = centred / np.sqrt(np.mean(np.square(centred), axis=-1, keepdims=True) + eps)
    return result


@quiet
def reference64(x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Array:
    """Return the normalised rows in float64, unrounded; see `reference`."""
    sizes("layernorm", {"x": (x, "M N"), "weight": (weight, "N"), "bias": (bias, "N")})
    y = along_rows(widened(x), eps)
    if weight is not None:
        y = y * widened(weight)
    return y if bias is None else y + widened(bias)


def reference(x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Array:
    """Return (x − mean) / √(var + eps) · weight + bias, over N; the variance is the population's (over N, not N − 1).

    Args: ``x`` (M, N), ``weight`` and ``bias`` (N), any layout, one dtype. Returns (M, N) in x's dtype. N = 1 gives the bias.
    Source: J. L. Ba, J. R. Kiros, G. E. Hinton, "Layer Normalization", arXiv:1607.06450, equation 4.

    >>> reference(np.array([[1.0, 3.0]]), eps=0.0)
    array([[-1.,  1.]])
    """
    return rounded(reference64(x, weight, bias, eps), np.asarray(x).dtype)


def rows_error(precision: Precision, x: Array, y: Array, eps: float, error: Array | float = 0.0) -> Array:
    """Return the error of the normalised rows y of rows x that are off by up to ``error``, but for the rounding of the result.

    (φ(N) + 4) roundings of (|x| + mean|x|) / σ and of |y|, and what the error of x does to x and to the root.
    """
    if not x.size:
        return np.zeros(x.shape)
    mean = np.mean(x, axis=-1, keepdims=True)
    sigma = np.sqrt(np.mean(np.square(x - mean), axis=-1, keepdims=True) + eps)
    moved = (error + np.mean(np.broadcast_to(error, x.shape), axis=-1, keepdims=True)) / sigma
    # The mean is a sum of N terms of either sign: its error goes with mean|x|, not with |mean|.
    size = (np.abs(x) + np.mean(np.abs(x), axis=-1, keepdims=True)) / sigma
    result: Array = precision.acc * (phi(x.shape[-1]) + 4) * (size + np.abs(y)) + moved + np.abs(y) * np.mean(np.abs(y) * moved, axis=-1, keepdims=True)
    return result


def error_bound(precision: Precision, result: Array, x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Array:
    """Return the error of the normalised rows times |weight|, the rounding of adding the bias, and that of the result."""
    wide = widened(x)
    y = along_rows(wide, eps)
    error = rows_error(precision, wide, y, eps)
    if weight is not None:
        error, y = error * np.abs(widened(weight)), y * widened(weight)
    total: Array = error + precision.acc * (np.abs(y) + np.abs(result)) + precision.rounding(result)
    return total
