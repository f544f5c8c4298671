"""Probes of attention: queries that pick one key each, so that the right output is rows of v bit for bit; equal weights; random."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tessera_rules.oracle.probes.draft import Array, Asked, Draft, generic, random_drafts
from tessera_rules.oracle.probes.products import is_power_of_two

ATTRS: dict[str, tuple[Any, ...]] = {"causal": (True, False), "scale": (0.3125, None), "softcap": (1.5, None), "window": (1, 3, 5, None)}
TOGETHER: tuple[dict[str, Any], ...] = (
    {"scale": 0.25}, {"scale": 0.25, "causal": True}, {"scale": 0.25, "window": 5}, {"scale": 0.3125, "causal": True, "window": 4, "softcap": 1.5},
)  # fmt: skip
SIZES = ({"Sq": 3, "Skv": 11}, {"Sq": 11, "Skv": 6})
"""Where a causal mask starts shows with fewer queries than keys, rows that see nothing with more."""
GAP = 160.0
"""How far the score of the key that is picked lies above every other: exp of the difference is 0 in f32, and lost in f64."""


def exact(asked: Asked) -> Iterator[Draft]:
    """Yield the permutation and the uniform probe, where scale and soft cap leave them exact."""
    if asked.attr("softcap") is not None or not asked.dim("Skv") or not asked.dim("Sq"):
        return
    scale = asked.dim("head_dim") ** -0.5 if asked.attr("scale") is None else float(asked.attr("scale"))
    # Two keys weigh the same to the last bit only where scaling rounds nothing.
    for label, share in (("permutation exact", 1), ("pairs exact", 2))[: 1 + is_power_of_two(scale)]:
        picked = picks(asked, scale, share)
        if picked is not None:
            yield Draft(label, {**picked, **_mask(asked, 0.0)}, exact=True)
    count = asked.dim("Skv")
    if count & (count - 1) == 0 and not asked.attr("causal") and asked.attr("window") is None:
        values = {"q": np.zeros(asked.shape("q")), "k": asked.within("k", -3, 3), "v": asked.within("v", -60, 60), **_mask(asked, 0.0)}
        yield Draft("uniform exact", values, exact=True)


def picks(asked: Asked, scale: float, share: int) -> dict[str, Array] | None:
    """Return q, k and v such that each query picks one key that it sees, a different one in each head; None where that cannot be.

    ``share`` 2 gives each code to two keys: where a query sees both, the right output is their mean, rounded once.
    """
    depth, keys, queries = asked.dim("head_dim"), asked.dim("Skv"), asked.dim("Sq")
    code = shared_codes(asked.rng, keys, depth, share)
    length = pick_length(scale)
    if code is None or length is None:
        return None
    seen = _seen(queries, keys, asked.attr("causal"), asked.attr("window"))
    batches, heads = asked.dim("B"), asked.dim("Hq")
    group = heads // asked.dim("Hkv")
    order = np.stack([np.stack([asked.rng.permutation(keys) for _ in range(asked.dim("Hkv"))]) for _ in range(batches)]) if batches else None
    k = np.zeros(asked.shape("k"))
    q = np.zeros(asked.shape("q"))
    choose = [np.flatnonzero(row) for row in seen]
    for batch in range(batches):
        for head in range(heads):
            assert order is not None
            place = order[batch, head // group]
            k[batch, head // group] = code[place]
            for query in range(queries):
                if len(choose[query]):
                    q[batch, head, query] = length * code[place[asked.rng.choice(choose[query])]]
    return {"q": q, "k": k, "v": values_of(asked, "v", share)}


def _seen(queries: int, keys: int, causal: bool, window: int | None) -> Array:
    """Return which keys each query sees; the last query stands at the last key."""
    behind = np.arange(queries)[:, None] + (keys - queries) - np.arange(keys)[None, :]
    seen: Array = np.full((queries, keys), True)
    if causal:
        seen = seen & (behind >= 0)
    return seen if window is None else seen & (behind < window)


def values_of(asked: Asked, name: str, share: int) -> Array:
    """Return values with every bit of the dtype in use; where two are averaged, of several sizes, so that their mean is rounded."""
    values = asked.odd(asked.shape(name), asked.precision)
    return values if share == 1 else values * np.ldexp(1.0, asked.rng.integers(-3, 1, values.shape))


def shared_codes(rng: np.random.Generator, keys: int, depth: int, share: int) -> Array | None:
    """Return a row of ±1 for each key, the same one for ``share`` keys; None where there are not so many."""
    found = codes(rng, -(-keys // share), depth)
    return None if found is None else np.concatenate([found] * share)[:keys]


def codes(rng: np.random.Generator, count: int, depth: int) -> Array | None:
    """Return that many different rows of ±1, or None where there are not so many."""
    if depth < 31 and count > 2**depth:
        return None
    bits = min(depth, 62)
    numbers = rng.permutation(2**bits)[:count] if bits <= 12 else np.unique(rng.integers(0, 2**bits, 4 * count + 16))[:count]
    if len(numbers) < count:
        return None
    words = rng.permutation(numbers)
    code: Array = np.where((words[:, None] >> np.arange(bits)) & 1, 1.0, -1.0)
    return np.concatenate([code, np.where(rng.random((count, depth - bits)) < 0.5, -1.0, 1.0)], axis=1) if depth > bits else code


def pick_length(scale: float) -> float | None:
    """Return the power of two by which a query is longer than its code, so that scores differ by `GAP`; None where none fits f16."""
    if not np.isfinite(scale) or scale <= 0:
        return None
    length = float(2.0 ** np.ceil(np.log2(GAP / (2 * scale))))
    return length if 2.0**-10 <= length <= 2.0**14 else None


def _mask(asked: Asked, value: float) -> dict[str, Array]:
    return {"mask": np.full(asked.shape("mask"), value)} if asked.given("mask") else {}


def bound(asked: Asked) -> Iterator[Draft]:
    """Yield random operands, larger queries, a mask that hides keys, and values of hidden keys that must not show."""
    yield from random_drafts(asked, outliers=True)
    values = generic(asked)
    yield Draft("sharp", {**values, "q": np.asarray(values["q"], dtype=np.float64) * 4.0})
    if asked.given("mask") and asked.dim("Skv") > 1:
        mask = asked.rng.standard_normal(asked.shape("mask"))
        mask[asked.rng.random(mask.shape) < 0.3] = -np.inf
        yield Draft("mask with -Inf", {**generic(asked), "mask": mask})
