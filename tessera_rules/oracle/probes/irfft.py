"""Probes of irfft: single bins, and imaginary parts that must not be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tessera_rules.oracle.probes.draft import Asked, Draft, random_drafts


def structures(asked: Asked) -> Iterator[tuple[Mapping[str, Any], frozenset[str]]]:
    """Yield both lengths that have so many bins."""
    bins = asked.dim("bins")
    for n in (2 * bins - 1, 2 * bins - 2):
        if n >= 1:
            yield {"n": n}, frozenset()


def exact(asked: Asked) -> Iterator[Draft]:
    """Yield bin 0 alone: a constant row, exact where the length is a power of two; its imaginary part says nothing."""
    rows, bins = asked.shape("x")
    n = asked.attr("n") if asked.attr("n") is not None else 2 * (bins - 1)
    x = np.zeros((rows, bins), dtype=np.complex128)
    x[:, :1] = asked.odd((rows, 1), 8) + 3.0j
    yield Draft("bin 0", {"x": x}, exact=n & (n - 1) == 0)


def bound(asked: Asked) -> Iterator[Draft]:
    """Yield random bins, and one bin a row."""
    yield from random_drafts(asked, outliers=True)
    rows, bins = asked.shape("x")
    one = np.zeros((rows, bins), dtype=np.complex128)
    one[np.arange(rows), asked.rng.integers(0, bins, rows)] = 1.0 - 2.0j
    yield Draft("one bin", {"x": one})
