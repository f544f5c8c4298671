"""Probes of gemm: alpha and beta powers of two stay exact (P1: several tiles, alpha and beta other than 1 and 0 together)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tessera_rules.oracle.probes.draft import Asked, Draft
from tessera_rules.oracle.probes.products import bounded, is_power_of_two, pairs

ATTRS = {"alpha": (0.5, -2.0, 1.0), "beta": (2.0, 1.0, 0.0)}
TOGETHER = ({"alpha": 0.5, "beta": 2.0}, {"alpha": -2.0, "beta": 1.0}, {"alpha": 1.0, "beta": 0.0}, {"alpha": 0.75, "beta": -1.25}, {"alpha": 0.0, "beta": 1.0})


def exact(asked: Asked) -> Iterator[Draft]:
    """Yield exact factors and an integer c; where beta is 0 c holds NaN, which must not be read."""
    alpha, beta = asked.attr("alpha"), asked.attr("beta")
    if not (is_power_of_two(alpha) and (beta == 0 or is_power_of_two(beta))):
        return
    if not (2.0**-4 <= abs(alpha) <= 2.0**4 and (beta == 0 or 2.0**-4 <= abs(beta) <= 2.0**4)):
        return
    for label, a, b in pairs(asked, asked.shape("a"), asked.shape("b"), spare=10):
        c = np.full(asked.shape("c"), np.nan) if beta == 0 else asked.within("c", -15, 15)
        yield Draft(label, {"a": a, "b": b, "c": c}, exact=True)


def bound(asked: Asked) -> Iterator[Draft]:
    """Yield random factors. With beta = 0 NaN in c goes nowhere; alpha = 0 says nothing of NaN in factors."""
    yield from bounded(asked, "a", "b", special=asked.attr("alpha") != 0)
