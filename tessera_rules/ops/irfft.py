"""irfft: real rows from the first half of their transform."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera_rules.errors import OperandError
from tessera_rules.ops.fft import rows_error
from tessera_rules.ops.precision import Array, quiet, rounded, sizes
from tessera_rules.oracle.bounds import Precision


def length(bins: int, n: int | None) -> int:
    """Return how many real values there are. Raises `OperandError` where n does not go with the bins.

    >>> length(5, None), length(5, 9)
    (8, 9)
    """
    count = 2 * (bins - 1) if n is None else n
    if count < 1 or count // 2 + 1 != bins:
        says = "without n that is 2·(bins − 1) = 0 values" if n is None else f"{n} real values have {n // 2 + 1} bins"
        raise OperandError(f"irfft of bins = {bins}{'' if n is None else f' with n = {n}'}: {says}, and n is 1 or more", hint=f"n={2 * bins - 1}")
    return count


@quiet
def reference64(x: Any, n: int | None = None) -> Array:
    """Return the real rows in float64, unrounded; see `reference`."""
    count = length(sizes("irfft", {"x": (x, "B bins")})["bins"], n)
    # Half the transform stands for the whole, whose other half is its conjugate: bin 0, and bin n/2 of an even n, are real.
    wide = np.asarray(x).astype(np.complex128)
    wide[:, 0] = wide[:, 0].real
    if count % 2 == 0:
        wide[:, -1] = wide[:, -1].real
    return np.fft.irfft(wide, n=count, axis=-1)


def reference(x: Any, n: int | None = None) -> Array:
    """Return the n real values whose first n // 2 + 1 bins are x.

    Args: ``x`` (B, bins) c64 or c128, any layout; ``n`` the length, 2·(bins − 1) where it is None. The imaginary parts of
    bin 0, and of bin n/2 where n is even, are not read. Returns (B, n), f32 for c64 and f64 for c128.
    Raises: `OperandError` where n // 2 + 1 is not bins, or n would be 0.

    >>> reference(np.array([[3, 0]], np.complex64), n=3)
    array([[1., 1., 1.]], dtype=float32)
    """
    return rounded(reference64(x, n), np.float64 if np.asarray(x).dtype == np.complex128 else np.float32)


def error_bound(precision: Precision, result: Array, x: Any, n: int | None = None) -> Array:
    """Return the error of the inverse transform and the rounding of the result. The half that is given counts twice."""
    count = result.shape[-1]
    norm = np.sqrt(2.0) * np.linalg.norm(np.asarray(x).astype(np.complex128), axis=-1, keepdims=True) / count
    return rows_error(precision, result, norm, count) + precision.rounding(result)
