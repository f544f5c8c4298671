"""What each candidate's place in a race hangs on, as terms: the conditions that keep it in, or one that keeps it out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from attrs import frozen

from tessera_rules.arbiter.decision import Verdict
from tessera_rules.arbiter.facts import Lookup
from tessera_rules.arbiter.gates import applies, available, condition_of, same_value, verify, workspace_clause
from tessera_rules.arbiter.rank_rules import Condition
from tessera_rules.arbiter.situation import Situation
from tessera_rules.arbiter.uses import used_keys, uses_outcomes
from tessera_rules.compile.evaluate import UNKNOWN, ClauseError, truth
from tessera_rules.compile.simplify import negation
from tessera_rules.dtypes import holds
from tessera_rules.model.terms import Apply, Const, Fact, Term, facts
from tessera_rules.model.types import BOOL, DTYPE, INT
from tessera_rules.model.values import Candidate, Clause


@frozen(eq=False)
class Fate:
    """How a candidate stands, and terms that keep it there: of what is ``in`` or ``out``. ``never``: this machine keeps it out."""

    state: Literal["in", "out", "maybe", "never"]
    terms: tuple[Term, ...] = ()


@frozen(eq=False)
class _Step:
    """One gate's answer, and what keeps it so."""

    answer: Literal["yes", "no", "open"]
    terms: tuple[Term, ...] = ()


def fate(situation: Situation, candidate: Candidate) -> Fate:
    """Return the fate of a candidate of a situation."""
    policy, request = situation.ruleset.policy, situation.request
    if any(not getattr(candidate, promise) for promise in request.require | policy.require):
        return Fate("never")
    if any(isinstance(outcome, Verdict) for gate in (available, verify) for outcome in gate(situation, candidate)):
        return Fate("never")
    steps = list(_steps(situation, candidate))
    no = next((step for step in steps if step.answer == "no"), None)
    if no is not None:
        return Fate("out", no.terms) if no.terms else Fate("never")
    if any(step.answer == "open" for step in steps):
        return Fate("maybe")
    return Fate("in", tuple(term for step in steps for term in step.terms))


def _steps(situation: Situation, candidate: Candidate) -> Iterator[_Step]:
    yield from _denials(situation, candidate)
    lookup, request = situation.lookup(candidate), situation.request
    for clause in (*candidate.requires, *candidate.implied):
        yield _asked(clause, lookup)
    limit = situation.ruleset.policy.workspace_bytes
    if candidate.workspace is not None and limit is not None:
        yield _asked(workspace_clause(candidate, limit), lookup)
    for used, outcome in zip(candidate.uses, uses_outcomes(situation, candidate, lookup), strict=True):
        answer: Literal["yes", "no", "open"] = "yes" if outcome is None else "no" if isinstance(outcome, Verdict) else "open"
        yield _Step(answer, tuple(pin(fact, lookup) for fact in _facts_of(situation, used_keys(used)) if _known(fact.key, lookup)))
    for name, attr in request.op.attrs.items():
        if name not in candidate.named:
            same = same_value(request.attrs[name], attr.default)
            yield _Step("yes" if same else "no", (pin(Fact(attr.type, f"attr:{name}", name), lookup),))
    for name, operand in request.op.operands.items():
        if operand.optional and name not in candidate.named:
            yield _Step("no" if name in request.given else "yes", (pin(Fact(BOOL, f"given:{name}", f"given({name})"), lookup),))
    computes = candidate.computes
    if computes is not None and computes not in request.allow:
        fact = Fact(DTYPE, "dtype", "dtype")
        if request.dtype is None:
            yield _Step("yes" if request.op.dtypes and all(holds(computes, dtype) for dtype in request.op.dtypes) else "open")
        else:
            yield _Step("yes" if holds(computes, request.dtype) else "no", (pin(fact, lookup),))


def _denials(situation: Situation, candidate: Candidate) -> Iterator[_Step]:
    for rule in situation.ruleset.rules:
        names = frozenset[str]().union(*(action.candidates for action in rule.actions if action.kind == "deny"))
        if candidate.name not in names or not applies(rule, situation.request):
            continue
        clause = condition_of(rule, situation.request)
        if clause is None:
            yield _Step("no")
            continue
        step = _asked(clause, lookup := situation.rule_lookup(names))
        error = isinstance(truth(clause, lookup), ClauseError)
        yield step if step.answer == "open" or error else _Step("no" if step.answer == "yes" else "yes", step.terms)


def _asked(clause: Clause, lookup: Lookup) -> _Step:
    terms = holding(clause.term, lookup)
    found = truth(clause, lookup)
    return _Step("open") if terms is None else _Step("yes" if found is True else "no", terms)


def holding(term: Term, lookup: Lookup) -> tuple[Term, ...] | None:
    """Return terms that hold now, and under which a condition stays what it is now; None where it is open.

    For an error they fix every value that it reads.
    """
    found = truth(term, lookup)
    if found is UNKNOWN:
        return None
    if isinstance(found, ClauseError):
        return tuple(pin(fact, lookup) for fact in facts(term) if _known(fact.key, lookup))
    return (term,) if found is True else (negation(term),)


def kept_terms(condition: Condition, lookup: Lookup) -> tuple[Term, ...]:
    """Return terms that keep a condition of the ranking as it is; none where it is open, or always holds."""
    if condition.value is None:
        return ()
    rows = [(truth(clause, lookup), holding(clause.term, lookup)) for clause in condition.clauses]
    if condition.value:
        return tuple(term for _, row in rows if row is not None for term in row)
    # One clause that does not hold is enough, were it by an error.
    return next((row for found, row in rows if row is not None and found is not True), ())


def pin(fact: Fact, lookup: Lookup) -> Term:
    """Return the term that a fact has the value that it has now."""
    value = lookup(fact.key)
    if isinstance(value, bool) and fact.key.startswith(("given:", "contiguous:", "broadcast:")):
        return fact if value else Apply(BOOL, "not", (fact,))
    return Apply(BOOL, "eq", (fact, Const(fact.type, value)))


def _known(key: str, lookup: Lookup) -> bool:
    """Whether a fact has a value that a request could have otherwise; what the machine says is the same for all."""
    return of_request(key) and known_value(key, lookup) is not UNKNOWN


def of_request(key: str) -> bool:
    """Whether a fact is the request's to say, and not the machine's."""
    return not key.startswith(("device:", "probe:")) and key != "os"


def _facts_of(situation: Situation, keys: frozenset[str]) -> list[Fact]:
    """Return the facts that what a `uses` comes to hangs on: what it reads, and the threads that go along."""
    op = situation.request.op
    found: list[Fact] = [Fact(INT, "threads", "threads")]
    for name in op.dims:
        if f"dim:{name}" in keys:
            found.append(Fact(INT, f"dim:{name}", name))
    for name, attr in op.attrs.items():
        if f"attr:{name}" in keys:
            found.append(Fact(attr.type, f"attr:{name}", name))
    if "dtype" in keys:
        found.append(Fact(DTYPE, "dtype", "dtype"))
    return found


def known_value(key: str, lookup: Lookup) -> Any:
    """Return the value of a fact, `UNKNOWN` where it has none or is missing."""
    try:
        return lookup(key)
    except ClauseError:
        return UNKNOWN
