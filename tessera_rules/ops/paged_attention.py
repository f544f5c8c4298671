"""paged_attention: decode over keys and values that lie in pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tessera_rules.errors import OperandError
from tessera_rules.ops import attention
from tessera_rules.ops.attention import capped, group_size, weighted
from tessera_rules.ops.precision import Array, quiet, rounded, sizes, widened
from tessera_rules.oracle.bounds import Precision


@quiet
def reference64(q: Any, pages_k: Any, pages_v: Any, table: Any, lengths: Any, scale: float | None = None, softcap: float | None = None) -> Array:
    """Return paged attention in float64, unrounded; see `reference`."""
    q, pages_k, pages_v = np.asarray(q), np.asarray(pages_k), np.asarray(pages_v)
    pages = "P page Hkv head_dim"
    operands = {"q": (q, "B Hq head_dim"), "pages_k": (pages_k, pages), "pages_v": (pages_v, pages), "table": (table, "B T"), "lengths": (lengths, "B")}
    dims = sizes("paged_attention", operands)
    group = group_size("paged_attention", dims["Hq"], dims["Hkv"])
    factor = dims["head_dim"] ** -0.5 if scale is None else scale
    out = np.zeros((dims["B"], dims["Hq"], dims["head_dim"]))
    for sequence in range(dims["B"]):
        used = used_pages(table, lengths, sequence, dims["P"], dims["page"])
        if not len(used):
            continue
        count = int(lengths[sequence])
        keys = widened(pages_k[used]).reshape(-1, dims["Hkv"], dims["head_dim"])[:count]
        values = widened(pages_v[used]).reshape(-1, dims["Hkv"], dims["head_dim"])[:count]
        for head in range(dims["Hq"]):
            scores = capped(widened(q[sequence, head])[None] @ keys[:, head // group].T * factor, softcap)
            out[sequence, head] = weighted(scores, values[:, head // group])[0]
    return out


def used_pages(table: Any, lengths: Any, sequence: int, pages: int, page: int) -> Array:
    """Return the pages that hold a sequence's keys. Raises `OperandError` for a length or a page that is not there."""
    length = int(lengths[sequence])
    count = -(-length // page)
    if length < 0 or count > np.shape(table)[1]:
        raise OperandError(f"lengths[{sequence}] is {length}, and a row of table has room for 0 to {np.shape(table)[1] * page} keys")
    used = np.asarray(table)[sequence, :count].astype(np.int64)
    wrong = np.flatnonzero((used < 0) | (used >= pages))
    if len(wrong):
        raise OperandError(f"table[{sequence}, {wrong[0]}] is {used[wrong[0]]}, and pages are 0 to {pages - 1}")
    return used


def reference(q: Any, pages_k: Any, pages_v: Any, table: Any, lengths: Any, scale: float | None = None, softcap: float | None = None) -> Array:
    """Return attention of one query a sequence over the first ``lengths[b]`` keys on its pages.

    Args: ``q`` (B, Hq, head_dim), ``pages_k`` and ``pages_v`` (P, page, Hkv, head_dim), any layout, one dtype; ``table`` (B, T)
    i32: key j of sequence b lies on page table[b, j // page] at j % page; ``lengths`` (B) i32. ``scale`` and ``softcap`` as in
    attention. Returns (B, Hq, head_dim) in q's dtype; length 0 gives zeros. What lies after the length, on pages and in the
    table, is not read.
    Raises: `OperandError` for a size that does not fit, a length without room in the table, a page that is not there.

    >>> pages = np.arange(4.0).reshape(2, 2, 1, 1)
    >>> reference(np.zeros((1, 1, 1)), pages, pages, np.array([[1, 0]], np.int32), np.array([3], np.int32)).ravel() * 3
    array([5.])
    """
    return rounded(reference64(q, pages_k, pages_v, table, lengths, scale, softcap), np.asarray(q).dtype)


def sample_operands(rng: np.random.Generator, dims: Mapping[str, int], attrs: Mapping[str, Any]) -> dict[str, Array]:
    """Return tables and lengths that hold together: lengths from 0 to what the table has room for (the first is full), pages in any order.

    >>> found = sample_operands(np.random.default_rng(0), {"B": 2, "T": 3, "page": 4, "P": 8}, {})
    >>> found["table"].shape, bool((found["lengths"] <= 12).all())
    ((2, 3), True)
    """
    room = dims["T"] * dims["page"] if dims["P"] else 0
    table = rng.integers(0, max(1, dims["P"]), (dims["B"], dims["T"])).astype(np.int32)
    lengths = rng.integers(0, room + 1, dims["B"]).astype(np.int32)
    lengths[:1] = room  # one sequence fills its table, so that no sample is of empty sequences alone
    return {"table": table, "lengths": lengths}


@quiet
def error_bound(
    precision: Precision,
    result: Array,
    q: Any,
    pages_k: Any,
    pages_v: Any,
    table: Any,
    lengths: Any,
    scale: float | None = None,
    softcap: float | None = None,
) -> Array:
    """Return the bound of attention, sequence by sequence over the keys that are there."""
    error = np.zeros(result.shape) + precision.rounding(result)
    pages, page, kv_heads, depth = np.shape(pages_k)
    for sequence in range(len(error)):
        used, count = used_pages(table, lengths, sequence, pages, page), int(lengths[sequence])
        if count:
            k, v = (np.asarray(x)[used].reshape(-1, kv_heads, depth)[:count].swapaxes(0, 1)[None] for x in (pages_k, pages_v))
            one = np.asarray(q)[sequence][None, :, None]
            error[sequence] = attention.error_bound(precision, result[sequence][None, :, None], one, k, v, scale=scale, softcap=softcap)[0, :, 0]
    return error
