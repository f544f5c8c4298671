"""Probes of fft: impulses, whose transform has magnitude 1 everywhere, and pure tones, whose transform is one peak."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tessera_rules.oracle.probes.draft import Asked, Draft, random_drafts

ATTRS = {"inverse": (True, False)}


def exact(asked: Asked) -> Iterator[Draft]:
    """Yield an impulse at 0: every bin is that number (over n for the inverse, exact where n is a power of two)."""
    rows, n = asked.shape("x")
    if not rows or (asked.attr("inverse") and n & (n - 1)):
        return
    x = np.zeros((rows, n), dtype=np.complex128)
    x[:, 0] = asked.odd((rows,), 8) + 1j * asked.odd((rows,), 8)
    # A prime length goes through other transforms, which round.
    yield Draft("impulse at 0", {"x": x}, exact=n & (n - 1) == 0)


def bound(asked: Asked) -> Iterator[Draft]:
    """Yield random rows, an impulse at a place of each row's own, and tones."""
    yield from random_drafts(asked, outliers=True)
    rows, n = asked.shape("x")
    place = asked.rng.integers(0, n, rows)
    impulse = np.zeros((rows, n), dtype=np.complex128)
    impulse[np.arange(rows), place] = 1.0 + 0.5j
    yield Draft("impulses", {"x": impulse})
    yield Draft("tones", {"x": np.exp(2j * np.pi * (np.outer(place, np.arange(n)) % n) / n)})
