"""A saved run is whole: it brings its rules, those of std/ too, and repeats elsewhere."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tessera_rules.cli import main
from tessera_rules.resources import rules_folder

MINE = """tessera 1
use "std/x86.tsr"

rule mine {
  op matmul  target x86
  when K == 33
  deny x86_numpy_matmul
  because "an erratum"
}
"""


def tsr(*words: str) -> tuple[int, str]:
    stream = io.StringIO()
    return main(words, stream, stream, io.StringIO()), stream.getvalue()


def test_a_run_over_the_shipped_rules_and_rules_that_use_them_repeats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`std/` in a replay is what was saved: with this installation's, each shipped declaration would be there twice."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "mine.tsr").write_text(MINE, encoding="utf-8")
    code, said = tsr("run", "matmul", "x86", "dtype=f32", "M=4", "N=4", "K=33", "--save", "bug.zip")
    assert code == 0, said
    (tmp_path / "rules" / "mine.tsr").unlink()
    code, said = tsr("replay", "bug.zip")
    assert code == 0, said
    assert "repeats: the same verdicts, the same result bit for bit" in said
    assert "rule mine denies it" in said
    assert rules_folder().name == "rules"
    assert "tsr-replay-" not in str(rules_folder())
