"""fft, rfft and irfft by NumPy's pocketfft, in the precision of the operand (NumPy 2 and later transform f32 in f32)."""

from __future__ import annotations

import numpy as np

from tessera_rules.declined import Declined
from tessera_rules.kernels.x86.numpy_arrays import Array, declined_ranks, quiet


@quiet
def fft(x: Array, inverse: bool = False, out: Array | None = None) -> Array | Declined:
    """Return the transform of each row. x (B, n) c64 or c128, any n ≥ 1 (primes by Bluestein's method), any strides."""
    declined = declined_ranks(x=(x, 2))
    if declined or not x.shape[1]:
        return declined or Declined("n is 0")
    return np.fft.ifft(x, axis=-1, out=out) if inverse else np.fft.fft(x, axis=-1, out=out)


@quiet
def rfft(x: Array, out: Array | None = None) -> Array | Declined:
    """Return bins 0 to n // 2 of each row. x (B, n) f32 or f64, any n ≥ 1, any strides; c64 for f32, c128 for f64."""
    declined = declined_ranks(x=(x, 2))
    return declined or (np.fft.rfft(x, axis=-1, out=out) if x.shape[1] else Declined("n is 0"))


@quiet
def irfft(x: Array, n: int | None = None, out: Array | None = None) -> Array | Declined:
    """Return n real values from n // 2 + 1 bins of each row. x (B, bins) c64 or c128, any strides; n is 2·(bins − 1) where None.

    The imaginary parts of bin 0, and of bin n/2 where n is even, are not read.
    """
    declined = declined_ranks(x=(x, 2))
    if declined:
        return declined
    count = 2 * (x.shape[1] - 1) if n is None else n
    if count < 1 or count // 2 + 1 != x.shape[1]:
        return Declined(f"{count} real values do not have {x.shape[1]} bins")
    return np.fft.irfft(x, n=count, axis=-1, out=out)
