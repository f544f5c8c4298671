"""`tsr eval`: the decision with its reasons, forces, assumptions, what is open."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import RULES, decided, tsr, write_rules

REQUEST = ["matmul", "box", "M=16", "N=16", "K=16", "dtype=f32"]


def test_the_decision_as_json(tmp_path: Path) -> None:
    path = write_rules(tmp_path)
    answer = decided(tmp_path, "matmul", "box", "M=16", "N=16", "K=15", "dtype=f32")
    assert answer.code == 0
    assert answer.json["winner"] == answer.json["tag"] == "plain"
    assert answer.json["criterion"] == "only"
    assert answer.json["request"] | {"threads": None} == {
        "op": "matmul", "target": "box", "dtype": "f32", "attrs": {}, "dims": {"M": 16, "N": 16, "K": 15},
        "given": [], "layouts": {}, "threads": None, "allow": [], "require": [], "device": 0,
    }  # fmt: skip
    refused = answer.json["verdicts"][0]
    line = RULES.splitlines().index('    K % 16 == 0 because "one tile"') + 1
    wanted = {"candidate": "tiled", "tier": "hand_tuned", "verdict": "refused", "code": "requires", "clause": "K % 16 == 0", "because": "one tile"}
    assert {name: refused[name] for name in wanted} == wanted
    assert (refused["values"], refused["file"], refused["line"], refused["column"]) == ({"K": 15}, str(path), line, 5)


def test_the_decision_for_a_person(tmp_path: Path) -> None:
    write_rules(tmp_path)
    answer = tsr("eval", "matmul", "box", "M=16", "N=16", "K=15", "dtype=f32", "--rules", tmp_path / "r.tsr", "--machine", tmp_path / "box.json")
    assert answer.code == 0
    assert answer.err == ""
    for text in ["plain", "tiled", "refused", "K % 16 == 0", "one tile", "15"]:
        assert text in answer.out


def test_what_is_open_is_named(tmp_path: Path) -> None:
    write_rules(tmp_path)
    answer = decided(tmp_path, "matmul", "box", "M=16", "N=16", "dtype=f32")
    assert (answer.code, answer.json["winner"], answer.json["tag"]) == (0, None, "undecided")
    assert [row["needs"] for row in answer.json["residual"] if row["candidate"] == "tiled"] == [["K"]]


def test_nobody_is_left(tmp_path: Path) -> None:
    write_rules(tmp_path, RULES[: RULES.index("candidate plain")])
    answer = decided(tmp_path, "matmul", "box", "M=16", "N=16", "K=15", "dtype=f32")
    assert (answer.code, answer.json["winner"], answer.json["tag"], answer.json["criterion"]) == (0, None, "reference", "none")


@pytest.mark.parametrize("how", ["argument", "environment"])
def test_a_force_selects(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_rules(tmp_path)
    if how == "environment":
        monkeypatch.setenv("TSR_FORCE", "conv@box=x, matmul@box=plain")
    answer = decided(tmp_path, *REQUEST, *(["--force", "plain"] if how == "argument" else []))
    assert (answer.json["winner"], answer.json["criterion"]) == ("plain", "force")


def test_the_argument_replaces_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_rules(tmp_path)
    monkeypatch.setenv("TSR_FORCE", "matmul@box=plain")
    assert decided(tmp_path, *REQUEST, "--force", "tiled").json["winner"] == "tiled"


def test_a_force_for_another_target_counts_nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_rules(tmp_path)
    monkeypatch.setenv("TSR_FORCE", "matmul@rocm=other")
    assert decided(tmp_path, *REQUEST).json["winner"] == "tiled"


@pytest.mark.parametrize("how", ["argument", "environment"])
def test_a_force_that_is_refused_names_the_clause(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_rules(tmp_path)
    if how == "environment":
        monkeypatch.setenv("TSR_FORCE", "matmul@box=tiled")
    answer = decided(tmp_path, "matmul", "box", "M=16", "N=16", "K=15", "dtype=f32", *(["--force", "tiled"] if how == "argument" else []))
    assert answer.code == 2
    error = answer.json["error"]
    assert (error["kind"], error["candidate"], error["clause"], error["values"]) == ("arbiter", "tiled", "K % 16 == 0", {"K": 15})
    assert error["line"] == RULES.splitlines().index('    K % 16 == 0 because "one tile"') + 1


def test_D23_what_a_force_did_is_in_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An override that is read is never without a trace: it decides, or the answer says why not."""
    write_rules(tmp_path)
    empty = decided(tmp_path, "matmul", "box", "M=0", "N=16", "K=16", "dtype=f32", "--force", "plain")
    assert empty.json["criterion"] == "empty"
    assert any("plain" in note for note in empty.json["notes"])
    shown = tsr("eval", *REQUEST, "--force", "plain", "--rules", tmp_path / "r.tsr", "--machine", tmp_path / "box.json")
    assert "force" in shown.out
    monkeypatch.setenv("TSR_FORCE", "matmul@box=plain,matmul@bx=plain")
    taken = decided(tmp_path, *REQUEST).json["notes"]
    assert "TSR_FORCE=matmul@box=plain: taken" in taken
    assert "TSR_FORCE: 1 entry is for another op or target" in taken
    assert "TSR_FORCE=matmul@box=plain: replaced by --force" in decided(tmp_path, *REQUEST, "--force", "tiled").json["notes"]


def test_D23_what_is_assumed_is_in_the_answer(tmp_path: Path) -> None:
    other = 'op sum {\n  operand x: [n]\n  result [n]\n  dtype x\n  reference python "no.such:sum"\n}\n'
    other += 'candidate sum1 {\n  tier emitted\n  target box\n  op sum\n  bind python "no.such:sum1"\n}\n'
    write_rules(tmp_path, RULES + other)
    assert decided(tmp_path, *REQUEST, "--assume", "plain,sum1").json["notes"] == [
        "--assume plain: its `available` is held for true",
        "--assume sum1: no part in this, it is a candidate of sum on box",
    ]
    assert decided(tmp_path, *REQUEST, "--assume", "all").json["notes"] == ["--assume all: every `available` is held for true"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--force", "tild"], ["tild", "did you mean 'tiled'?"]),
        (["--assume", "plane"], ["plane", "did you mean 'plain'?"]),
        (["Mm=4"], ["Mm"]),
        (["actt=relu"], ["actt", "did you mean 'act'?"]),
        (["act=rleu"], ["rleu", "relu"]),
        (["scale=big"], ["scale", "big"]),
        (["=4"], ["=4"]),
        (["third"], ["third"]),
        (["given=bais"], ["bais", "bias"]),
    ],
)
def test_a_word_that_means_nothing(words: list[str], said: list[str], tmp_path: Path) -> None:
    write_rules(tmp_path)
    for end in ([], ["--json"]):
        answer = tsr("eval", *REQUEST, *words, "--rules", tmp_path / "r.tsr", "--machine", tmp_path / "box.json", *end)
        assert answer.code == 2
        assert all(part in answer.out + answer.err for part in said), answer


@pytest.mark.parametrize(
    ("words", "said"),
    [([], "op"), (["matmull", "box"], "did you mean 'matmul'?"), (["matmul", "bxo"], "did you mean 'box'?"), (["matmul"], "target"), (["M=4"], "op")],
)
def test_op_and_target(words: list[str], said: str, tmp_path: Path) -> None:
    write_rules(tmp_path)
    answer = decided(tmp_path, *words)
    assert answer.code == 2
    assert said in answer.json["error"]["message"]


def test_a_value_said_twice(tmp_path: Path) -> None:
    write_rules(tmp_path)
    answer = decided(tmp_path, *REQUEST, "M=8")
    assert answer.code == 2
    assert "M=16" in answer.json["error"]["message"]
    assert "M=8" in answer.json["error"]["message"]


def test_a_check_of_the_op_is_the_callers(tmp_path: Path) -> None:
    write_rules(tmp_path)
    answer = decided(tmp_path, "matmul", "box", "M=5000", "N=16", "K=16", "dtype=f32")
    assert (answer.code, answer.json["error"]["kind"], answer.json["error"]["values"]) == (2, "operand", {"M": 5000})
    assert "rows fit one launch" in answer.json["error"]["message"]


OLD = {"machine": 1, "targets": {"box": {"arch": "v1"}}}


@pytest.mark.parametrize(
    "words",
    [["--assume", "tiled"], ["--assume", "tiled,plain"], ["--assume", "plain", "--assume", "tiled"], ["--assume", "all"], ["--assume", "plain", "tiled"]],
)
def test_assume_holds_available_for_true(words: list[str], tmp_path: Path) -> None:
    write_rules(tmp_path)
    (tmp_path / "box.json").write_text(json.dumps(OLD), encoding="utf-8")
    without = decided(tmp_path, *REQUEST)
    assert without.json["winner"] == "plain"
    assert without.json["verdicts"][0]["verdict"] == "unavailable"
    assert decided(tmp_path, *REQUEST, *words).json["winner"] == "tiled"
    assert decided(tmp_path, *words, *REQUEST).json["winner"] == "tiled"


@pytest.mark.parametrize("text", ["", "[]", "{", '{"machine": 2}', '{"machine": 1, "targts": {}}', "\x00"])
def test_a_machine_that_is_none(text: str, tmp_path: Path) -> None:
    write_rules(tmp_path)
    (tmp_path / "box.json").write_text(text, encoding="utf-8")
    answer = decided(tmp_path, *REQUEST)
    assert answer.code == 2
    assert "box.json" in answer.json["error"]["message"]


def test_a_machine_file_that_is_not_there(tmp_path: Path) -> None:
    write_rules(tmp_path)
    answer = tsr("eval", *REQUEST, "--rules", tmp_path / "r.tsr", "--machine", tmp_path / "bx.json", "--json")
    assert answer.code == 2
    assert "did you mean" in answer.json["error"]["message"]


def test_a_denied_candidate_names_its_rule(tmp_path: Path) -> None:
    write_rules(tmp_path)
    answer = decided(tmp_path, "matmul", "box", "M=16", "N=7", "K=16", "dtype=f32")
    assert answer.json["winner"] == "plain"
    denied = answer.json["verdicts"][0]
    assert (denied["verdict"], denied["rule"], denied["because"]) == ("denied", "ragged", "seven columns")


def test_the_condition_under_which_the_decision_stays(tmp_path: Path) -> None:
    write_rules(tmp_path)
    condition = decided(tmp_path, *REQUEST).json["holds_for"]
    assert "K % 16 == 0" in condition
    rules = RULES.replace("K % 16 == 0", condition)  # an expression of the language
    write_rules(tmp_path, rules)
    assert decided(tmp_path, *REQUEST).json["winner"] == "tiled"
    assert decided(tmp_path, "matmul", "box", "M=16", "N=16", "K=24", "dtype=f32").json["winner"] == "plain"
    assert decided(tmp_path, "matmul", "box", "M=16", "N=16", "dtype=f32").json["holds_for"] is None
    shown = tsr("eval", *REQUEST, "--rules", tmp_path / "r.tsr", "--machine", tmp_path / "box.json")
    assert "the same holds for: " in shown.out
