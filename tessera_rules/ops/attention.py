"""attention: softmax(softcap(q·kᵀ·scale) + mask)·v."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera_rules.errors import OperandError
from tessera_rules.ops.precision import Array, quiet, rounded, sizes, widened
from tessera_rules.oracle.bounds import Precision, phi

BLOCK_ELEMENTS = 1 << 20
"""Scores in memory at a time: 8 MiB in float64."""


@quiet
def reference64(
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    causal: bool = False,
    scale: float | None = None,
    softcap: float | None = None,
    window: int | None = None,
) -> Array:
    """Return attention in float64, unrounded; see `reference`."""
    q, k, v = np.asarray(q), np.asarray(k), np.asarray(v)
    operands = {"q": (q, "B Hq Sq head_dim"), "k": (k, "B Hkv Skv head_dim"), "v": (v, "B Hkv Skv Dv"), "mask": (mask, "Sq Skv")}
    dims = sizes("attention", operands)
    group = group_size("attention", dims["Hq"], dims["Hkv"])
    out = np.zeros((dims["B"], dims["Hq"], dims["Sq"], dims["Dv"]))
    if not out.size or not dims["Skv"]:
        return out
    factor = dims["head_dim"] ** -0.5 if scale is None else scale
    added = None if mask is None else widened(mask)
    rows = max(1, BLOCK_ELEMENTS // dims["Skv"])
    for batch in range(dims["B"]):
        for head in range(dims["Hq"]):
            queries, keys, values = widened(q[batch, head]), widened(k[batch, head // group]), widened(v[batch, head // group])
            for start in range(0, dims["Sq"], rows):
                stop = min(start + rows, dims["Sq"])
                scores = capped(queries[start:stop] @ keys.T * factor, softcap)
                if added is not None:
                    scores = scores + added[start:stop]
                scores[~visible(start, stop, dims["Sq"], dims["Skv"], causal, window)] = -np.inf
                out[batch, head, start:stop] = weighted(scores, values)
    return out


def group_size(op: str, heads: int, kv_heads: int) -> int:
    """Return the query heads per key/value head. Raises `OperandError` where they do not come in whole groups."""
    if not kv_heads or heads % kv_heads:
        raise OperandError(f"{op} has Hq = {heads} query heads and Hkv = {kv_heads}: query heads come in whole groups per key/value head")
    return heads // kv_heads


def capped(scores: Array, softcap: float | None) -> Array:
    """Return softcap·tanh(s / softcap), or the scores where there is no cap."""
    return scores if softcap is None else softcap * np.tanh(scores / softcap)


def visible(start: int, stop: int, queries: int, keys: int, causal: bool, window: int | None) -> Array:
    """Return which keys queries start..stop see, (stop − start, keys): the last query stands at the last key.

    >>> visible(0, 2, 2, 3, True, 2).astype(int).tolist()
    [[1, 1, 0], [0, 1, 1]]
    """
    place = np.arange(start, stop)[:, None] + (keys - queries)
    key = np.arange(keys)[None, :]
    seen: Array = np.ones((stop - start, keys), dtype=bool)
    if causal:
        seen &= key <= place
    if window is not None:
        seen &= key > place - window
    return seen


@quiet
def weighted(scores: Array, values: Array) -> Array:
    """Return softmax(scores)·values for scores (rows, keys) and values (keys, Dv).

    A score of −Inf hides its key, whatever the value there; a row of them gives zeros.
    """
    top = np.max(scores, axis=-1, keepdims=True)
    weights = np.exp(scores - np.where(top == -np.inf, 0.0, top))
    total = np.sum(weights, axis=-1, keepdims=True)
    weights /= np.where(top == -np.inf, 1.0, total)
    finite = np.isfinite(values)
    out: Array = weights @ np.where(finite, values, 0.0)
    for key in np.flatnonzero(~finite.all(axis=1)):
        seen = scores[:, key] != -np.inf
        out[seen] += weights[seen, key, None] * np.where(finite[key], 0.0, values[key])
    return out


def reference(
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    causal: bool = False,
    scale: float | None = None,
    softcap: float | None = None,
    window: int | None = None,
) -> Array:
    """Return softmax(softcap(q·kᵀ·scale) + mask)·v over the keys that each query sees.

    Args: ``q`` (B, Hq, Sq, head_dim), ``k`` (B, Hkv, Skv, head_dim), ``v`` (B, Hkv, Skv, Dv), ``mask`` (Sq, Skv) added, any
    layout, one dtype. Query head h takes key/value head h // (Hq / Hkv). ``scale`` is head_dim^−½ where it is None; ``softcap``
    c makes c·tanh(s/c) of the scaled scores, before the mask. Query i stands at place i + Skv − Sq, the last one at the last
    key. ``causal`` hides the keys after its place; ``window`` w all before the last w up to its place, and says nothing of the
    keys after it. Returns (B, Hq, Sq, Dv) in q's dtype. A query that sees no key, all being hidden or masked with −Inf, gives
    zeros; a hidden key adds nothing, whatever its value holds.
    Raises: `OperandError` for a size that does not fit, or Hq that is no multiple of Hkv.

    >>> q = np.zeros((1, 1, 2, 4)); v = np.array([2.0, 4.0]).reshape(1, 1, 2, 1)
    >>> reference(q, q, v, causal=True).ravel()
    array([2., 3.])
    """
    return rounded(reference64(q, k, v, mask, causal, scale, softcap, window), np.asarray(q).dtype)


@quiet
def error_bound(
    precision: Precision,
    result: Array,
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    causal: bool = False,
    scale: float | None = None,
    softcap: float | None = None,
    window: int | None = None,
) -> Array:
    """Return Σ p|v| · [e^(2δ) − 1 + (φ(Skv) + 8)u + u_p] and the rounding of the result.

    δ is the error of a score: (φ(head_dim) + 4) roundings of scale·max(|q||k|ᵀ) of its row and what ``computes`` rounds away
    there, the roundings of tanh and of adding the mask. u_p is that of the weights, which may be rounded to the request's
    dtype (or to ``computes``) before they are multiplied with v.
    """
    weighted_size = reference64(q, k, np.abs(widened(v)), mask, causal, scale, softcap, window)
    dims = sizes("attention", {"q": (q, "B Hq Sq head_dim"), "k": (k, "B Hkv Skv head_dim")})
    factor = abs(dims["head_dim"] ** -0.5 if scale is None else scale)
    size = factor * _largest_scores(np.abs(widened(q)), np.abs(widened(k)))
    delta = precision.product(dims["head_dim"], size) + 4 * precision.acc * size
    if softcap is not None:
        delta = delta + 10 * precision.acc * np.minimum(size, softcap)
    if mask is not None:
        wide = widened(mask)
        delta = delta + precision.acc * np.max(np.abs(np.where(np.isfinite(wide), wide, 0.0)), axis=-1, initial=0.0)[:, None]
    relative = np.expm1(2 * delta) + (phi(dims["Skv"]) + 8) * precision.acc + max(precision.store, precision.computes) + precision.computes
    error: Array = weighted_size * relative
    return error + precision.tiny + precision.rounding(result)


def _largest_scores(q: Array, k: Array) -> Array:
    """Return the largest of each row of |q||k|ᵀ, (B, Hq, Sq, 1), a block of queries at a time."""
    batches, heads, queries, _ = q.shape
    found = np.zeros((batches, heads, queries, 1))
    rows = max(1, BLOCK_ELEMENTS // max(1, k.shape[2]))
    for batch in range(batches):
        for head in range(heads):
            keys = k[batch, head // (heads // k.shape[1])].T
            for start in range(0, queries, rows):
                block = slice(start, start + rows)
                found[batch, head, block] = np.max(q[batch, head, block] @ keys, axis=-1, initial=0.0, keepdims=True)
    return found
