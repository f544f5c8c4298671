"""Costs compared: which candidate's estimate is the smaller one, and under which conditions that stays so."""

from __future__ import annotations

from collections import Counter

from attrs import frozen

from tessera_rules.analyze.space import Point, Space
from tessera_rules.compile.evaluate import evaluate
from tessera_rules.compile.kinds import ClauseError
from tessera_rules.model.show import show
from tessera_rules.model.terms import Apply, Const, Fact, Term, facts
from tessera_rules.model.types import BOOL, INT
from tessera_rules.model.values import Candidate


@frozen(eq=False)
class Cheaper:
    """That one cost is at most another's under some conditions; ``strictly``: below it."""

    strictly: bool
    conditions: tuple[Term, ...] = ()


def cheaper(space: Space, one: Candidate, other: Candidate, point: Point) -> Cheaper | None:
    """Return that ``one`` costs no more than ``other`` here and under the conditions given; None where it costs more or cannot be said."""
    first, second = _cost(space, one), _cost(space, other)
    if first is None or second is None:
        if second is None and first is not None:
            return Cheaper(True) if _always_finite(first) else None
        return Cheaper(False) if first is second else None
    try:
        mine, theirs = evaluate(first, point.__getitem__), evaluate(second, point.__getitem__)
    except ClauseError:
        return None
    if mine > theirs:
        return None
    if show(first) == show(second):
        return Cheaper(False)
    ours, yours = monomial(first), monomial(second)
    if ours is not None and yours is not None and ours[1] == yours[1] and not ours[2] and not yours[2] and 0 < ours[0] < yours[0] * (1 - 1e-9):
        if mine < theirs:
            return Cheaper(True, tuple(Apply(BOOL, "ge", (fact, Const(INT, 1))) for fact in facts(first)))
        return Cheaper(False)
    if mine < theirs:
        return Cheaper(True, (Apply(BOOL, "lt", (first, second)),))
    return Cheaper(False, (Apply(BOOL, "le", (first, second)),))


def alike(space: Space, one: Candidate, other: Candidate) -> bool:
    """Whether two candidates state the same cost for every request: both none, or the same formula."""
    first, second = _cost(space, one), _cost(space, other)
    if first is None or second is None:
        return first is second
    return show(first) == show(second)


def _cost(space: Space, candidate: Candidate) -> Term | None:
    return None if candidate.cost is None else space.frame.put(candidate.cost)


def _always_finite(term: Term) -> bool:
    """Whether a cost has an answer wherever it is asked: products, sums and quotients by constants of sizes."""
    if isinstance(term, Const):
        return True
    if isinstance(term, Fact):
        return term.key.startswith("dim:")
    assert isinstance(term, Apply)
    if term.op == "div":
        return isinstance(term.args[1], Const) and bool(term.args[1].value) and _always_finite(term.args[0])
    return term.op in ("mul", "add", "min", "max") and all(map(_always_finite, term.args))


def monomial(term: Term) -> tuple[float, Counter[str], Counter[str]] | None:
    """Return a product as coefficient, factors above and factors below; None where a cost is no product of sizes and constants.

    >>> from tessera_rules.model.types import FLOAT
    >>> m = Fact(INT, "dim:M", "M")
    >>> monomial(Apply(FLOAT, "div", (Apply(FLOAT, "mul", (Const(FLOAT, 2.0), m)), Const(FLOAT, 4.0))))
    (0.5, Counter({'dim:M': 1}), Counter())
    """
    if isinstance(term, Const):
        return (float(term.value), Counter(), Counter()) if isinstance(term.value, int | float) else None
    if isinstance(term, Fact):
        return (1.0, Counter((term.key,)), Counter()) if term.key.startswith("dim:") else None
    assert isinstance(term, Apply)
    if term.op not in ("mul", "div"):
        return None
    left, right = monomial(term.args[0]), monomial(term.args[1])
    if left is None or right is None:
        return None
    if term.op == "mul":
        return left[0] * right[0], left[1] + right[1], left[2] + right[2]
    return (left[0] / right[0], left[1] + right[2], left[2] + right[1]) if right[0] else None
