"""rfft: the first half of the transform of real rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera_rules.errors import OperandError
from tessera_rules.ops.fft import rows_error
from tessera_rules.ops.precision import Array, quiet, rounded, sizes, widened
from tessera_rules.oracle.bounds import Precision


@quiet
def reference64(x: Any) -> Array:
    """Return the bins in complex128, unrounded; see `reference`."""
    if not sizes("rfft", {"x": (x, "B n")})["n"]:
        raise OperandError("rfft takes rows of length n = 1 or more, and x has n = 0")
    return np.fft.rfft(widened(x), axis=-1)


def reference(x: Any) -> Array:
    """Return bins 0 to n // 2 of Σ_j x[j]·exp(−2πi·jk/n).

    Args: ``x`` (B, n) f32 or f64, any n ≥ 1, any layout. Returns (B, n // 2 + 1), c64 for f32 and c128 for f64.

    >>> reference(np.ones((1, 3), np.float32)).round(3)
    array([[3.+0.j, 0.+0.j]], dtype=complex64)
    """
    return rounded(reference64(x), np.complex128 if np.asarray(x).dtype == np.float64 else np.complex64)


def error_bound(precision: Precision, result: Array, x: Any) -> Array:
    """Return the error of the transform and the rounding of the result."""
    return rows_error(precision, result, np.linalg.norm(widened(x), axis=-1, keepdims=True), np.shape(x)[-1]) + precision.rounding(result)
