"""Which rules a command takes, and whom it trusts: what nobody named is decided upon, and asks this machine nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import tsr

TEXT = """tessera 1
use "std/ops.tsr"
target mine {}
candidate mine_mm {
  tier emitted
  target mine
  op matmul
  available { file("/") }
  bind python "operator:matmul"
}
"""
CALL = ["eval", "matmul", "mine", "M=2", "N=2", "K=2", "dtype=f32", "--json"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a `rules` folder of its own, and the caller in it."""
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "mine.tsr").write_text(TEXT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def verdict(*words: str) -> dict[str, object]:
    answer = tsr(*CALL, *words)
    assert answer.code == 0, answer.out
    (row,) = answer.json["verdicts"]
    return row


def test_rules_that_lie_beside_the_caller_are_not_trusted(project: Path) -> None:
    row = verdict()
    assert row["verdict"] == "unavailable"
    assert "untrusted" in str(row["reason"])
    assert "--rules" in str(row["reason"])


def test_rules_that_are_named_are(project: Path) -> None:
    assert verdict("--rules", "rules")["verdict"] == "selected"


@pytest.mark.parametrize("named", ["rules", ".", "/"])
def test_a_folder_of_tsr_trust_is(named: str, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TSR_TRUST", str(project / named) if named != "/" else "/")
    assert verdict()["verdict"] == "selected"


def test_another_folder_of_tsr_trust_is_not(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "rules2").mkdir()
    monkeypatch.setenv("TSR_TRUST", str(project / "rules2"))
    assert verdict()["verdict"] == "unavailable"


def test_a_stated_machine_asks_nothing_of_this_one(project: Path) -> None:
    (project / "m.json").write_text('{"machine": 1, "targets": {"mine": {}}, "files": ["/"]}', encoding="utf-8")
    assert verdict("--machine", "m.json")["verdict"] == "selected"


def test_rules_named_by_the_environment_replace_the_default(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TSR_RULES", str(project / "rules"))
    assert verdict()["verdict"] == "selected"
    assert tsr("eval", "matmul", "rocm").code == 2, "the shipped rules are not loaded beside them"
    monkeypatch.setenv("TSR_RULES", str(project / "nowhere"))
    assert tsr(*CALL).code == 2
