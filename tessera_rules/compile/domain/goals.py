"""What a search wants of conditions, and the alternatives that a condition comes apart into."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from tessera_rules.compile.domain.intervals import Bounds, bounds
from tessera_rules.compile.domain.linear import integer
from tessera_rules.compile.domain.solve import solve
from tessera_rules.compile.fallible import may_fail
from tessera_rules.model.terms import Apply, Const, Fact, Term, facts
from tessera_rules.model.types import BOOL, INT

T, F, E = "true", "false", "error"
HOLDS = frozenset((T,))
FAILS = frozenset((F, E))


@frozen(eq=False)
class Goal:
    """A condition and which of true, false and error it may come to."""

    term: Term
    wants: frozenset[str]


Way = list[Goal | None]
"""Goals that together are one alternative; ``[None]`` says that the condition is a plain one, for `assume`."""


def ways(term: Term, wants: frozenset[str], of: Bounds, limit: int | None) -> Iterator[Way]:
    """Yield the alternatives of a condition, at most ``limit`` of them."""
    for count, way in enumerate(_all_ways(term, wants, of)):
        if count == limit:
            return
        yield way


def _all_ways(term: Term, wants: frozenset[str], of: Bounds) -> Iterator[Way]:
    op = term.op if isinstance(term, Apply) else ""
    if wants == frozenset((T, F, E)) or (wants >= {T, F} and not may_fail(term)):
        yield []
    elif op in ("and", "or"):
        yield from _chain(term, wants)
    elif op == "not":
        assert isinstance(term, Apply)
        swapped = {T: F, F: T, E: E}
        yield [Goal(term.args[0], frozenset(swapped[want] for want in wants))]
    elif op == "if":
        assert isinstance(term, Apply)
        condition, one, two = term.args
        yield [Goal(condition, HOLDS), Goal(one, wants)]
        yield [Goal(condition, frozenset((F,))), Goal(two, wants)]
        if E in wants and may_fail(condition):
            yield [Goal(condition, frozenset((E,)))]
    elif E in wants and len(wants) > 1:
        yield [Goal(term, wants - {E})]
        if may_fail(term):
            yield from _errors(term, of)
    elif op == "in" and E not in wants and solve(term, True) is None and not _one_word(term):
        assert isinstance(term, Apply)
        pairs: list[Term] = [Apply(BOOL, "eq", (term.args[0], item), term.span) for item in term.args[1:]]
        if T in wants:
            for pair in pairs:
                yield [Goal(pair, HOLDS)]
        else:
            yield [Goal(pair, wants) for pair in pairs]
    elif op == "in_range" and E not in wants and solve(term, True) is None:
        assert isinstance(term, Apply)
        yield [Goal(_written_out(term), wants)] if integer(term.args[3]) is not None else [None]
    else:
        yield [None]


def _chain(term: Term, wants: frozenset[str]) -> Iterator[Way]:
    assert isinstance(term, Apply)
    through, stop = (T, F) if term.op == "and" else (F, T)
    if through in wants:
        yield [Goal(arg, frozenset((through,))) for arg in term.args]
    early = wants - {through}
    if early:
        before: list[Goal | None] = []
        for arg in term.args:
            if stop in early or may_fail(arg):
                yield [*before, Goal(arg, early if may_fail(arg) else early - {E})]
            if len(term.args) <= 32 or may_fail(arg):
                before.append(Goal(arg, frozenset((through,))))


def _one_word(term: Term) -> bool:
    """Whether a condition is about one name that is no integer: then its listed values are tried one by one."""
    names = list(facts(term))
    return len(names) == 1 and (names[0].type.kind != "int" or names[0].type.nullable)


def _written_out(term: Apply) -> Term:
    """``x in low..high step s`` as comparisons."""
    x, low, high, step = term.args
    parts = [Apply(BOOL, "le", (low, x)), Apply(BOOL, "le", (x, high))]
    if integer(step) != 1:
        parts.append(Apply(BOOL, "eq", (Apply(INT, "mod", (Apply(INT, "sub", (x, low)), step)), Const(INT, 0))))
    return Apply(BOOL, "and", tuple(parts), term.span)


def _errors(term: Term, of: Bounds) -> Iterator[Way]:
    """Yield the ways in which a plain condition can be an error: a divisor that is not positive, or something else."""
    other = False
    pending = [term]
    while pending:
        part = pending.pop()
        if not isinstance(part, Apply):
            continue
        if part.op in ("floordiv", "mod", "ceil_div", "align_up"):
            divisor = part.args[1]
            low = bounds(divisor, of).low
            if low is None or low < 1:
                yield [Goal(Apply(BOOL, "le", (divisor, Const(INT, 0))), HOLDS)]
        elif part.op not in ("and", "or", "not", "in") and may_fail(Apply(part.type, part.op, tuple(_plain(arg) for arg in part.args))):
            other = True
        pending.extend(part.args)
    if other:
        yield [Goal(term, frozenset((E,)))]


def _plain(arg: Term) -> Term:
    """A stand-in for a part, so that one operator can be asked about by itself."""
    return arg if isinstance(arg, Const | Fact) else Fact(arg.type, "", "")
