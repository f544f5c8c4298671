"""Every document that a verb prints is what its published schema says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.cli.command import MACHINE, RULES, decided, tsr, write_rules

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "docs" / "schema"
CASES = json.loads((ROOT / "tests" / "golden" / "cases" / "decide.json").read_text(encoding="utf-8"))
FULL = {"M": 16, "N": 16, "K": 16, "dtype": "f32"}


def problems(kind: str, document: Any) -> list[str]:
    schema = json.loads((SCHEMAS / f"{kind}.schema.json").read_text(encoding="utf-8"))
    return [f"{'/'.join(map(str, error.absolute_path))}: {error.message}" for error in jsonschema.Draft202012Validator(schema).iter_errors(document)]


def words(**changed: Any) -> list[str]:
    return ["matmul", "box", *(f"{name}={value}" for name, value in {**FULL, **changed}.items() if value is not None)]


@pytest.mark.parametrize(
    ("request_", "options", "verdicts"),
    [
        (words(), [], {"selected", "outranked"}),
        (words(K=15), [], {"refused", "selected"}),
        (words(N=7), [], {"denied", "selected"}),
        (words(N=7), ["--force", "plain"], {"denied", "selected"}),
        (words(K=None), [], {"undecided"}),
        (words(dtype=None, M=None, N=None, K=None), [], {"undecided"}),
        (words(M=0), [], {"outranked", "refused"}),
        ([*words(), "given=bias", "epilogue=relu,bias", "a.align=4", "b.strides=64,1", "threads=2", "allow=tf32", "scale=0.5"], [], {"refused", "selected"}),
        ([*words(), "require=deterministic"], [], {"refused"}),
    ],
)
def test_eval(request_: list[str], options: list[str], verdicts: set[str], tmp_path: Path) -> None:
    write_rules(tmp_path)
    answer = decided(tmp_path, *request_, *options)
    assert answer.code == 0, answer.out
    assert {row["verdict"] for row in answer.json["verdicts"]} == verdicts
    assert problems("eval", answer.json) == []


@pytest.mark.parametrize("facts", [None, {}, {"arch": "v1"}, {"arch": "v9"}, [{"arch": "v1"}, {"arch": "v2"}], []])
def test_eval_on_other_machines(facts: Any, tmp_path: Path) -> None:
    write_rules(tmp_path)
    machine = {**MACHINE, "targets": {} if facts is None else {"box": facts}}
    assert problems("machine", machine) == []
    (tmp_path / "box.json").write_text(json.dumps(machine), encoding="utf-8")
    answer = decided(tmp_path, *words())
    assert answer.code == 0, answer.out
    assert problems("eval", answer.json) == []


@pytest.mark.parametrize(
    "call",
    [
        ["eval"],
        ["eval", "matmul", "box", "Q=1"],
        ["eval", "matmul", "box", "M=5000", "N=1", "K=1"],
        ["eval", "matmul", "box", "--force", "tiled", "K=15"],
        ["eval", "--nonsense"],
        ["nonsense"],
        ["test", "nowhere"],
        ["compile", "--emit", "poem"],
    ],
)
def test_errors(call: list[str], tmp_path: Path) -> None:
    path = write_rules(tmp_path)
    answer = tsr(*call, *(["--rules", path, "--machine", tmp_path / "box.json"] if call[0] == "eval" else []), "--json")
    assert answer.code == 2
    assert problems("error", answer.json) == []


def test_rules_that_have_errors(tmp_path: Path) -> None:
    write_rules(tmp_path, RULES.replace("tier hand_tuned", "teir hand_tuned"))
    answer = decided(tmp_path, *words())
    assert (answer.code, answer.json["error"]["kind"]) == (2, "rules")
    assert problems("error", answer.json) == []


def test_the_runner(tmp_path: Path) -> None:
    failing = 'test "bad" {\n  request matmul on box { dtype f32  M 16  N 16  K 16 }\n  device { arch "v2" }\n  expect plain\n}\n'
    answer = tsr("test", write_rules(tmp_path, RULES + failing), "--json")
    assert answer.code == 1
    assert [row["outcome"] for row in answer.json["tests"]] == ["passed", "failed"]
    assert problems("test", answer.json) == []


def test_the_formatter(tmp_path: Path) -> None:
    assert problems("fmt", tsr("fmt", write_rules(tmp_path), "--json").json) == []


def test_a_run() -> None:
    answer = tsr("run", "matmul", "x86", "M=5", "N=6", "K=7", "dtype=f32", "--json")
    assert answer.code == 0, answer.out
    assert problems("run", answer.json) == []
    assert answer.json["execution"]["tag"] == answer.json["tag"] != "reference"


def test_the_canonical_json(tmp_path: Path) -> None:
    answer = tsr("compile", write_rules(tmp_path), "--emit", "json")
    assert answer.code == 0
    assert problems("rules", answer.json) == []
    assert answer.out == tsr("compile", tmp_path / "r.tsr", "--json").out


@pytest.mark.parametrize("text", [RULES, RULES.replace("K % 16", "KK % 16"), RULES.replace("M >= 2", "M % N >= 0"), RULES + RULES[10:], "", "tessera 1\nop {"])
def test_the_linter(text: str, tmp_path: Path) -> None:
    answer = tsr("lint", write_rules(tmp_path, text), "--json")
    assert answer.code in (0, 1)
    assert problems("lint", answer.json) == []


@pytest.mark.parametrize("case", [case for case in CASES if case.get("machine")][:8], ids=lambda case: case["id"])
def test_machines_of_the_cases(case: dict[str, Any]) -> None:
    assert problems("machine", case["machine"]) == []


def test_a_schema_tells(tmp_path: Path) -> None:
    write_rules(tmp_path)
    document = decided(tmp_path, *words()).json
    assert problems("eval", {**document, "criterion": "luck"})
    assert problems("eval", {name: value for name, value in document.items() if name != "verdicts"})
    document["verdicts"][1].pop("by")
    assert problems("eval", document) == ["verdicts/1: 'by' is a required property"]


def test_D4_every_place_is_counted_from_one(tmp_path: Path) -> None:
    """The first character of a file is line 1, column 1, also where a finding is about the whole file or its end."""
    for text in ["", "x", "\n", "tessera 2\n", "\x00", "tessera 1\nop {", "\ufeffteserra 1\n"]:
        rules = write_rules(tmp_path, text)
        rows = tsr("eval", "matmul", "box", "--rules", rules, "--machine", tmp_path / "box.json", "--json").json["error"].get("findings", [])
        if text != "\n":
            assert rows, text
        for row in rows:
            assert min(row["line"], row["column"], row["end_line"], row["end_column"]) >= 1
            assert (row["end_line"], row["end_column"]) >= (row["line"], row["column"])


@pytest.mark.parametrize("verb", ["eval", "test", "compile"])
def test_D16_the_same_document_under_every_hash_seed(verb: str, tmp_path: Path) -> None:
    path = write_rules(tmp_path)
    calls = {
        "eval": ["eval", *words(K=None), "--rules", str(path), "--machine", str(tmp_path / "box.json"), "--json"],
        "test": ["test", str(path), "--json"],
        "compile": ["compile", str(path)],
    }
    answers = set()
    for seed in range(3):
        environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
        done = subprocess.run([sys.executable, "-m", "tessera_rules.cli", *calls[verb]], capture_output=True, text=True, timeout=60, env=environment)
        assert done.returncode == 0, done.stderr
        answers.add(done.stdout)
    assert len(answers) == 1
