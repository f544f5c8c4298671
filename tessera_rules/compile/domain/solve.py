"""From a condition to the set of values that one name, or one expression, may have.

A comparison with a constant is undone step by step, outermost operator first: ``(K + 8) % 16 == 0`` becomes
``K + 8`` in {…, 0, 16, …}, then ``K`` in {…, 8, 24, …}. What stands at the end is a fact, or an expression of several facts
that no step can undo (``M * N * K``); the set is about that.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen

from tessera_rules.compile.domain.integers import EVERY, NOTHING, IntegerSet, at_least, at_most, between, exactly
from tessera_rules.compile.domain.linear import core_key, divided, integer, linear_parts
from tessera_rules.compile.domain.undo import UNDO
from tessera_rules.model.terms import Apply, Fact, Term

LARGEST_LISTED_POWER = 40
BEYOND_LISTED = (1 << LARGEST_LISTED_POWER) + 1


@frozen(eq=False)
class Solved:
    """That ``core`` lies in ``values`` is what a condition says. ``key`` is the fact's key, or ``expr:`` and the text of the core."""

    core: Term
    key: str
    values: IntegerSet


def solve(term: Term, wanted: bool) -> Solved | None:
    """Return what a comparison says where it is true (or false, without being an error), or None where no step can undo it.

    ``in_range`` and ``in`` count as comparisons where their bounds and items are constants.

    >>> from tessera_rules.model.terms import Apply, Const, Fact
    >>> from tessera_rules.model.types import BOOL, INT
    >>> k = Fact(INT, "dim:K", "K")
    >>> found = solve(Apply(BOOL, "lt", (Apply(INT, "floordiv", (k, Const(INT, 16))), Const(INT, 4))), True)
    >>> found.key, found.values.high
    ('dim:K', 63)
    """
    said = _said(term)
    if said is None:
        return None
    subject, values = said
    if not wanted and not values.exact:
        # is_pow2: up to the bound its complement is known as well
        return undo(subject, IntegerSet((~IntegerSet(values.pieces)).pieces + at_least(BEYOND_LISTED).pieces, exact=False))
    return undo(subject, values if wanted else ~values)


_ORDER: dict[str, Callable[[int], IntegerSet]] = {
    "eq": lambda c: exactly(c),
    "ne": lambda c: ~exactly(c),
    "lt": lambda c: at_most(c - 1),
    "le": lambda c: at_most(c),
    "gt": lambda c: at_least(c + 1),
    "ge": lambda c: at_least(c),
}
_MIRRORED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def _said(term: Term) -> tuple[Term, IntegerSet] | None:
    """Return the left side of a condition and the set that it has to lie in."""
    if not isinstance(term, Apply):
        return None
    op, args = term.op, term.args
    if op in _ORDER:
        left, right = args
        if left.type.kind != "int" or right.type.kind != "int" or left.type.nullable or right.type.nullable:
            return None
        constant = integer(right)
        if constant is not None:
            return left, _ORDER[op](constant)
        constant = integer(left)
        if constant is not None:
            return right, _ORDER[_MIRRORED[op]](constant)
        return _difference(left, right), _ORDER[op](0)
    if op == "in" and args[0].type.kind == "int" and not args[0].type.nullable:
        items = [integer(arg) for arg in args[1:]]
        listed = [item for item in items if item is not None]
        return (args[0], exactly(*listed)) if len(listed) == len(items) else None
    if op == "in_range":
        low, high, step = map(integer, args[1:])
        if low is None or high is None or step is None or step <= 0:
            return None
        return args[0], between(low, high, step)
    if op == "is_pow2":
        # Listed up to a bound that no size reaches; beyond it every number is let through, and the set says that it is not exact.
        powers = exactly(*(1 << k for k in range(LARGEST_LISTED_POWER + 1)))
        return args[0], IntegerSet((powers | at_least(BEYOND_LISTED)).pieces, exact=False)
    return None


def _difference(left: Term, right: Term) -> Term:
    return Apply(left.type, "sub", (left, right))


def undo(term: Term, values: IntegerSet) -> Solved | None:
    """Return what it means for the innermost part that ``term`` lies in ``values``."""
    while True:
        linear = linear_parts(term)
        if linear is not None:
            core, factor, offset = linear
            if core is None:
                return Solved(term, "", IntegerSet((EVERY if offset in values else NOTHING).pieces, values.exact))
            values = divided(values.shift(-offset), factor)
            term = core
        if isinstance(term, Fact):
            return Solved(term, term.key, values)
        if not isinstance(term, Apply):
            return None
        step = UNDO.get(term.op)
        if step is None:
            return Solved(term, core_key(term), values) if term.op in ("add", "sub", "mul", "floordiv", "mod", "ceil_div", "align_up", "gcd") else None
        inner = step(term.args, values)
        if inner is None:
            return Solved(term, core_key(term), values)
        term, values = inner
