"""Pinned decisions: every process that has the file comes to the same ones, or says why it cannot (P22)."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tessera_rules.cli import main
from tessera_rules.corpus.pins import write_pins
from tessera_rules.errors import ArbiterError, UsageError
from tessera_rules.session import Arbiter, load
from tests.corpus import stage
from tests.corpus.test_tuning import QUICK, SLOW_DEFAULT, operands


def arbiter(folder: Path, text: str = SLOW_DEFAULT + stage.candidate("new") + QUICK) -> Arbiter:
    (folder / "rules.tsr").write_text(text, encoding="utf-8")
    return load(folder / "rules.tsr")


def pinned(folder: Path, monkeypatch: pytest.MonkeyPatch, winner: str = "new", sizes: Sequence[int] = (24,), *, strict: bool = False) -> None:
    on = arbiter(folder)
    made = [on.decide("f", target="x86", dtype="f32", M=size, N=size, K=size, force=winner) for size in sizes]
    (folder / "pins.jsonl").write_text(write_pins(on.ruleset, made, strict=strict))
    monkeypatch.setenv("TSR_DECISIONS", str(folder / "pins.jsonl"))
    monkeypatch.setenv("TSR_CORPUS", str(folder / "c.sqlite"))


def test_P22_a_pinned_decision_is_taken_by_deciding_running_and_preparing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert arbiter(tmp_path).decide("f", target="x86", dtype="f32", M=24, N=24, K=24).winner == "old"
    pinned(tmp_path, monkeypatch)
    on = arbiter(tmp_path)
    ready = on.prepare("f", target="x86", dtype="f32")
    found = on.decide("f", target="x86", dtype="f32", M=24, N=24, K=24)
    assert (found.winner, found.criterion) == ("new", "force")
    for _ in range(2):
        assert on.run_traced("f", **operands(24), target="x86")[1].tag == "new"
        assert ready.decide(24, 24, 24).winner == "new"
        assert ready.decide_on(*operands(24).values()).winner == "new"
    assert on.decide("f", target="x86", dtype="f32", M=25, N=24, K=24).winner == "old"
    assert on.run_traced("f", **operands(8), target="x86")[1].tag == "old"
    many = on.decide_many("f", "x86", dims={"M": np.array([23, 24, 25]), "N": 24, "K": 24}, dtype="f32")
    assert [many.names[place] for place in many.winners] == ["old", "new", "old"]


def test_P22_where_the_pinned_one_cannot_run_the_call_raises_and_nobody_else_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pinned(tmp_path, monkeypatch)
    refusing = SLOW_DEFAULT + stage.candidate("new", "requires { M >= 100 }") + QUICK
    on = arbiter(tmp_path, refusing)
    for call in (
        lambda: on.decide("f", target="x86", dtype="f32", M=24, N=24, K=24),
        lambda: on.run("f", **operands(24), target="x86"),
        lambda: on.prepare("f", target="x86", dtype="f32").decide(24, 24, 24),
    ):
        with pytest.raises(ArbiterError, match="new"):
            call()


def test_P22_a_miss_is_an_error_where_the_file_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pinned(tmp_path, monkeypatch, strict=True)
    on = arbiter(tmp_path)
    assert on.decide("f", target="x86", dtype="f32", M=24, N=24, K=24).winner == "new"
    for call in (
        lambda: on.decide("f", target="x86", dtype="f32", M=8, N=24, K=24),
        lambda: on.run("f", **operands(8), target="x86"),
        lambda: on.prepare("f", target="x86", dtype="f32").decide(8, 24, 24),
    ):
        with pytest.raises(ArbiterError, match="has no decision"):
            call()


def test_the_callers_force_and_the_environments_come_before_a_pin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pinned(tmp_path, monkeypatch)
    words = {"dtype": "f32", "M": 24, "N": 24, "K": 24}
    assert arbiter(tmp_path).decide("f", target="x86", force="old", **words).winner == "old"
    monkeypatch.setenv("TSR_FORCE", "f@x86=old")
    assert arbiter(tmp_path).decide("f", target="x86", **words).winner == "old"


def test_the_reference_may_be_pinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pinned(tmp_path, monkeypatch, winner="reference")
    assert arbiter(tmp_path).run_traced("f", **operands(24), target="x86")[1].tag == "reference"


@pytest.mark.parametrize(
    "text",
    ["", "{}\n", '{"decisions":2,"on_miss":"error"}\n', '{"decisions":1,"on_miss":"decide"}\n{"request":{}}\n', '{"decisions":1,"on_miss":"decide"}\n{\n'],
)
def test_a_file_that_is_not_whole_is_said_and_never_half_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (tmp_path / "pins.jsonl").write_text(text)
    monkeypatch.setenv("TSR_DECISIONS", str(tmp_path / "pins.jsonl"))
    with pytest.raises(UsageError, match=r"pins\.jsonl"):
        arbiter(tmp_path).decide("f", target="x86", dtype="f32", M=24, N=24, K=24)
    monkeypatch.setenv("TSR_DECISIONS", str(tmp_path / "nobody.jsonl"))
    with pytest.raises(UsageError, match="cannot be read"):
        arbiter(tmp_path).decide("f", target="x86", dtype="f32", M=24, N=24, K=24)


def test_what_was_tuned_is_pinned_by_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arbiter(tmp_path)
    monkeypatch.setenv("TSR_RULES", str(tmp_path / "rules.tsr"))
    monkeypatch.setenv("TSR_CORPUS", str(tmp_path / "c.sqlite"))
    words = ["f", "x86", "dtype=f32", "M=8", "N=8", "K=8"]

    def tsr(*said: str) -> Any:
        out, err = io.StringIO(), io.StringIO()
        code = main([*said], out, err)
        assert code == 0, err.getvalue()
        return out.getvalue()

    tsr("tune", *words)
    assert "1 decisions written" in tsr("corpus", "pin", str(tmp_path / "pins.jsonl"))
    monkeypatch.setenv("TSR_CORPUS", str(tmp_path / "none.sqlite"))
    assert json.loads(tsr("eval", *words, "--json"))["winner"] == "old"
    monkeypatch.setenv("TSR_DECISIONS", str(tmp_path / "pins.jsonl"))
    found = json.loads(tsr("eval", *words, "--json"))
    assert (found["winner"], found["criterion"]) == ("new", "force")
    assert any("TSR_DECISIONS: new is pinned" in note for note in found["notes"])
