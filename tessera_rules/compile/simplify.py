"""Partial evaluation: what is left of a condition once the known names have their values.

The rest means the same as the whole for every value of the names that are open, errors included: a part that would be an
error stays where it was, unless what stands before it settles the matter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tessera_rules.compile import operators
from tessera_rules.compile.evaluate import Lookup, evaluate
from tessera_rules.compile.fallible import may_fail
from tessera_rules.compile.kinds import ClauseError
from tessera_rules.compile.operators import STRICT, boolean
from tessera_rules.model.request import UNKNOWN
from tessera_rules.model.terms import Apply, Const, Fact, Term, facts
from tessera_rules.model.types import BOOL

_FUNCTIONS: dict[str, Callable[..., Any]] = {**STRICT, "contains": operators.contains, "in_range": operators.in_range}
TRUE = Const(BOOL, True)
FALSE = Const(BOOL, False)


def simplify(term: Term, lookup: Lookup, *, exact: bool = False) -> Term:
    """Return what is left of a term; a `Const` where nothing is open. Raises `ClauseError` where it is an error whatever the rest is.

    As the language has it, ``unknown and false`` is false, even where the unknown turns out to be an error, which would come
    first. With ``exact`` that is not taken for granted: a part that can be an error stays before what would settle the matter, so
    that the rest has the value, or the error, of the whole wherever the open names lie. Proofs need that.

    >>> from tessera_rules.model.show import show
    >>> from tessera_rules.model.types import DTYPE, INT
    >>> head_dim, dtype = Fact(INT, "dim:head_dim", "head_dim"), Fact(DTYPE, "dtype", "dtype")
    >>> f16 = Apply(BOOL, "eq", (dtype, Const(DTYPE, "f16")))
    >>> whole = Apply(BOOL, "and", (f16, Apply(BOOL, "le", (head_dim, Const(INT, 256)))))
    >>> show(simplify(whole, {"dtype": "f16", "dim:head_dim": UNKNOWN}.__getitem__))
    'head_dim <= 256'
    """
    if isinstance(term, Const):
        return term
    if isinstance(term, Fact):
        value = evaluate(term, lookup)
        return term if value is UNKNOWN else Const(term.type, value)
    assert isinstance(term, Apply)
    match term.op:
        case "and" | "or":
            return _chain(term, lookup, exact)
        case "if":
            return _if(term, lookup, exact)
        case "in":
            return _in(term, lookup, exact)
        case "not":
            return negation(simplify(term.args[0], lookup, exact=exact))
    if term.op in ("in_range", "contains") and not (exact and _can_fail(term, lookup)):
        value = evaluate(term, lookup)  # may be fixed with a part unknown
        if value is not UNKNOWN:
            return Const(term.type, value)
    args = tuple([simplify(arg, lookup, exact=exact) for arg in term.args])
    if all(isinstance(arg, Const) for arg in args):
        return Const(term.type, _FUNCTIONS[term.op](*(arg.value for arg in args if isinstance(arg, Const))))
    return _arithmetic(Apply(term.type, term.op, args, term.span))


def substitute(term: Term, terms: Mapping[str, Term]) -> Term:
    """Return a term with other terms in place of facts, by fact key. What does not change is shared."""
    if isinstance(term, Fact):
        return terms.get(term.key, term)
    if isinstance(term, Apply):
        args = tuple([substitute(arg, terms) for arg in term.args])
        if any(new is not old for new, old in zip(args, term.args, strict=True)):
            return Apply(term.type, term.op, args, term.span)
    return term


def conjunction(terms: Sequence[Term]) -> Term:
    """Return the condition that all of these hold, in order, constants and nested ``and`` dissolved.

    Parts after one that is false are gone; a part that is true leaves no trace.
    """
    return _join("and", terms)


def disjunction(terms: Sequence[Term]) -> Term:
    """Return the condition that one of these holds, in order."""
    return _join("or", terms)


def _join(op: str, terms: Sequence[Term]) -> Term:
    stop = op == "or"
    parts: list[Term] = []
    for term in terms:
        if isinstance(term, Const) and isinstance(term.value, bool):
            if term.value is stop:
                # Everything before is unknown, and an unknown that is no error cannot change this any more.
                return TRUE if stop else FALSE
        elif isinstance(term, Apply) and term.op == op:
            parts += term.args
        else:
            parts.append(term)
    if not parts:
        return FALSE if stop else TRUE
    return parts[0] if len(parts) == 1 else Apply(BOOL, op, tuple(_without_repeats(parts)))


def _flat(op: str, parts: Sequence[Term]) -> list[Term]:
    return [each for part in parts for each in (part.args if isinstance(part, Apply) and part.op == op else (part,))]


def _without_repeats(parts: list[Term]) -> list[Term]:
    """Leave out a part that stands there already as the very same term."""
    seen: set[int] = set()
    return [part for part in parts if id(part) not in seen and not seen.add(id(part))]  # type: ignore[func-returns-value]


def _can_fail(term: Term, lookup: Lookup) -> bool:
    """Whether a condition can be an error: as far as its text tells, or because a fact in it is missing or of another type."""
    return may_fail(term) or any(_is_missing(fact, lookup) for fact in facts(term))


def _is_missing(fact: Fact, lookup: Lookup) -> bool:
    try:
        evaluate(fact, lookup)
    except ClauseError:
        return True
    return False


_OPPOSITE = {"eq": "ne", "ne": "eq"}
_OPPOSITE_ORDER = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}


def negation(term: Term) -> Term:
    """Return the opposite of a condition, with ``not`` pushed into a comparison where that means the same."""
    if isinstance(term, Const):
        return Const(BOOL, not boolean(term.value))
    if isinstance(term, Apply):
        if term.op == "not":
            return term.args[0]
        if term.op in _OPPOSITE:
            return Apply(BOOL, _OPPOSITE[term.op], term.args, term.span)
        if term.op in _OPPOSITE_ORDER and all(arg.type.kind in ("int", "version") for arg in term.args):  # a float may be nan, which has no order
            return Apply(BOOL, _OPPOSITE_ORDER[term.op], term.args, term.span)
    return Apply(BOOL, "not", (term,), getattr(term, "span", None))


def _chain(term: Apply, lookup: Lookup, exact: bool) -> Term:
    stop = term.op == "or"
    parts: list[Term] = []
    for arg in term.args:
        try:
            part = simplify(arg, lookup, exact=exact)
            if isinstance(part, Const):
                boolean(part.value)
        except ClauseError:
            if not parts:
                raise
            parts.append(arg)  # met only if all before it let it through; what follows is never met then
            break
        if isinstance(part, Const):
            if part.value is not stop:
                continue
            if not (exact and any(_can_fail(each, lookup) for each in parts)):
                return part
            return Apply(BOOL, term.op, (*_flat(term.op, parts), part), term.span)
        parts.append(part)
    return _join(term.op, parts)


def _if(term: Apply, lookup: Lookup, exact: bool) -> Term:
    condition = simplify(term.args[0], lookup, exact=exact)
    if isinstance(condition, Const):
        return simplify(term.args[1] if boolean(condition.value) else term.args[2], lookup, exact=exact)
    branches = list(term.args[1:])
    for place, branch in enumerate(branches):
        try:
            branches[place] = simplify(branch, lookup, exact=exact)
        except ClauseError:  # met only if the condition leads there: it stays as it is
            continue
    one, two = branches
    if isinstance(one, Const) and isinstance(two, Const):
        if type(one.value) is type(two.value) and one.value == two.value and not (exact and _can_fail(condition, lookup)):
            return one
        if one.value is True and two.value is False:
            return condition
        if one.value is False and two.value is True:
            return negation(condition)
    return Apply(term.type, "if", (condition, one, two), term.span)


def _in(term: Apply, lookup: Lookup, exact: bool) -> Term:
    if not (exact and _can_fail(term, lookup)):
        value = evaluate(term, lookup)
        if value is not UNKNOWN:
            return Const(BOOL, value)
    x = simplify(term.args[0], lookup, exact=exact)
    items: list[Term] = []
    for arg in term.args[1:]:
        try:
            item = simplify(arg, lookup, exact=exact)
            if isinstance(x, Const) and isinstance(item, Const):
                if not STRICT["eq"](x.value, item.value):
                    continue
                if not any(_can_fail(each, lookup) for each in items):
                    return TRUE
                items.append(item)
                break
            items.append(item)
        except ClauseError:
            if not items and isinstance(x, Const):
                raise
            items.append(arg)
            break
    if isinstance(x, Const) and not items:
        return FALSE
    if isinstance(x, Const) and len(items) == 1:
        return Apply(BOOL, "eq", (x, items[0]), term.span)
    return Apply(BOOL, "in", (x, *items), term.span)


def _arithmetic(term: Apply) -> Term:
    """Fold ``1 * x``, ``x + 0`` and ``2 * x * 8`` on integers, so that a rest reads as a person would write it."""
    if term.type.kind != "int" or term.op not in ("mul", "add", "sub"):
        return term
    left, right = term.args
    if left.type.kind != "int" or right.type.kind != "int":
        return term
    unit = 1 if term.op == "mul" else 0
    if _is(right, unit):
        return left
    if term.op == "sub":
        return term
    if _is(left, unit):
        return right
    if isinstance(right, Const) and isinstance(left, Apply) and left.op == term.op and left.type.kind == "int":
        for i, inner in enumerate(left.args):
            # x * 2 * 8 and 2 * x * 8: one constant; a factor 0 is left alone, its partner may be past the limit
            if isinstance(inner, Const) and inner.value != 0 and right.value != 0:
                try:
                    folded = Const(term.type, STRICT[term.op](inner.value, right.value))
                except ClauseError:
                    return term
                rest = left.args[1 - i]
                return Apply(term.type, term.op, (folded, rest) if term.op == "mul" else (rest, folded), term.span)
    return term


def _is(term: Term, value: Any) -> bool:
    return isinstance(term, Const) and isinstance(term.value, int) and not isinstance(term.value, bool) and bool(term.value == value)
