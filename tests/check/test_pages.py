"""Pages are made from codes and golden files, and are up to date."""

from __future__ import annotations

from pathlib import Path

import tessera_rules.report.schema
from tessera_rules.check.driver import all_checks
from tessera_rules.diagnostic import CODES
from tessera_rules.report.pages import contents, page, write_pages

PAGES = Path(__file__).resolve().parents[2] / "docs" / "codes"
OWN = ("syntax", "model", "check", "report")

all_checks()
assert tessera_rules.report.schema


def test_pages_are_up_to_date() -> None:
    wanted = {name: text for name, text in contents().items() if name != "README.md"}
    stale = [name for name, text in wanted.items() if not (PAGES / name).is_file() or (PAGES / name).read_text(encoding="utf-8") != text]
    assert stale == [], "`make pages` writes them"


def test_a_page_shows_what_differs() -> None:
    text = page(CODES["TSR422"])
    assert "M == M" in text
    assert "M == K" in text
    assert "operand a" not in text
    assert "#!" not in text


def test_writing_deletes_pages_of_codes_that_are_gone(tmp_path: Path) -> None:
    (tmp_path / "TSR999.md").write_text("gone", encoding="utf-8")
    write_pages(tmp_path)
    assert not (tmp_path / "TSR999.md").exists()
    assert (tmp_path / "TSR401.md").is_file()
