"""pointwise by NumPy: the whole chain over one cache-sized block of rows after another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tessera_rules.declined import Declined
from tessera_rules.kernels.x86.numpy_arrays import Array, blocks, declined_ranks, quiet, working_dtype
from tessera_rules.kernels.x86.numpy_functions import BINARY, UNARY


@quiet
def pointwise(x: Array, y: Array | None = None, fn: Sequence[str] = (), out: Array | None = None) -> Array | Declined:
    """Return the functions of ``fn`` in order, from x; a binary one takes y.

    x and y (M, N) f64, f32, f16 or bf16, any strides; in f32 (f64 for f64) throughout, rounded once. ``out`` may be x or y.
    maximum and minimum give NaN where either is; sign(NaN) is NaN.
    """
    declined = declined_ranks(x=(x, 2), y=(y, 2))
    if declined or (y is not None and y.shape != x.shape):
        return declined or Declined("x and y are not of one size")
    unknown = next((word for word in fn if word not in UNARY and (word not in BINARY or y is None)), None)
    if unknown is not None:
        return Declined(f"'{unknown}' takes y" if unknown in BINARY else f"no function '{unknown}'")
    result = np.empty(x.shape, x.dtype) if out is None else out
    dtype = working_dtype(x)
    for block in blocks(x.shape, dtype.itemsize):
        part = x[block].astype(dtype, order="C", copy=True)
        other = None if y is None else y[block].astype(dtype, copy=False)
        for word in fn:
            if word in UNARY:
                UNARY[word](part)
            else:
                BINARY[word](part, other, out=part)
        result[block] = part.astype(x.dtype, copy=False)
    return result
