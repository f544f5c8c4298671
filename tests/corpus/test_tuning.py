"""Tuning on this machine: races of real calls become records, records become decisions, and nothing that cheats has a time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import evolve

from tessera_rules.campaign import Job, Result, grid, jobs_of_lines, jobs_of_log, shard, tune
from tessera_rules.corpus.key import key_of
from tessera_rules.corpus.store import Store
from tessera_rules.errors import UsageError
from tessera_rules.measure.race import Race, race
from tessera_rules.session import Arbiter, load
from tessera_rules.tuning import FLUSHED, race_operands, record_of, request_of
from tests.corpus import kernels, stage

WORDS = {"M": "24", "N": "24", "K": "24", "dtype": "f32"}
SLOW_DEFAULT = stage.OP.replace("target x86 {", 'target x86 { facts python "tests.corpus.test_tuning:facts"; ') + stage.candidate(
    "old", tier="hand_tuned", kernel="slow"
)


QUICK = "policy { verify never }\n"
"""For what is not about proving: a proof is many calls."""


def facts() -> list[dict[str, Any]]:
    return [{"cores": 2, "arch": "9.0"}]


@pytest.fixture(autouse=True)
def _place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TSR_CORPUS", str(tmp_path / "c.sqlite"))
    kernels.CALLS.clear()


def arbiter(folder: Path, *candidates: str, op: str = SLOW_DEFAULT) -> Arbiter:
    (folder / "rules.tsr").write_text(op + "".join(candidates), encoding="utf-8")
    return load(folder / "rules.tsr")


def tuned(on: Arbiter, folder: Path, *words: dict[str, str], **options: Any) -> list[Result]:
    return list(tune(on, Store(str(folder / "c.sqlite")), [Job("f", "x86", each) for each in words or (WORDS,)], **options))


def operands(size: int = 24) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {name: rng.standard_normal((size, size)).astype(np.float32) for name in "ab"}


def test_what_is_measured_decides_and_runs_in_the_same_epoch_and_in_the_next_process(tmp_path: Path) -> None:
    on = arbiter(tmp_path, stage.candidate("new"))
    ready = on.prepare("f", target="x86", dtype="f32")
    assert on.decide("f", target="x86", **WORDS).winner == "old"
    assert ready.decide(24, 24, 24).winner == "old"
    assert on.run_traced("f", **operands(), target="x86")[1].tag == "old"
    (result,) = tuned(on, tmp_path)
    assert result.status == "measured"
    assert result.record is not None
    assert (result.record.outcome, result.record.winner, result.record.default) == ("separated", "new", "old")
    for each in (on, load(tmp_path / "rules.tsr")):
        found = each.decide("f", target="x86", **WORDS)
        assert (found.winner, found.criterion) == ("new", "measured")
        assert each.run_traced("f", **operands(), target="x86")[1].tag == "new"
        assert each.decide("f", target="x86", **{**WORDS, "M": "25"}).winner == "old"
    assert ready.decide(24, 24, 24).winner == "new"
    assert ready.decide(24, 24, 25).winner == "old"
    many = on.decide_many("f", "x86", dims={"M": np.array([23, 24, 25]), "N": 24, "K": 24}, dtype="f32")
    assert [many.names[place] for place in many.winners] == ["old", "new", "old"]


def test_T29_the_key_of_words_is_the_key_of_the_operands_that_run(tmp_path: Path) -> None:
    on = arbiter(tmp_path, stage.candidate("new"), QUICK)
    made = request_of(on, "f", "x86", WORDS)
    _, execution = on.run_traced("f", **operands(), target="x86")
    stated = on.decide("f", target="x86", **WORDS).request
    keys = [key_of(on.ruleset, each, on.machine) for each in (made.request, execution.decision.request, stated)]
    assert keys[0] == keys[1] == keys[2]
    assert keys[0] is not None
    wide = np.zeros((24, 48), np.float32)[:, ::2]
    _, strided = on.run_traced("f", wide, operands()["b"], target="x86")
    assert key_of(on.ruleset, strided.decision.request, on.machine) != keys[0]


@pytest.mark.parametrize("kernel", ["declines", "declines_late", "wrong", "cheats"])
def test_T6_who_declines_or_is_wrong_has_no_time_and_its_reason_is_kept(tmp_path: Path, kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def racing(*arguments: Any, **options: Any) -> Race:
        monkeypatch.setattr(kernels, "RACING", [True])
        return race(*arguments, **options)

    monkeypatch.setattr("tessera_rules.tuning.race", racing)
    on = arbiter(tmp_path, stage.candidate("new"), stage.candidate("bad", kernel=kernel))
    raced = race_operands(on, request_of(on, "f", "x86", WORDS))
    record = record_of(on, raced)
    assert "bad" not in record.times
    assert "bad" not in record.contestants
    assert {"declines": "not today", "declines_late": "out of scratch", "wrong": "wrong", "cheats": "timed loop wrote is wrong"}[kernel] in record.unmeasured[
        "bad"
    ]
    assert record.winner == "new"


def test_resume_known_shapes_are_not_raced_again_unless_asked(tmp_path: Path) -> None:
    on = arbiter(tmp_path, stage.candidate("new"), QUICK)
    other = {**WORDS, "M": "8"}
    assert [each.status for each in tuned(on, tmp_path, WORDS)] == ["measured"]
    assert [each.status for each in tuned(on, tmp_path, WORDS, other)] == ["known", "measured"]
    assert [each.status for each in tuned(on, tmp_path, WORDS, again=True)] == ["measured"]
    assert [each.status for each in tuned(on, tmp_path, WORDS, flushed=True)] == ["measured"]
    more = arbiter(tmp_path, stage.candidate("new"), stage.candidate("third"), QUICK)
    assert [each.status for each in tuned(more, tmp_path, WORDS)] == ["measured"]


def test_flushed_times_are_kept_apart_and_do_not_decide(tmp_path: Path) -> None:
    on = arbiter(tmp_path, stage.candidate("new"), QUICK)
    (result,) = tuned(on, tmp_path, flushed=True)
    assert result.record is not None
    assert (result.record.winner, result.record.key["how"]) == ("new", FLUSHED)
    assert on.decide("f", target="x86", **WORDS).criterion == "tier"


def test_a_time_budget_leaves_the_rest_and_failures_are_said(tmp_path: Path) -> None:
    on = arbiter(tmp_path, stage.candidate("new"), QUICK)
    assert [each.status for each in tuned(on, tmp_path, WORDS, seconds=0.0)] == ["left"]
    (bad,) = tuned(on, tmp_path, {"M": "4", "Q": "4"})
    assert bad.status == "failed"
    assert "Q" in (bad.reason or "")


def test_alone_in_the_race_there_is_nothing_to_measure(tmp_path: Path) -> None:
    on = arbiter(tmp_path)
    assert [each.status for each in tuned(on, tmp_path)] == ["alone"]
    assert not (tmp_path / "c.sqlite").exists()


def test_P26_a_kernel_that_was_edited_since_has_no_evidence(tmp_path: Path) -> None:
    on = arbiter(tmp_path, stage.candidate("new"), QUICK)
    (result,) = tuned(on, tmp_path)
    assert result.record is not None
    store = Store(str(tmp_path / "c.sqlite"))
    store.remove([result.record.id])
    store.add([evolve(result.record, contestants={**result.record.contestants, "new": "bytes of yesterday"})])
    on.corpus.refresh()
    assert on.decide("f", target="x86", **WORDS).criterion == "tier"


def test_P5_what_is_written_in_place_is_restored_and_right_at_the_end(tmp_path: Path) -> None:
    on = load()
    words = {"M": "16", "N": "16", "K": "16", "dtype": "f32", "alpha": "0.5", "beta": "2.0"}
    raced = race_operands(on, request_of(on, "gemm", "x86", words))
    assert len(raced.race.finalists) >= 2
    assert raced.race.unmeasured == {}


def test_a_grid_a_file_a_log_and_a_shard(tmp_path: Path) -> None:
    ruleset = arbiter(tmp_path, stage.candidate("new")).ruleset
    jobs = list(grid(ruleset, Job("f", "x86", {"M": "1,2", "N": "3,4,5", "K": "6", "causal": "true"})))
    assert len(jobs) == 6
    assert str(jobs[-1]) == "f x86 M=2 N=5 K=6 causal=true"
    assert [each for part in (1, 2, 3) for each in shard(jobs, f"{part}/3")] != jobs
    assert {str(each) for part in (1, 2, 3) for each in shard(jobs, f"{part}/3")} == {str(each) for each in jobs}
    with pytest.raises(UsageError, match="too large"):
        next(grid(ruleset, Job("f", "x86", {name: ",".join(map(str, range(100))) for name in "MNK"})))
    for part in ("0/3", "4/3", "x", "1"):
        with pytest.raises(UsageError):
            shard(jobs, part)
    lines = ["# shapes", "f x86 M=1 N=2 K=3  # one", "", "tsr eval f x86 M=2"]
    assert [dict(each.words) for each in jobs_of_lines(lines, "s")] == [{"M": "1", "N": "2", "K": "3"}, {"M": "2"}]
    with pytest.raises(UsageError, match="s:1"):
        jobs_of_lines(["M=3"], "s")


def test_the_dispatch_log_says_what_to_tune_most_frequent_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on = arbiter(tmp_path, stage.candidate("new"), QUICK)
    monkeypatch.setenv("TSR_LOG", str(tmp_path / "seen.jsonl"))
    for size in (8, 24, 24, 24):
        on.run("f", **operands(size), target="x86")
    lines = [*(tmp_path / "seen.jsonl").read_text().splitlines(), "{", json.dumps({"op": "g"})]
    jobs, bad = jobs_of_log(lines, on.ruleset)
    assert [(each.count, each.words["M"]) for each in jobs] == [(3, "24"), (1, "8")]
    assert bad == [5, 6]
    assert jobs_of_log(lines, on.ruleset, "g")[0] == []
    assert [each.status for each in tune(on, Store(str(tmp_path / "c.sqlite")), jobs[:1])] == ["measured"]
    assert on.run_traced("f", **operands(24), target="x86")[1].tag == "new"
