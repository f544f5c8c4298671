"""Probes of pointwise: functions that round nothing are bit equal, NaN, Inf and both zeros among their operands (T23)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tessera_rules.oracle.probes.draft import Array, Asked, Draft, generic, random_drafts

EXACT = frozenset(("relu", "neg", "abs", "sign", "maximum", "minimum"))
SUMS = frozenset(("add", "sub"))
BINARY_OPERAND = dict.fromkeys(("add", "sub", "mul", "div", "maximum", "minimum"), frozenset(("y",)))
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0)


def structures(asked: Asked) -> Iterator[tuple[Mapping[str, Any], frozenset[str]]]:
    """Yield each function alone, with a second operand where it takes one, and chains whose order shows."""
    listed = asked.request.op.attrs["fn"].type.item
    for word in () if listed is None else listed.words:
        yield {"fn": (word,)}, BINARY_OPERAND.get(word, frozenset())
    yield {"fn": ("sub", "relu", "neg")}, frozenset(("y",))
    yield {"fn": ("relu", "sub", "abs")}, frozenset(("y",))


def exact(asked: Asked) -> Iterator[Draft]:
    """Yield integers and special values, where no function of the chain rounds."""
    words = set(asked.attr("fn"))
    if words - EXACT - SUMS:
        return
    numbers = {name: asked.odd(asked.shape(name), min(asked.precision, 20) - (3 if words & SUMS else 0)) for name in asked.names()}
    yield Draft("integers exact", numbers, exact=True)
    if not words & SUMS:
        yield Draft("special values exact", {name: asked.rng.choice(np.array(SPECIAL), asked.shape(name)) for name in asked.names()}, exact=True)


def bound(asked: Asked) -> Iterator[Draft]:
    """Yield normal values, positive ones over many sizes, values near 0, and NaN and Inf."""
    yield from random_drafts(asked, special=True)
    values: dict[str, Array] = generic(asked)
    yield Draft("positive, many sizes", {name: np.abs(x.astype(np.float64)) * np.ldexp(1.0, asked.rng.integers(-8, 6, x.shape)) for name, x in values.items()})
    yield Draft("near 0", {name: x.astype(np.float64) * 2.0**-9 for name, x in values.items()})
