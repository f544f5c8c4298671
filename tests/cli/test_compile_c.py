"""`tsr compile --emit c`: the header on standard output, what it does not know on standard error, mistakes as exit 2."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.command import RULES, tsr

BOX = {"machine": 1, "os": "linux", "targets": {"box": {"arch": "v2"}}}


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "r.tsr").write_text(RULES, encoding="utf-8")
    (tmp_path / "box.json").write_text(json.dumps(BOX), encoding="utf-8")
    return str(tmp_path / "r.tsr"), str(tmp_path / "box.json")


def test_a_header_that_compiles_and_decides(files: tuple[str, str], tmp_path: Path) -> None:
    rules, box = files
    done = tsr("compile", "--emit", "c", "matmul", "box", "dtype=f16", "--machine", box, "--rules", rules)
    assert (done.code, done.err) == (0, "")
    source = tmp_path / "main.c"
    shown = "tsr_matmul_box_f16_name(tsr_matmul_box_f16_winner(16, 16, 16)), tsr_matmul_box_f16_check()"
    source.write_text(f'{done.out}#include <stdio.h>\nint main(void) {{ printf("%s %d", {shown}); return 0; }}\n')
    subprocess.run(["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-o", str(tmp_path / "main"), str(source), "-lm"], check=True)
    said = subprocess.run([str(tmp_path / "main")], capture_output=True, text=True, check=True).stdout
    evaluated = json.loads(tsr("eval", "matmul", "box", "dtype=f16", "M=16", "N=16", "K=16", "--machine", box, "--rules", rules, "--json").out)
    assert said == f"{evaluated['tag']} 0"


def test_what_is_open_goes_to_standard_error(files: tuple[str, str]) -> None:
    rules, box = files
    done = tsr("compile", "--emit", "c", "matmul", "box", "--machine", box, "--rules", rules, "--name", "mine", "--json")
    document = json.loads(done.out)
    assert "mine_winner" in document["header"]
    assert len(done.err.splitlines()) == len(document["open"])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["matmul", "box", "M=4"], "M is a dimension"),
        (["matmull", "box"], "no op 'matmull'"),
        (["matmul", "box", "--force", "tild"], "tild"),
        (["matmul", "box", "--name", "1x"], "no name for C"),
        ([], "needs an op"),
    ],
)
def test_mistakes_of_the_caller_are_exit_2(files: tuple[str, str], words: list[str], told: str) -> None:
    rules, box = files
    done = tsr("compile", "--emit", "c", *words, "--machine", box, "--rules", rules)
    assert (done.code, done.out) == (2, "")
    assert told in done.err


def test_options_of_c_are_not_for_json(files: tuple[str, str]) -> None:
    done = tsr("compile", files[0], "--name", "x")
    assert done.code == 2
    assert "--emit c" in done.err
