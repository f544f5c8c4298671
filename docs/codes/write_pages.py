"""Writes docs/codes/TSRnnn.md and the list of them from the text of every code. Run after a code or its golden files change."""

from __future__ import annotations

from pathlib import Path

import tessera_rules.report.schema  # noqa: F401  declares TSR190
from tessera_rules.check.driver import all_checks
from tessera_rules.report.pages import contents

HERE = Path(__file__).parent


def main() -> None:
    """Write every page; delete those of codes that are gone."""
    all_checks()
    pages = contents()
    for path in HERE.glob("*.md"):
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        (HERE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
