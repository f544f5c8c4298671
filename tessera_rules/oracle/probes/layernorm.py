"""Probes of layernorm: half a row one above, half one below its mean, so that mean and variance are exact; eps = 3 makes the root 2."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tessera_rules.oracle.probes.draft import Array, Asked, Draft, random_drafts

ATTRS = {"eps": (3.0, 1e-5)}


def exact(asked: Asked) -> Iterator[Draft]:
    """Yield rows mean ± 1 with as many above as below, where eps makes the root a whole number and sums stay exact."""
    rows, count = asked.shape("x")
    if asked.attr("eps") not in (0.0, 3.0) or count % 2 or not count or count & (count - 1):
        return
    x = np.where(np.arange(count) % 2, 1.0, -1.0) + asked.rng.integers(-20, 21, (rows, 1))
    x = asked.rng.permuted(x, axis=1)
    beside: dict[str, Array] = {}
    if asked.given("weight"):
        beside["weight"] = 2.0 * asked.within("weight", -15, 15)
    if asked.given("bias"):
        beside["bias"] = asked.within("bias", -15, 15)
    yield Draft("signs exact", {"x": x, **beside}, exact=True)


def bound(asked: Asked) -> Iterator[Draft]:
    """Yield random rows, rows with a mean far larger than their deviation, and NaN, Inf, -Inf."""
    yield from random_drafts(asked, outliers=True, special=True)
    values = dict(next(random_drafts(asked)).values)
    values["x"] = np.asarray(values["x"], dtype=np.float64) + 50.0
    yield Draft("large mean", values)
