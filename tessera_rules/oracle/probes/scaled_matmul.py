"""Probes of scaled_matmul: integers over their whole range, f8 as far as narrow sums go, scales that are powers of two."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tessera_rules.dtypes import FORMATS
from tessera_rules.oracle.probes.draft import Array, Asked, Draft, generic
from tessera_rules.oracle.probes.products import pairs

ATTRS = {"out": (None, "f32", "f16", "bf16", "i32")}


def exact(asked: Asked) -> Iterator[Draft]:
    """Yield exact factors. Both scales differ from element to element: 1/4 to 4."""
    if FORMATS[asked.dtype].kind == "int":
        top = int(FORMATS[asked.dtype].max_value)
        wide = (asked.within("a", -top, top - 1), asked.within("b", -top, top - 1))
        small = (asked.within("a", -2, 3), asked.within("b", -1, 2))
        # Full-range sums pass 2^24 where K is large: exact in i32, and in f32 only where scaled results are rounded once.
        drafts = [("full range exact", *wide)] if asked.attr("out") in (None, "i32", "f64") else []
        drafts.append(("small exact", *small))
    else:
        drafts = list(pairs(asked, asked.shape("a"), asked.shape("b")))
    for label, a, b in drafts:
        yield Draft(label, {"a": a, "b": b, **_scales(asked)}, exact=True)


def _scales(asked: Asked) -> dict[str, Array]:
    whole = 0 if asked.attr("out") == "i32" or (asked.attr("out") is None and FORMATS[asked.dtype].kind == "int") else -2
    return {name: np.ldexp(1.0, asked.rng.integers(whole, 3, asked.shape(name))) for name in ("scale_a", "scale_b")}


def bound(asked: Asked) -> Iterator[Draft]:
    """Yield random operands with random scales."""
    values = generic(asked)
    yield Draft("normal", {**values, **{name: np.abs(values[name]) + 0.1 for name in ("scale_a", "scale_b")}})
    yield Draft("scales of either sign", {**generic(asked), "scale_a": values["scale_a"] * 3.0, "scale_b": values["scale_b"]})
