"""Probes of rfft: impulses and pure tones of the size in hand."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tessera_rules.oracle.probes.draft import Asked, Draft, random_drafts


def exact(asked: Asked) -> Iterator[Draft]:
    """Yield an impulse at 0, whose bins are all that number."""
    rows, n = asked.shape("x")
    x = np.zeros((rows, n))
    x[:, :1] = asked.odd((rows, 1), 8)
    yield Draft("impulse at 0", {"x": x}, exact=n & (n - 1) == 0)


def bound(asked: Asked) -> Iterator[Draft]:
    """Yield random rows, an impulse at a place of each row's own, and tones."""
    yield from random_drafts(asked, outliers=True)
    rows, n = asked.shape("x")
    place = asked.rng.integers(0, n, rows)
    impulse = np.zeros((rows, n))
    impulse[np.arange(rows), place] = 1.0
    yield Draft("impulses", {"x": impulse})
    yield Draft("tones", {"x": np.cos(2 * np.pi * (np.outer(place, np.arange(n)) % n) / n + 0.3)})
