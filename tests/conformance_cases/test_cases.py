"""The conformance cases, each in process: a few files, one `tsr` call, and what must come back.

A copy of the cases that the project was given lies in ``tests/golden/cases/``; where the shared folder is at hand its own
file is run too, since it may have grown.
"""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tessera_rules.cli import main

ROOT = Path(__file__).resolve().parents[2]
COPIES = ROOT / "tests" / "golden" / "cases"
SHARED = ROOT.parent / "shared" / "cases" / "decide"
FINDING_TESTS = ("findings", "includes", "excludes")


def gathered() -> list[Any]:
    """Return every case once, by where it comes from and its id; a shared case that equals its copy is not run twice."""
    cases: dict[tuple[str, str], dict[str, Any]] = {}
    copies: dict[str, dict[str, Any]] = {}
    for origin, folder in (("golden", COPIES), ("shared", SHARED)):
        for path in sorted(folder.rglob("*.json")) if folder.is_dir() else []:
            for case in json.loads(path.read_text(encoding="utf-8")):
                if origin == "shared" and copies.get(case["id"]) == case:
                    continue
                copies[case["id"]] = case
                cases[origin, case["id"]] = case
    return [pytest.param(case, id=f"{origin}-{name}") for (origin, name), case in cases.items()]


def answer(case: dict[str, Any], folder: Path) -> tuple[int, str, str]:
    """Run a case's command and return its exit code and both outputs."""
    rules = folder / "rules"
    rules.mkdir()
    for name, text in case.get("files", {}).items():
        path = rules / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8"))
    for name, digits in case.get("files_hex", {}).items():
        (rules / name).write_bytes(bytes.fromhex(digits))
    words = list(case["run"])
    if case.get("machine") is not None:
        (folder / "machine.json").write_text(json.dumps(case["machine"]), encoding="utf-8")
        words += ["--machine", str(folder / "machine.json")]
    if words[0] in ("lint", "test", "check", "fmt", "compile"):
        words += [] if case.get("shipped") else [str(rules)]
    elif not case.get("shipped"):
        words += ["--rules", str(rules)]
    out, err = io.StringIO(), io.StringIO()
    here = Path.cwd()
    os.chdir(folder)
    try:
        code = main([*words, "--json"], out, err, io.StringIO())
    finally:
        os.chdir(here)
    return code, out.getvalue(), err.getvalue()


def shortfalls(expect: dict[str, Any], given: dict[str, Any]) -> list[str]:
    """Return what of a JSON answer is not as a case expects it."""
    short = [
        f"{name} is {given.get(name, 'missing')!r}, expected {expect[name]!r}"
        for name in ("winner", "criterion", "tag", "passed", "failed")
        if name in expect and given.get(name, "missing") != expect[name]
    ]
    verdicts = {row["candidate"]: row for row in given.get("verdicts", [])}
    for name, fields in expect.get("verdicts", {}).items():
        row = verdicts.get(name)
        if row is None:
            short.append(f"{name} has no verdict")
            continue
        for field, wanted in fields.items():
            if field.endswith("_has"):
                text = json.dumps(row)
                short += [f"the verdict of {name} does not mention {part!r}: {text}" for part in wanted if part not in text]
            elif isinstance(wanted, dict):
                got = row.get(field) or {}
                short += [f"{name}.{field}.{key} is {got.get(key)!r}, expected {value!r}" for key, value in wanted.items() if got.get(key) != value]
            elif row.get(field) != wanted:
                short.append(f"{name}.{field} is {row.get(field)!r}, expected {wanted!r}")
    short += [f"{name} has a verdict" for name in expect.get("absent", []) if name in verdicts]
    residual = json.dumps(given.get("residual", []))
    short += [f"the residual does not mention {part!r}: {residual}" for part in expect.get("residual_has", []) if part not in residual]
    return short + _finding_shortfalls(expect, given.get("findings", []))


def _finding_shortfalls(expect: dict[str, Any], rows: list[dict[str, Any]]) -> list[str]:
    short = []
    if "findings" in expect:
        left = [row for row in rows if row["severity"] == "error"]
        for wanted in expect["findings"]:
            match = next((row for row in left if _fits(wanted, row)), None)
            if match is None:
                short.append(f"no finding like {wanted}")
            else:
                left.remove(match)
        short += [f"a finding too many: {row}" for row in left]
    short += [f"no finding like {wanted}" for wanted in expect.get("includes", []) if not any(_fits(wanted, row) for row in rows)]
    return short + [f"an unwanted finding: {row}" for wanted in expect.get("excludes", []) for row in rows if _fits(wanted, row)]


def _fits(wanted: dict[str, Any], row: dict[str, Any]) -> bool:
    text = f"{row['message']} {row['hint'] or ''}"
    return (
        row["code"].startswith(wanted.get("code_prefix", "TSR"))
        and row["line"] == wanted.get("line", row["line"])
        and row["file"].endswith(wanted.get("file", ""))
        and all(part in text for part in wanted.get("has", []))
        and ("related_line" not in wanted or wanted["related_line"] in [other["line"] for other in row["related"]])
    )


CASES = gathered()


@pytest.mark.parametrize("case", CASES)
def test_case(case: dict[str, Any], tmp_path: Path) -> None:
    code, out, err = answer(case, tmp_path)
    expect = case.get("expect", {})
    both = out + err
    if "exit" in case:
        assert code == case["exit"], both
    for text in ["Traceback (most recent call last)", "internal error", *expect.get("never", [])]:
        assert text not in both
    for text in expect.get("stderr_has", []):
        assert text in both
    if set(expect) - {"stderr_has", "never"}:
        assert shortfalls(expect, json.loads(out)) == []


def test_the_copies_are_there() -> None:
    assert len(CASES) >= 65


def test_a_shortfall_is_seen() -> None:
    given = {"winner": "a", "verdicts": [{"candidate": "a", "verdict": "selected", "values": {"K": 1}}], "findings": []}
    assert shortfalls({"winner": "b"}, given)
    assert shortfalls({"verdicts": {"a": {"verdict": "refused"}}}, given)
    assert shortfalls({"verdicts": {"a": {"values": {"K": 2}}}}, given)
    assert shortfalls({"verdicts": {"z": {}}}, given)
    assert shortfalls({"absent": ["a"]}, given)
    assert shortfalls({"residual_has": ["K"]}, given)
    assert shortfalls({"findings": [{"line": 1}]}, given)
    assert not shortfalls({"winner": "a", "verdicts": {"a": {"verdict": "selected", "values": {"K": 1}}}}, given)
