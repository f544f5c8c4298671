"""Divisors that nothing proves positive."""

from __future__ import annotations

from collections.abc import Iterator

from tessera_rules.check.bounds import Bounds, constant
from tessera_rules.check.registry import Mark, check
from tessera_rules.check.subjects import Condition, Load, Quantity
from tessera_rules.diagnostic import Code
from tessera_rules.model.show import show
from tessera_rules.model.terms import Apply, Const, Term
from tessera_rules.source import Span

UNPROVED_DIVISOR = Code(
    "TSR508",
    "a divisor that is not proved positive",
    "`%` and `//` take a positive divisor. One that is 0 or less makes the clause an error, and the candidate's verdict with it. Proved positive are "
    "a positive constant, the value of a `for`, a dimension declared `dim NAME in 1..`, what is bounded from below by a clause that holds by then "
    "(`Hkv >= 1 and Hq % Hkv == 0`), and sums and products of these.\n\n"
    "Say in the op which sizes there are, `dim Hkv in 1..`, or put the bound before the division.",
    severity="warning",
)

_DIVIDES = {"mod": "%", "floordiv": "//", "ceil_div": "ceil_div", "align_up": "align_up"}


@check(UNPROVED_DIVISOR, Condition, Quantity)
def unproved_divisor(thing: Condition | Quantity, _load: Load) -> Iterator[Mark]:
    """A divisor whose lower bound is not known to be 1 or more, where evaluation reaches it."""
    term = thing.clause.term if isinstance(thing, Condition) else thing.term
    span = thing.clause.span if isinstance(thing, Condition) else thing.span
    bounds: Bounds | None = None
    if _divides(term):
        bounds = Bounds.of(thing.op, thing.before)
        yield from _visit(term, bounds, span)


def _divides(term: Term) -> bool:
    stack, seen = [term], set[int]()
    while stack:
        each = stack.pop()
        if isinstance(each, Apply) and id(each) not in seen:
            if each.op in _DIVIDES and not isinstance(each.args[1], Const):
                return True
            seen.add(id(each))
            stack.extend(each.args)
    return False


def _visit(term: Term, bounds: Bounds, span: Span) -> Iterator[Mark]:
    """Go through a term in the order of evaluation: what follows in an `and` is reached only where the parts before hold."""
    if not isinstance(term, Apply):
        return
    here = term.span or span
    if term.op in ("and", "or"):
        inner = bounds.copy()
        for arg in term.args:
            yield from _visit(arg, inner, here)
            inner.take(arg, holds=term.op == "and")
        return
    if term.op == "if":
        condition, value, otherwise = term.args
        yield from _visit(condition, bounds, here)
        for branch, holds in ((value, True), (otherwise, False)):
            inner = bounds.copy()
            inner.take(condition, holds=holds)
            yield from _visit(branch, inner, here)
        return
    if term.op in _DIVIDES and constant(term.args[1]) is None:
        least = bounds.lower(term.args[1])
        if least is None or least < 1:
            divisor = show(term.args[1])
            yield Mark(here, f"the divisor {divisor} of `{_DIVIDES[term.op]}` may be 0", hint=_hint(divisor))
    for arg in term.args:
        yield from _visit(arg, bounds, here)


def _hint(divisor: str) -> str:
    if divisor.isidentifier():
        return f"declare `dim {divisor} in 1..` in the op, or write `{divisor} >= 1 and …` before it"
    return f"write `{divisor} >= 1 and …` before it"
