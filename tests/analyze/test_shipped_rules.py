"""The rules that ship: nothing is found that is not silenced with its reason, and few things are silenced."""

from __future__ import annotations

import re
from pathlib import Path

from tessera_rules.analyze.ask import Asker
from tessera_rules.analyze.driver import analyse
from tessera_rules.analyze.solver import solver
from tessera_rules.model.load import load
from tessera_rules.resources import rules_folder
from tests.analyze.test_golden_files import check

SUPPRESSED = re.compile(r"# tsr: ignore\[(?P<codes>[^\]]*)\](?P<reason>.*)")
MOST_SUPPRESSIONS = 10
MOST_QUESTIONS = 3000
"""Of the analysis: a count that is the same on every machine, of about 1.5 ms each."""


def test_nothing_is_found_that_has_no_reason() -> None:
    assert check(str(rules_folder())) == (0, [])


def test_suppressions_are_few_and_say_why() -> None:
    found = [match for path in sorted(Path(rules_folder()).rglob("*.tsr")) for match in SUPPRESSED.finditer(path.read_text(encoding="utf-8"))]
    assert 0 < len(found) <= MOST_SUPPRESSIONS
    assert all(len(match["reason"].strip()) > 10 for match in found)


def test_no_question_stays_open_and_they_are_not_too_many() -> None:
    asker = Asker(solver())
    findings = analyse(load([str(rules_folder())]).ruleset, asker=asker)
    assert [finding.message for finding in findings if finding.code == "TSR590"] == []
    assert 200 < asker.asked < MOST_QUESTIONS
