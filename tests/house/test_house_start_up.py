"""Nothing heavy is imported on the lint path: held over `sys.modules` of a fresh process, not over time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = [
    "numpy",
    "jsonschema",
    "referencing",
    "prompt_toolkit",
    "ctypes",
    "sqlite3",
    "asyncio",
    "multiprocessing",
    "ml_dtypes",
    "torch",
    "z3",
    "pygls",
    "urllib.request",
]
SCRIPT = """
import io, json, sys
from tessera_rules.cli import main
code = main(json.loads(sys.argv[1]), io.StringIO(), io.StringIO(), io.StringIO())
print(json.dumps({"code": code, "modules": sorted(sys.modules)}))
"""
RULES = 'tessera 1\nop f {\n  operand a: [M]\n  result [M]\n  dtype a in [f32]\n  reference python "no.such:f"\n}\ntarget cpu { fact cores: int }\ncandidate c {\n  tier emitted\n  target cpu\n  op f\n  requires { M % 16 == 0 }\n  bind python "no.such:c"\n}\n'  # noqa: E501


def loaded(arguments: list[str]) -> tuple[int, set[str]]:
    done = subprocess.run([sys.executable, "-c", SCRIPT, json.dumps(arguments)], capture_output=True, text=True, timeout=60, check=True)
    answer = json.loads(done.stdout)
    return answer["code"], set(answer["modules"])


@pytest.mark.parametrize("verb", ["lint", "test", "fmt"])
def test_a_verb_on_files_imports_nothing_heavy(verb: str, tmp_path: Path) -> None:
    (tmp_path / "r.tsr").write_text(RULES, encoding="utf-8")
    code, modules = loaded([verb, str(tmp_path), "--json"])
    assert code == 0
    assert sorted(modules & set(HEAVY)) == []
    assert "tessera_rules.model.load" in modules


def test_a_stated_decision_imports_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "r.tsr").write_text(RULES, encoding="utf-8")
    (tmp_path / "m.json").write_text('{"machine": 1, "targets": {"cpu": {"cores": 2}}}', encoding="utf-8")
    code, modules = loaded(["eval", "f", "cpu", "M=16", "dtype=f32", "--rules", str(tmp_path / "r.tsr"), "--machine", str(tmp_path / "m.json"), "--json"])
    assert code == 0
    assert sorted(modules & set(HEAVY)) == []


def test_a_verb_imports_no_other_verb(tmp_path: Path) -> None:
    (tmp_path / "r.tsr").write_text(RULES, encoding="utf-8")
    _, modules = loaded(["lint", str(tmp_path)])
    assert {"tessera_rules.cli.eval", "tessera_rules.cli.fmt", "tessera_rules.testing"} & modules == set()
