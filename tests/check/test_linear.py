"""Lint grows with the text and not with its square; calls are counted, so that the answer is the same on a busy machine."""

from __future__ import annotations

import cProfile
import pstats
from pathlib import Path

from benchmarks.generate import rules
from tessera_rules.check.driver import check_load
from tessera_rules.model.load import load


def calls(count: int, folder: Path) -> int:
    """Return how many function calls loading and linting so many generated candidates takes."""
    path = folder / f"{count}.tsr"
    path.write_text(rules(count), encoding="utf-8")
    profile = cProfile.Profile()
    profile.enable()
    findings = check_load(load([path]))
    profile.disable()
    assert not [finding for finding in findings if finding.severity == "error"]
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


def test_D20_twice_the_candidates_take_about_twice_the_calls(tmp_path: Path) -> None:
    calls(20, tmp_path)  # imports and tables are made once
    found = [calls(count, tmp_path) for count in (200, 400, 800)]
    # The bar in time is 2.5 to 10,000 candidates (benchmarks/bench_lint.py); counted calls are exact, so less is allowed here.
    assert found[1] / found[0] < 2.05, found
    assert found[2] / found[1] < 2.05, found
