"""The conformance cases of the analysis, in process, each witness decided again.

A copy lies in ``tests/golden/analysis_cases``; where the shared folder is at hand its own file is run too, since it may have grown.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from tessera_rules.cli import main

ROOT = Path(__file__).resolve().parents[2]
FILES = [ROOT / "tests" / "golden" / "analysis_cases" / "cases.json", ROOT.parent / "shared" / "cases" / "analysis" / "cases.json"]
CASES = {case["id"]: case for path in FILES if path.is_file() for case in json.loads(path.read_text(encoding="utf-8"))}


def answer(words: list[str]) -> dict[str, Any]:
    """Run a command and return its document."""
    out = io.StringIO()
    main([*words, "--json"], out, io.StringIO(), io.StringIO())
    return dict(json.loads(out.getvalue()))


def fits(wanted: dict[str, Any], row: dict[str, Any]) -> bool:
    """Whether a finding is the one that a case wants."""
    text = f"{row['message']} {row['hint'] or ''}"
    return (
        row["code"].startswith(wanted.get("code_prefix", "TSR"))
        and wanted.get("line", row["line"]) == row["line"]
        and all(part in text for part in wanted.get("has", []))
        and (not wanted.get("witness") or bool(row.get("witness")))
        and all(part in json.dumps(row.get("witness")) for part in wanted.get("witness_has", []))
        and wanted.get("related_line") in (None, *(other["line"] for other in row["related"]))
    )


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_case_holds(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    rules = tmp_path / "rules"
    rules.mkdir()
    for file, text in case["files"].items():
        (rules / file).write_text(text, encoding="utf-8")
    rows = answer([*case["run"], str(rules)])["findings"]
    for unwanted in case["expect"].get("excludes", []):
        assert not any(fits(unwanted, row) for row in rows)
    for wanted in case["expect"].get("includes", []):
        found = [row for row in rows if fits(wanted, row)]
        assert found, rows
        if "replay" in wanted:
            shown = found[0]["witness"]
            machine = tmp_path / "box.json"
            machine.write_text(json.dumps({"machine": 1, "os": "linux", "targets": {shown["target"]: shown["device"]}}))
            words = [f"{key}={value}" for key, value in shown["dims"].items()] + [f"dtype={shown['dtype']}"]
            again = answer(["eval", shown["op"], shown["target"], *words, "--rules", str(rules), "--machine", str(machine), "--assume", "all"])
            assert {key: again[key] for key in wanted["replay"]} == wanted["replay"]
