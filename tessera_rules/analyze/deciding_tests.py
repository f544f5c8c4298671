"""TSR512: tests that no clause decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from attrs import evolve

from tessera_rules.analyze.codes import UNDECISIVE_TEST
from tessera_rules.compile.simplify import FALSE, TRUE
from tessera_rules.diagnostic import Finding
from tessera_rules.model.values import Candidate, Clause, Rule, Ruleset, Test, TestRequest

Passes = Callable[[Ruleset, Test, TestRequest], bool]
"""Whether one round of a test is as expected under some rules."""


def undecisive_tests(ruleset: Ruleset, passes: Passes) -> Iterator[Finding]:
    """Yield TSR512 for each test that passes whichever single clause or condition is turned over, in every round."""
    for test in ruleset.tests:
        rounds = [each for each in test.requests if each.op in ruleset.ops]
        if any(each.words.get(name) == 0 for each in rounds for name in ruleset.ops[each.op].dims):
            continue  # about what is empty: the language decides that, not a clause
        if not rounds or not all(passes(ruleset, test, each) for each in rounds):
            continue  # a test that fails has something to say already
        if not any(_decided(ruleset, test, each, passes) for each in rounds):
            yield UNDECISIVE_TEST.at(
                test.span,
                f'no clause decides the test "{test.name}": it passes whichever one is turned over',
                hint="expect a verdict with its clause, or choose a request at the edge of a bound",
            )


def _decided(ruleset: Ruleset, test: Test, asked: TestRequest, passes: Passes) -> bool:
    if all(each.negated and each.name == "reference" for each in asked.expectations):
        # that somebody serves is held by everybody's clauses together
        return not passes(_refusing(ruleset, asked), test, asked)
    return any(not passes(changed, test, asked) for changed in _turned(ruleset, test, asked))


def _refusing(ruleset: Ruleset, asked: TestRequest) -> Ruleset:
    """Return the rules with every clause of everybody's `requires` held for false."""
    for candidate in ruleset.for_op(asked.op, asked.target):
        clauses = tuple(evolve(clause, term=FALSE) for clause in (*candidate.requires, *candidate.implied))
        ruleset = _with_candidate(ruleset, evolve(candidate, requires=clauses, implied=()))
    return ruleset


def _turned(ruleset: Ruleset, test: Test, asked: TestRequest) -> Iterator[Ruleset]:
    """Yield the rules with one clause or condition held for true, or for false; one of the two changes it."""
    pair = asked.op, asked.target
    for candidate in ruleset.for_op(*pair):
        for changed in _changed(candidate.requires):
            yield _with_candidate(ruleset, evolve(candidate, requires=changed))
        for changed in _changed(candidate.implied):
            yield _with_candidate(ruleset, evolve(candidate, implied=changed))
        for changed in _changed(candidate.avoid):
            yield _with_candidate(ruleset, evolve(candidate, avoid=changed))
        if test.assume_available is not None and candidate.name not in test.assume_available:
            for changed in _changed(candidate.available):
                yield _with_candidate(ruleset, evolve(candidate, available=changed))
    for rule in ruleset.rules:
        if pair in rule.conditions:
            for value in (FALSE, TRUE):
                changed_rule = evolve(rule, conditions={**rule.conditions, pair: evolve(rule.conditions[pair], term=value)})
                yield _with_rule(ruleset, rule, changed_rule)
        elif rule.always and rule.op in (None, asked.op) and rule.target in (None, asked.target):
            yield evolve(ruleset, rules=tuple(each for each in ruleset.rules if each is not rule))


def _changed(clauses: tuple[Clause, ...]) -> Iterator[tuple[Clause, ...]]:
    for place, clause in enumerate(clauses):
        for value in (FALSE, TRUE):
            yield (*clauses[:place], evolve(clause, term=value), *clauses[place + 1 :])


def _with_candidate(ruleset: Ruleset, changed: Candidate) -> Ruleset:
    pair = changed.op, changed.target
    listed = tuple(changed if each.name == changed.name else each for each in ruleset.for_op(*pair))
    return evolve(ruleset, candidates={**ruleset.candidates, changed.name: changed}, registered={**ruleset.registered, pair: listed})


def _with_rule(ruleset: Ruleset, rule: Rule, changed: Rule) -> Ruleset:
    return evolve(ruleset, rules=tuple(changed if each is rule else each for each in ruleset.rules))
