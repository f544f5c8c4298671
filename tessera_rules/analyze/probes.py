"""What probes count as: true, as a stated machine answers them, or open, so that both answers are looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from tessera_rules.machine.base import Answer, Machine
from tessera_rules.model.terms import Apply, Const, Fact, Term, facts
from tessera_rules.model.types import BOOL
from tessera_rules.model.values import Candidate, Target

Probes = Callable[[Term, Candidate], Term]
"""Puts answers, or names of their own, in place of the probes of a clause."""


def counting_true(term: Term, candidate: Candidate) -> Term:
    """Every probe is true, and so is every comparison of what a probe gives (an environment variable, the system)."""
    del candidate
    return _true(term)


def _true(term: Term) -> Term:
    if isinstance(term, Fact):
        return Const(BOOL, True) if term.key.startswith("probe:") and term.type.kind == "bool" else term
    if not isinstance(term, Apply):
        return term
    if term.op not in ("and", "or", "not", "if") and any(each.key == "os" or each.key.startswith("probe:env:") for each in facts(term)):
        return Const(BOOL, True)
    return Apply(term.type, term.op, tuple(_true(arg) for arg in term.args), term.span)


def left_open(term: Term, candidate: Candidate) -> Term:
    """Probes keep their names; a smoke run is each candidate's own."""
    if isinstance(term, Fact) and term.key.startswith(("probe:smoke:", "probe:call:")):
        return Fact(term.type, f"probe:own:{candidate.name}:{term.key}", term.shown)
    if isinstance(term, Apply):
        return Apply(term.type, term.op, tuple(left_open(arg, candidate) for arg in term.args), term.span)
    return term


def answered_by(machine: Machine) -> Probes:
    """Every probe has the answer of a machine."""

    def answer(term: Term, candidate: Candidate) -> Term:
        if isinstance(term, Fact) and (term.key == "os" or term.key.startswith("probe:")):
            return Const(term.type, machine.probe(term.key, candidate).value)
        if isinstance(term, Apply):
            return Apply(term.type, term.op, tuple(answer(arg, candidate) for arg in term.args), term.span)
        return term

    return answer


@frozen(eq=False)
class Answers:
    """The machine of one point of the universe: one device with these facts, probes by their names, bindings bound."""

    target: str
    facts: Mapping[str, Any]
    answers: Mapping[str, Any]
    threads: int = 1
    stated: bool = True

    def devices(self, target: Target) -> tuple[Mapping[str, Any], ...]:
        """Return the one device of the analysed target."""
        return (self.facts,) if target.name == self.target else ()

    def why_no_device(self, target: Target) -> str:
        """Say that only one target is looked at."""
        return f"the analysis looks at {self.target}, not at {target.name}"

    def probe(self, key: str, candidate: Candidate) -> Answer:
        """Return the answer of the point; a probe that it says nothing of holds."""
        del candidate
        return Answer(self.answers.get(key, key != "os"), "as the analysis has it")

    def bound(self, candidate: Candidate) -> Answer:
        """Every binding counts as bound."""
        del candidate
        return Answer(True, "the analysis counts bindings as bound")
