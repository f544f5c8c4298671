"""scaled_matmul by NumPy's BLAS."""

from __future__ import annotations

import numpy as np

from tessera_rules.bind.arrays import dtype_of
from tessera_rules.declined import Declined
from tessera_rules.kernels.x86.numpy_arrays import Array, declined_ranks, quiet

EXACT_DEPTH = {"int8": 1 << 10, "int4": 1 << 18}
"""K up to which sums of products are below 2²⁴ in magnitude, so that sgemm is exact in any order: 2²⁴ / 2¹⁴ and 2²⁴ / 2⁶."""

FLOATS = ("f64", "f32", "f16", "bf16")


@quiet
def scaled_matmul(a: Array, b: Array, scale_a: Array, scale_b: Array, out: str | None = None) -> Array | Declined:
    """Return (a·b) · scale_a · scale_bᵀ. a (M, K), b (K, N) of i8, i4 or f8; scale_a (M), scale_b (N) f32; any strides.

    Integers are summed exactly, by sgemm over slices of K and float64 between them; f8 by sgemm in f32. Scaled in float64,
    rounded once to ``out`` (i32 for integers and f32 for floats where it is None): i32 to nearest even, saturating.
    """
    declined = declined_ranks(a=(a, 2), b=(b, 2), scale_a=(scale_a, 1), scale_b=(scale_b, 1))
    if declined:
        return declined
    if a.shape[1] != b.shape[0] or scale_a.shape[0] != a.shape[0] or scale_b.shape[0] != b.shape[1]:
        return Declined(f"a {list(a.shape)}, b {list(b.shape)} and scales of {len(scale_a)} and {len(scale_b)} do not go together")
    integer = a.dtype.name in EXACT_DEPTH
    if out is None:
        out = "i32" if integer else "f32"
    value = _product(a, b, EXACT_DEPTH[a.dtype.name]) if integer else a.astype(np.float32) @ b.astype(np.float32)
    scaled: Array = value.astype(np.float64)
    scaled *= scale_a[:, None]
    scaled *= scale_b
    if out == "i32":
        np.rint(scaled, out=scaled)
        whole: Array = np.nan_to_num(np.clip(scaled, -(2.0**31), 2.0**31 - 1), copy=False).astype(np.int32)
        return whole
    return scaled.astype(dtype_of(out)) if out in FLOATS else Declined(f"no result of dtype {out}")


def _product(a: Array, b: Array, depth: int) -> Array:
    """Return the exact product of integers: in f32 where that holds it, else in float64."""
    k = a.shape[1]
    if k <= depth:
        return a.astype(np.float32) @ b.astype(np.float32)
    total = np.zeros((a.shape[0], b.shape[1]), np.float64)
    for start in range(0, k, depth):
        total += a[:, start : start + depth].astype(np.float32) @ b[start : start + depth].astype(np.float32)
    return total
