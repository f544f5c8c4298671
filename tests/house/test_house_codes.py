"""Every code has its page, made from its own text, and two golden files that show it."""

from __future__ import annotations

import importlib
import io
import json
import pkgutil
import re
from pathlib import Path

import pytest

import tessera_rules
from tessera_rules.cli import main
from tessera_rules.diagnostic import CODES
from tessera_rules.report import pages

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "codes"
GOLDEN = ROOT / "tests" / "golden" / "lint"
CHECKED = ROOT / "tests" / "golden" / "check"
"""Golden files of codes that only ``tsr check`` finds."""
WITHOUT_FILES = {
    "TSR009": "a file of more than 16 MiB: tests/check/test_limits.py makes one",
    "TSR017": "a file of 100,001 declarations: tests/check/test_limits.py makes one",
    "TSR190": "needs a team's schema: tests/report/test_schema.py shows it",
}
"""Codes that no file alone can show, each with where it is shown."""


def every_code() -> list[str]:
    """Return all codes, after importing every module that can declare one."""
    for room in ("syntax", "model", "check", "report", "analyze"):
        package = getattr(tessera_rules, room, None) or (importlib.import_module(f"tessera_rules.{room}") if (ROOT / "tessera_rules" / room).is_dir() else None)
        for module in pkgutil.walk_packages(package.__path__, f"tessera_rules.{room}.") if package else []:
            importlib.import_module(module.name)
    return sorted(CODES)


ALL = every_code()


def test_there_are_codes_enough() -> None:
    assert len(ALL) >= 40


@pytest.mark.parametrize("code", ALL)
def test_a_code_is_whole(code: str) -> None:
    declared = CODES[code]
    assert re.fullmatch(r"TSR[0-5]\d\d", code)
    assert declared.title
    assert len(declared.text) > 60, "the page says what is wrong, why it matters and the way on"


@pytest.mark.parametrize("code", ALL)
def test_a_code_has_its_page(code: str) -> None:
    page = PAGES / f"{code}.md"
    assert page.is_file(), f"`make pages` writes {page}"
    assert page.read_text(encoding="utf-8") == pages.page(CODES[code]), "`make pages` writes it anew"


@pytest.mark.parametrize("code", [code for code in ALL if code not in WITHOUT_FILES])
def test_a_code_is_shown_by_golden_files(code: str) -> None:
    folder = next((path for path in (GOLDEN / code, CHECKED / code) if path.is_dir()), GOLDEN / code)
    verb = "check" if folder.parent == CHECKED else "lint"
    for name, shows in (("flagged.tsr", True), ("clean.tsr", False)):
        path = folder / name
        assert path.exists() or path.with_suffix("").is_dir(), f"{path} is missing"
        out = io.StringIO()
        main([verb, str(path if path.exists() else path.with_suffix("")), "--json"], out, io.StringIO(), io.StringIO())
        found = [row["code"] for row in json.loads(out.getvalue())["findings"]]
        assert (code in found) is shows, found


@pytest.mark.parametrize("code", sorted(WITHOUT_FILES))
def test_a_code_without_golden_files_is_tested_where_it_says(code: str) -> None:
    path = ROOT / next(word.strip(":") for word in WITHOUT_FILES[code].split() if word.startswith("tests/"))
    assert code in path.read_text(encoding="utf-8")


def test_no_page_is_about_a_code_that_is_gone() -> None:
    assert sorted(path.stem for path in PAGES.glob("TSR*.md") if path.stem not in CODES) == []
