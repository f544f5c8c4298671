"""Golden files of the linter: what is found in a text, read from markers at the ends of its lines or from a sidecar."""

from __future__ import annotations

import json
import re
from pathlib import Path

from attrs import frozen

from tessera_rules.check.driver import check_load, named_files
from tessera_rules.diagnostic import Finding
from tessera_rules.model.load import load

ROOT = Path(__file__).resolve().parents[1] / "golden" / "lint"
MARKER = re.compile(r"#!((?: TSR\d{3})+)\s*$")

Place = tuple[str, int | None, str]
"""File name, line (None: any), code."""


@frozen
class Golden:
    """One golden text: a file, or a folder of files that belong together."""

    path: Path

    @property
    def files(self) -> list[Path]:
        """Every file of it."""
        return [self.path] if self.path.is_file() else sorted(self.path.glob("*.tsr"))

    @property
    def expected(self) -> list[Place]:
        """What is found in it, sorted."""
        sidecar = self.path.with_suffix(".expect")
        if sidecar.exists():
            return sorted(((self.path.name, row["line"], row["code"]) for row in json.loads(sidecar.read_text(encoding="utf-8"))), key=str)
        found: list[Place] = []
        for path in self.files:
            for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
                marked = MARKER.search(line)
                if marked:
                    found += [(path.name, number, code) for code in marked[1].split()]
        return sorted(found, key=str)


def golden(code: str, name: str) -> Golden:
    """Return the golden text of a code: ``flagged`` or ``clean``."""
    path = ROOT / code / f"{name}.tsr"
    return Golden(path if path.exists() else ROOT / code / name)


def codes() -> list[str]:
    """Return every code that has a folder."""
    return sorted(path.name for path in ROOT.iterdir() if path.is_dir())


def lint(*paths: Path) -> tuple[Finding, ...]:
    """Return what the linter finds in files and folders."""
    loaded = load(paths)
    return check_load(loaded, named_files(loaded, paths))


def places(findings: tuple[Finding, ...], expected: list[Place]) -> list[Place]:
    """Return findings as places, sorted; the line of a code that is expected on any line is left out."""
    anywhere = {code for _, line, code in expected if line is None}
    rows = [(Path(each.span.source.name).name, None if each.code in anywhere else each.span.line, each.code) for each in findings]
    return sorted(rows, key=str)
