"""fft: the discrete Fourier transform of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera_rules.errors import OperandError
from tessera_rules.ops.precision import Array, quiet, rounded, sizes


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
