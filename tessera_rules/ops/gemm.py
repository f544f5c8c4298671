"""gemm: alpha·a·b + beta·c."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera_rules.ops.precision import Array, quiet, rounded, sizes, widened
from tessera_rules.oracle.bounds import Precision


@quiet
def reference64(a: Any, b: Any, c: Any, alpha: float = 1.0, beta: float = 0.0) -> Array:
    """Return alpha·a·b + beta·c in float64, unrounded, and leave c as it is; see `reference`."""
    sizes("gemm", {"a": (a, "M K"), "b": (b, "K N"), "c": (c, "M N")})
    product = widened(a) @ widened(b)
    if alpha != 1.0:
        product *= alpha
    return product if beta == 0.0 else product + beta * widened(c)


def reference(a: Any, b: Any, c: Any, alpha: float = 1.0, beta: float = 0.0) -> Array:
    """Return alpha·a·b + beta·c, in an array of its own: the caller of the op writes it to c.

    Args: ``a`` (M, K), ``b`` (K, N), ``c`` (M, N), any layout, one dtype. Returns (M, N) in a's dtype.
    Where beta is 0 c is not read, whatever it holds. K = 0 gives beta·c.
    Raises: `OperandError` for a rank or a size that does not fit.

    >>> reference(np.ones((1, 2)), np.ones((2, 1)), np.array([[np.nan]]), alpha=2.0)
    array([[4.]])
    """
    return rounded(reference64(a, b, c, alpha, beta), np.asarray(a).dtype)


def error_bound(precision: Precision, result: Array, a: Any, b: Any, c: Any, alpha: float = 1.0, beta: float = 0.0) -> Array:
    """Return φ(K)·u·|alpha||a||b| and what ``computes`` rounds away, two roundings each of the scaled product and of beta·c, and the result's."""
    product = abs(alpha) * (np.abs(widened(a)) @ np.abs(widened(b)))
    error = precision.product(np.shape(a)[1], product) + 2 * precision.acc * product + precision.rounding(result)
    return error if beta == 0.0 else error + 2 * precision.acc * abs(beta) * np.abs(widened(c))
