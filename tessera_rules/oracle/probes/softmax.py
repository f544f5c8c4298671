"""Probes of softmax: one element far above the rest, two of them, all equal; then random rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tessera_rules.oracle.probes.draft import Asked, Draft, random_drafts


def exact(asked: Asked) -> Iterator[Draft]:
    """Yield rows whose softmax is 1 and 0, ½ twice, and 1/N where N is a power of two."""
    rows, count = asked.shape("x")
    if not rows or not count:
        return
    low = asked.rng.integers(-1200, -1000, (rows, count)).astype(np.float64)
    one = low.copy()
    one[np.arange(rows), asked.rng.integers(0, count, rows)] = 64.0
    yield Draft("one-hot exact", {"x": one}, exact=True)
    if count > 1:
        two = low.copy()
        first = asked.rng.integers(0, count, rows)
        for place in (first, (first + 1 + asked.rng.integers(0, count - 1, rows)) % count):
            two[np.arange(rows), place] = 64.0
        yield Draft("two-hot exact", {"x": two}, exact=True)
    if count & (count - 1) == 0:
        yield Draft("uniform exact", {"x": np.repeat(asked.rng.integers(-90, 90, (rows, 1)), count, axis=1).astype(np.float64)}, exact=True)


def bound(asked: Asked) -> Iterator[Draft]:
    """Yield random rows, rows far from 0 (no exponential may overflow) and NaN, Inf, -Inf."""
    yield from random_drafts(asked, outliers=True, special=True)
    x = asked.rng.standard_normal(asked.shape("x"))
    yield Draft("far from 0", {"x": x * 4 + np.where(np.arange(len(x)) % 2, 200.0, -200.0)[:, None]})
