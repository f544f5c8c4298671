"""A contest as straight-line Python: from the values that a request is told apart by to the place of the winner.

Candidates are asked in the order in which they would win, so that the first who races is the answer. Conditions that several
of them share are computed once, first. Where something other than a plain answer is due, the function says so (`ASK`), and
the arbiter is asked: it says the same, and why.
"""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from attrs import define, field, frozen

from tessera_rules.compile.contest import Contest, Entrant
from tessera_rules.compile.expressions import LIMIT, Emitter
from tessera_rules.compile.fallible import may_fail
from tessera_rules.compile.kinds import ClauseError
from tessera_rules.compile.python import function, may_raise
from tessera_rules.model.terms import Apply, Const, Fact, Term
from tessera_rules.model.types import BOOL, INT

NOBODY, ASK, RANK = -1, -2, -3
"""Instead of a winner's place: nobody races; the arbiter is to be asked; a preference holds, and the field is to be ranked."""
SHARED_FROM = 3
"""Uses of a condition from which it is computed once, before everybody is asked."""
_ATOMS = ("eq", "ne", "lt", "le", "gt", "ge", "in", "in_range")

Row = tuple[int, bool, Any]
"""Of one who races: its place, whether it is avoided, its cost (infinite where it has none)."""


@frozen(eq=False)
class Plan:
    """A compiled contest. Both functions take the values of ``parameters``, in order; `fits` says which they take.

    ``winner`` returns a place, `NOBODY`, `ASK` or `RANK`. ``field`` returns everybody who races and which preferences hold;
    None where the arbiter is to be asked.
    """

    parameters: tuple[Fact, ...]
    winner: Callable[..., int]
    field: Callable[..., tuple[list[Row], tuple[bool, ...]] | None]


def compile_contest(contest: Contest) -> Plan:
    """Return a contest as functions.

    >>> from tessera_rules.model.terms import Apply, Const, Fact
    >>> m = Fact(INT, "dim:M", "M")
    >>> few = Apply(BOOL, "le", (m, Const(INT, 4)))
    >>> rows = (Entrant(0, (few,), (), (), 0, None, 0), Entrant(1, (), (), (), 1, None, 1))
    >>> plan = compile_contest(Contest((m,), (), (), (), rows, ("tier", "declaration")))
    >>> plan.winner(3), plan.winner(5), plan.winner(-1)
    (0, 1, -2)
    """
    return Plan(contest.parameters, _Writer(contest).winner(), _Writer(contest).field())


def _name(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _set(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value, lineno=0)


def _back(value: int) -> ast.stmt:
    return ast.Return(ast.Constant(value))


@define(eq=False)
class _Writer:
    """Writes one function of a contest."""

    contest: Contest
    emitter: Emitter = field(init=False)
    shared: dict[Any, Fact] = field(factory=dict, init=False)
    _parts: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        variables = {fact.key: f"f{i}" for i, fact in enumerate(self.contest.parameters)}
        self.emitter = Emitter(variables, {"ClauseError": ClauseError, "type": type, "int": int, "INF": math.inf, "LIMIT": LIMIT})

    # ---- the two functions ----

    def winner(self) -> Callable[..., int]:
        """Return the function that finds the winner."""
        body = [*self._head(ast.Constant(ASK))]
        for term in self.contest.preferences:
            body += self._tested([(term,)], [_back(RANK)], error=False)
        ends = self._ranked(self.contest.criteria, self.contest.entrants, body, avoided=None)
        if not ends:
            body.append(_back(NOBODY))
        return function("winner", self._parameters(), body, self.emitter.namespace)

    def field(self) -> Callable[..., tuple[list[Row], tuple[bool, ...]] | None]:
        """Return the function that lists everybody who races."""
        body = [*self._head(ast.Constant(None)), _set("rows", ast.List([], ast.Load()))]
        for each in self.contest.entrants:
            if each.open:
                body += self._racing(each, [ast.Return(ast.Constant(None))])
                continue
            leaf: list[ast.stmt] = [_set("avoided", ast.Constant(False))]
            for row in each.avoid:
                leaf += self._tested([row], [_set("avoided", ast.Constant(True))], error=False)
            leaf += self._cost(each)
            row_of = ast.Tuple([ast.Constant(each.place), _name("avoided"), _name("cost")], ast.Load())
            leaf.append(ast.Expr(ast.Call(ast.Attribute(_name("rows"), "append", ast.Load()), [row_of], [])))
            body += self._racing(each, leaf)
        names = []
        for index, term in enumerate(self.contest.preferences):
            names.append(f"p{index}")
            body.append(_set(names[-1], ast.Constant(False)))
            body += self._tested([(term,)], [_set(names[-1], ast.Constant(True))], error=False)
        body.append(ast.Return(ast.Tuple([_name("rows"), ast.Tuple([*map(_name, names)], ast.Load())], ast.Load())))
        return function("field", self._parameters(), body, self.emitter.namespace)

    def _parameters(self) -> list[str]:
        return [f"f{i}" for i in range(len(self.contest.parameters))]

    def _head(self, ask: ast.expr) -> Iterator[ast.stmt]:
        """Yield what comes first: are the values such as the code takes, do the demands hold, does a force?"""
        for index, fact in enumerate(self.contest.parameters):
            if fact.type.kind == "int" and not fact.type.nullable:
                plain = ast.Compare(ast.Call(_name("type"), [_name(f"f{index}")], []), [ast.Is()], [_name("int")])
                low: ast.expr = ast.Constant(0) if fact.key.startswith("dim:") else ast.UnaryOp(ast.USub(), _name("LIMIT"))
                within = ast.Compare(low, [ast.LtE() if fact.key.startswith("dim:") else ast.Lt(), ast.Lt()], [_name(f"f{index}"), _name("LIMIT")])
                yield ast.If(ast.UnaryOp(ast.Not(), ast.BoolOp(ast.And(), [plain, within])), [ast.Return(ask)], [])
        for term in self.contest.demands:
            yield _set("ok", ast.Constant(False))
            yield from self._tested([(term,)], [_set("ok", ast.Constant(True))], error=False)
            yield ast.If(ast.UnaryOp(ast.Not(), _name("ok")), [ast.Return(ask)], [])
        for term in self.contest.forces:
            yield from self._tested([(term,)], [ast.Return(ask)], error=False)
        yield from self._hoisted()

    # ---- conditions shared by several ----

    def _hoisted(self) -> Iterator[ast.stmt]:
        """Yield the computation of each plain condition, and each remainder, that several use."""
        counts: Counter[Any] = Counter()
        terms: dict[Any, Term] = {}
        for each in self.contest.entrants:
            for term in (*each.conditions, *each.denials, *(part for row in each.avoid for part in row)):
                _count(term, counts, terms)
        wanted = sorted((key for key, uses in counts.items() if uses >= SHARED_FROM), key=lambda key: terms[key].type.kind != "int")
        for number, key in enumerate(wanted):
            term = terms[key]
            value = self.emitter.expression(self._rewritten(term))
            fact = Fact(term.type, f"shared:{number}", f"s{number}")
            self.emitter.variables = {**self.emitter.variables, fact.key: fact.shown}
            self.shared[key] = fact
            yield _set(fact.shown, value)

    def _rewritten(self, term: Term) -> Term:
        """Return a term over what is computed already."""
        if not self.shared or not isinstance(term, Apply):
            return term
        known = self.shared.get(_key(term)) if _is_shareable(term) else None
        if known is not None:
            return known
        args = tuple([self._rewritten(arg) for arg in term.args])
        return term if all(new is old for new, old in zip(args, term.args, strict=True)) else Apply(term.type, term.op, args, term.span)

    # ---- the ranking ----

    def _ranked(self, criteria: Sequence[str], entrants: Sequence[Entrant], body: list[ast.stmt], avoided: bool | None) -> bool:
        """Write the search for the best of some; return whether it surely ends there. ``avoided``: None not looked at yet."""
        if not entrants:
            return False
        word, rest = (criteria[0], criteria[1:]) if criteria else ("declaration", ())
        match word:
            case "avoid":
                if self._ranked(rest, entrants, body, avoided=False):
                    return True
                return self._ranked(rest, [each for each in entrants if each.avoid], body, avoided=True)
            case "tier":
                return any(self._ranked(rest, [each for each in entrants if each.tier == tier], body, avoided) for tier in sorted({e.tier for e in entrants}))
            case "cost" if len(entrants) > 1 and any(each.cost is not None or each.open for each in entrants):
                return self._cheapest(entrants, body, avoided)
            case "declaration":
                return any(self._first(each, body, avoided) for each in sorted(entrants, key=lambda each: each.order))
        return self._ranked(rest, entrants, body, avoided)

    def _first(self, each: Entrant, body: list[ast.stmt], avoided: bool | None) -> bool:
        """Write: if it races, it is the answer."""
        found = self._racing(each, [_back(ASK if each.open else each.place)], avoided)
        body += found
        return isinstance(found[-1], ast.Return)

    def _cheapest(self, entrants: Sequence[Entrant], body: list[ast.stmt], avoided: bool | None) -> bool:
        """Write: the cheapest of those who race, the first declared among equals."""
        body += [_set("who", ast.Constant(NOBODY)), _set("best", _name("INF"))]
        for each in sorted(entrants, key=lambda each: each.order):
            if each.open:
                body += self._racing(each, [_back(ASK)], avoided)
                continue
            better = ast.BoolOp(
                ast.Or(),
                [ast.Compare(_name("who"), [ast.Lt()], [ast.Constant(0)]), ast.Compare(_name("cost"), [ast.Lt()], [_name("best")])],
            )
            taken = ast.If(better, [_set("who", ast.Constant(each.place)), _set("best", _name("cost"))], [])
            body += self._racing(each, [*self._cost(each), taken], avoided)
        body.append(ast.If(ast.Compare(_name("who"), [ast.GtE()], [ast.Constant(0)]), [ast.Return(_name("who"))], []))
        return False

    def _cost(self, each: Entrant) -> list[ast.stmt]:
        """Write its cost into ``cost``: infinite where it states none, or none that is finite."""
        none = _set("cost", _name("INF"))
        if each.cost is None:
            return [none]
        value = _set("cost", self.emitter.expression(self._rewritten(each.cost)))
        handler = ast.ExceptHandler(_name("ClauseError"), None, [none])
        minus = ast.UnaryOp(ast.USub(), _name("INF"))
        finite = ast.Compare(minus, [ast.Lt(), ast.Lt()], [_name("cost"), _name("INF")])
        return [ast.Try([value], [handler], [], []), ast.If(ast.UnaryOp(ast.Not(), finite), [none], [])]

    def _racing(self, each: Entrant, leaf: list[ast.stmt], avoided: bool | None = None) -> list[ast.stmt]:
        """Return statements that do ``leaf`` where a candidate races, and where it is not avoided if that is asked for."""
        inner = leaf
        if avoided is False and each.avoid:
            inner = self._unless(each.avoid, inner, error=False)
        if each.denials:
            inner = self._unless([(term,) for term in each.denials], inner, error=True)
        return self._tested([each.conditions], inner, error=False) if each.conditions else inner

    def _unless(self, rows: Sequence[Sequence[Term]], leaf: list[ast.stmt], *, error: bool) -> list[ast.stmt]:
        """Return statements that do ``leaf`` where no row holds whole."""
        for row in reversed(rows):
            name = self._part()
            found: list[ast.stmt] = [_set(name, ast.Constant(False))]
            found += self._tested([row], [_set(name, ast.Constant(True))], error=error)
            leaf = [*found, ast.If(ast.UnaryOp(ast.Not(), _name(name)), leaf, [])]
        return leaf

    def _tested(self, rows: Sequence[Sequence[Term]], leaf: list[ast.stmt], *, error: bool) -> list[ast.stmt]:
        """Return statements that do ``leaf`` where all terms of the one row hold; ``error``: what an error counts as."""
        (row,) = rows
        terms = [self._rewritten(term) for term in row]
        tests = [self.emitter.condition(term) for term in terms]
        whole = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
        if not any(map(may_raise, terms)):
            return [ast.If(whole, leaf, [])]
        name = self._part()
        handler = ast.ExceptHandler(_name("ClauseError"), None, [_set(name, ast.Constant(error))])
        return [ast.Try([_set(name, whole)], [handler], [], []), ast.If(_name(name), leaf, [])]

    def _part(self) -> str:
        self._parts += 1
        return f"b{self._parts}"


def _is_shareable(term: Apply) -> bool:
    if term.op == "mod":
        left, right = term.args
        return isinstance(left, Fact) and isinstance(right, Const) and term.type is not None and not may_fail(term) and term.type.kind == INT.kind
    return term.op in _ATOMS and term.type.kind == BOOL.kind and not may_fail(term) and not may_raise(term)


def _count(term: Term, counts: Counter[Any], terms: dict[Any, Term]) -> None:
    pending = [term]
    while pending:
        part = pending.pop()
        if not isinstance(part, Apply):
            continue
        if _is_shareable(part):
            key = _key(part)
            counts[key] += 1
            terms.setdefault(key, part)
            if counts[key] > 1:
                continue
        pending.extend(part.args)


def _key(term: Term) -> Any:
    """Return what is equal for terms that say the same."""
    if isinstance(term, Fact):
        return term.key
    if isinstance(term, Const):
        return type(term.value).__name__, repr(term.value)
    assert isinstance(term, Apply)
    return (term.op, *map(_key, term.args))


def values_of(plan: Plan, values: Mapping[str, Any]) -> list[Any]:
    """Return the arguments of a plan's functions from values by fact key."""
    return [values[fact.key] for fact in plan.parameters]
