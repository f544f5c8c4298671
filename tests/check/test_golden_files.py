"""Every code is found where its flagged file says, nowhere in its clean one, and nothing else is found in either."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import tessera_rules.report.schema
from tessera_rules.check.driver import all_checks
from tessera_rules.check.suppressions import SOLVER
from tessera_rules.diagnostic import CODES
from tests.check.golden import codes, golden, lint, places

all_checks()
assert tessera_rules.report.schema
ALL = codes()
ENDS_MATTER = {"TSR002", "TSR020", "TSR401"}
"""Codes that are about the end of the file, or of its last line."""


def test_every_code_of_a_file_has_golden_files() -> None:
    assert set(CODES) - set(ALL) - SOLVER <= {"TSR009", "TSR017", "TSR190"}
    assert set(ALL) <= set(CODES)


def test_there_are_forty_kinds_of_mistakes() -> None:
    assert len(ALL) >= 40


@pytest.mark.parametrize("code", ALL)
def test_D16_a_flagged_file_has_its_finding_and_no_other(code: str) -> None:
    flagged = golden(code, "flagged")
    assert code in {each for _, _, each in flagged.expected}
    assert places(lint(flagged.path), flagged.expected) == flagged.expected


@pytest.mark.parametrize("code", ALL)
def test_a_clean_file_has_no_finding(code: str) -> None:
    clean = golden(code, "clean")
    assert clean.expected == []
    assert [f"{each.span} {each.code} {each.message}" for each in lint(clean.path)] == []


@pytest.mark.parametrize("ending", [b"", b"\n\n\n"], ids=["no last newline", "three last newlines"])
@pytest.mark.parametrize("code", [code for code in ALL if code not in ENDS_MATTER])
def test_D5_the_last_newline_changes_nothing(code: str, ending: bytes, tmp_path: Path) -> None:
    for name in ("flagged", "clean"):
        one = golden(code, name)
        copy = tmp_path / one.path.name
        if one.path.is_dir():
            shutil.copytree(one.path, copy)
        else:
            copy.write_bytes(one.path.read_bytes())
        for path in [copy] if copy.is_file() else sorted(copy.glob("*.tsr")):
            data = path.read_bytes().rstrip(b"\r\n")
            crlf = b"\r\n" in path.read_bytes()
            path.write_bytes(data + (ending.replace(b"\n", b"\r\n") if crlf else ending))
        assert places(lint(copy), one.expected) == one.expected


@pytest.mark.parametrize("code", ALL)
def test_a_finding_has_a_place_inside_its_text(code: str) -> None:
    for finding in lint(golden(code, "flagged").path):
        span = finding.span
        assert 0 <= span.start <= span.end <= len(span.source.text)
        assert span.line >= 1
        assert span.column >= 1
        assert finding.message[:1]
        assert not finding.message.endswith(".")
