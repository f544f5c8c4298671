"""Budgets, costs and sizes that cannot be meant."""

from __future__ import annotations

from collections.abc import Iterator

from tessera_rules.check.registry import Mark, check
from tessera_rules.check.subjects import Where
from tessera_rules.diagnostic import Code
from tessera_rules.syntax import nodes

NEGATIVE = Code(
    "TSR442",
    "a quantity that is below zero",
    "A tolerance below zero is met by no result, not even an exact one; memory and time are never below zero.\n\nCorrect the sign.",
    severity="warning",
)
VACUOUS = Code(
    "TSR443",
    "a relative tolerance that accepts zeros",
    "With `rtol` at 1 or more a kernel that writes only zeros is inside the budget, and every budget exists to tell such a kernel from one that "
    "works.\n\nState the error that the arithmetic has: `rtol 1e-2` for f16, `rtol 1e-5` for f32.",
    severity="warning",
)
ONLY_RELATIVE = Code(
    "TSR444",
    "a relative tolerance without an absolute one",
    "Where the reference is 0, or cancels to nearly 0, `rtol` alone asks for an exact result, and a kernel that works is called wrong on the first "
    "such element.\n\nAdd the `atol` that goes with the size of the terms that are summed.",
    severity="note",
)
CONSTANT_COST = Code(
    "TSR445",
    "a cost that is the same for every request",
    "`cost` estimates seconds. A constant says that the largest product takes as long as the smallest, so that whoever states it wins or loses "
    "every tie by cost.\n\nCompute it from the dimensions, or leave it out.",
    severity="note",
)


def _value(expr: nodes.Expr) -> float | None:
    if isinstance(expr, nodes.IntLit | nodes.FloatLit):
        return expr.value
    if isinstance(expr, nodes.Unary) and expr.operator == "-":
        inner = _value(expr.operand)
        return None if inner is None else -inner
    return None


@check(NEGATIVE, nodes.ExprField)
def negative(part: nodes.ExprField, _where: Where) -> Iterator[Mark]:
    """`atol`, `rtol`, `cost` or `workspace` with a negative constant."""
    value = _value(part.value)
    if part.keyword in ("atol", "rtol", "cost", "workspace") and value is not None and value < 0:
        yield Mark(part.value.span, f"`{part.keyword}` is never below zero, and this is {part.value.span.text}")


@check(VACUOUS, nodes.AccuracyField)
def vacuous(block: nodes.AccuracyField, _where: Where) -> Iterator[Mark]:
    """`rtol` with a constant of 1 or more."""
    for part in block.parts:
        value = _value(part.value)
        if part.keyword == "rtol" and value is not None and value >= 1:
            yield Mark(part.value.span, f"with rtol {part.value.span.text} a result of zeros is inside the budget")


@check(ONLY_RELATIVE, nodes.AccuracyField, unless=("TSR442", "TSR443"))
def only_relative(block: nodes.AccuracyField, _where: Where) -> Iterator[Mark]:
    """`rtol` and no `atol`."""
    if [part.keyword for part in block.parts] == ["rtol"]:
        yield Mark(block.span, "where the reference is 0 this asks for an exact result", hint="add an atol")


@check(CONSTANT_COST, nodes.ExprField, unless=("TSR442",))
def constant_cost(part: nodes.ExprField, _where: Where) -> Iterator[Mark]:
    """`cost` with a number."""
    if part.keyword == "cost" and _value(part.value) is not None:
        yield Mark(part.value.span, "this cost is the same for every request", hint="compute it from the dimensions")
