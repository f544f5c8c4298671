"""attention and paged_attention by NumPy's BLAS, in blocks of scores that fit a cache; the softmax runs along with the keys."""

from __future__ import annotations

import numpy as np
from attrs import frozen

from tessera_rules.declined import Declined
from tessera_rules.kernels.x86.numpy_arrays import Array, declined_ranks, for_blas, quiet, widened, working_dtype

BLOCK_SCORES = 1 << 18
"""Scores in memory at a time: 1 MiB in f32, about a second-level cache."""

BLOCK_KEYS = 1 << 12

BOUNDED_ROWS = 128
"""Queries together where each sees its own range of keys: the union of a block's ranges is computed, so that fewer waste less."""


@frozen
class Form:
    """What is done to scores: see `attention`. ``offset`` is Skv − Sq."""

    scale: float
    softcap: float | None
    causal: bool
    window: int | None
    offset: int


@quiet
def attention(
    q: Array,
    k: Array,
    v: Array,
    mask: Array | None = None,
    causal: bool = False,
    scale: float | None = None,
    softcap: float | None = None,
    window: int | None = None,
    out: Array | None = None,
) -> Array | Declined:
    """Return softmax(softcap(q·kᵀ·scale) + mask)·v.

    q (B, Hq, Sq, d), k (B, Hkv, Skv, d), v (B, Hkv, Skv, Dv), mask (Sq, Skv), f64, f32, f16 or bf16, any strides. Scores,
    weights and sums are f32 (f64 for f64), the result is rounded once. Rows that see no key give zeros; a hidden key adds
    nothing, whatever its value holds. At most `BLOCK_SCORES` scores are in memory at a time, or one row of `BLOCK_KEYS`.
    """
    declined = declined_ranks(q=(q, 4), k=(k, 4), v=(v, 4), mask=(mask, 2))
    if declined:
        return declined
    batches, heads, queries, depth = q.shape
    kv_heads, keys = k.shape[1:3]
    if k.shape != (batches, kv_heads, keys, depth) or v.shape[:3] != k.shape[:3] or not kv_heads or heads % kv_heads:
        return Declined(f"q {list(q.shape)}, k {list(k.shape)} and v {list(v.shape)} do not go together")
    if mask is not None and mask.shape != (queries, keys):
        return Declined(f"mask {list(mask.shape)} is not {[queries, keys]}")
    result = np.zeros((batches, heads, queries, v.shape[3]), q.dtype) if out is None else out
    if not keys or not result.size:
        result[...] = 0
        return result
    form = Form(depth**-0.5 if scale is None else scale, softcap, causal, window, keys - queries)
    added = None if mask is None else widened(mask)
    group = heads // kv_heads
    together = max(1, BLOCK_SCORES // max(1, group * queries * keys))
    for batch in range(batches):
        for first in range(0, kv_heads, together):
            last = min(first + together, kv_heads)
            part = result[batch, first * group : last * group]
            _heads(
                q[batch, first * group : last * group].reshape(last - first, group, queries, depth),
                for_blas(k[batch, first:last]),
                for_blas(v[batch, first:last]),
                added,
                form,
                part.reshape(last - first, group, queries, -1) if part.flags.c_contiguous else None,
                part,
            )
    return result


def _heads(q: Array, k: Array, v: Array, mask: Array | None, form: Form, into: Array | None, part: Array) -> None:
    """Attend for some key/value heads (H, Skv, d) with their groups of queries (H, G, Sq, d)."""
    heads, group, queries, _ = q.shape
    keys = k.shape[1]
    columns = min(keys, BLOCK_KEYS)
    rows = max(1, BLOCK_SCORES // (heads * group * columns))
    if form.causal or form.window is not None:
        rows = min(rows, BOUNDED_ROWS)
    scaled = for_blas(q) * form.scale
    bad = _not_finite(v)
    turned = k.swapaxes(1, 2)[:, None]
    values = (v if bad is None else np.where(np.isfinite(v), v, 0))[:, None]
    result = np.empty((heads, group, queries, v.shape[2]), v.dtype) if into is None or into.dtype != v.dtype else into
    for start in range(0, queries, rows):
        stop = min(start + rows, queries)
        running = Running(heads, group, stop - start, v)
        low, high = _reach(form, start, stop, keys)
        for begin in range(low, high, columns):
            end = min(begin + columns, high)
            scores = np.matmul(scaled[:, :, start:stop], turned[..., begin:end])
            _shape_scores(scores, mask, form, start, stop, begin, end)
            running.add(scores, values[:, :, begin:end], None if bad is None else v[:, begin:end])
        result[:, :, start:stop] = running.result()
    if result is not into:
        part[...] = result.reshape(part.shape).astype(part.dtype, copy=False)


def _not_finite(v: Array) -> Array | None:
    finite = np.isfinite(v)
    return None if finite.all() else ~finite


def _reach(form: Form, start: int, stop: int, keys: int) -> tuple[int, int]:
    """Return the range of keys that some of queries start..stop see."""
    low = 0 if form.window is None else max(0, start + form.offset - form.window + 1)
    high = min(keys, stop + form.offset) if form.causal else keys
    return low, max(low, high)


def _shape_scores(scores: Array, mask: Array | None, form: Form, start: int, stop: int, begin: int, end: int) -> None:
    """Cap, mask and hide scores of queries start..stop and keys begin..end, in place."""
    if form.softcap is not None:
        scores /= form.softcap
        np.tanh(scores, out=scores)
        scores *= form.softcap
    if mask is not None:
        scores += mask[start:stop, begin:end]
    late = form.causal and end - 1 > start + form.offset
    early = form.window is not None and begin <= stop - 1 + form.offset - form.window
    if late or early:
        key = np.arange(begin, end)[None, :]
        place = np.arange(start, stop)[:, None] + form.offset
        hidden = key > place if late else np.zeros((stop - start, end - begin), dtype=bool)
        if early and form.window is not None:
            hidden |= key <= place - form.window
        np.copyto(scores, -np.inf, where=hidden)


class Running:
    """Softmax-weighted values over blocks of keys, by the largest score so far: weights are rescaled when it rises.

    Source: M. Milakov, N. Gimelshein, "Online normalizer calculation for softmax", arXiv:1805.02867.
    """

    def __init__(self, heads: int, group: int, rows: int, v: Array) -> None:
        self.top = np.full((heads, group, rows, 1), -np.inf, v.dtype)
        self.total = np.zeros((heads, group, rows, 1), v.dtype)
        self.values = np.zeros((heads, group, rows, v.shape[2]), v.dtype)
        self.empty = True

    def add(self, scores: Array, values: Array, whole: Array | None) -> None:
        """Add a block; ``whole`` holds the values as they are where ``values`` has 0 for what is not finite. Spoils ``scores``."""
        top = np.maximum(self.top, np.max(scores, axis=-1, keepdims=True))
        shift = np.where(top == -np.inf, 0, top).astype(scores.dtype, copy=False)
        seen = None if whole is None else scores != -np.inf
        scores -= shift
        np.exp(scores, out=scores)
        part = np.matmul(scores, values)
        if whole is not None and seen is not None:
            _add_not_finite(part, scores, seen, whole)
        total = np.sum(scores, axis=-1, keepdims=True)
        if self.empty:
            self.values, self.total, self.empty = part, total, False
        else:
            faded = np.exp(self.top - shift)
            self.values *= faded
            self.values += part
            self.total *= faded
            self.total += total
        self.top = top

    def result(self) -> Array:
        """Return the weighted values, zeros for rows that saw no key."""
        self.values /= np.where(self.top == -np.inf, 1, self.total).astype(self.values.dtype, copy=False)
        return self.values


def _add_not_finite(part: Array, weights: Array, seen: Array, whole: Array) -> None:
    """Add weight·value for values that are NaN or infinite, to the rows that see them."""
    finite = np.isfinite(whole)
    for head, key in zip(*np.nonzero(~finite.all(axis=2)), strict=True):
        value = np.where(finite[head, key], 0, whole[head, key])
        rows = seen[head, :, :, key]
        part[head][rows] += weights[head, :, :, key][rows][:, None] * value


@quiet
def paged_attention(
    q: Array,
    pages_k: Array,
    pages_v: Array,
    table: Array,
    lengths: Array,
    scale: float | None = None,
    softcap: float | None = None,
    out: Array | None = None,
) -> Array | Declined:
    """Return attention of one query a sequence over the first lengths[b] keys on its pages, gathered sequence by sequence.

    q (B, Hq, d), pages_k and pages_v (P, page, Hkv, d), f64, f32, f16 or bf16, table (B, T) and lengths (B) i32, any strides.
    Scores and sums are f32 (f64 for f64). What lies after a sequence's length is not read; length 0 gives zeros. A length
    without room in the table, or a page that is not there, is declined.
    """
    declined = declined_ranks(q=(q, 3), pages_k=(pages_k, 4), pages_v=(pages_v, 4), table=(table, 2), lengths=(lengths, 1))
    if declined:
        return declined
    batches, heads, depth = q.shape
    count, page, kv_heads = pages_k.shape[:3]
    fits = pages_k.shape == pages_v.shape and pages_k.shape[3] == depth and len(table) == len(lengths) == batches
    if not fits or not kv_heads or heads % kv_heads or not page:
        return Declined(f"q {list(q.shape)}, pages {list(pages_k.shape)} and {list(pages_v.shape)}, table {list(table.shape)} do not go together")
    result = np.empty(q.shape, q.dtype) if out is None else out
    dtype = working_dtype(q)
    form = Form(depth**-0.5 if scale is None else scale, softcap, False, None, 0)
    for sequence, length in enumerate(lengths.tolist()):
        used = table[sequence, : -(-length // page)]
        if length < 0 or length > table.shape[1] * page or (used < 0).any() or (used >= count).any():
            return Declined(f"sequence {sequence} has length {length} and pages that are not there")
        if not length or not heads:
            result[sequence] = 0
            continue
        k, v = (pages[used].reshape(-1, kv_heads, depth)[:length].astype(dtype, copy=False).swapaxes(0, 1) for pages in (pages_k, pages_v))
        into = np.empty((kv_heads, heads // kv_heads, 1, depth), dtype)
        _heads(q[sequence].reshape(kv_heads, heads // kv_heads, 1, depth), for_blas(k), for_blas(v), None, form, into, into)
        result[sequence] = into.reshape(heads, depth).astype(q.dtype, copy=False)
    return result
