"""The dispatch log: counted, kept, streamed, read back."""

from __future__ import annotations

import io
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tessera_rules.cli.main import main
from tests.session.test_run import arbiter, candidate

A = np.ones((3, 4), np.float32)
B = np.ones((4, 2), np.float32)


def totals(session: Any) -> dict[tuple[str, str], int]:
    return {(tag, word): count for (_, _, tag, word), count in session.log.totals()}


def test_each_dispatch_counts_under_who_ran() -> None:
    session = arbiter(candidate("right"))
    for _ in range(3):
        session.run("product", A, B, target="cpu")
    assert totals(session) == {("right", "won"): 3}
    assert [each.tag for each in session.log.recent()] == ["right"] * 3


def test_a_decline_at_run_counts_as_degraded_and_nobody_as_no_candidate() -> None:
    session = arbiter(candidate("declines_later", tier="hand_tuned"), candidate("right"))
    session.run("product", A, B, target="cpu")
    assert totals(session) == {("declines_later", "degraded"): 1, ("right", "won"): 1}
    alone = arbiter(candidate("zeros"))
    alone.run("product", A, B, target="cpu")
    assert totals(alone) == {("reference", "no_candidate"): 1}


def test_an_empty_result_is_no_missing_candidate() -> None:
    session = arbiter(candidate("right"))
    session.run("product", A[:0], B, target="cpu")
    assert totals(session) == {("reference", "won"): 1}


def test_a_delegation_counts() -> None:
    session = arbiter(candidate("first", "right", tier="hand_tuned", more="guard { amax(a) <= 0.0 }"), candidate("right"))
    session.run("product", A, B, target="cpu")
    assert totals(session) == {("first", "delegated"): 1, ("right", "won"): 1}


def test_the_stream_replays_and_is_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.jsonl"
    monkeypatch.setenv("TSR_LOG", str(path))
    session = arbiter(candidate("declines_later", tier="hand_tuned"), candidate("right"))
    session.run("product", A, B, target="cpu")
    session.run("product", A, B, target="cpu", force="right")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert rows[0]["replay"].startswith("tsr eval product cpu dtype=f32 M=3 K=4 N=2")
    assert [row["tag"] for row in rows] == ["right", "right"]
    path.write_text(path.read_text() + "rubbish\n")
    out, err = io.StringIO(), io.StringIO()
    assert main(["log", str(path), "--json"], out, err) == 1
    answer = json.loads(out.getvalue())
    assert answer["bad_lines"] == [3]
    assert {(row["tag"], row["won"], row["degraded"]) for row in answer["totals"]} == {("right", 2, 0), ("declines_later", 0, 1)}


def test_a_stream_that_cannot_be_written_does_not_stop_dispatch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TSR_LOG", str(tmp_path / "no" / "such" / "folder"))
    session = arbiter(candidate("right"))
    session.run("product", A, B, target="cpu")
    assert "No such file" in (session.log.failed or "")


def test_no_count_is_lost_among_threads() -> None:
    session = arbiter(candidate("right"))
    session.run("product", A, B, target="cpu")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: session.run("product", A, B, target="cpu"), range(200)))
    assert totals(session) == {("right", "won"): 201}
