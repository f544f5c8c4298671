"""Probes of fused_matmul: exact with relu, bias and residual; inside the bound with everything else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tessera_rules.oracle.probes.draft import Array, Asked, Draft
from tessera_rules.oracle.probes.products import bounded, pairs

ATTRS = {"eps": (3.0, 1e-6), "reduction": ("none", "softmax", "rmsnorm", "layernorm")}
STRUCTURES: tuple[tuple[Mapping[str, Any], frozenset[str]], ...] = (
    ({"epilogue": ("bias", "relu")}, frozenset(("bias",))),
    ({"epilogue": ("relu", "bias")}, frozenset(("bias",))),
    ({"prologue": ("relu",)}, frozenset()),
    ({"epilogue": ("relu",)}, frozenset(("residual",))),
    ({"epilogue": ("bias", "gelu"), "prologue": ("silu",)}, frozenset(("bias", "residual"))),
    ({"epilogue": ("tanh", "sigmoid")}, frozenset()),
    ({"epilogue": ("gelu_erf", "bias", "silu")}, frozenset(("bias",))),
    ({"reduction": "rmsnorm", "eps": 3.0}, frozenset()),
    ({"epilogue": ("bias",), "reduction": "layernorm", "eps": 3.0}, frozenset(("bias",))),
    ({"reduction": "softmax"}, frozenset()),
)


def structures(asked: Asked) -> Iterator[tuple[Mapping[str, Any], frozenset[str]]]:
    """Yield combinations of attributes and operands that the op allows."""
    plain = {"prologue": (), "epilogue": (), "reduction": "none"}
    for attrs, given in STRUCTURES:
        yield {**plain, **attrs}, given


def exact(asked: Asked) -> Iterator[Draft]:
    """Yield exact factors with integers beside them where no word of the request rounds."""
    if asked.attr("reduction") != "none" or {*asked.attr("prologue"), *asked.attr("epilogue")} - {"relu", "bias"}:
        return
    for label, a, b in pairs(asked, asked.shape("a"), asked.shape("b"), spare=2):
        beside: dict[str, Array] = {}
        if asked.given("bias"):
            beside["bias"] = asked.within("bias", -15, 15)
        if asked.given("residual"):
            beside["residual"] = asked.within("residual", -15, 15)
        yield Draft(label, {"a": a, "b": b, **beside}, exact=True)


def bound(asked: Asked) -> Iterator[Draft]:
    """Yield random operands; NaN and Inf where the epilogue and the reduction say what comes of them."""
    yield from bounded(asked, "a", "b", special=False)
