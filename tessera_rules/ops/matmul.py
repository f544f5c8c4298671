"""matmul: a·b."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera_rules.ops.precision import Array, quiet, rounded, sizes, widened
from tessera_rules.oracle.bounds import Precision


@quiet
def reference64(a: Any, b: Any) -> Array:
    """Return a·b in float64, unrounded; see `reference`."""
    sizes("matmul", {"a": (a, "M K"), "b": (b, "K N")})
    return widened(a) @ widened(b)


def reference(a: Any, b: Any) -> Array:
    """Return out[i, j] = Σ_k a[i, k]·b[k, j].

    Args: ``a`` (M, K) and ``b`` (K, N), any layout, one dtype. Returns (M, N) in a's dtype; K = 0 gives zeros.
    NaN and Inf go through as IEEE 754 has them: 0·Inf is NaN.
    Raises: `OperandError` for a rank or a size that does not fit.

    >>> reference(np.array([[1.0, 2.0]], np.float32), np.array([[3.0], [4.0]], np.float32))
    array([[11.]], dtype=float32)
    """
    return rounded(reference64(a, b), np.asarray(a).dtype)


def error_bound(precision: Precision, result: Array, a: Any, b: Any) -> Array:
    """Return φ(K)·u·|a||b|, what ``computes`` rounds away, and the rounding of the result."""
    return precision.product(np.shape(a)[-1], np.abs(widened(a)) @ np.abs(widened(b))) + precision.rounding(result)
