"""Probes of rmsnorm: rows of ±1, whose mean square is 1 whatever the order of the sum; eps = 3 makes the root 2."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tessera_rules.oracle.probes.draft import Asked, Draft, random_drafts

ATTRS = {"eps": (3.0, 0.0, 1e-6)}


def exact(asked: Asked) -> Iterator[Draft]:
    """Yield rows of ±1 with integer weights, where eps makes the root a whole number."""
    if asked.attr("eps") not in (0.0, 3.0):
        return
    weight = {"weight": asked.odd(asked.shape("weight"), 8)} if asked.given("weight") else {}
    yield Draft("signs exact", {"x": asked.signs(asked.shape("x")), **weight}, exact=True)


def bound(asked: Asked) -> Iterator[Draft]:
    """Yield random rows, rows of which each has its own size, and NaN, Inf, -Inf."""
    yield from random_drafts(asked, outliers=True, special=True)
    values = dict(next(random_drafts(asked)).values)
    rows = len(values["x"])
    values["x"] = np.asarray(values["x"], dtype=np.float64) * np.ldexp(1.0, np.arange(rows) % 9 - 4)[:, None]
    yield Draft("rows of many sizes", values)
