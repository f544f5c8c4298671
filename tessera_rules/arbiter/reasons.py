"""The one place that words verdicts: what is printed, put into JSON and raised is made here, so that what is said is what decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen

from tessera_rules.arbiter.decision import Proof, Verdict
from tessera_rules.compile.kinds import shown
from tessera_rules.model.values import Candidate, Clause, Rule
from tessera_rules.model.words import VerdictWord
from tessera_rules.source import Span


@frozen(eq=False)
class Open:
    """A condition that is not settled: what a person reads, the names that would settle it, its place.

    ``key`` is equal for the same condition met twice (at two candidates of one target, or as two families' members).
    ``clause`` is the author's text, ``values`` the names in it that have a value.
    """

    condition: str
    needs: tuple[str, ...]
    clause: str
    span: Span | None
    key: Any
    because: str | None = None
    values: Mapping[str, Any] = field(factory=dict)


def spelled(values: Mapping[str, Any]) -> str:
    """Return names with their values, as ``head_dim = 72, dtype = f16``; words stand bare.

    >>> spelled({"head_dim": 72, "causal": True, "scale": None, "act": "relu"})
    'head_dim = 72, causal = true, scale = null, act = relu'
    """
    return ", ".join(f"{name} = {word_of(value)}" for name, value in values.items())


def word_of(value: Any) -> str:
    """Return a value as it is typed after ``name=``.

    >>> word_of(("bias", "relu")), word_of(1.5), word_of(False)
    ('[bias, relu]', '1.5', 'false')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(word_of, value))}]"
    return shown(value)


def verdict(
    candidate: Candidate,
    word: VerdictWord,
    reason: str,
    *,
    code: str | None = None,
    clause: str | None = None,
    because: str | None = None,
    values: Mapping[str, Any] | None = None,
    span: Span | None = None,
    proof: Proof = "unverified",
    extra: Mapping[str, Any] | None = None,
) -> Verdict:
    """Return a verdict; its place is the clause's, or where the candidate is named."""
    return Verdict(candidate.name, candidate.tier, word, code or word, reason, clause, because, values or {}, span or candidate.name_span, proof, extra or {})


def refused(candidate: Candidate, clause: Clause, values: Mapping[str, Any]) -> Verdict:
    """A clause of ``requires``, or one that the binding implies, is false."""
    said = f" ({spelled(values)})" if values else ""
    return verdict(
        candidate,
        "refused",
        f"`{clause.text}` does not hold{said}",
        code=clause.code,
        clause=clause.text,
        because=clause.because,
        values=values,
        span=clause.span,
    )


def erroneous(candidate: Candidate, clause: Clause, message: str, values: Mapping[str, Any]) -> Verdict:
    """A clause has no answer: a divisor of 0, a wrong type, a fact that is missing."""
    said = f" ({spelled(values)})" if values else ""
    return verdict(
        candidate,
        "error",
        f"`{clause.text}` has no answer: {message}{said}",
        clause=clause.text,
        because=clause.because,
        values=values,
        span=clause.span,
        extra={"error": message},
    )


def failed_gate(candidate: Candidate, problem: BaseException) -> Verdict:
    """Something was raised while a candidate was looked at. It is this candidate's verdict, and nobody else's."""
    message = f"{type(problem).__name__}: {problem}"
    return verdict(candidate, "error", f"looking at it raised {message}", code="internal", extra={"error": message})


def denied(candidate: Candidate, rule: Rule, clause: Clause | None, values: Mapping[str, Any], error: str | None) -> Verdict:
    """A rule denies the candidate; with ``error`` because its condition has no answer, which holds a deny."""
    if clause is None:
        why = f"rule {rule.name} denies it"
    elif error is not None:
        why = f"rule {rule.name} denies it: `{clause.text}` has no answer ({error}), and a deny holds then"
    else:
        said = f" ({spelled(values)})" if values else ""
        why = f"rule {rule.name} denies it: `{clause.text}`{said}"
    extra: dict[str, Any] = {"rule": rule.name}
    if error is not None:
        extra["error"] = error
    return verdict(
        candidate,
        "denied",
        why,
        clause=None if clause is None else clause.text,
        because=rule.because,
        values=values,
        span=rule.name_span if clause is None else clause.span,
        extra=extra,
    )


def closed_world(candidate: Candidate, name: str, value: Any, *, operand: bool) -> Verdict:
    """An attribute at another value than its default, or an optional operand, that the candidate does not name."""
    what = f"operand {name}, which is given" if operand else f"{name}={word_of(value)}"
    return verdict(
        candidate,
        "refused",
        f"does not honour {what}",
        code="closed_world",
        values={f"given({name})" if operand else name: value},
    )


def too_narrow(candidate: Candidate, computes: str, dtype: str) -> Verdict:
    """What the candidate computes in cannot hold every value of the request's dtype."""
    return verdict(
        candidate,
        "refused",
        f"computes {computes}, which does not hold every {dtype}; allow={computes} accepts that",
        code="precision",
        clause=f"computes {computes}",
        values={"dtype": dtype},
    )


def too_much_workspace(candidate: Candidate, wanted: int, limit: int, text: str, values: Mapping[str, Any]) -> Verdict:
    """The candidate needs more workspace than the policy has."""
    return verdict(
        candidate,
        "refused",
        f"needs {wanted} bytes of workspace, and the policy has {limit}",
        code="workspace",
        clause=f"workspace {text}",
        values={**values, "workspace": wanted, "limit": limit},
    )


def no_promise(candidate: Candidate, promise: str, by: str) -> Verdict:
    """The request or the policy requires what the candidate does not promise."""
    return verdict(candidate, "refused", f"does not promise to be {promise}, which the {by} requires", code="promise", values={"require": promise})


def uses_nobody(candidate: Candidate, span: Span, text: str, why: str, values: Mapping[str, Any]) -> Verdict:
    """The other op that the candidate runs has no winner."""
    return verdict(candidate, "refused", f"`{text}` has no winner: {why}", code="requires", clause=text, values=values, span=span)


def unavailable(
    candidate: Candidate,
    probe: str,
    found: str,
    *,
    code: str = "unavailable",
    because: str | None = None,
    clause: str | None = None,
    values: Mapping[str, Any] | None = None,
    span: Span | None = None,
    reason: str | None = None,
) -> Verdict:
    """The machine does not have what the candidate needs: which probe, and what it found."""
    return verdict(
        candidate,
        "unavailable",
        reason or f"`{probe}` does not hold: {found}",
        code=code,
        clause=clause,
        because=because,
        values=values,
        span=span,
        extra={"probe": probe, "found": found},
    )


CRITERION_TEXT: dict[str, str] = {
    "only": "the only one left in the race",
    "force": "forced by the caller",
    "rules": "a rule puts it first",
    "measured": "measured faster, and separated",
    "avoid": "the others are known to be slower here",
    "tier": "the highest tier",
    "cost": "the smallest stated cost",
    "declaration": "declared first among equals",
    "empty": "the result has no elements",
    "none": "nobody is left",
    "undecided": "what is not known yet decides",
}


def outranked(
    candidate: Candidate,
    by: str,
    criterion: str,
    detail: str,
    *,
    clause: Clause | None = None,
    values: Mapping[str, Any] | None = None,
    because: str | None = None,
    rule: str | None = None,
) -> Verdict:
    """The candidate could serve, and another one is ahead; by a rule's doing where there is one."""
    return verdict(
        candidate,
        "outranked",
        f"{by} is ahead by {criterion}: {detail}",
        code=criterion,
        clause=None if clause is None else clause.text,
        because=because,
        values=values,
        span=None if clause is None else clause.span,
        extra={"by": by, "criterion": criterion} | ({} if rule is None else {"rule": rule}),
    )


def selected(candidate: Candidate, criterion: str) -> Verdict:
    """The winner. Its guard is about the data, and is asked when they are in hand: it is said here that there is one."""
    extra: dict[str, Any] = {"criterion": criterion}
    reason = CRITERION_TEXT[criterion]
    if candidate.guard is not None:
        extra["guard"] = " and ".join(clause.text for clause in candidate.guard.clauses)
        extra["otherwise"] = candidate.guard.otherwise
        to = candidate.guard.otherwise or "the next in rank"
        reason += f"; where the data do not keep its guard, `{extra['guard']}`, {to} runs"
    return verdict(candidate, "selected", reason, code=criterion, extra=extra)


def undecided(candidate: Candidate, conditions: Sequence[str], needs: Sequence[str], first: Open | None) -> Verdict:
    """Whether the candidate is in the race, or ahead in it, hangs on what is not known; ``first`` is the first of its own open conditions."""
    what = "; ".join(conditions) if conditions else "the rank"
    wanted = f" (give {', '.join(needs)})" if needs else ""
    extra = {"needs": list(needs)} if needs else {}
    reason = f"open: {what}{wanted}"
    if first is None:
        return verdict(candidate, "undecided", reason, extra=extra)
    return verdict(candidate, "undecided", reason, clause=first.clause, because=first.because, values=first.values, span=first.span, extra=extra)
