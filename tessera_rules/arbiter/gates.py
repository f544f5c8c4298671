"""The gates, in the order of the pipeline: deny, require, available, verify. Each says no, says nothing, or leaves something open."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attrs import evolve

from tessera_rules.arbiter import reasons
from tessera_rules.arbiter.decision import Verdict
from tessera_rules.arbiter.facts import Lookup, needed_names
from tessera_rules.arbiter.reasons import Open
from tessera_rules.arbiter.situation import Situation
from tessera_rules.compile.evaluate import UNKNOWN, ClauseError, clause_values, evaluate, truth
from tessera_rules.compile.simplify import simplify
from tessera_rules.dtypes import holds
from tessera_rules.model.request import Request
from tessera_rules.model.show import show
from tessera_rules.model.terms import Apply, Const, Term, facts, reads
from tessera_rules.model.types import BOOL, INT
from tessera_rules.model.values import Candidate, Clause, Rule
from tessera_rules.source import Span

Outcome = Verdict | Open | None


def open_clause(clause: Clause, lookup: Lookup, request: Request, *, negated: bool = False) -> Open:
    """Return what is open of a clause."""
    found = open_condition(clause.term, clause.text, clause.span, lookup, request, negated=negated)
    return evolve(found, because=clause.because, values=clause_values(clause, lookup))


def open_condition(term: Term, text: str, span: Span | None, lookup: Lookup, request: Request, *, negated: bool = False) -> Open:
    """Return an open condition with what is left of it once the known names have their values."""
    try:
        rest = simplify(term, lookup)
    except ClauseError:
        rest = term
    needs: dict[str, None] = {}
    for fact in facts(rest):
        if _is_open(fact.key, lookup):
            needs.update(dict.fromkeys(needed_names(fact.key, fact.shown, request, lookup)))
    condition = text if isinstance(rest, Const) else show(rest)
    shown = f"not ({condition})" if negated else condition
    return Open(shown, tuple(needs), text, span, (condition, negated))


def _is_open(key: str, lookup: Lookup) -> bool:
    try:
        return lookup(key) is UNKNOWN
    except ClauseError:
        return False


def clause_outcome(candidate: Candidate, clause: Clause, lookup: Lookup, request: Request, no: Callable[[Mapping[str, Any]], Verdict]) -> Outcome:
    """Ask a clause: None where it holds, its verdict where it does not or is an error, else what is open of it."""
    found = truth(clause, lookup)
    if found is True:
        return None
    if found is False:
        return no(clause_values(clause, lookup))
    if isinstance(found, ClauseError):
        return reasons.erroneous(candidate, clause, found.message, clause_values(clause, lookup))
    return open_clause(clause, lookup, request)


def applies(rule: Rule, request: Request) -> bool:
    """Whether a rule is about the request's op and target at all."""
    if rule.op not in (None, request.op.name) or rule.target not in (None, request.target):
        return False
    return rule.always or (request.op.name, request.target) in rule.conditions


def condition_of(rule: Rule, request: Request) -> Clause | None:
    """Return the rule's ``when`` for the request's op and target; None where it always holds."""
    return None if rule.always else rule.conditions[request.op.name, request.target]


def deny(situation: Situation, candidate: Candidate) -> Iterator[Outcome]:
    """Does a rule deny it? An error in the condition holds the deny."""
    request = situation.request
    for rule in situation.ruleset.rules:
        names = frozenset[str]().union(*(action.candidates for action in rule.actions if action.kind == "deny"))
        if candidate.name not in names or not applies(rule, request):
            continue
        clause = condition_of(rule, request)
        if clause is None:
            yield reasons.denied(candidate, rule, None, {}, None)
            continue
        lookup = situation.rule_lookup(names)
        found = truth(clause, lookup)
        if found is UNKNOWN:
            yield evolve(open_clause(clause, lookup, request, negated=True), because=rule.because)
        elif found is not False:
            error = found.message if isinstance(found, ClauseError) else None
            if error is not None:
                situation.note(f"rule {rule.name}: `{clause.text}` has no answer ({error}); its deny holds")
            yield reasons.denied(candidate, rule, clause, clause_values(clause, lookup), error)


def require(situation: Situation, candidate: Candidate) -> Iterator[Outcome]:
    """Can it serve this request?"""
    lookup, request = situation.lookup(candidate), situation.request
    for clause in (*candidate.requires, *candidate.implied):
        yield clause_outcome(candidate, clause, lookup, request, lambda values, clause=clause: reasons.refused(candidate, clause, values))  # type: ignore[misc]
    if candidate.uses:
        from tessera_rules.arbiter.uses import uses_outcomes

        yield from uses_outcomes(situation, candidate, lookup)
    yield from closed_world(candidate, request)
    yield precision(candidate, request)
    yield _workspace(situation, candidate, lookup)
    policy = situation.ruleset.policy
    for promise in sorted(request.require | policy.require):
        if not getattr(candidate, promise):
            yield reasons.no_promise(candidate, promise, "request" if promise in request.require else "policy")


def closed_world(candidate: Candidate, request: Request) -> Iterator[Outcome]:
    """Does it name every attribute and optional operand that is not as by default?"""
    for name, value in request.attrs.items():
        if name not in candidate.named and not same_value(value, request.op.attrs[name].default):
            yield reasons.closed_world(candidate, name, value, operand=False)
    for name in request.op.operands:
        if name in request.given and name not in candidate.named:
            yield reasons.closed_world(candidate, name, True, operand=True)


def same_value(one: Any, two: Any) -> bool:
    """Whether two attribute values are the same one; ``true`` is not 1.

    >>> same_value(1.0, 1), same_value(True, 1), same_value((), [])
    (True, False, True)
    """
    if isinstance(one, tuple | list) and isinstance(two, tuple | list):
        return len(one) == len(two) and all(map(same_value, one, two))
    return isinstance(one, bool) is isinstance(two, bool) and bool(one == two)


def precision(candidate: Candidate, request: Request) -> Outcome:
    """Does what it computes in hold every value of the request's dtype?"""
    computes = candidate.computes
    if computes is None or computes in request.allow:
        return None
    if request.dtype is not None:
        return None if holds(computes, request.dtype) else reasons.too_narrow(candidate, computes, request.dtype)
    possible = request.op.dtypes or ()
    if possible and all(holds(computes, dtype) for dtype in possible):
        return None
    text = f"computes {computes}"
    return Open(f"{computes} holds every value of the request's dtype", ("dtype",), text, candidate.name_span, text)


def _workspace(situation: Situation, candidate: Candidate, lookup: Lookup) -> Outcome:
    limit = situation.ruleset.policy.workspace_bytes
    if candidate.workspace is None or limit is None:
        return None
    clause = workspace_clause(candidate, limit)
    try:
        wanted = evaluate(candidate.workspace, lookup)
    except ClauseError as problem:
        return reasons.erroneous(candidate, clause, problem.message, clause_values(clause, lookup))
    if wanted is UNKNOWN:
        return open_clause(clause, lookup, situation.request)
    if wanted <= limit:
        return None
    return reasons.too_much_workspace(candidate, wanted, limit, show(candidate.workspace), clause_values(clause, lookup))


def workspace_clause(candidate: Candidate, limit: int) -> Clause:
    """Return the condition that a candidate's workspace stays within the policy's."""
    assert candidate.workspace is not None
    term = Apply(BOOL, "le", (candidate.workspace, Const(INT, limit)))
    return Clause(term, f"workspace {show(candidate.workspace)}", None, candidate.name_span, "workspace", reads(term))


def available(situation: Situation, candidate: Candidate) -> Iterator[Outcome]:
    """May it run on this machine, now?"""
    machine = situation.machine
    if candidate.name in situation.excluded:
        yield reasons.unavailable(candidate, "assume unavailable", "assumed unavailable", code="assumed", reason="assumed to be unavailable")
        return
    if situation.is_assumed(candidate):
        return
    if candidate.name in situation.ruleset.untrusted and not machine.stated:
        found = f"{candidate.span.source.name} was found, not named: name it with --rules, or list its folder in TSR_TRUST"
        yield reasons.unavailable(candidate, "trust", found, code="untrusted", reason=f"untrusted: {found}")
        return
    if situation.device is None:
        found = machine.why_no_device(situation.target)
        yield reasons.unavailable(candidate, f"target {situation.target.name}", found, code="device", reason=f"no device: {found}")
        return
    lookup, request = situation.lookup(candidate), situation.request
    for clause in candidate.available:
        yield clause_outcome(candidate, clause, lookup, request, lambda values, clause=clause: _missing(situation, candidate, clause, values))  # type: ignore[misc]
    bound = machine.bound(candidate)
    if bound.value is not True:
        yield reasons.unavailable(candidate, "bind", bound.found, code="binding", span=candidate.bind.span, reason=f"its binding is not there: {bound.found}")


def _missing(situation: Situation, candidate: Candidate, clause: Clause, values: Mapping[str, Any]) -> Verdict:
    """A clause of ``available`` is false: say which part of it, and what was found there."""
    part = clause.term
    if isinstance(part, Apply) and part.op == "and":
        lookup = situation.lookup(candidate)
        part = next((arg for arg in part.args if truth(arg, lookup) is False), part)
    found: list[str] = []
    for fact in facts(part):
        if fact.key.startswith("probe:") or fact.key == "os":
            found.append(situation.machine.probe(fact.key, candidate).found)
        elif fact.shown in values:
            found.append(f"{fact.shown} is {reasons.word_of(values[fact.shown])}")
    probe = clause.text if part is clause.term else show(part)
    return reasons.unavailable(candidate, probe, "; ".join(found) or "it is false", because=clause.because, clause=clause.text, values=values, span=clause.span)


def verify(situation: Situation, candidate: Candidate) -> Iterator[Outcome]:
    """Is it known to compute the right thing? Asked only where there is an oracle to ask."""
    if situation.proofs is None:
        return
    proved = situation.proofs.get(candidate.name)
    if proved is not None and proved.verdict is not None:
        yield proved.verdict
    elif situation.ruleset.policy.verify == "ahead" and (proved is None or proved.proof != "verified"):
        yield reasons.verdict(candidate, "unproved", "no proof on this machine yet, and the policy is to verify ahead (tsr verify)")


GATES: tuple[Callable[[Situation, Candidate], Iterator[Outcome]], ...] = (deny, require, available, verify)
"""In this order, which is that of the pipeline: the first definite no is the verdict."""
