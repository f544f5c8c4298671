"""softmax, rmsnorm and layernorm of rows by NumPy, in cache-sized blocks of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tessera_rules.declined import Declined
from tessera_rules.kernels.x86.numpy_arrays import Array, blocks, declined_ranks, quiet, working_dtype


def softmax_rows(x: Array) -> None:
    """x = e^(x − max) / Σ, over the last axis, in place; at least one column."""
    x -= np.max(x, axis=-1, keepdims=True)
    np.exp(x, out=x)
    x /= np.sum(x, axis=-1, keepdims=True)


def rmsnorm_rows(x: Array, eps: float) -> None:
    """x = x / √(mean(x²) + eps), over the last axis, in place; at least one column."""
    square = np.square(x)
    x /= np.sqrt(np.sum(square, axis=-1, keepdims=True) / x.shape[-1] + eps)


def layernorm_rows(x: Array, eps: float) -> None:
    """x = (x − mean) / √(var + eps), over the last axis, in place, by two passes; at least one column."""
    x -= np.sum(x, axis=-1, keepdims=True) / x.shape[-1]
    rmsnorm_rows(x, eps)


def _by_blocks(x: Array, out: Array | None, rows: Callable[[Array], None]) -> Array:
    result = np.empty(x.shape, x.dtype) if out is None else out
    if not x.size:
        return result
    dtype = working_dtype(x)
    for block in blocks(x.shape, dtype.itemsize):
        part = x[block].astype(dtype, order="C", copy=True)
        rows(part)
        result[block] = part.astype(x.dtype, copy=False)
    return result


@quiet
def softmax(x: Array, out: Array | None = None) -> Array | Declined:
    """Return e^(x − max) / Σ over N. x (M, N) f64, f32, f16 or bf16, any strides; f32 arithmetic (f64 for f64).

    ``out`` may be x. Rows of −Inf alone, and with Inf or NaN, are NaN.
    """
    return declined_ranks(x=(x, 2)) or _by_blocks(x, out, softmax_rows)


@quiet
def rmsnorm(x: Array, weight: Array | None = None, eps: float = 1e-6, out: Array | None = None) -> Array | Declined:
    """Return x / √(mean(x²) + eps) · weight over N. x (M, N) f64, f32, f16 or bf16, any strides; f32 arithmetic (f64 for f64).

    ``out`` may be x. In f32 a row with a square sum over 3·10³⁸ gives zeros, where exact arithmetic would not.
    """
    declined = declined_ranks(x=(x, 2), weight=(weight, 1))
    if declined or (weight is not None and weight.shape != x.shape[1:]):
        return declined or Declined(f"weight has {len(weight)} elements, and rows have {x.shape[1]}")  # type: ignore[arg-type]
    scale = None if weight is None else weight.astype(working_dtype(x))

    def rows(part: Array) -> None:
        rmsnorm_rows(part, eps)
        if scale is not None:
            part *= scale

    return _by_blocks(x, out, rows)


@quiet
def layernorm(x: Array, weight: Array | None = None, bias: Array | None = None, eps: float = 1e-5, out: Array | None = None) -> Array | Declined:
    """Return (x − mean) / √(var + eps) · weight + bias over N, population variance by two passes.

    x (M, N) f64, f32, f16 or bf16, any strides; f32 arithmetic (f64 for f64). ``out`` may be x.
    """
    declined = declined_ranks(x=(x, 2), weight=(weight, 1), bias=(bias, 1))
    if declined:
        return declined
    vectors: list[Any] = [None if v is None else v.astype(working_dtype(x)) for v in (weight, bias)]
    if any(v is not None and v.shape != x.shape[1:] for v in vectors):
        return Declined(f"weight and bias have as many elements as rows have, {x.shape[1]}")
    scale, shift = vectors

    def rows(part: Array) -> None:
        layernorm_rows(part, eps)
        if scale is not None:
            part *= scale
        if shift is not None:
            part += shift

    return _by_blocks(x, out, rows)
