"""Runs the ``test`` blocks of rules: decides each request on the test's own machine and compares with what is expected.

Nothing is run, probed or read from a corpus. Below `tessera_rules.cli` and the pytest plugin, which both show what it returns.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any, Literal

from attrs import field, frozen

from tessera_rules.arbiter.decide import decide
from tessera_rules.arbiter.decision import Decision, Verdict
from tessera_rules.arbiter.facts import Lookup, lookup_for
from tessera_rules.arbiter.reasons import spelled
from tessera_rules.arbiter.request import bind_test
from tessera_rules.compile.evaluate import truth
from tessera_rules.errors import TesseraError
from tessera_rules.machine.stated import machine_of_test
from tessera_rules.model.values import Clause, Expectation, Ruleset, Test, TestRequest
from tessera_rules.report.document import plain
from tessera_rules.source import Span
from tessera_rules.syntax.literals import clause_key

Outcome = Literal["passed", "failed", "error"]


@frozen(eq=False)
class TestOutcome:
    """What came of one test. ``message`` says what was expected, who won and why; ``loops`` is the round that failed."""

    __test__ = False
    test: Test
    outcome: Outcome
    message: str = ""
    loops: Mapping[str, Any] = field(factory=dict)
    decision: Decision | None = None


@frozen(eq=False)
class Coverage:
    """What the tests of a load touched, by name and place, and what none of them did.

    A candidate is covered where a test selects it; a clause of ``requires`` or ``available`` where it is what refuses, one of
    ``avoid`` where it holds; a rule where its ``when`` holds for a request in its scope.
    """

    candidates: tuple[str, ...]
    candidates_missed: tuple[str, ...]
    clauses: tuple[Clause, ...]
    clauses_missed: tuple[tuple[str, Clause], ...]
    rules: tuple[str, ...]
    rules_missed: tuple[str, ...]


@frozen(eq=False)
class TestReport:
    """Every test's outcome, in file order, and the coverage of all of them."""

    __test__ = False
    outcomes: tuple[TestOutcome, ...]
    coverage: Coverage

    @property
    def passed(self) -> int:
        """How many tests passed."""
        return sum(outcome.outcome == "passed" for outcome in self.outcomes)

    @property
    def failed(self) -> int:
        """How many tests failed or could not be decided."""
        return len(self.outcomes) - self.passed


def run_tests(ruleset: Ruleset, files: Collection[str] | None = None) -> TestReport:
    """Run every test of a ruleset and return what came of them. Never raises for what a test says.

    ``files`` are real paths: only tests that stand in them are run, and only what is declared in them counts as covered or
    missed. What a file uses is left to whoever tests that.
    """
    record = _Record(ruleset, files)
    outcomes = tuple(run_test(ruleset, test, record) for test in ruleset.tests if record.is_about(test.span))
    return TestReport(outcomes, record.coverage())


def run_test(ruleset: Ruleset, test: Test, record: _Record | None = None) -> TestOutcome:
    """Run one test: every round of its ``for``, up to the first that fails."""
    for request in test.requests:
        try:
            decision = decide_round(ruleset, test, request)
        except TesseraError as error:
            return TestOutcome(test, "error", _said(request.loops, error.message), request.loops)
        if record is not None:
            record.add(decision, request.device)
        for expectation in request.expectations:
            if not holds(expectation, decision):
                return TestOutcome(test, "failed", _said(request.loops, shortfall(expectation, decision)), request.loops, decision)
    return TestOutcome(test, "passed")


def decide_round(ruleset: Ruleset, test: Test, request: TestRequest) -> Decision:
    """Decide one round of a test. Raises `TesseraError` where its request is none of the op."""
    machine = machine_of_test(request.target, request.device)
    bound = bind_test(ruleset, request, machine)
    return decide(ruleset, bound, machine, assume_available=test.assume_available, assume_unavailable=test.assume_unavailable)


def holds(expectation: Expectation, decision: Decision) -> bool:
    """Whether a decision is as expected."""
    if expectation.verdict is None:
        found = decision.tag == expectation.name
    else:
        found = any(
            verdict.candidate == expectation.name
            and verdict.verdict == expectation.verdict
            and (expectation.by is None or _folded(expectation.by) in said_by(verdict))
            for verdict in decision.verdicts
        )
    return found is not expectation.negated


def said_by(verdict: Verdict) -> tuple[str, ...]:
    """Return what a ``by`` may name for a verdict: for a refusal the clause's text, equal in full; else also the rule, the

    candidate ahead, the probe, the because. A refusal with no clause of the author's (closed world, precision) has its reason.
    """
    if verdict.verdict == "refused" and verdict.clause is not None:
        return (_folded(verdict.clause),)
    named = (verdict.extra.get(name) for name in ("rule", "by", "to", "probe", "found"))
    return tuple(_folded(str(text)) for text in (verdict.clause, *named, verdict.because, verdict.reason) if text)


def shortfall(expectation: Expectation, decision: Decision) -> str:
    """Return in words what was expected, who won instead, and why."""
    name = expectation.name
    wanted = f"{name} {expectation.verdict}" if expectation.verdict else name
    by = f' by "{expectation.by}"' if expectation.by else ""
    lines = [f"expected {'not ' if expectation.negated else ''}{wanted}{by}; {_outcome(decision)}"]
    for verdict in decision.verdicts:
        if verdict.candidate in (name, decision.winner):
            lines.append(f"{verdict.candidate} is {verdict.verdict}: {_why(verdict)}")
    if name in ("reference", "undecided") and decision.winner is None:
        lines += [f"{verdict.candidate} is {verdict.verdict}: {_why(verdict)}" for verdict in decision.verdicts]
    elif not any(verdict.candidate == name for verdict in decision.verdicts) and name not in ("reference", "undecided"):
        lines.append(f"{name} is not registered for {decision.request.op.name} on {decision.request.target}")
    return "\n".join(lines)


def _outcome(decision: Decision) -> str:
    if decision.winner is not None:
        return f"the winner is {decision.winner} ({decision.criterion})"
    if decision.tag == "undecided":
        return f"the decision is open on {'; '.join(f'{each.candidate}: {each.condition}' for each in decision.residual[:3])}"
    return "no candidate is left, so the reference runs"


def _why(verdict: Verdict) -> str:
    values = spelled(verdict.values)
    place = f" [{verdict.span.source.name}:{verdict.span.line}]" if verdict.span else ""
    return f"{verdict.reason}{f' ({values})' if values and values not in verdict.reason else ''}{place}"


def _said(loops: Mapping[str, Any], message: str) -> str:
    with_values = ", ".join(f"{name}={plain(value)}" for name, value in loops.items())
    return f"with {with_values}: {message}" if with_values else message


def _folded(text: str) -> str:
    # However a clause is spaced, in the file or in the test: `tsr fmt` spaces the one and not the other.
    return clause_key(text)


class _Record:
    """Collects over all decisions of a run what was seen to win, to refuse and to apply."""

    def __init__(self, ruleset: Ruleset, files: Collection[str] | None = None) -> None:
        self.ruleset = ruleset
        self.files = files
        self.selected: set[str] = set()
        self.refusing: set[Span] = set()
        self.applied: set[str] = set()

    def is_about(self, span: Span) -> bool:
        """Whether a declaration stands in the files that are tested."""
        return self.files is None or span.source.path is None or os.path.realpath(span.source.path) in self.files

    def add(self, decision: Decision, device: Mapping[str, Any]) -> None:
        facts = lookup_for(decision.request, device, machine_of_test(decision.request.target, device))
        for verdict in decision.verdicts:
            if verdict.verdict == "selected":
                self.selected.add(verdict.candidate)
            if verdict.verdict in ("refused", "unavailable") and verdict.span is not None:
                self.refusing.add(verdict.span)
        self._rules(decision, facts)
        for candidate in self.ruleset.for_op(decision.request.op.name, decision.request.target):
            self.refusing.update(clause.span for clause in candidate.avoid if truth(clause, facts) is True)

    def _rules(self, decision: Decision, facts: Lookup) -> None:
        op, target = decision.request.op.name, decision.request.target
        for rule in self.ruleset.rules:
            if rule.op not in (None, op) or rule.target not in (None, target):
                continue
            condition = rule.conditions.get((op, target))
            if rule.always or (condition is not None and truth(condition, facts) is True):
                self.applied.add(rule.name)

    def coverage(self) -> Coverage:
        # A clause of a family stands in the file once, however many members there are.
        clauses: dict[Span, tuple[str, Clause]] = {}
        candidates = [each for each in self.ruleset.candidates.values() if self.is_about(each.span)]
        for candidate in candidates:
            for clause in (*candidate.available, *candidate.requires, *candidate.avoid):
                clauses.setdefault(clause.span, (candidate.name, clause))
        names, rules = [each.name for each in candidates], [rule.name for rule in self.ruleset.rules if self.is_about(rule.span)]
        return Coverage(
            candidates=tuple(name for name in names if name in self.selected),
            candidates_missed=tuple(name for name in names if name not in self.selected),
            clauses=tuple(clause for span, (_, clause) in clauses.items() if span in self.refusing),
            clauses_missed=tuple(pair for span, pair in clauses.items() if span not in self.refusing),
            rules=tuple(name for name in rules if name in self.applied),
            rules_missed=tuple(name for name in rules if name not in self.applied),
        )
