"""The step `uses`: a candidate that runs the arbitrated winner of another op on the same target and device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tessera_rules.arbiter import reasons
from tessera_rules.arbiter.facts import Lookup
from tessera_rules.arbiter.gates import Outcome
from tessera_rules.arbiter.reasons import Open
from tessera_rules.arbiter.request import bind_words
from tessera_rules.arbiter.situation import Situation
from tessera_rules.compile.evaluate import UNKNOWN, ClauseError, evaluate
from tessera_rules.errors import TesseraError
from tessera_rules.model.terms import Term, facts, reads
from tessera_rules.model.values import Candidate, Clause, Uses


def uses_outcomes(situation: Situation, candidate: Candidate, lookup: Lookup) -> Iterator[Outcome]:
    """Yield what each ``uses`` of a candidate comes to."""
    for used in candidate.uses:
        yield _outcome(situation, candidate, used, lookup)


def _outcome(situation: Situation, candidate: Candidate, used: Uses, lookup: Lookup) -> Outcome:
    from tessera_rules.arbiter.decide import decide_situation

    if candidate.name in situation.chain:
        chain = " → ".join([*situation.chain[situation.chain.index(candidate.name) :], candidate.name])
        return reasons.verdict(candidate, "error", f"`{used.text}` comes back to itself: {chain}", clause=used.text, span=used.span)
    try:
        words, needs = _words(situation, used, lookup)
        if any(name not in words for name in used.attrs):
            return _open(used, situation.request.target, needs, words)
        request = bind_words(situation.ruleset, used.op, situation.request.target, words, situation.machine)
    except ClauseError as problem:
        clause = Clause(_all_terms(used)[0], used.text, None, used.span)
        return reasons.erroneous(candidate, clause, problem.message, _values(used, lookup))
    except TesseraError as problem:
        return reasons.uses_nobody(candidate, used.span, used.text, problem.message, _values(used, lookup))
    inner = Situation(
        situation.ruleset,
        request,
        situation.machine,
        situation.assumed,
        situation.excluded,
        situation.proofs,
        None,
        (*situation.chain, candidate.name),
    )
    try:
        decision = decide_situation(inner)
    except TesseraError as problem:
        return reasons.uses_nobody(candidate, used.span, used.text, problem.message, _values(used, lookup))
    if decision.tag == "undecided":
        inner_needs = dict.fromkeys(name for residual in decision.residual for name in residual.needs)
        return _open(used, request.target, needs or list(inner_needs), words)
    if decision.winner is not None or decision.criterion == "empty":
        return None
    why = "; ".join(f"{each.candidate}: {each.reason}" for each in decision.verdicts[:3]) or f"no candidate is registered for {used.op} on {request.target}"
    return reasons.uses_nobody(candidate, used.span, used.text, why, _values(used, lookup))


def _open(used: Uses, target: str, needs: list[str], words: Mapping[str, Any]) -> Open:
    known = tuple(sorted((name, str(value)) for name, value in words.items()))
    return Open(f"{used.op} has a winner on {target} ({used.text})", tuple(needs), used.text, used.span, (used.op, used.text, known))


def _words(situation: Situation, used: Uses, lookup: Lookup) -> tuple[dict[str, Any], list[str]]:
    """Return what is asked of the other op, and the names that its open parts need. Raises `ClauseError`."""
    outer = situation.request
    words: dict[str, Any] = {"threads": outer.threads if outer.threads is not None else situation.machine.threads, "device": outer.device}
    words |= {"allow": tuple(sorted(outer.allow)), "require": tuple(sorted(outer.require))}
    needs: list[str] = []
    for name, term in _named_terms(used):
        value = evaluate(term, lookup)
        if value is UNKNOWN:
            needs += [fact.shown for fact in facts(term) if lookup(fact.key) is UNKNOWN and fact.shown not in needs]
        else:
            words[name] = value
    return words, needs


def _named_terms(used: Uses) -> list[tuple[str, Term]]:
    found = [*used.dims.items(), *used.attrs.items()]
    return [*found, ("dtype", used.dtype)] if used.dtype is not None else found


def _all_terms(used: Uses) -> list[Term]:
    return [term for _, term in _named_terms(used)]


def used_keys(used: Uses) -> frozenset[str]:
    """Return the keys of every fact that a ``uses`` reads."""
    return frozenset[str]().union(*(reads(term) for term in _all_terms(used)))


def _values(used: Uses, lookup: Lookup) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for term in _all_terms(used):
        for fact in facts(term):
            try:
                value = lookup(fact.key)
            except ClauseError:
                continue
            if value is not UNKNOWN:
                found.setdefault(fact.shown, value)
    return found
