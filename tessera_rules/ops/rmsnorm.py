"""rmsnorm: rows over their root mean square."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera_rules.ops.precision import Array, quiet, rounded, sizes, widened


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
