"""What is too large to lie in a repository: made here, and found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tessera_rules.syntax.read import MAX_BYTES
from tests.check.golden import lint


def test_a_file_of_more_than_sixteen_mebibytes(tmp_path: Path) -> None:
    path = tmp_path / "large.tsr"
    path.write_bytes(b"tessera 1\n" + b"#" * 70 + b"\n" * (MAX_BYTES - 79))
    assert [finding.code for finding in lint(path)] == ["TSR009"]


@pytest.mark.deep
def test_a_file_of_more_than_a_hundred_thousand_declarations(tmp_path: Path) -> None:
    path = tmp_path / "many.tsr"
    path.write_text("tessera 1\n" + "".join(f"predicate p{number} = true\n" for number in range(100_001)), encoding="utf-8")
    assert [finding.code for finding in lint(path) if finding.severity == "error"] == ["TSR017"]
