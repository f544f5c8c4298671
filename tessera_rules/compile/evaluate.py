"""The interpreter: a term's value where names may have none yet. What it says is what every other evaluator must say.

Evaluation goes left to right and stops when the answer is fixed. A name without a value makes what needs it `UNKNOWN`; an
error ends the clause, unless it stands behind something unknown that may yet make it not matter (``unknown and error`` is
unknown: the first may turn out false). ``unknown and false`` is false, ``unknown or true`` is true.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tessera_rules.compile import operators
from tessera_rules.compile.kinds import ClauseError, typed, values_of
from tessera_rules.compile.operators import STRICT
from tessera_rules.model.request import UNKNOWN, Unknown
from tessera_rules.model.terms import Apply, Const, Fact, Term, facts, loop_values
from tessera_rules.model.values import Clause

__all__ = ["UNKNOWN", "ClauseError", "Lookup", "clause_values", "evaluate", "needs", "truth"]

Lookup = Callable[[str], Any]
"""From the key of a fact to its value or `UNKNOWN`; raises `ClauseError` for a fact that is missing."""


def evaluate(term: Term, lookup: Lookup) -> Any:
    """Return the value of a term, or `UNKNOWN`. Raises `ClauseError`.

    >>> from tessera_rules.model.types import BOOL, INT
    >>> head_dim = Fact(INT, "dim:head_dim", "head_dim")
    >>> ragged = Apply(BOOL, "ne", (Apply(INT, "mod", (head_dim, Const(INT, 16))), Const(INT, 0)))
    >>> evaluate(ragged, {"dim:head_dim": 72}.__getitem__), evaluate(ragged, lambda key: UNKNOWN)
    (True, <Unknown.UNKNOWN: 'unknown'>)
    """
    if isinstance(term, Const):
        return term.value
    if isinstance(term, Fact):
        value = lookup(term.key)
        return value if value is UNKNOWN else typed(value, term.type, term.shown)
    assert isinstance(term, Apply)
    if term.op in ("and", "or"):
        return _chain(term.args, lookup, stop=term.op == "or")
    special = _SPECIAL.get(term.op)
    if special is not None:
        return special(term.args, lookup)
    values = [evaluate(arg, lookup) for arg in term.args]
    if UNKNOWN in values:
        return UNKNOWN
    return STRICT[term.op](*values)


def _chain(args: tuple[Term, ...], lookup: Lookup, *, stop: bool) -> bool | Unknown:
    known = True
    for arg in args:
        try:
            value = evaluate(arg, lookup)
            if value is not UNKNOWN and operators.boolean(value) is stop:
                return stop
        except ClauseError:
            if known:
                raise
            return UNKNOWN  # whether this error is met hangs on what is unknown before it
        known = known and value is not UNKNOWN
    return (not stop) if known else UNKNOWN


def _if(args: tuple[Term, ...], lookup: Lookup) -> Any:
    condition = evaluate(args[0], lookup)
    if condition is not UNKNOWN:
        return evaluate(args[1] if operators.boolean(condition) else args[2], lookup)
    try:
        one, two = evaluate(args[1], lookup), evaluate(args[2], lookup)
        return one if one is not UNKNOWN and two is not UNKNOWN and type(one) is type(two) and one == two else UNKNOWN
    except ClauseError:
        return UNKNOWN


def _in(args: tuple[Term, ...], lookup: Lookup) -> bool | Unknown:
    x = evaluate(args[0], lookup)
    known = True
    for arg in args[1:]:
        try:
            item = evaluate(arg, lookup)
            if x is UNKNOWN or item is UNKNOWN:
                known = False
            elif operators.eq(x, item):
                return True
        except ClauseError:
            if known:
                raise
            return UNKNOWN
    return False if known else UNKNOWN


def _in_range(args: tuple[Term, ...], lookup: Lookup) -> bool | Unknown:
    x, low, high, step = values = [evaluate(arg, lookup) for arg in args]
    known = [value is not UNKNOWN for value in values]
    if all(known):
        return operators.in_range(x, low, high, step)
    for value in values:
        if value is not UNKNOWN:
            operators.check_range(value)
    if known[3]:
        operators.check_step(step)
    below = known[0] and known[1] and x < low
    above = known[0] and known[2] and x > high
    empty = known[1] and known[2] and low > high
    between = known[0] and known[1] and known[3] and (x - low) % step != 0
    return False if below or above or empty or between else UNKNOWN


def _contains(args: tuple[Term, ...], lookup: Lookup) -> bool | Unknown:
    items, item = evaluate(args[0], lookup), evaluate(args[1], lookup)
    if items is UNKNOWN or item is UNKNOWN:
        return False if items == () else UNKNOWN
    return operators.contains(items, item)


_SPECIAL: dict[str, Callable[[tuple[Term, ...], Lookup], Any]] = {
    "if": _if,
    "in": _in,
    "in_range": _in_range,
    "contains": _contains,
}


def truth(clause: Clause | Term, lookup: Lookup) -> bool | Unknown | ClauseError:
    """Return what a condition comes to: true, false, `UNKNOWN`, or the `ClauseError` that it is, as a value."""
    term = clause.term if isinstance(clause, Clause) else clause
    try:
        value = evaluate(term, lookup)
        return UNKNOWN if value is UNKNOWN else operators.boolean(value)
    except ClauseError as problem:
        return problem.with_traceback(None)


def clause_values(clause: Clause | Term, lookup: Lookup) -> dict[str, Any]:
    """Return each name in a clause that has a value, as a verdict shows it: facts first, then the loop names.

    Names without a value, or whose value is missing or of a wrong type, are left out.
    """
    term = clause.term if isinstance(clause, Clause) else clause
    found: list[tuple[str, Any]] = []
    for fact in facts(term):
        try:
            value = lookup(fact.key)
            if value is not UNKNOWN:
                found.append((fact.shown, typed(value, fact.type, fact.shown)))
        except ClauseError:
            continue
    loops = clause.loops if isinstance(clause, Clause) else loop_values(term)
    return values_of([*found, *loops.items()])


def needs(term: Term, lookup: Lookup) -> tuple[str, ...]:
    """Return the names, as a person writes them, that have no value and still matter, in reading order.

    A name that stands only in parts that are decided already is not among them.
    """
    from tessera_rules.compile.simplify import simplify

    try:
        rest = simplify(term, lookup)
    except ClauseError:
        return ()
    return tuple(dict.fromkeys(fact.shown for fact in facts(rest) if _unknown(fact.key, lookup)))


def _unknown(key: str, lookup: Lookup) -> bool:
    try:
        return lookup(key) is UNKNOWN
    except ClauseError:
        return False
