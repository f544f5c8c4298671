"""The tessera compiler's corpus: read whole, every suspicious row said, bad rows by number, and nothing of it decides."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tessera_rules.corpus.record import read_lines, write_lines
from tessera_rules.corpus.tessera import read_tessera


def row(candidates: dict[str, float], winner: str = "a", **changes: Any) -> dict[str, Any]:
    plain = {"op": "matmul", "target": "nvidia", "dtype": "f16", "bucket": [64, 64, 64], "device": "nvidia:sm_120", "timing": "end_to_end", "latency_ms": 1.0}
    return {**plain, "candidates": candidates, "winner": winner, **changes}


def kinds(*rows: dict[str, Any], **options: Any) -> list[tuple[int, str]]:
    return [(each.row, each.kind) for each in read_tessera({"version": 3, "records": list(rows)}, **options)[1]]


def test_a_row_without_blame_is_read_and_says_nothing() -> None:
    records, suspicions, bad = read_tessera({"version": 3, "records": [row({"a": 1.0, "b": 1.5})]})
    assert (len(records), suspicions, bad) == (1, [], [])
    assert records[0].kind == "foreign"
    assert records[0].evidence["latency_ms"] == {"a": 1.0, "b": 1.5}
    assert records[0].times == {}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([row({"a": 1.0})], [(1, "one_contestant")]),
        ([row({"a": 1.0, "b": 1.029})], [(1, "close")]),
        ([row({"a": 1.0, "b": 1.031})], []),
        ([row({"a": 1.02, "b": 1.0})], [(1, "not_fastest")]),
        ([row({"a": 1.0, "b": 2.0}, winner="c")], [(1, "winner_untimed")]),
        ([row({"a": 1.0, "b": 2.0}), row({"a": 1.0, "b": 2.0}, bucket=[64, 64])], [(2, "dimensions")]),
        ([row({"a": 1.0, "b": 2.0}, bucket=[128, 512, 64], evidence={"workload_shape": [127, 259, 63]})], [(1, "ragged")]),
        ([row({"a": 1.0, "b": 2.0}, evidence={"workload_shape": [64, 64, 64]})], []),
        ([row({"a": 1.0, "b": 2.0}, evidence={"run_winners": ["a", "b"]})], [(1, "runs_differ")]),
        ([row({"a": 1.0, "b": 2.0}), row({"a": 2.0, "b": 1.0}, winner="b", timing="device")], [(1, "timers_disagree"), (2, "timers_disagree")]),
        ([row({"a": 1.0, "b": 2.0}), row({"a": 1.0, "b": 2.0}, timing="device")], []),
        ([row({"a": 1.0, "b": 2.0, "c": 3.0}), row({"a": 1.0, "b": 2.0}, timing="device")], [(2, "lanes_missing")]),
        ([row({"a": 1.0, "b": 2.0}), row({"a": 2.0, "b": 1.0}, winner="b", timing="device", dtype="f32")], []),
    ],
)
def test_what_is_suspicious_is_said_of_its_row(rows: list[dict[str, Any]], expected: list[tuple[int, str]]) -> None:
    assert kinds(*rows) == expected


def test_the_dimensions_of_an_op_that_is_known_count() -> None:
    assert kinds(row({"a": 1.0, "b": 2.0}, bucket=[64, 64]), dimensions={"matmul": 3}) == [(1, "dimensions")]


@pytest.mark.parametrize(
    "broken",
    [
        7,
        row({}),
        row({"a": math.nan}),
        row({"a": -1.0}),
        row({"a": True}),
        row({"a": 1.0}, bucket=[64, -1]),
        row({"a": 1.0}, bucket="64"),
        {name: value for name, value in row({"a": 1.0}).items() if name != "op"},
        row({"a": 1.0}, evidence=[]) | {"evidence": [1]},
    ],
)
def test_T30_a_malformed_row_is_reported_by_number_and_the_others_are_read(broken: Any) -> None:
    records, _, bad = read_tessera({"version": 3, "records": [row({"a": 1.0, "b": 2.0}), broken, row({"a": 1.0, "b": 2.0}, dtype="f32")]})
    assert len(records) == 2
    assert [number for number, _ in bad] == [2]


def test_its_records_survive_an_export() -> None:
    records, _, _ = read_tessera({"version": 3, "records": [row({"a": 1.0, "b": 1.01})]})
    again, bad = read_lines(write_lines(records).splitlines())
    assert bad == []
    assert again[0].id == records[0].id
    assert again[0].evidence["suspicions"] == ["close: the runner-up is 1.0% behind: no separated win"]
