"""Each code of the analysis is found where its flagged file says, and nothing is found in its clean one."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from tessera_rules.cli import main
from tests.check.golden import Golden

ROOT = Path(__file__).resolve().parents[1] / "golden" / "check"
CODES = sorted(path.name for path in ROOT.iterdir())


def check(*words: str) -> tuple[int, list[dict[str, Any]]]:
    """Run ``tsr check --json`` and return its exit code and findings."""
    out, err = io.StringIO(), io.StringIO()
    code = main(["check", *words, "--json"], out, err, io.StringIO())
    assert err.getvalue() == ""
    return code, json.loads(out.getvalue())["findings"]


def test_all_codes_are_here() -> None:
    assert CODES == ["TSR501", "TSR502", "TSR503", "TSR504", "TSR505", "TSR506", "TSR510", "TSR512", "TSR590"]


@pytest.mark.parametrize("code", CODES)
def test_a_flagged_file_has_its_finding_and_no_other(code: str) -> None:
    golden = Golden(ROOT / code / "flagged.tsr")
    exit_code, found = check(str(golden.path))
    assert [(golden.path.name, row["line"], row["code"]) for row in found] == golden.expected
    assert exit_code == int(any(row["severity"] != "note" for row in found))


@pytest.mark.parametrize("code", CODES)
def test_a_clean_file_has_no_finding(code: str) -> None:
    assert check(str(ROOT / code / "clean.tsr")) == (0, [])


@pytest.mark.parametrize("code", ["TSR503", "TSR505", "TSR506", "TSR510"])
def test_a_witness_is_decided_as_it_shows(code: str) -> None:
    path = ROOT / code / "flagged.tsr"
    row = next(row for row in check(str(path))[1] if row["code"] == code)
    shown = row["witness"]
    assert set(shown) == {"op", "target", "dtype", "attrs", "dims", "given", "device"}
    words = [f"{name}={value}" for name, value in shown["dims"].items()]
    out = io.StringIO()
    main(["eval", shown["op"], shown["target"], f"dtype={shown['dtype']}", *words, "--rules", str(path), "--assume", "all", "--json"], out, io.StringIO())
    decision = json.loads(out.getvalue())
    wanted = {"TSR503": ("by_eight", "tier"), "TSR505": ("reference", "none"), "TSR506": ("by_eight", "declaration"), "TSR510": ("plain", "only")}
    assert (decision["tag"], decision["criterion"]) == wanted[code]
