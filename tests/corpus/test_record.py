"""Records: one text each, every field held to what it may be, and bad lines reported by number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tessera_rules.corpus.record import BadRecord, read_lines, read_record, write_lines
from tests.corpus import stage


@pytest.fixture
def good(tmp_path: Path) -> dict[str, Any]:
    return stage.record(stage.rules(tmp_path), stage.machine(), {"old": 1e-3, "new": 5e-4}).to_json()


def test_a_record_is_the_same_after_a_round_trip(good: dict[str, Any]) -> None:
    record = read_record(json.loads(json.dumps(good)))
    assert record.to_json() == good
    assert read_record(json.loads(record.text)).id == record.id
    assert record.winner == "new"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("schema", 2),
        ("kind", "guess"),
        ("dims", {"M": -1}),
        ("dims", {"M": True}),
        ("times", {"old": [1e-3], "new": [float("nan")]}),
        ("times", {"old": [1e-3], "new": [0]}),
        ("times", {"old": [1e-3], "new": [-1.0]}),
        ("times", {"old": [1e-3]}),
        ("finalists", ["old", "new", "ghost"]),
        ("contestants", {"old": 1}),
        ("unmeasured", {"new": "declined"}),
        ("winner", "ghost"),
        ("at", float("inf")),
        ("at", "today"),
        ("more", 1),
    ],
)
def test_T12_T30_a_field_that_does_not_fit_is_refused_by_name(good: dict[str, Any], field: str, value: Any) -> None:
    with pytest.raises(BadRecord):
        read_record({**good, field: value})


@pytest.mark.parametrize("field", ["op", "key", "times", "rules", "evidence"])
def test_T30_a_missing_field_is_said(good: dict[str, Any], field: str) -> None:
    with pytest.raises(BadRecord, match=f"missing field '{field}'"):
        read_record({name: value for name, value in good.items() if name != field})


def test_T30_bad_lines_are_reported_by_number_and_the_others_are_read(good: dict[str, Any]) -> None:
    lines = [json.dumps(good), "", "{", json.dumps({**good, "at": 5.0}), "[1]", '{"schema": 1}', "[" * 100_000]
    found, bad = read_lines(lines)
    assert len(found) == 2
    assert [number for number, _ in bad] == [3, 5, 6, 7]


def test_canonical_lines_are_sorted_unique_and_stable(good: dict[str, Any]) -> None:
    one, two = read_record(good), read_record({**good, "at": good["at"] - 5})
    text = write_lines([one, two, one])
    assert text == write_lines([two, one])
    assert text.count("\n") == 2
    assert write_lines(read_lines(text.splitlines())[0]) == text
