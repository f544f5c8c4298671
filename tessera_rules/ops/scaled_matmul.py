"""scaled_matmul: a product of narrow operands with row and column scales."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera_rules.bind.arrays import word_of
from tessera_rules.dtypes import accumulator
from tessera_rules.ops.precision import Array, quiet, rounded, sizes, widened
from tessera_rules.oracle.bounds import Precision, roundoff


def result_dtype(a: Any, out: str | None) -> str:
    """Return the word of the result's dtype: ``out``, else i32 for integers and f32 for narrow floats."""
    return accumulator(word_of(np.asarray(a).dtype, "a")) if out is None else out


@quiet
def reference64(a: Any, b: Any, scale_a: Any, scale_b: Any, out: str | None = None) -> Array:
    """Return the scaled product in float64, unrounded (clipped to the range of an integer ``out``); see `reference`."""
    sizes("scaled_matmul", {"a": (a, "M K"), "b": (b, "K N"), "scale_a": (scale_a, "M"), "scale_b": (scale_b, "N")})
    # Products of i8 are below 2^15 in magnitude: float64 sums of them are exact while K < 2^38.
    product: Array = widened(a) @ widened(b) * widened(scale_a)[:, None] * widened(scale_b)
    if result_dtype(a, out) == "i32":
        return np.clip(product, -(2.0**31), 2.0**31 - 1)
    return product


def reference(a: Any, b: Any, scale_a: Any, scale_b: Any, out: str | None = None) -> Array:
    """Return (a·b)[i, j] · scale_a[i] · scale_b[j].

    Args: ``a`` (M, K) and ``b`` (K, N), any layout, one dtype of i8, i4 or f8; ``scale_a`` (M) and ``scale_b`` (N) f32;
    ``out`` a dtype word, i32 for integers and f32 for floats where it is None. Returns (M, N) in that dtype; i32 is rounded
    to nearest, ties to even, and saturates. The product of integers is exact.

    >>> reference(np.array([[2, 3]], np.int8), np.array([[5], [7]], np.int8), np.float32([0.5]), np.float32([1.0])).tolist()
    [[16]]
    """
    return rounded(reference64(a, b, scale_a, scale_b, out), result_dtype(a, out))


def error_bound(precision: Precision, result: Array, a: Any, b: Any, scale_a: Any, scale_b: Any, out: str | None = None) -> Array:
    """Return φ(K)·u·|a||b| of floats (sums of integers are exact), scaled, four roundings in f32 of scaling, and that of the result."""
    error = 4 * roundoff("f32") * np.abs(result) + precision.rounding(result)
    if result_dtype(a, None) == "i32":
        return error
    size = np.abs(widened(a)) @ np.abs(widened(b)) * np.abs(widened(scale_a))[:, None] * np.abs(widened(scale_b))
    return error + precision.product(np.shape(a)[1], size)
