"""Asking the arbiter in one line."""

from __future__ import annotations

from typing import Any

from tessera_rules.arbiter import Decision, Verdict, bind_words, decide
from tessera_rules.machine.stated import StatedMachine, parse_machine
from tessera_rules.model.values import Ruleset

GFX1151 = {"arch": "gfx1151", "compute_units": 40, "driver": "6.4.1"}


def box(**extra: Any) -> StatedMachine:
    """A machine with a gfx1151 and a CPU."""
    return parse_machine({"machine": 1, "os": "linux", "targets": {"rocm": GFX1151, "cpu": {"cores": 2}}, **extra}, "box.json")


def ask(
    rules: Ruleset, words: str = "dtype=f32 M=64 N=64 K=64", *, op: str = "matmul", target: str = "cpu", machine: StatedMachine | None = None, **how: Any
) -> Decision:
    there = machine or box()
    pairs = dict(word.split("=", 1) for word in words.split())
    return decide(rules, bind_words(rules, op, target, pairs, there), there, **how)


def of(decision: Decision, name: str) -> Verdict:
    return next(verdict for verdict in decision.verdicts if verdict.candidate == name)


def words_of(decision: Decision) -> dict[str, str]:
    return {verdict.candidate: verdict.verdict for verdict in decision.verdicts}
