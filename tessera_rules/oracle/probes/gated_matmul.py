"""Probes of gated_matmul: with relu as its gate the product of both sums is exact where they are small."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tessera_rules.oracle.probes.draft import Asked, Draft
from tessera_rules.oracle.probes.products import bounded

ATTRS = {"gate": ("relu", "silu", "gelu", "gelu_erf", "sigmoid", "tanh")}


def exact(asked: Asked) -> Iterator[Draft]:
    """Yield small integers, where the gate is relu and neither sum reaches 2^11."""
    if asked.attr("gate") != "relu" or asked.dim("K") > 300 or asked.dtype == "f16":
        return
    for label, low, high in (("small exact", -2, 3), ("signs exact", -1, 1)):
        a = asked.within("a", low, high)
        yield Draft(label, {"a": a, "wg": asked.within("wg", -1, 2), "wu": np.where(asked.within("wu", 0, 1) > 0, 1.0, -1.0)}, exact=True)


def bound(asked: Asked) -> Iterator[Draft]:
    """Yield random operands."""
    yield from bounded(asked, "a", "wg", "wu", special=False)
