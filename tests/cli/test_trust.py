"""Which rules a command takes, and whom it trusts: what nobody named is decided upon, and asks this machine nothing."""

from __future__ import annotations

import sys
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


ACTS = """tessera 1
use "std/x86.tsr"
op mine { operand a: [M, K]; operand b: [K, N]; result [M, N]; dtype a in [f32]; reference python "acting:reference" }
target asked { fact cores: int; facts python "acting:facts" }
target host { "always there" }
candidate imported { tier hand_tuned; target host; op mine; bind python "acting:kernel" }
candidate probed { tier emitted; target host; op mine; available { probe python "acting:probe" }; bind python "acting:kernel" }
candidate smoked { tier emitted; target host; op mine; available { smoke(M=2, N=2, K=2) }; bind python "acting:kernel" }
candidate shipped_op { tier hand_tuned; target x86; op matmul; bind python "acting:kernel" }
candidate compiled {
  tier emitted; target host; op mine
  bind source "k.c" compiler "cc" flags ["-wrapper", "$ACTING_WRAPPER"] symbol "f" (ptr a, ptr b, ptr out, i64 M, i64 N, i64 K) returns i32 { ok 0 }
}
for t in [asked] { candidate on_{t} { tier emitted; target t; op mine; available { device.cores > 0 }; bind python "acting:kernel" } }
"""
LONE_OP = """tessera 1
op alone { operand a: [M, K]; result [M, K]; dtype a in [f32]; reference python "acting:reference" }
target unasked { fact cores: int; facts python "acting:facts" }
"""
MODULE = """
import sys
from pathlib import Path
Path(MARK).write_text("imported")
def facts(): return {"cores": 1}
def probe(): return True
def kernel(a, b): return a @ b
def reference(a, b=None): return a if b is None else a @ b
"""
WORDS = ["M=2", "N=2", "K=2", "dtype=f32"]
CALLS = [
    ["eval", "mine", "host", *WORDS],
    ["eval", "mine", "asked", *WORDS],
    ["eval", "alone", "unasked", "M=2", "K=2", "dtype=f32"],
    ["run", "mine", "host", *WORDS],
    ["run", "mine", "asked", *WORDS],
    ["run", "mine", "host", *WORDS, "--force", "imported"],
    ["run", "mine", "host", *WORDS, "--force", "reference"],
    ["run", "mine", "host", "M=0", "N=2", "K=2", "dtype=f32"],
    ["run", "alone", "unasked", "M=2", "K=2", "dtype=f32"],
    ["run", "alone", "x86", "M=2", "K=2", "dtype=f32"],
    ["run", "matmul", "x86", *WORDS],
    ["run", "matmul", "x86", *WORDS, "--measure"],
    ["probe"],
    ["test", "rules"],
    ["lint", "rules"],
]


@pytest.fixture
def acting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose rules leave a mark when anything of theirs is imported, asked, compiled or run; returns where the mark would be."""
    (tmp_path / "rules").mkdir()
    mark = tmp_path / "mark"
    (tmp_path / "rules" / "acts.tsr").write_text(ACTS, encoding="utf-8")
    (tmp_path / "rules" / "lone.tsr").write_text(LONE_OP, encoding="utf-8")
    (tmp_path / "rules" / "k.c").write_text("int f(void) { return 0; }")
    (tmp_path / "acting.py").write_text(MODULE.replace("MARK", repr(str(mark))))
    wrapper = tmp_path / "wrapper.sh"
    wrapper.write_text(f'#!/bin/sh\ntouch "{mark}"\nexec "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("ACTING_WRAPPER", str(wrapper))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "acting", raising=False)
    return mark


@pytest.mark.parametrize("call", CALLS, ids=" ".join)
def test_rules_that_nobody_named_leave_no_trace(acting: Path, call: list[str]) -> None:
    answer = tsr(*call)
    assert "internal error" not in answer.err
    assert not acting.exists()
    assert "acting" not in sys.modules


@pytest.mark.parametrize("call", [["eval", "mine", "asked", *WORDS], ["run", "alone", "x86", "M=2", "K=2", "dtype=f32"], ["probe"]], ids=" ".join)
def test_named_they_do(acting: Path, call: list[str]) -> None:
    tsr(*call, "--rules", "rules")
    assert acting.exists()


def test_a_file_that_only_untrusted_rules_use_is_not_trusted_wherever_it_lies(acting: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "rules" / "acts.tsr").rename(tmp_path / "elsewhere" / "acts.tsr")
    (tmp_path / "rules" / "user.tsr").write_text('tessera 1\nuse "../elsewhere/acts.tsr"\n')
    tsr("run", "mine", "host", *WORDS)
    (tmp_path / "rules" / "user.tsr").unlink()
    (tmp_path / "rules" / "link.tsr").symlink_to(tmp_path / "elsewhere" / "acts.tsr")
    tsr("run", "mine", "host", *WORDS)
    assert not acting.exists()


def test_a_repl_trusts_no_more(acting: Path) -> None:
    import subprocess

    lines = "mine host M=2 N=2 K=2 dtype=f32\nrun\nmeasure\nreload\nwhy not\nalone x86 M=2 K=2 dtype=f32\nrun\n"
    done = subprocess.run([sys.executable, "-m", "tessera_rules.cli", "repl"], input=lines, capture_output=True, text=True, timeout=120, cwd=acting.parent)
    assert "Traceback" not in done.stderr
    assert "untrusted" in done.stdout
    assert not acting.exists()
