"""batched_matmul: a·b for each batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera_rules.ops.precision import Array, quiet, rounded, sizes, widened
from tessera_rules.oracle.bounds import Precision


@quiet
def reference64(a: Any, b: Any) -> Array:
    """Return a[i]·b[i] in float64, unrounded; see `reference`."""
    sizes("batched_matmul", {"a": (a, "B M K"), "b": (b, "B K N")})
    return widened(a) @ widened(b)


def reference(a: Any, b: Any) -> Array:
    """Return out[i] = a[i]·b[i].

    Args: ``a`` (B, M, K) and ``b`` (B, K, N), any layout, one dtype. Returns (B, M, N) in a's dtype; K = 0 gives zeros.
    Raises: `OperandError` for a rank or a size that does not fit; batches are not broadcast.

    >>> reference(np.ones((2, 1, 3)), np.ones((2, 3, 1))).ravel()
    array([3., 3.])
    """
    return rounded(reference64(a, b), np.asarray(a).dtype)


def error_bound(precision: Precision, result: Array, a: Any, b: Any) -> Array:
    """Return φ(K)·u·|a||b|, what ``computes`` rounds away, and the rounding of the result."""
    return precision.product(np.shape(a)[-1], np.abs(widened(a)) @ np.abs(widened(b))) + precision.rounding(result)
