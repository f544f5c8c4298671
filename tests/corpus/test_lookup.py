"""What records say about a request: nothing of another key, shape, contestant, digest, rule, age or machine; else a winner worked out anew."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from tessera_rules.arbiter.decide import decide
from tessera_rules.arbiter.decision import Decision, Verdict
from tessera_rules.arbiter.request import bind_words
from tessera_rules.arbiter.situation import Proved
from tessera_rules.corpus.key import key_of
from tessera_rules.corpus.lookup import Corpus, narrowest
from tessera_rules.corpus.record import Record
from tessera_rules.corpus.store import Store
from tessera_rules.machine.base import Machine
from tessera_rules.model.values import Ruleset
from tests.corpus import stage

FAST = {"old": 1e-3, "new": 5e-4}
TIE = {"old": 1e-3, "new": 1e-3}


def decided(
    folder: Path, ruleset: Ruleset, records: Sequence[Record], machine: Machine | None = None, proofs: dict[str, Proved] | None = None, **words: Any
) -> Decision:
    """Return the decision on a request with what a store of these records says."""
    path = folder / "lookup.sqlite"
    path.unlink(missing_ok=True)
    Store(str(path)).add(records)
    on = machine or stage.machine()
    request = bind_words(ruleset, "f", "x86", {"M": 64, "N": 64, "K": 64, "dtype": "f32", **words}, on)
    measured = Corpus(str(path)).measured(ruleset, request, on)
    return decide(ruleset, request, on, measured=measured, proofs=proofs)


@pytest.fixture
def two(tmp_path: Path) -> Ruleset:
    return stage.rules(tmp_path)


def test_a_separated_winner_decides_by_measured(tmp_path: Path, two: Ruleset) -> None:
    found = decided(tmp_path, two, [stage.record(two, stage.machine(), FAST)])
    assert (found.winner, found.criterion, found.ranking) == ("new", "measured", ("new", "old"))
    assert decided(tmp_path, two, []).criterion == "tier"


def test_P21_a_tie_names_nobody_and_the_next_criterion_decides(tmp_path: Path, two: Ruleset) -> None:
    record = stage.record(two, stage.machine(), TIE, rounds=24)
    assert record.winner is None
    found = decided(tmp_path, two, [record])
    assert (found.winner, found.criterion) == ("old", "tier")


def test_P23_a_gain_too_small_leaves_the_default(tmp_path: Path, two: Ruleset) -> None:
    small = stage.record(two, stage.machine(), {"old": 1e-3, "new": 0.988e-3}, rounds=24, jitter=1e-5)
    assert small.outcome == "separated"
    assert decided(tmp_path, two, [small]).criterion == "tier"
    enough = stage.record(two, stage.machine(), {"old": 1e-3, "new": 0.97e-3}, rounds=24, jitter=1e-5)
    assert decided(tmp_path, two, [enough]).winner == "new"


def test_P23_an_incumbent_stays_until_a_later_race_separates_another(tmp_path: Path) -> None:
    ruleset = stage.rules(tmp_path, stage.THREE)
    on = stage.machine()
    first = stage.record(ruleset, on, {"old": 1e-3, "new": 5e-4, "other": 9e-4}, age=100)
    tie = stage.record(ruleset, on, {"old": 1e-3, "new": 5e-4, "other": 5e-4}, rounds=24, age=50)
    near = stage.record(ruleset, on, {"old": 1e-3, "new": 5e-4, "other": 4.95e-4}, rounds=24, jitter=1e-5, age=40)
    later = stage.record(ruleset, on, {"old": 1e-3, "new": 5e-4, "other": 3e-4}, age=10)
    assert decided(tmp_path, ruleset, [first]).winner == "new"
    assert decided(tmp_path, ruleset, [tie, first]).winner == "new"
    assert decided(tmp_path, ruleset, [near, first]).winner == "new"
    assert decided(tmp_path, ruleset, [later, near, tie, first]).winner == "other"
    assert decided(tmp_path, ruleset, [tie]).winner == "old"


def test_T13_a_live_candidate_that_did_not_race_leaves_no_winner(tmp_path: Path) -> None:
    ruleset = stage.rules(tmp_path, stage.THREE)
    found = decided(tmp_path, ruleset, [stage.record(ruleset, stage.machine(), FAST)])
    assert (found.winner, found.criterion) == ("old", "tier")
    all_three = stage.record(ruleset, stage.machine(), {**FAST, "other": 2e-3})
    assert decided(tmp_path, ruleset, [all_three]).criterion == "measured"


def test_T6_one_that_was_unmeasured_counts_as_not_having_raced(tmp_path: Path) -> None:
    ruleset = stage.rules(tmp_path, stage.THREE)
    record = stage.record(ruleset, stage.machine(), FAST, unmeasured={"other": "it declined"})
    assert decided(tmp_path, ruleset, [record]).criterion == "tier"
    gone = {"other": Proved("unverified", Verdict("other", "synthesized", "declined", "declined", "not today"))}
    assert decided(tmp_path, ruleset, [record], proofs=gone).winner == "new"


def test_T10_a_winner_that_a_gate_refuses_is_dropped_and_the_others_are_tried(tmp_path: Path) -> None:
    before = stage.rules(tmp_path, stage.THREE)
    record = stage.record(before, stage.machine(), {"old": 1e-3, "new": 5e-4, "other": 7e-4})
    wrong = {"new": Proved("unverified", Verdict("new", "emitted", "wrong", "wrong", "error 3 where 1e-5 is allowed"))}
    found = decided(tmp_path, before, [record], proofs=wrong)
    assert (found.winner, found.criterion) == ("other", "measured")
    verdict = next(each for each in found.verdicts if each.candidate == "new")
    assert (verdict.verdict, verdict.reason) == ("wrong", "error 3 where 1e-5 is allowed")


def test_T28_a_ragged_shapes_record_does_not_govern_the_aligned_one_beside_it(tmp_path: Path) -> None:
    text = stage.OP + stage.candidate("old", tier="synthesized") + stage.candidate("new") + stage.candidate("aligned", "requires { M % 16 == 0 }", "hand_tuned")
    ruleset, on = stage.rules(tmp_path, text), stage.machine()
    ragged = [stage.record(ruleset, on, FAST, {"M": size}) for size in (63, 65)]
    assert decided(tmp_path, ruleset, ragged, M=63).criterion == "measured"
    assert decided(tmp_path, ruleset, ragged, M=64).winner == "aligned"
    assert decided(tmp_path, ruleset, ragged, M=64).criterion == "tier"


def test_T28_what_holds_on_both_sides_holds_between_and_never_beyond(tmp_path: Path, two: Ruleset) -> None:
    on = stage.machine()
    both = [stage.record(two, on, FAST, {"M": size}) for size in (32, 128)]
    assert [decided(tmp_path, two, both, M=size).criterion for size in (31, 32, 33, 127, 128, 129)] == ["tier", *["measured"] * 4, "tier"]
    assert decided(tmp_path, two, both, M=64, K=65).criterion == "tier"
    apart = [stage.record(two, on, FAST, {"M": size}) for size in (16, 128)]
    assert decided(tmp_path, two, apart, M=64).criterion == "tier"
    between = [*both, stage.record(two, on, TIE, {"M": 64}, rounds=24)]
    assert [decided(tmp_path, two, between, M=size).criterion for size in (40, 65)] == ["tier", "tier"]
    corners = [stage.record(two, on, FAST, {"M": size, "K": size}) for size in (32, 128)]
    assert decided(tmp_path, two, corners, M=100, K=64).criterion == "measured"
    inside = [*corners, stage.record(two, on, TIE, {"M": 64, "K": 100}, rounds=24)]
    assert decided(tmp_path, two, inside, M=100, K=64).criterion == "tier"
    assert decided(tmp_path, two, both[:1], M=33).criterion == "tier"


def test_the_narrowest_enclosing_shapes_are_asked() -> None:
    assert narrowest((64, 64), [(16, 64), (32, 64), (128, 64), (100, 64)]) == ((32, 64), (100, 64))
    assert narrowest((64, 64), [(32, 128), (128, 32)]) is None
    assert narrowest((0, 8), [(0, 4), (0, 16)]) == ((0, 4), (0, 16))
    assert narrowest((64,), [(31,), (100,)]) == ((31,), (100,))
    assert narrowest((64,), [(24,), (100,)]) is None


@pytest.mark.parametrize("change", [{"causal": "true"}, {"dtype": "f16"}, {"threads": 7}, {"a.strides": "128,1"}])
def test_P25_another_structure_or_layout_is_another_key(tmp_path: Path, two: Ruleset, change: dict[str, Any]) -> None:
    record = stage.record(two, stage.machine(), FAST)
    assert decided(tmp_path, two, [record], **change).criterion == "tier"
    own = stage.record(two, stage.machine(), FAST, change)
    assert decided(tmp_path, two, [own], **change).criterion == "measured"


@pytest.mark.parametrize(
    ("clause", "words", "facts"),
    [
        ("aligned(a, 32)", {"a.align": 16}, {}),
        ('device.arch == version("9.0")', {}, {"arch": "9.1"}),
        ("device.cores >= 2", {}, {"cores": 64}),
    ],
)
def test_P25_every_fact_that_a_clause_reads_is_in_the_key(tmp_path: Path, clause: str, words: dict[str, Any], facts: dict[str, Any]) -> None:
    reading = stage.rules(tmp_path, stage.OP + stage.candidate("old", tier="hand_tuned") + stage.candidate("new", f"avoid {{ {clause} }}"))
    here, there = stage.machine(), stage.machine(**facts)
    one = bind_words(reading, "f", "x86", {"M": 8, "N": 8, "K": 8, "dtype": "f32"}, here)
    two = bind_words(reading, "f", "x86", {"M": 8, "N": 8, "K": 8, "dtype": "f32", **words}, there)
    assert key_of(reading, one, here) != key_of(reading, two, there)
    plain = stage.rules(tmp_path, stage.TWO)
    assert key_of(plain, bind_words(plain, "f", "x86", {"dtype": "f32", **words}, there), there) == key_of(
        plain, bind_words(plain, "f", "x86", {"dtype": "f32"}, here), here
    )


def test_P24_another_way_of_timing_is_another_key(tmp_path: Path, two: Ruleset) -> None:
    on = stage.machine()
    record = stage.record(two, on, FAST)
    for part, value in (("metric", "device"), ("how", "graph replay")):
        assert decided(tmp_path, two, [evolve(record, key={**record.key, part: value})]).criterion == "tier"


def test_P26_a_record_of_other_bytes_is_not_used(tmp_path: Path, two: Ruleset) -> None:
    from tessera_rules.corpus.lookup import Evidence

    record = stage.record(two, stage.machine(), FAST)
    live = frozenset(FAST)

    def evidence(**digests: str | None) -> Evidence:
        return Evidence((64, 64, 64), ("M", "N", "K"), {(64, 64, 64): [record]}, lambda name: {"old": "digest", "new": "digest", **digests}[name])

    assert evidence().keep(live, live) == {"new"}
    assert evidence(old="rebuilt").keep(live, live) == live
    assert evidence(new="rebuilt").keep(live, live) == live
    assert evidence(new=None).keep(live, live) == live


def test_P26_changed_rules_make_a_record_stale_and_comments_do_not(tmp_path: Path, two: Ruleset) -> None:
    record = stage.record(two, stage.machine(), FAST)
    same = stage.rules(tmp_path, stage.TWO + "\n# a remark\n")
    assert decided(tmp_path, same, [record]).criterion == "measured"
    for text in (
        stage.OP + stage.candidate("old", "requires { M < 1000 }", "hand_tuned") + stage.candidate("new"),
        stage.TWO + "rule r { op f  when M > 4000  avoid new }\n",
    ):
        assert decided(tmp_path, stage.rules(tmp_path, text), [record]).criterion == "tier"


def test_P26_a_record_has_its_time(tmp_path: Path, two: Ruleset) -> None:
    on = stage.machine()
    assert decided(tmp_path, two, [stage.record(two, on, FAST, age=29.9 * 86400)]).criterion == "measured"
    assert decided(tmp_path, two, [stage.record(two, on, FAST, age=30.1 * 86400)]).criterion == "tier"


def test_P27_records_of_two_machines_lie_side_by_side_and_each_answers_at_home(tmp_path: Path, two: Ruleset) -> None:
    here, there = stage.machine("here"), stage.machine("there")
    merged = [stage.record(two, here, FAST), stage.record(two, there, {"old": 5e-4, "new": 1e-3})]
    assert decided(tmp_path, two, merged, here).winner == "new"
    assert decided(tmp_path, two, merged, there).winner == "old"
    assert decided(tmp_path, two, merged, there).criterion == "measured"
    for stranger in (stage.machine("elsewhere"), stage.machine(None)):
        assert decided(tmp_path, two, merged, stranger).criterion == "tier"


def test_T29_a_record_in_other_dimensions_never_answers(tmp_path: Path, two: Ruleset) -> None:
    record = stage.record(two, stage.machine(), FAST)
    assert decided(tmp_path, two, [evolve(record, dims={"M": 64, "N": 64})]).criterion == "tier"


def test_foreign_records_decide_nothing(tmp_path: Path, two: Ruleset) -> None:
    assert decided(tmp_path, two, [evolve(stage.record(two, stage.machine(), FAST), kind="foreign")]).criterion == "tier"


def test_rules_come_before_measurements_and_a_policy_may_leave_them_out(tmp_path: Path) -> None:
    preferred = stage.rules(tmp_path, stage.TWO + "rule r { op f  prefer old over new }\n")
    assert decided(tmp_path, preferred, [stage.record(preferred, stage.machine(), FAST)]).criterion == "rules"
    without = stage.rules(tmp_path, stage.TWO + "policy { order tier }\n")
    assert decided(tmp_path, without, [stage.record(without, stage.machine(), FAST)]).criterion == "tier"


def test_among_those_whom_rules_leave_the_best_is_named(tmp_path: Path) -> None:
    ruleset = stage.rules(tmp_path, stage.THREE + "rule r { op f  prefer other over new }\n")
    record = stage.record(ruleset, stage.machine(), {"old": 1e-3, "new": 3e-4, "other": 6e-4})
    found = decided(tmp_path, ruleset, [record])
    assert (found.winner, found.criterion) == ("other", "measured")


def test_worse_evidence_never_lifts_a_rank(tmp_path: Path) -> None:
    ruleset = stage.rules(tmp_path, stage.THREE)
    ranks = []
    for new in (3e-4, 6e-4, 9e-4, 2e-3):
        record = stage.record(ruleset, stage.machine(), {"old": 1e-3, "new": new, "other": 8e-4}, jitter=1e-5)
        ranks.append(decided(tmp_path, ruleset, [record]).ranking.index("new"))
    assert ranks == sorted(ranks)


def test_new_evidence_counts_after_a_refresh(tmp_path: Path, two: Ruleset) -> None:
    store, on = Store(str(tmp_path / "c.sqlite")), stage.machine()
    corpus = Corpus(store.place)
    request = bind_words(two, "f", "x86", {"M": 64, "N": 64, "K": 64, "dtype": "f32"}, on)
    assert corpus.measured(two, request, on) is None
    assert corpus.box(two, "f", "x86") is None
    store.add([stage.record(two, on, FAST)])
    assert corpus.measured(two, request, on) is None
    corpus.refresh()
    assert corpus.measured(two, request, on) is not None
    assert corpus.box(two, "f", "x86") == {"M": (64, 64), "K": (64, 64), "N": (64, 64)}


def test_a_request_with_an_open_size_is_decided_without(tmp_path: Path, two: Ruleset) -> None:
    store, on = Store(str(tmp_path / "c.sqlite")), stage.machine()
    store.add([stage.record(two, on, FAST)])
    assert Corpus(store.place).measured(two, bind_words(two, "f", "x86", {"M": 64, "N": 64, "dtype": "f32"}, on), on) is None
    assert Corpus(store.place).measured(two, bind_words(two, "f", "x86", {"M": 64, "N": 64, "K": 64}, on), on) is None
