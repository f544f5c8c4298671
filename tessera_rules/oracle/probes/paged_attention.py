"""Probes of paged_attention: queries that pick one key each over pages in any order, then random ones; lengths that end inside a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tessera_rules.oracle.probes.attention import pick_length, shared_codes, values_of
from tessera_rules.oracle.probes.draft import Array, Asked, Draft, generic
from tessera_rules.oracle.probes.products import is_power_of_two

TOGETHER: tuple[dict[str, Any], ...] = ({"scale": 0.25}, {"scale": 0.3125, "softcap": 1.5})
ATTRS: dict[str, tuple[Any, ...]] = {"scale": (0.3125, None), "softcap": (1.5, None)}


def exact(asked: Asked) -> Iterator[Draft]:
    """Yield the probes that pick keys, one or two of one code, where a sequence can have pages of its own."""
    scale = asked.dim("head_dim") ** -0.5 if asked.attr("scale") is None else float(asked.attr("scale"))
    for label, share in (("permutation exact", 1), ("pairs exact", 2))[: 1 + is_power_of_two(scale)]:
        values = _picks(asked, scale, share)
        if values is not None:
            yield Draft(label, values, exact=True)


def _picks(asked: Asked, scale: float, share: int) -> dict[str, Array] | None:
    pages, page, room, batches = asked.dim("P"), asked.dim("page"), asked.dim("T"), asked.dim("B")
    length = pick_length(scale)
    code = shared_codes(asked.rng, pages * page, asked.dim("head_dim"), share) if pages else None
    if asked.attr("softcap") is not None or length is None or code is None or not batches or not room or pages < room:
        return None
    table = np.stack([asked.rng.permutation(pages)[:room] for _ in range(batches)])
    lengths = asked.rng.integers(1, room * page + 1, batches)
    lengths[0] = room * page
    k = np.broadcast_to(code.reshape(pages, page, 1, -1), asked.shape("pages_k")).copy()
    q = np.zeros(asked.shape("q"))
    for batch in range(batches):
        for head in range(asked.dim("Hq")):
            key = int(asked.rng.integers(0, lengths[batch]))
            q[batch, head] = length * k[table[batch, key // page], key % page, 0]
    v = values_of(asked, "pages_v", share)
    return {"q": q, "pages_k": k, "pages_v": v, "table": table, "lengths": lengths}


def _sample(asked: Asked) -> dict[str, Array]:
    """Return random operands over pages in any order; the first sequence fills its table."""
    batches, room = asked.dim("B"), asked.dim("T") * asked.dim("page")
    lengths = asked.rng.integers(0, room + 1, batches)
    lengths[:1] = room
    return {**generic(asked), "table": asked.rng.integers(0, asked.dim("P"), (batches, asked.dim("T"))), "lengths": lengths}


def bound(asked: Asked) -> Iterator[Draft]:
    """Yield random operands; then lengths one past a page and at its end, and one empty sequence."""
    if not asked.dim("P"):
        return
    values = _sample(asked)
    yield Draft("normal", values)
    yield Draft("sharp", {**_sample(asked), "q": np.asarray(values["q"], dtype=np.float64) * 6.0})
    room, page = asked.dim("T") * asked.dim("page"), asked.dim("page")
    edges = np.array([0, 1, page - 1, page, page + 1, room - 1, room])
    lengths = np.clip(edges[np.arange(asked.dim("B")) % len(edges)], 0, room)
    yield Draft("lengths at page edges", {**values, "lengths": lengths})
