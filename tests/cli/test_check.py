"""``tsr check``: lint and the analysis in one document, exit codes, suppressions, and what is read of a machine."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tessera_rules.cli import main

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "check"


def run(*words: str) -> tuple[int, str, str]:
    """Run a command and return its exit code and both outputs."""
    out, err = io.StringIO(), io.StringIO()
    return main(list(words), out, err, io.StringIO()), out.getvalue(), err.getvalue()


def test_a_note_alone_is_fine_and_a_warning_is_not() -> None:
    assert run("check", str(GOLDEN / "TSR510" / "flagged.tsr"))[0] == 0
    assert run("check", str(GOLDEN / "TSR505" / "flagged.tsr"))[0] == 1


def test_lint_says_nothing_of_what_needs_a_proof() -> None:
    assert run("lint", str(GOLDEN / "TSR505" / "flagged.tsr"))[0] == 0


def test_a_suppression_silences_a_finding_and_is_a_finding_itself_where_it_silences_nothing(tmp_path: Path) -> None:
    text = (GOLDEN / "TSR505" / "flagged.tsr").read_text(encoding="utf-8").replace("#! TSR505", "# tsr: ignore[TSR505] the reference will do")
    path = tmp_path / "a.tsr"
    path.write_text(text, encoding="utf-8")
    assert run("check", str(path))[0] == 0
    path.write_text(text.replace("K % 16 == 0", "K % 1 == 0").replace("ignore[TSR505]", "ignore[TSR505, TSR503]"), encoding="utf-8")
    found = [row["code"] for row in json.loads(run("check", str(path), "--json")[1])["findings"]]
    assert found.count("TSR490") == 2


def test_rules_with_errors_are_linted_only(tmp_path: Path) -> None:
    path = tmp_path / "a.tsr"
    path.write_text((GOLDEN / "TSR505" / "flagged.tsr").read_text(encoding="utf-8").replace("K % 16", "Q % 16"), encoding="utf-8")
    code, out, err = run("check", str(path), "--json")
    assert code == 1
    assert not any(row["code"].startswith("TSR505") for row in json.loads(out)["findings"])
    assert "linted only" in err


def test_select_shows_only_what_is_asked_for() -> None:
    path = str(GOLDEN / "TSR505" / "flagged.tsr")
    assert run("check", path, "--select", "TSR501")[0] == 0
    code, _, err = run("check", path, "--select", "TSR999")
    assert code == 2
    assert "no such code" in err


@pytest.mark.parametrize("form", ["github", "sarif", "text"])
def test_findings_come_in_every_format(form: str) -> None:
    assert "TSR506" in run("check", str(GOLDEN / "TSR506" / "flagged.tsr"), "--format", form)[1]


def test_a_machine_that_is_not_there_is_the_callers_mistake(tmp_path: Path) -> None:
    code, _, err = run("check", str(GOLDEN / "TSR505" / "clean.tsr"), "--machine", str(tmp_path / "none.json"))
    assert code == 2
    assert "none.json" in err


def test_explain_prints_the_page() -> None:
    code, out, _ = run("lint", "--explain", "TSR505")
    assert code == 0
    assert "nobody serves" in out
