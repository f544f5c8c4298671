"""Python kernels, wrong by one mechanism each, and right ones, for the tests of the oracle."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from tessera_rules.ops import attention as attention_op
from tessera_rules.ops import gemm as gemm_op
from tessera_rules.ops import matmul as matmul_op
from tessera_rules.ops import pointwise as pointwise_op

Array = np.ndarray[Any, Any]


# ---- product ----


def right(a: Array, b: Array) -> Array:
    with np.errstate(all="ignore"):
        return (a.astype(np.float64) @ b.astype(np.float64)).astype(a.dtype)


def another_reference(a: Array, b: Array) -> Array:
    return np.einsum("ik,kj->ij", a.astype(np.float64), b.astype(np.float64))


def hands_back_the_reference(a: Array, b: Array) -> Array:
    return matmul_op.reference(a, b)


def hands_back_the_reference_from_a_thread(a: Array, b: Array) -> Array:
    found: list[Array] = []
    worker = threading.Thread(target=lambda: found.append(matmul_op.reference(a, b)))
    worker.start()
    worker.join()
    return found[0]


def leading_axis(a: Array, b: Array) -> Array:
    return right(a, b)[None]


def a_scalar(a: Array, b: Array) -> Any:
    return right(a, b).sum()


def wider_dtype(a: Array, b: Array) -> Array:
    return right(a, b).astype(np.float64)


def a_list(a: Array, b: Array) -> Any:
    return right(a, b).tolist()


def nothing(a: Array, b: Array) -> None:
    return None


def two_results(a: Array, b: Array) -> Any:
    return right(a, b), right(a, b)


def in_place(a: Array, b: Array) -> Array:
    result = right(a, b)
    a *= 2
    return result


def natural_layout(a: Array, b: Array) -> Array:
    if not a.flags.c_contiguous:
        raise ValueError("a is not contiguous")
    return right(a, b)


def reads_natural_layout(a: Array, b: Array) -> Array:
    memory = a
    if memory.strides[-1] != memory.itemsize and memory.ndim == 2 and memory.strides[0] == memory.itemsize:
        memory = np.ascontiguousarray(memory.T).reshape(memory.shape)
    return right(memory, b)


def in_tf32(a: Array, b: Array) -> Array:
    return right(_cut(a, 11), _cut(b, 11))


def _cut(x: Array, bits: int) -> Array:
    fraction, exponent = np.frexp(x.astype(np.float64))
    with np.errstate(all="ignore"):
        return np.ldexp(np.rint(fraction * 2.0**bits), exponent - bits).astype(x.dtype)


def sloppy(a: Array, b: Array) -> Array:
    return (right(a, b) * np.float32(1 + 2.0**-12)).astype(a.dtype)


def zeros(a: Array, b: Array) -> Array:
    return np.zeros((a.shape[0], b.shape[1]), a.dtype)


def row_depends_on_rows(a: Array, b: Array) -> Array:
    result = right(a, b)
    return result if a.shape[0] < 8 else np.where(np.isfinite(result), np.nextafter(result, np.zeros_like(result)), result)


class Noise:
    rng = np.random.default_rng(1)


def noisy(a: Array, b: Array) -> Array:
    result = right(a, b)
    moved = np.isfinite(result) & (Noise.rng.random(result.shape) < 0.5)
    return np.where(moved, np.nextafter(result, np.zeros_like(result)), result)


# ---- gemm ----


def gemm_right(a: Array, b: Array, c: Array, alpha: float, beta: float) -> None:
    c[...] = gemm_right_value(a, b, c, alpha, beta)


def gemm_right_value(a: Array, b: Array, c: Array, alpha: float, beta: float) -> Array:
    product = alpha * (a.astype(np.float64) @ b.astype(np.float64))
    return (product if beta == 0 else product + beta * c.astype(np.float64)).astype(a.dtype)


def gemm_alpha_dropped_past_a_tile(a: Array, b: Array, c: Array, alpha: float, beta: float) -> None:
    result = gemm_right_value(a, b, c, alpha, beta)
    if beta != 0:
        result[16:] = gemm_right_value(a[16:], b, c[16:], 1.0, beta)
    c[...] = result


def gemm_reads_c(a: Array, b: Array, c: Array, alpha: float, beta: float) -> None:
    c[...] = (alpha * (a.astype(np.float64) @ b.astype(np.float64)) + beta * c.astype(np.float64)).astype(a.dtype)


def gemm_beta_ignored(a: Array, b: Array, c: Array, alpha: float, beta: float) -> None:
    c[...] = gemm_right_value(a, b, c, alpha, 0.0)


def gemm_accumulates_twice(a: Array, b: Array, c: Array, alpha: float, beta: float) -> None:
    gemm_right(a, b, c, alpha, beta)
    if beta != 0:
        c += (beta * c.astype(np.float64)).astype(c.dtype) * 0 + (c * 0 + 1)


# ---- attention ----


def attention_right(q: Array, k: Array, v: Array, mask: Any, causal: bool, scale: Any, softcap: Any, window: Any) -> Array:
    scores = np.einsum("bhid,bhjd->bhij", q.astype(np.float64), np.repeat(k, q.shape[1] // k.shape[1], 1).astype(np.float64))
    scores = scores * (q.shape[-1] ** -0.5 if scale is None else scale)
    scores = scores if softcap is None else softcap * np.tanh(scores / softcap)
    scores = scores if mask is None else scores + mask.astype(np.float64)
    seen = attention_op.visible(0, q.shape[2], q.shape[2], k.shape[2], causal, window)
    return attention_weighted(np.where(seen, scores, -np.inf), v, q)


def attention_weighted(scores: Array, v: Array, q: Array) -> Array:
    values = np.repeat(v, q.shape[1] // v.shape[1], 1).astype(np.float64)
    if not scores.shape[-1]:
        return np.zeros((*scores.shape[:-1], v.shape[-1]), q.dtype)
    with np.errstate(all="ignore"):
        top = np.max(scores, axis=-1, keepdims=True)
        weights = np.exp(scores - np.where(np.isfinite(top), top, 0.0))
        total = weights.sum(-1, keepdims=True)
        return (np.where(total > 0, weights / np.where(total > 0, total, 1.0), 0.0) @ values).astype(q.dtype)


def attention_ignores_scale(q: Array, k: Array, v: Array, mask: Any, causal: bool, scale: Any, softcap: Any, window: Any) -> Array:
    return attention_right(q, k, v, mask, causal, None, softcap, window)


def attention_ignores_causal(q: Array, k: Array, v: Array, mask: Any, causal: bool, scale: Any, softcap: Any, window: Any) -> Array:
    return attention_right(q, k, v, mask, False, scale, softcap, window)


def attention_ignores_softcap(q: Array, k: Array, v: Array, mask: Any, causal: bool, scale: Any, softcap: Any, window: Any) -> Array:
    return attention_right(q, k, v, mask, causal, scale, None, window)


def attention_window_of_four(q: Array, k: Array, v: Array, mask: Any, causal: bool, scale: Any, softcap: Any, window: Any) -> Array:
    return attention_right(q, k, v, mask, causal, scale, softcap, None if window is None else 4)


def attention_heads_modulo(q: Array, k: Array, v: Array, mask: Any, causal: bool, scale: Any, softcap: Any, window: Any) -> Array:
    group = q.shape[1] // k.shape[1]
    order = np.arange(q.shape[1]).reshape(group, -1).T.reshape(-1) if group > 1 else np.arange(q.shape[1])
    return attention_right(q[:, order], k, v, mask, causal, scale, softcap, window)[:, np.argsort(order)]


def attention_causal_from_the_start(q: Array, k: Array, v: Array, mask: Any, causal: bool, scale: Any, softcap: Any, window: Any) -> Array:
    if causal and q.shape[2] < k.shape[2]:
        k, v, mask = k[:, :, : q.shape[2]], v[:, :, : q.shape[2]], None if mask is None else mask[:, : q.shape[2]]
    return attention_right(q, k, v, mask, causal, scale, softcap, window)


def attention_broadcast_keys(q: Array, k: Array, v: Array, mask: Any, causal: bool, scale: Any, softcap: Any, window: Any) -> Array:
    if 0 in k.strides and k.shape[2] > 1:
        k = k * np.asarray(1.5, k.dtype)
    return attention_right(q, k, v, mask, causal, scale, softcap, window)


def attention_output_of_k_width(q: Array, k: Array, v: Array, mask: Any, causal: bool, scale: Any, softcap: Any, window: Any) -> Array:
    result = attention_right(q, k, v, mask, causal, scale, softcap, window)
    return result if v.shape[-1] == k.shape[-1] else np.resize(result, (*q.shape[:3], k.shape[-1]))


# ---- pointwise ----


def pointwise_right(x: Array, y: Any, fn: Any) -> Array:
    with np.errstate(all="ignore"):
        return pointwise_op.reference64(x, y, fn).astype(x.dtype) if False else _chain(x, y, fn)


def _chain(x: Array, y: Any, fn: Any) -> Array:
    from tessera_rules.ops.functions import BINARY, UNARY

    value = x.astype(np.float64)
    for word in fn:
        value = UNARY[word](value) if word in UNARY else BINARY[word](value, y.astype(np.float64))
    return value.astype(x.dtype)


def pointwise_drops_nan(x: Array, y: Any, fn: Any) -> Array:
    with np.errstate(all="ignore"):
        value = _chain(x, y, fn)
        return np.where(np.isnan(value) & np.isnan(x), 0, value).astype(x.dtype) if "relu" in fn else value


def pointwise_fmax(x: Array, y: Any, fn: Any) -> Array:
    with np.errstate(all="ignore"):
        return np.fmax(x, y) if tuple(fn) == ("maximum",) else _chain(x, y, fn)


def gemm_reference(a: Array, b: Array, c: Array, alpha: float, beta: float) -> None:
    c[...] = gemm_op.reference(a, b, c, alpha, beta)
