"""A request without sizes as a `Course`: every gate that hangs on structure alone is settled, the others are terms over sizes.

It asks what `gates.py` and `rank_rules.py` ask, in the same order; tests/property/test_agreement.py holds them together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal

from attrs import define, field

from tessera_rules.arbiter import gates
from tessera_rules.arbiter.decide import REFERENCE
from tessera_rules.arbiter.decision import Verdict
from tessera_rules.arbiter.facts import Lookup, RequestFacts
from tessera_rules.arbiter.layout_terms import layout_terms
from tessera_rules.arbiter.race import enter
from tessera_rules.arbiter.rank import TIER_RANK
from tessera_rules.arbiter.request import bind_words
from tessera_rules.arbiter.situation import Situation
from tessera_rules.compile import course as made
from tessera_rules.compile.course import COMMON, MISSING, Choice, Course, Interner, Lane, Reason, Step, UsesStep
from tessera_rules.compile.evaluate import UNKNOWN, ClauseError, evaluate
from tessera_rules.compile.simplify import simplify, substitute
from tessera_rules.errors import ArbiterError, TesseraError
from tessera_rules.model.terms import Apply, Const, Fact, Term, facts
from tessera_rules.model.types import BOOL, INT
from tessera_rules.model.values import Candidate, Clause, Dim, Uses
from tessera_rules.source import Span

__all__ = ["course_of"]


def course_of(situation: Situation, dims: Collection[str], force: str | None = None) -> Course:
    """Return the decision of a situation, whose request has no sizes, as a function of these dimensions.

    Raises `ArbiterError` where a forced candidate is registered elsewhere, as deciding does.
    """
    return _Builder(situation, frozenset(dims), force, Interner()).course()


@define(eq=False)
class _Builder:
    """Settles terms and gathers steps, reasons and what is open."""

    situation: Situation
    dims: frozenset[str]
    force: str | None
    intern: Interner
    reasons: list[Reason] = field(init=False)
    open: dict[str, None] = field(factory=dict, init=False)
    layouts: Mapping[str, Term] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.reasons = list(COMMON)
        self.layouts = layout_terms(self.situation.request)

    def course(self) -> Course:
        """Put it together."""
        situation, request = self.situation, self.situation.request
        op = request.op
        candidates = situation.candidates
        forced = self._forced(candidates)
        given = tuple(dim for dim in op.dims.values() if dim.name in self.dims)
        lookup = RequestFacts(request)
        within = tuple(self.intern(term) for dim in given for term in domain(dim))
        checks = []
        for clause in op.checks:
            term = self.settle(clause.term, lookup)
            if term is not None and not _holds(term):  # one that is open says nothing
                checks.append(term)
        empties = []
        for result in op.results:
            shape = result.shape if result.inout is None else op.operands[result.inout].shape
            empties.append(tuple(term for each in shape if (term := self.settle(each, lookup)) is not None))
        lanes = tuple(self._lane(candidate) for candidate in candidates)
        policy = situation.ruleset.policy
        order = tuple(word for word in policy.order if word != "measured")
        choices = tuple(self._choices()) if candidates else ()
        return Course(
            op.name, request.target, given, within, tuple(checks), tuple(empties), lanes, choices, order, policy.on_none == "error", forced,
            tuple(self.reasons), tuple(self.open),
        )  # fmt: skip

    def _forced(self, candidates: tuple[Candidate, ...]) -> int | None:
        if self.force is None:
            return None
        if self.force == REFERENCE:
            return made.REFERENCE
        place = next((place for place, candidate in enumerate(candidates) if candidate.name == self.force), None)
        if place is None:
            raise ArbiterError(f"'{self.force}' is forced, and is no candidate here", candidate=self.force)
        return place

    # ---- terms ----

    def settle(self, term: Term, lookup: Lookup) -> Term | None:
        """Return what is left of a term over the dimensions; `MISSING` where it is an error, None where it hangs on more."""
        term = substitute(term, self.layouts)
        try:
            rest = simplify(term, lookup, exact=True)
        except ClauseError:
            return MISSING
        known: dict[str, Term] = {}
        for fact in facts(rest):
            if fact.key.startswith("dim:") and fact.key[4:] in self.dims:
                continue
            try:
                value = evaluate(fact, lookup)
            except ClauseError:
                continue  # it is missing, and what reads it is an error
            if value is UNKNOWN:
                return None
            known[fact.key] = Const(fact.type, value)
        return self.intern(_folded(substitute(rest, known)))

    def _open(self, text: str, span: Span | None) -> None:
        where = f" ({span.source.name}:{span.line})" if span else ""
        self.open.setdefault(f"{text}{where}")

    def _reason(self, verdict: str, code: str, candidate: Candidate, clause: str | None, span: Span | None) -> int:
        place = span or candidate.name_span
        found = Reason(verdict, code, candidate.name, clause, place.source.name, place.line)
        if found not in self.reasons:
            self.reasons.append(found)
        return self.reasons.index(found)

    # ---- gates ----

    def _lane(self, candidate: Candidate) -> Lane:
        before = len(self.reasons)
        steps: list[Step | UsesStep] = []
        try:
            for step in self._steps(candidate):
                if isinstance(step, Step) and step.term is not None and isinstance(step.term, Const) and step.term.value is step.wanted:
                    continue
                steps.append(step)
                if isinstance(step, Step) and (step.term is MISSING or isinstance(step.term, Const)):
                    break  # out whatever the sizes are: nothing behind it is asked
        except Exception:  # what looking at it raises is its own verdict, and deciding words it
            del self.reasons[before:]
            verdict = enter(self.situation, candidate).verdict
            steps = [self._out(candidate, verdict)] if verdict is not None else [Step(None, 0, 0)]
        lookup = self.situation.lookup(candidate)
        avoid = tuple(self.settle(clause.term, lookup) for clause in candidate.avoid)
        if any(_never(term) for term in avoid):
            avoid = ()
        elif any(term is None for term in avoid):
            self._open(f"{candidate.name}: its avoid", candidate.name_span)
        cost = None if candidate.cost is None else self.settle(candidate.cost, lookup)
        open_cost = candidate.cost is not None and cost is None
        if open_cost:
            self._open(f"{candidate.name}: its cost", candidate.name_span)
        return Lane(candidate.name, tuple(steps), avoid, TIER_RANK[candidate.tier], None if cost is MISSING else cost, open_cost)

    def _out(self, candidate: Candidate, verdict: Verdict) -> Step:
        found = self._reason(verdict.verdict, verdict.code, candidate, verdict.clause, verdict.span)
        return Step(Const(BOOL, False), found, found)

    def _steps(self, candidate: Candidate) -> Iterator[Step | UsesStep]:
        yield from self._deny(candidate)
        yield from self._require(candidate)
        yield from self._available(candidate)

    def _clause(self, candidate: Candidate, clause: Clause, lookup: Lookup, word: str, code: str) -> Step:
        term = self.settle(clause.term, lookup)
        if term is None:
            self._open(f"{candidate.name}: {clause.text}", clause.span)
        no = self._reason(word, code, candidate, clause.text, clause.span)
        return Step(term, no, self._reason("error", "error", candidate, clause.text, clause.span))

    def _deny(self, candidate: Candidate) -> Iterator[Step]:
        request = self.situation.request
        for rule in self.situation.ruleset.rules:
            names = frozenset[str]().union(*(action.candidates for action in rule.actions if action.kind == "deny"))
            if candidate.name not in names or not gates.applies(rule, request):
                continue
            clause = gates.condition_of(rule, request)
            place = self._reason("denied", "denied", candidate, None if clause is None else clause.text, rule.name_span if clause is None else clause.span)
            term = Const(BOOL, True) if clause is None else self.settle(clause.term, self.situation.rule_lookup(names))
            if term is None and clause is not None:
                self._open(f"rule {rule.name}: {clause.text}", clause.span)
            yield Step(term, place, place, wanted=False)

    def _require(self, candidate: Candidate) -> Iterator[Step | UsesStep]:
        situation, lookup, request = self.situation, self.situation.lookup(candidate), self.situation.request
        for clause in (*candidate.requires, *candidate.implied):
            yield self._clause(candidate, clause, lookup, "refused", clause.code)
        for used in candidate.uses:
            yield self._uses(candidate, used, lookup)
        for outcome in (*gates.closed_world(candidate, request), gates.precision(candidate, request)):
            if isinstance(outcome, Verdict):
                yield self._out(candidate, outcome)
            elif outcome is not None:
                self._open(f"{candidate.name}: {outcome.condition}", outcome.span)
                yield Step(None, 0, 0)
        limit = situation.ruleset.policy.workspace_bytes
        if candidate.workspace is not None and limit is not None:
            yield self._clause(candidate, gates.workspace_clause(candidate, limit), lookup, "refused", "workspace")
        for promise in sorted(request.require | situation.ruleset.policy.require):
            if not getattr(candidate, promise):
                found = self._reason("refused", "promise", candidate, None, None)
                yield Step(Const(BOOL, False), found, found)

    def _available(self, candidate: Candidate) -> Iterator[Step]:
        situation, machine = self.situation, self.situation.machine
        if candidate.name not in situation.excluded and situation.is_assumed(candidate):
            return
        if candidate.name in situation.excluded or situation.device is None or (candidate.name in situation.ruleset.untrusted and not machine.stated):
            outcome = next(iter(gates.available(situation, candidate)))
            assert isinstance(outcome, Verdict)
            yield self._out(candidate, outcome)
            return
        lookup = situation.lookup(candidate)
        for clause in candidate.available:
            yield self._clause(candidate, clause, lookup, "unavailable", "unavailable")
        if machine.bound(candidate).value is not True:
            found = self._reason("unavailable", "binding", candidate, None, candidate.bind.span)
            yield Step(Const(BOOL, False), found, found)

    def _uses(self, candidate: Candidate, used: Uses, lookup: Lookup) -> Step | UsesStep:
        """Make the other op's decision a course of its own."""
        situation, outer = self.situation, self.situation.request
        no = self._reason("refused", "requires", candidate, used.text, used.span)
        error = self._reason("error", "error", candidate, used.text, used.span)
        if candidate.name in situation.chain:
            return Step(MISSING, error, error)
        words: dict[str, Any] = {"threads": outer.threads if outer.threads is not None else situation.machine.threads, "device": outer.device}
        words |= {"allow": tuple(sorted(outer.allow)), "require": tuple(sorted(outer.require))}
        sizes: list[tuple[str, Term | None]] = []
        for name, term in (*used.dims.items(), *used.attrs.items(), *((("dtype", used.dtype),) if used.dtype is not None else ())):
            left = self.settle(term, lookup)
            if left is MISSING:
                return Step(MISSING, error, error)
            if name in used.dims:
                sizes.append((name, left))
            elif isinstance(left, Const):
                words[name] = left.value
            else:
                self._open(f"{candidate.name}: {used.text}", used.span)
                return Step(None, no, error)
        try:
            request = bind_words(situation.ruleset, used.op, outer.target, words, situation.machine)
            chain = (*situation.chain, candidate.name)
            inner = Situation(situation.ruleset, request, situation.machine, situation.assumed, situation.excluded, situation.proofs, None, chain)
            course = _Builder(inner, frozenset(name for name, term in sizes if term is not None), None, self.intern).course()
        except TesseraError:
            # refused, unless a size has no answer: that is asked first
            asked = [Apply(BOOL, "eq", (term, term)) for _, term in sizes if term is not None]
            return Step(self.intern(Apply(BOOL, "and", (*asked, Const(BOOL, False)))), no, error)
        for said in course.open:
            self._open(f"{candidate.name}: {used.text}: {said}", None)
        return UsesStep(course, tuple(sizes), no, error)

    # ---- the ranking ----

    def _choices(self) -> Iterator[Choice]:
        situation, request = self.situation, self.situation.request
        if not {"rules", "avoid"} & set(situation.ruleset.policy.order):
            return
        places = {candidate.name: place for place, candidate in enumerate(situation.candidates)}
        for number, rule in enumerate(situation.ruleset.rules):
            if not gates.applies(rule, request):
                continue
            for action in rule.actions:
                here, over = action.candidates & places.keys(), action.over & places.keys()
                if action.kind == "deny" or not here or (action.kind == "prefer" and not over):
                    continue
                if ("avoid" if action.kind == "avoid" else "rules") not in situation.ruleset.policy.order:
                    continue
                kind: Literal["avoid", "prefer", "force"] = action.kind
                clause = gates.condition_of(rule, request)
                names = frozenset[str]().union(*(each.candidates | each.over for each in rule.actions))
                term = Const(BOOL, True) if clause is None else self.settle(clause.term, situation.rule_lookup(names))
                if _never(term):
                    continue
                if term is None and clause is not None:
                    self._open(f"rule {rule.name}: {clause.text}", clause.span)
                yield Choice(kind, number, term, sum(1 << places[name] for name in here), sum(1 << places[name] for name in over))


def _folded(term: Term) -> Term:
    """Return a term whose constant parts are computed; one that has no answer is `MISSING`, an error where it is met.

    Partial evaluation leaves what stands behind an error as it was.
    """
    if not isinstance(term, Apply):
        return term
    args = tuple([_folded(arg) for arg in term.args])
    if all(isinstance(arg, Const) for arg in args):
        try:
            return Const(term.type, evaluate(Apply(term.type, term.op, args), _no_facts))
        except ClauseError:
            return MISSING
    return term if all(new is old for new, old in zip(args, term.args, strict=True)) else Apply(term.type, term.op, args, term.span)


def _no_facts(key: str) -> Any:
    raise ClauseError(f"{key} has no value")


def _holds(term: Term | None) -> bool:
    return isinstance(term, Const) and term.value is True


def _never(term: Term | None) -> bool:
    """Whether a condition of the ranking never holds: it is false, or an error."""
    return term is MISSING or (isinstance(term, Const) and term.value is not True)


def domain(dim: Dim) -> Iterator[Term]:
    """Yield the conditions that a size of a request keeps."""
    name = Fact(INT, f"dim:{dim.name}", dim.name)
    yield Apply(BOOL, "ge", (name, Const(INT, max(dim.low, 0))))
    if dim.high is not None:
        yield Apply(BOOL, "le", (name, Const(INT, dim.high)))
    if dim.step != 1:
        above = Apply(INT, "sub", (name, Const(INT, dim.low)))
        yield Apply(BOOL, "eq", (Apply(INT, "mod", (above, Const(INT, dim.step))), Const(INT, 0)))
