"""Structure decided once: what is left of a ruleset for one op, target, dtype and the rest of what does not change from call to call.

The clauses that structure settles are settled, what stays open goes into a `Contest`, and candidates that structure refuses
are gone. What the contest's plan answers is what `tessera_rules.arbiter.decide.decide` answers; where a plan does not, it is
asked (`Structure.winner` returns None).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from attrs import define, evolve, frozen

from tessera_rules.arbiter.decision import Verdict
from tessera_rules.arbiter.facts import Lookup, shape_terms
from tessera_rules.arbiter.gates import applies, available, condition_of, require, verify, workspace_clause
from tessera_rules.arbiter.rank import NO_COST, TIER_RANK, preferred_ahead
from tessera_rules.arbiter.rank_rules import ALWAYS, Selection
from tessera_rules.arbiter.situation import Situation
from tessera_rules.compile.contest import Contest, Entrant
from tessera_rules.compile.evaluate import UNKNOWN, ClauseError
from tessera_rules.compile.fallible import may_fail
from tessera_rules.compile.kinds import typed
from tessera_rules.compile.plan import ASK, NOBODY, RANK, Plan, Row, compile_contest
from tessera_rules.compile.simplify import simplify, substitute
from tessera_rules.errors import TesseraError
from tessera_rules.model.request import Request
from tessera_rules.model.terms import Apply, Const, Fact, Term, facts
from tessera_rules.model.types import BOOL, INT
from tessera_rules.model.values import Candidate, Criterion, Rule

LAYOUT_FACTS = ("align", "stride", "contiguous", "broadcast", "max_offset")
FALSE = Const(BOOL, False)


@frozen(eq=False)
class Structure:
    """One structure, compiled: answers by the values of ``parameters``.

    ``names`` are the candidates by place. ``preferences`` are the rules' that may hold, ``criteria`` the policy's order.
    """

    plan: Plan
    names: tuple[str, ...]
    preferences: tuple[Selection, ...]
    tiers: tuple[int, ...]
    criteria: tuple[Criterion, ...]
    on_none: str

    @property
    def parameters(self) -> tuple[Fact, ...]:
        """The facts that a request of this structure is told apart by."""
        return self.plan.parameters

    def winner(self, *values: Any) -> str | None:
        """Return who wins, ``reference`` where nobody races, None where the arbiter is to be asked."""
        place = self.plan.winner(*values)
        if place == RANK:
            place = self._ranked(*values)
        if place == NOBODY:
            return "reference" if self.on_none == "reference" else None
        return None if place == ASK else self.names[place]

    def _ranked(self, *values: Any) -> int:
        """Rank the whole field, a preference being active."""
        found = self.plan.field(*values)
        if found is None:
            return ASK
        left, holds = found
        active = [selection for selection, holding in zip(self.preferences, holds, strict=True) if holding]
        for word in self.criteria:
            if len(left) <= 1:
                break
            left = self._kept(word, left, active)
        return left[0][0] if left else NOBODY

    def _kept(self, word: str, left: list[Row], active: list[Selection]) -> list[Row]:
        match word:
            case "rules":
                ahead = preferred_ahead([self.names[row[0]] for row in left], active)
                return [row for row in left if not ahead[self.names[row[0]]]]
            case "avoid":
                return [row for row in left if not row[1]] or left
            case "tier":
                best = min(self.tiers[row[0]] for row in left)
                return [row for row in left if self.tiers[row[0]] == best]
            case "cost":
                cheapest = min(row[2] for row in left)
                return [row for row in left if row[2] == cheapest]
            case "declaration":
                return left[:1]
        return left


def settle(situation: Situation, open_keys: Callable[[str], bool]) -> Structure:
    """Return the structure of a situation. ``open_keys`` says of a fact's key whether its value is given at each decision.

    The situation's request has no dimensions; its promises and whatever else of it is not open are the structure. The more
    is open, the fewer candidates are left out before: with `of_request` every clause is asked at each decision, which is what
    the index is held to (D17).
    """
    return _Settler(situation, open_keys).structure()


def of_dims(key: str) -> bool:
    """Whether a fact is a size: what differs between requests that dimensions state."""
    return key.startswith("dim:")


def of_operands(key: str) -> bool:
    """Whether a fact is a size or a layout: what differs between operands of one structure."""
    return key.partition(":")[0] in ("dim", *LAYOUT_FACTS)


def of_request(key: str) -> bool:
    """Whether a fact is the request's to say, and not the machine's."""
    return not key.startswith(("device:", "probe:")) and key != "os"


@define(eq=False)
class _Settler:
    situation: Situation
    open_keys: Callable[[str], bool]

    def structure(self) -> Structure:
        situation = self.situation
        candidates = situation.candidates
        order = situation.ruleset.policy.order
        criteria = tuple(order) if "declaration" in order else (*order, "declaration")
        asks_rules = "rules" in order
        forces = [each.condition.clauses[0].term if each.condition.clauses else Const(BOOL, True) for each in self._selections("force")] if asks_rules else []
        preferences: list[tuple[Selection, Term]] = []
        for each in self._selections("prefer") if asks_rules else ():
            preferences.append((each, each.condition.clauses[0].term if each.condition.clauses else Const(BOOL, True)))
        avoids = [(each.candidates, each.condition.clauses[0].term if each.condition.clauses else Const(BOOL, True)) for each in self._selections("avoid")]
        entrants = [entrant for place, candidate in enumerate(candidates) if (entrant := self._entrant(place, candidate, avoids)) is not None]
        names = tuple(candidate.name for candidate in candidates)
        tiers = tuple(TIER_RANK[candidate.tier] for candidate in candidates)
        contest = Contest(
            self._parameters(),
            tuple(self._demands()),
            tuple(self._only_open([*forces, *(term for _, term in preferences if self._is_beyond(term))])),
            tuple(term for _, term in preferences if not self._is_beyond(term)),
            tuple(entrants),
            tuple(word for word in criteria if word not in ("rules", "measured")),
        )
        kept = tuple(selection for selection, term in preferences if not self._is_beyond(term))
        return Structure(compile_contest(contest), names, kept, tiers, criteria, situation.ruleset.policy.on_none)

    def _parameters(self) -> tuple[Fact, ...]:
        """Return the facts of the op that are open: every dimension, and of layouts and the rest what somebody reads."""
        op = self.situation.request.op
        dims = {f"dim:{name}": Fact(INT, f"dim:{name}", name) for name in op.dims}
        read: dict[str, Fact] = {}
        for term in self._all_terms():
            read.update((fact.key, fact) for fact in facts(term) if self.open_keys(fact.key))
        return tuple({**{key: fact for key, fact in dims.items() if self.open_keys(key)}, **dict(sorted(read.items()))}.values())

    def _all_terms(self) -> Iterator[Term]:
        situation = self.situation
        limit = situation.ruleset.policy.workspace_bytes
        for candidate in situation.candidates:
            for clause in (*candidate.requires, *candidate.implied, *candidate.avoid, *candidate.available):
                yield clause.term
            if candidate.cost is not None:
                yield candidate.cost
            if candidate.workspace is not None and limit is not None:
                yield candidate.workspace
        for rule in situation.ruleset.rules:
            when = condition_of(rule, situation.request) if applies(rule, situation.request) else None
            if when is not None:
                yield when.term
        yield from (clause.term for clause in situation.request.op.checks)

    def _is_beyond(self, term: Term) -> bool:
        """Whether a term, settled, still reads what the plan is not given."""
        return any(not self.open_keys(fact.key) for fact in facts(term))

    def _only_open(self, terms: Iterable[Term]) -> Iterator[Term]:
        """Yield conditions; one that reads what the plan is not given counts as one that may hold."""
        for term in terms:
            yield Const(BOOL, True) if self._is_beyond(term) else term

    # ---- one candidate ----

    def _entrant(self, place: int, candidate: Candidate, avoids: Sequence[tuple[frozenset[str], Term]]) -> Entrant | None:
        """Return a candidate as it stands once structure is settled; None where it is out for good."""
        situation = self.situation
        try:
            if any(isinstance(outcome, Verdict) for gate in (available, verify) for outcome in gate(situation, candidate)):
                return None
            if self._refused_by_structure(candidate):
                return None
            lookup = self._lookup(situation.lookup(candidate))
        except TesseraError:
            return None
        clauses = [clause.term for clause in (*candidate.requires, *candidate.implied)]
        if not situation.is_assumed(candidate):
            clauses += [clause.term for clause in candidate.available]
        limit = situation.ruleset.policy.workspace_bytes
        if candidate.workspace is not None and limit is not None:
            clauses.append(workspace_clause(candidate, limit).term)
        conditions: list[Term] = []
        for term in clauses:
            rest = self._settled(term, lookup)
            if rest is None or (isinstance(rest, Const) and rest.value is not True):
                return None
            if not isinstance(rest, Const):
                conditions.append(rest)
        denials = self._denials(candidate)
        if denials is None:
            return None
        avoid = self._avoid(candidate, avoids, lookup)
        cost = self._cost(candidate, lookup)
        beyond = [*denials, *(part for row in avoid for part in row), *((cost,) if cost is not None else ())]
        open_here = bool(candidate.uses) or any(map(self._is_beyond, [*conditions, *beyond])) or self._precision_is_open(candidate)
        if open_here:
            # Nobody behind it can be named; who is asked then is the arbiter.
            conditions = [term for term in conditions if not self._is_beyond(term)]
            denials = ()
            avoid, cost = tuple(row for row in avoid if not any(map(self._is_beyond, row))), None
        return Entrant(place, tuple(conditions), denials, avoid, TIER_RANK[candidate.tier], cost, candidate.order, open_here)

    def _refused_by_structure(self, candidate: Candidate) -> bool:
        """Whether promises, the closed world or the precision class keep it out: all that `require` asks besides clauses."""
        bare = evolve(candidate, requires=(), implied=(), uses=(), workspace=None)
        return any(isinstance(outcome, Verdict) for outcome in require(self.situation, bare))

    def _precision_is_open(self, candidate: Candidate) -> bool:
        bare = evolve(candidate, requires=(), implied=(), uses=(), workspace=None)
        return any(outcome is not None and not isinstance(outcome, Verdict) for outcome in require(self.situation, bare))

    def _denials(self, candidate: Candidate) -> tuple[Term, ...] | None:
        """Return the conditions of rules that deny it; None where one holds for the whole structure."""
        found: list[Term] = []
        for rule in self.situation.ruleset.rules:
            names = frozenset[str]().union(*(action.candidates for action in rule.actions if action.kind == "deny"))
            if candidate.name not in names or not applies(rule, self.situation.request):
                continue
            clause = condition_of(rule, self.situation.request)
            rest = None if clause is None else self._settled(clause.term, self._lookup(self.situation.rule_lookup(names)))
            if rest is None or (isinstance(rest, Const) and rest.value is not False):
                return None
            if not isinstance(rest, Const):
                found.append(rest)
        return tuple(found)

    def _avoid(self, candidate: Candidate, avoids: Sequence[tuple[frozenset[str], Term]], lookup: Lookup) -> tuple[tuple[Term, ...], ...]:
        rows: list[tuple[Term, ...]] = []
        if candidate.avoid:
            own = [self._settled(clause.term, lookup) or FALSE for clause in candidate.avoid]
            if not any(isinstance(term, Const) and term.value is not True for term in own):
                rows.append(tuple(term for term in own if not isinstance(term, Const)) or (Const(BOOL, True),))
        rows += [(term,) for names, term in avoids if candidate.name in names]
        return tuple(rows)

    def _cost(self, candidate: Candidate, lookup: Lookup) -> Term | None:
        if candidate.cost is None:
            return None
        rest = self._settled(candidate.cost, lookup)
        return None if rest is None or (isinstance(rest, Const) and rest.value == NO_COST) else rest

    # ---- rules, and what a request must be ----

    def _selections(self, kind: str) -> Iterator[Selection]:
        """Yield the actions of a kind whose condition may hold, with what is left of it."""
        situation = self.situation
        registered = frozenset(candidate.name for candidate in situation.candidates)
        for rule in situation.ruleset.rules:
            if not applies(rule, situation.request):
                continue
            for action in rule.actions:
                here, over = action.candidates & registered, action.over & registered
                if action.kind != kind or not here or (kind == "prefer" and not over):
                    continue
                yield from self._selection(rule, Selection(rule, action, here, over, ALWAYS))

    def _selection(self, rule: Rule, selection: Selection) -> Iterator[Selection]:
        clause = condition_of(rule, self.situation.request)
        if clause is None:
            yield selection
            return
        names = frozenset[str]().union(*(each.candidates | each.over for each in rule.actions))
        rest = self._settled(clause.term, self._lookup(self.situation.rule_lookup(names)))
        if rest is None or (isinstance(rest, Const) and rest.value is not True):
            return
        condition = evolve(selection.condition, clauses=() if isinstance(rest, Const) else (evolve(clause, term=rest),))
        yield evolve(selection, condition=condition)

    def _demands(self) -> Iterator[Term]:
        """Yield what is true of every request that may be decided here: sizes, the op's checks, and some element in each result."""
        op = self.situation.request.op
        for dim in op.dims.values():
            size = Fact(INT, f"dim:{dim.name}", dim.name)
            if dim.low > 0:
                yield Apply(BOOL, "ge", (size, Const(INT, dim.low)))
            if dim.high is not None:
                yield Apply(BOOL, "le", (size, Const(INT, dim.high)))
            if dim.step != 1:
                yield Apply(BOOL, "eq", (Apply(INT, "mod", (Apply(INT, "sub", (size, Const(INT, dim.low))), Const(INT, dim.step))), Const(INT, 0)))
        lookup = self._lookup(self.situation.facts)
        for clause in op.checks:
            rest = self._settled(clause.term, lookup) or FALSE
            if not isinstance(rest, Const) or rest.value is not True:
                yield from self._beyond_is_false(rest)
        for result in op.results:
            for term in op.operands[result.inout].shape if result.inout is not None else result.shape:
                count = self._settled(term, lookup)
                if count is None:
                    yield FALSE
                elif not isinstance(count, Const) or count.value == 0:
                    yield from self._beyond_is_false(Apply(BOOL, "ne", (count, Const(INT, 0))))

    def _beyond_is_false(self, term: Term) -> Iterator[Term]:
        yield FALSE if self._is_beyond(term) else term

    # ---- terms ----

    def _lookup(self, lookup: Lookup) -> Lookup:
        """Return a look-up in which what is given at each decision has no value yet."""

        def settled(key: str) -> Any:
            return UNKNOWN if self.open_keys(key) else lookup(key)

        return settled

    def _settled(self, term: Term, lookup: Lookup) -> Term | None:
        """Return what is left of a term; None where it is an error whatever the rest is."""
        try:
            return self._over_sizes(simplify(term, lookup, exact=True))
        except ClauseError:
            return None

    def _over_sizes(self, term: Term) -> Term:
        """Write strides and offsets of operands that nothing is stated of as what they come to: products of sizes."""
        terms = {fact.key: found for fact in facts(term) if not self.open_keys(fact.key) and (found := plain_layout(self.situation.request, fact.key))}
        return substitute(term, terms) if terms else term


def plain_layout(request: Request, key: str) -> Term | None:
    """Return a stride or the largest offset of a C-contiguous operand as a term over the sizes; None for any other fact.

    As `tessera_rules.arbiter.layouts` has it: a size of 0 counts as 1 in a stride; an operand without elements reaches 0.
    """
    kind, _, rest = key.partition(":")
    name, _, axis = rest.partition(":")
    if kind not in ("stride", "max_offset") or name in request.layouts:
        return None
    shape = shape_terms(request, name)
    if any(may_fail(term) for term in shape):
        return None
    one = Const(INT, 1)
    if kind == "stride":
        return _product([Apply(INT, "max", (term, one)) for term in shape[int(axis) + 1 :]])
    if not shape:
        return Const(INT, 0)
    empty = Apply(BOOL, "or", tuple(Apply(BOOL, "eq", (term, Const(INT, 0))) for term in shape))
    return Apply(INT, "if", (empty, Const(INT, 0), Apply(INT, "sub", (_product(list(shape)), one))))


def _product(terms: Sequence[Term]) -> Term:
    if not terms:
        return Const(INT, 1)
    found = terms[0]
    for term in terms[1:]:
        found = Apply(INT, "mul", (found, term))
    return found


def typed_values(structure: Structure, lookup: Lookup) -> list[Any] | None:
    """Return the values of a structure's parameters, None where one is open, missing or of a wrong type."""
    found: list[Any] = []
    for fact in structure.parameters:
        try:
            value = lookup(fact.key)
            if value is UNKNOWN:
                return None
            found.append(typed(value, fact.type, fact.shown))
        except ClauseError:
            return None
    return found
