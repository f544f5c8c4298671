"""fft: the discrete Fourier transform of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera_rules.errors import OperandError
from tessera_rules.ops.precision import Array, quiet, rounded, sizes
from tessera_rules.oracle.bounds import Precision


@quiet
def reference64(x: Any, inverse: bool = False) -> Array:
    """Return the transform in complex128, unrounded; see `reference`."""
    dims = sizes("fft", {"x": (x, "B n")})
    if not dims["n"]:
        raise OperandError("fft takes rows of length n = 1 or more, and x has n = 0")
    wide = np.asarray(x).astype(np.complex128)
    return np.fft.ifft(wide, axis=-1) if inverse else np.fft.fft(wide, axis=-1)


def reference(x: Any, inverse: bool = False) -> Array:
    """Return X[k] = Σ_j x[j]·exp(−2πi·jk/n); ``inverse``: (1/n) Σ_k x[k]·exp(2πi·jk/n).

    Args: ``x`` (B, n) c64 or c128, any n ≥ 1, any layout. Returns (B, n) in x's dtype.

    >>> reference(np.array([[1, 0, 0, 0]], np.complex64)).real
    array([[1., 1., 1., 1.]], dtype=float32)
    """
    return rounded(reference64(x, inverse), np.asarray(x).dtype)


def rows_error(precision: Precision, result: Array, norm: Array, n: int) -> Array:
    """Return the error of a transform of n points of rows of Euclidean ``norm``, but for the rounding of the result.

    6·log₂ n + 8 roundings of the norm and of the element itself: each of the log₂ n stages rounds values whose root mean
    square is that of the result, the norm, and a pure tone gathers all of its rounding where its peak is. Primes by
    Bluestein's method go through three transforms of twice the length.
    """
    error: Array = precision.acc * (6 * np.log2(n) + 8) * (norm + np.abs(result))
    return error


def error_bound(precision: Precision, result: Array, x: Any, inverse: bool = False) -> Array:
    """Return the error of the transform, over n where it is the inverse, and the rounding of the result."""
    n = result.shape[-1]
    norm = np.linalg.norm(np.asarray(x).astype(np.complex128), axis=-1, keepdims=True) / (n if inverse else 1)
    return rows_error(precision, result, norm, n) + precision.rounding(result)
