"""Smoke probes held against their own candidate, without running anything.

A smoke probe runs the binding on one request. One that the op or the candidate's own ``requires`` refuses says nothing of
the requests that the candidate serves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tessera_rules.arbiter.facts import RequestFacts
from tessera_rules.arbiter.reasons import spelled
from tessera_rules.arbiter.request import bind_words
from tessera_rules.compile.evaluate import clause_values, truth
from tessera_rules.diagnostic import Finding, Related
from tessera_rules.dtypes import DTYPES
from tessera_rules.errors import TesseraError
from tessera_rules.machine.stated import StatedMachine
from tessera_rules.model import codes
from tessera_rules.model.terms import facts
from tessera_rules.model.values import Candidate, Clause, Ruleset

_KEY = "probe:smoke:"


def smoke_findings(ruleset: Ruleset) -> Iterator[Finding]:
    """Yield TSR313 for each smoke probe whose request is no request of the op, has no dtype, or is refused by ``requires``."""
    for candidate in ruleset.candidates.values():
        for clause in candidate.available:
            for fact in facts(clause.term):
                if fact.key.startswith(_KEY):
                    words = dict(word.split("=", 1) for word in fact.key[len(_KEY) :].split())
                    yield from _held(ruleset, candidate, clause, words)


def _held(ruleset: Ruleset, candidate: Candidate, probe: Clause, words: Mapping[str, Any]) -> Iterator[Finding]:
    op = ruleset.ops[candidate.op]
    asked = [dict(words)]
    if "dtype" not in words and op.dtype_operand is not None:
        asked = [{**words, "dtype": dtype} for dtype in op.dtypes or DTYPES]
    refusals: list[tuple[Clause, Mapping[str, Any]]] = []
    served = 0
    for each in asked:
        try:
            request = bind_words(ruleset, candidate.op, candidate.target, each, StatedMachine(threads=1))
        except TesseraError as problem:
            yield codes.SMOKE.at(probe.span, f"this is no request of {op.name}: {problem.message}")
            return
        lookup = RequestFacts(request)
        refused = next((clause for clause in candidate.requires if _asks_the_request(clause) and truth(clause, lookup) is False), None)
        if refused is None:
            served += 1
        else:
            refusals.append((refused, clause_values(refused, lookup)))
    if not served:
        clause, values = next((each for each in refusals if "dtype" not in each[0].reads), refusals[0])
        yield codes.SMOKE.at(
            probe.span,
            f"the candidate's own `requires` refuses this request: `{clause.text}` does not hold ({spelled(values)})",
            hint="state a request that it serves",
            related=(Related(clause.span, "refused here"),),
        )
    elif served > 1:
        yield codes.SMOKE.at(probe.span, f"`requires` admits {served} dtypes, and the request states none", hint="add dtype=… to the probe")


def _asks_the_request(clause: Clause) -> bool:
    return not any(key.startswith("device:") for key in clause.reads)
