"""Races with samplers whose times are known: who wins, who ties, who is out, and whose time does not count."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping

import pytest

from tessera_rules.measure.contest import judged
from tessera_rules.measure.race import FINALISTS, NoTimer, Race, Sample, Sampler, Unmeasured, chosen, race


def noisy(times: Mapping[str, float], seed: int = 0, jitter: float = 0.01) -> Sampler:
    draw = random.Random(seed)
    return lambda name: Sample(times[name] * (1 + draw.gauss(0, jitter)))


def run(times: Mapping[str, float], seed: int = 0, **options: object) -> Race:
    return race(list(times), noisy(times, seed), random.Random(seed), **options)  # type: ignore[arg-type]


def test_a_gap_is_separated_and_the_beaten_say_by_whom() -> None:
    found = run({"a": 1.0, "b": 1.05, "c": 2.0})
    assert (found.outcome.kind, found.outcome.winner) == ("separated", "a")
    assert found.outcome.beaten["c"].by == "a"
    assert found.outcome.beaten["c"].round == 3
    assert found.outcome.beaten["c"].evidence is None
    assert (found.outcome.beaten["b"].evidence or 0) >= 2 * 2 / 0.05
    assert found.outcome.rounds <= 24


def test_P21_a_tie_is_a_verdict_and_names_nobody() -> None:
    kinds = [run({"a": 1.0, "b": 1.0}, seed).outcome for seed in range(60)]
    assert {each.kind for each in kinds} >= {"tie"}
    assert sum(each.winner is not None for each in kinds) <= 3
    assert all(each.winner is None for each in kinds if each.kind != "separated")


def test_P23_an_incumbent_falls_only_to_a_separated_winner_that_gains() -> None:
    slightly = run({"a": 1.0, "b": 1.012}, 1, rounds=400)
    clearly = run({"a": 1.0, "b": 1.05}, 1)
    tied = run({"a": 1.0, "b": 1.0}, 2)
    won = next(each for each in (race(["a", "b"], noisy({"a": 1.0, "b": 1.012}, s, 0.002), random.Random(s)) for s in range(9)) if each.outcome.winner == "a")
    assert (won.choice(), won.choice("b"), won.choice("a")) == ("a", None, "a")
    assert clearly.choice("b") == "a"
    assert tied.choice("b") is None
    assert chosen(slightly.outcome, "somebody who did not race") is None


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 0.0, -1e-6])
def test_T12_a_time_that_is_none_is_void_and_wins_nothing(bad: float) -> None:
    times = {"a": 1.0, "b": 1.1, "broken": bad}
    draw = random.Random(0)
    found = race(list(times), lambda name: Sample(times[name] if name == "broken" else times[name] * (1 + draw.gauss(0, 0.01))), random.Random(0))
    assert found.outcome.winner is None
    assert found.outcome.kind == "no_contest"
    assert found.void["broken"] == found.outcome.rounds
    assert "broken" not in found.outcome.medians


def test_T12_void_samples_now_and_then_do_not_decide() -> None:
    draw = random.Random(3)

    def sample(name: str) -> Sample:
        if name == "slow" and draw.random() < 0.3:
            return Sample(math.nan if draw.random() < 0.5 else -5.0)
        return Sample({"fast": 1.0, "slow": 1.08}[name] * (1 + draw.gauss(0, 0.01)))

    found = race(["slow", "fast"], sample, random.Random(3))
    assert found.outcome.winner == "fast"
    assert found.void["slow"] > 0


def test_T12_a_time_longer_than_the_wall_clock_saw_is_void() -> None:
    assert Sample(1e-3, 10, 9e-3).void is not None
    assert Sample(1e-3, 10, 11e-3).void is None
    assert Sample(1e-3, 10).void is None


def test_T6_a_decline_is_unmeasured_and_is_beaten_by_nobody() -> None:
    calls = {"a": 0, "b": 0}

    def sample(name: str) -> Sample:
        calls[name] += 1
        if name == "b":
            raise Unmeasured("it declined: ragged")
        return Sample(1.0)

    found = race(["a", "b"], sample, random.Random(0))
    assert found.unmeasured == {"b": "it declined: ragged"}
    assert found.outcome.kind == "uncontested"
    assert found.outcome.winner is None
    assert "b" not in found.outcome.medians
    assert found.contestants == ("a",)
    assert calls["b"] == 1


def test_T6_whom_a_decliner_had_beaten_is_judged_anew() -> None:
    rounds = 0

    def sample(name: str) -> Sample:
        nonlocal rounds
        rounds += name == "liar"
        if name == "liar" and rounds > 4:
            raise Unmeasured("out of memory")
        return Sample({"liar": 0.97, "good": 1.0, "slow": 1.4}[name] * (1 + draw.gauss(0, 0.005)))

    draw = random.Random(1)
    found = race(["liar", "good", "slow"], sample, random.Random(1))
    assert found.unmeasured == {"liar": "out of memory"}
    assert found.outcome.beaten["slow"].by == "good"
    assert found.outcome.winner == "good"
    assert all("liar" not in each for each in found.rounds)


def test_T13_without_a_timer_for_everybody_there_is_no_contest() -> None:
    def sample(name: str) -> Sample:
        if name == "hand_tuned":
            raise NoTimer("it has no timer of the device")
        return Sample({"a": 1.0, "b": 5.0}[name])

    found = race(["a", "b", "hand_tuned"], sample, random.Random(0))
    assert (found.outcome.kind, found.outcome.winner) == ("no_contest", None)
    assert found.choice() is None
    assert found.unmeasured["hand_tuned"] == "it has no timer of the device"


def test_many_run_heats_first_and_the_default_stays() -> None:
    times = {f"c{index:02}": 1 + 0.2 * index for index in range(20)}
    found = run(times, default="c19")
    assert found.outcome.winner == "c00"
    assert len(found.finalists) == FINALISTS
    assert "c19" in found.finalists
    assert len(found.contestants) == 20
    assert found.heats > 0
    assert set(found.outcome.beaten) == set(times) - {"c00"}


def test_declaration_order_plays_no_part() -> None:
    times = {"a": 1.0, "b": 1.004, "c": 1.0}
    for seed in range(20):
        one = race(["a", "b", "c"], noisy(times, seed), random.Random(seed))
        two = race(["c", "a", "b"], noisy(times, seed), random.Random(seed))
        assert one.outcome.winner == two.outcome.winner
        assert one.rounds == two.rounds


def test_a_record_is_judged_as_the_race_was() -> None:
    for seed in range(40):
        draw = random.Random(seed)
        times = {name: 1 + draw.choice((0, 0.01, 0.03, 0.4)) for name in "abcd"}
        found = run(times, seed)
        again = judged(found.rounds, found.finalists)
        assert (again.kind, again.winner, again.rounds) == (found.outcome.kind, found.outcome.winner, found.outcome.rounds)
        assert again.medians == found.outcome.medians


def test_fewer_of_a_record_are_judged_with_the_threshold_of_all() -> None:
    rounds = [{"a": 1.0 + i * 1e-4, "b": 1.2 + i * 1e-4, "c": 1.25} for i in range(8)]
    assert judged(rounds, ["a", "b"]).winner == "a"
    assert judged(rounds, ["a", "b"], 40).winner is None


@pytest.mark.parametrize("count", [0, 1])
def test_without_two_there_is_no_race(count: int) -> None:
    calls: list[str] = []

    def sample(name: str) -> Sample:
        calls.append(name)
        return Sample(1.0)

    found = race(["a"][:count], sample, random.Random(0))
    assert (found.outcome.kind, found.outcome.winner, calls) == ("uncontested", None, [])


def test_a_coarse_timer_gives_no_winner_by_equal_times() -> None:
    sampler: Callable[[str], Sample] = lambda _: Sample(1e-6)  # noqa: E731
    found = race(["a", "b", "c"], sampler, random.Random(0))
    assert found.outcome.kind == "tie"


def test_who_is_refuted_after_the_race_has_no_part_in_its_outcome() -> None:
    found = run({"liar": 0.5, "good": 1.0, "slow": 1.4})
    assert found.outcome.winner == "liar"
    again = found.without({"liar": "its output is wrong"})
    assert again.outcome.kind == "separated"
    assert (again.outcome.winner, again.unmeasured) == ("good", {"liar": "its output is wrong"})
    assert all("liar" not in each for each in again.rounds)
    assert found.without({}) is found
