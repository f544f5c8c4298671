"""Products by NumPy's BLAS: matmul, batched_matmul, gemm, fused_matmul, gated_matmul.

f32 is multiplied by sgemm and f64 by dgemm; f16 and bf16 are widened to f32 first, so that sums are in f32, and rounded once
at the end. Operands that BLAS cannot take as they lie (reversed, broadcast, misaligned) are copied. K = 0 gives zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tessera_rules.declined import Declined
from tessera_rules.kernels.x86.numpy_arrays import Array, blocks, declined_ranks, delivered, for_blas, quiet, working_dtype
from tessera_rules.kernels.x86.numpy_functions import ACTS
from tessera_rules.kernels.x86.numpy_rows import layernorm_rows, rmsnorm_rows, softmax_rows


def product(a: Array, b: Array, out: Array | None = None) -> Array:
    """Return a·b in the working dtype, in ``out`` where BLAS can write there."""
    left, right = for_blas(a), for_blas(b)
    if out is not None and out.dtype == left.dtype and out.flags.c_contiguous and out.flags.aligned:
        return np.matmul(left, right, out=out)
    result: Array = np.matmul(left, right)
    return result


def _shapes(a: Array, b: Array, rank: int, names: tuple[str, str] = ("a", "b")) -> Declined | None:
    declined = declined_ranks(**{names[0]: (a, rank), names[1]: (b, rank)})
    if declined:
        return declined
    if a.shape[-1] != b.shape[-2] or a.shape[:-2] != b.shape[:-2]:
        return Declined(f"{names[0]} {list(a.shape)} and {names[1]} {list(b.shape)} do not make a product")
    return None


@quiet
def matmul(a: Array, b: Array, out: Array | None = None) -> Array | Declined:
    """Return a·b. a (M, K), b (K, N), f64, f32, f16 or bf16, any strides; f32 sums for 16 bits. ``out`` overlaps neither."""
    return _shapes(a, b, 2) or delivered(product(a, b, out), a.dtype, out)


@quiet
def batched_matmul(a: Array, b: Array, out: Array | None = None) -> Array | Declined:
    """Return a[i]·b[i]. a (B, M, K), b (B, K, N), f64, f32, f16 or bf16, any strides; f32 sums for 16 bits. ``out`` overlaps neither."""
    return _shapes(a, b, 3) or delivered(product(a, b, out), a.dtype, out)


@quiet
def gemm(a: Array, b: Array, c: Array, alpha: float = 1.0, beta: float = 0.0) -> Array | Declined:
    """Write alpha·a·b + beta·c to c and return it. c (M, N) any strides, not read where beta is 0; rounded once.

    a (M, K), b (K, N), f64, f32, f16 or bf16, any strides. The product is done before c is written, so c may overlap a or b.
    """
    declined = _shapes(a, b, 2)
    if declined or c.shape != (a.shape[0], b.shape[1]):
        return declined or Declined(f"c {list(c.shape)} is not as large as the product, {[a.shape[0], b.shape[1]]}")
    result = product(a, b)
    if alpha != 1.0:
        result *= alpha
    if beta != 0.0:
        result += c if beta == 1.0 else beta * c.astype(result.dtype, copy=False)
    c[...] = result.astype(c.dtype, copy=False)
    return c


REDUCTIONS: dict[str, Callable[[Array, float], None] | None] = {
    "none": None,
    "softmax": lambda x, eps: softmax_rows(x),
    "rmsnorm": rmsnorm_rows,
    "layernorm": layernorm_rows,
}


@quiet
def fused_matmul(
    a: Array,
    b: Array,
    bias: Array | None = None,
    residual: Array | None = None,
    prologue: Sequence[str] = (),
    epilogue: Sequence[str] = (),
    reduction: str = "none",
    eps: float = 1e-6,
    out: Array | None = None,
) -> Array | Declined:
    """Return reduction(epilogue(prologue(a)·b) + residual): one product by BLAS, the rest in cache-sized blocks of rows.

    a (M, K), b (K, N), bias (N), residual (M, N), f64, f32, f16 or bf16, any strides. Everything between the product and the
    result is in f32 (f64 for f64), rounded once. Acts as `numpy_functions` has them; ``out`` overlaps no operand.
    """
    declined = _shapes(a, b, 2) or declined_ranks(bias=(bias, 1), residual=(residual, 2))
    if declined:
        return declined
    shape = (a.shape[0], b.shape[1])
    if bias is not None and bias.shape != shape[1:]:
        return Declined(f"bias has {len(bias)} elements, and the product has {shape[1]} columns")
    if residual is not None and residual.shape != shape:
        return Declined(f"residual {list(residual.shape)} is not as large as the product, {list(shape)}")
    if ("bias" in epilogue) != (bias is not None) or reduction not in REDUCTIONS:
        return Declined("the epilogue and the bias do not go together" if reduction in REDUCTIONS else f"no reduction '{reduction}'")
    left = _prologue(a, prologue) if prologue else a
    value = product(left, b, out)
    shift = None if bias is None else bias.astype(value.dtype, copy=False)
    reduce = REDUCTIONS[reduction] if shape[1] else None
    if epilogue or residual is not None or reduce is not None:
        for block in blocks(shape, value.itemsize):
            part = value[block]
            for word in epilogue:
                if word == "bias":
                    part += shift
                else:
                    ACTS[word](part)
            if residual is not None:
                part += residual[block].astype(part.dtype, copy=False)
            if reduce is not None:
                reduce(part, eps)
    return delivered(value, a.dtype, out)


def _prologue(a: Array, words: Sequence[str]) -> Array:
    left = np.empty(a.shape, working_dtype(a))
    for block in blocks(a.shape, left.itemsize):
        part = left[block]
        part[...] = a[block].astype(left.dtype, copy=False)
        for word in words:
            ACTS[word](part)
    return left


@quiet
def gated_matmul(a: Array, wg: Array, wu: Array, gate: str = "silu", out: Array | None = None) -> Array | Declined:
    """Return gate(a·wg) * (a·wu): two products by BLAS, the gate in cache-sized blocks of rows.

    a (M, K), wg and wu (K, H), f64, f32, f16 or bf16, any strides; rounded once. ``out`` overlaps no operand.
    """
    declined = _shapes(a, wg, 2, ("a", "wg")) or _shapes(a, wu, 2, ("a", "wu"))
    if declined or wg.shape != wu.shape:
        return declined or Declined(f"wg {list(wg.shape)} and wu {list(wu.shape)} are not of one size")
    left: Any = for_blas(a)
    up = product(left, wu)
    value = product(left, wg, out)
    act = ACTS[gate]
    for block in blocks(value.shape, value.itemsize):
        part = value[block]
        act(part)
        part *= up[block]
    return delivered(value, a.dtype, out)
