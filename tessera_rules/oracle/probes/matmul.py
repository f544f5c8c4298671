"""Probes of matmul."""

from __future__ import annotations

from collections.abc import Iterator

from tessera_rules.oracle.probes.draft import Asked, Draft
from tessera_rules.oracle.probes.products import bounded, pairs


def exact(asked: Asked) -> Iterator[Draft]:
    """Yield exact factors."""
    for label, a, b in pairs(asked, asked.shape("a"), asked.shape("b")):
        yield Draft(label, {"a": a, "b": b}, exact=True)


def bound(asked: Asked) -> Iterator[Draft]:
    """Yield random factors."""
    yield from bounded(asked, "a", "b")
