"""Samples by the real clock: long enough, restored before each call, and nothing of a failed call among the times."""

from __future__ import annotations

import random
import time

import pytest

from tessera_rules.declined import Declined
from tessera_rules.measure.race import NoTimer, Unmeasured, race
from tessera_rules.measure.stopwatch import FLOOR_SECONDS, Stopwatch


def test_a_sample_of_a_quick_call_is_many_calls() -> None:
    calls = 0

    def quick() -> int:
        nonlocal calls
        calls += 1
        return calls

    watch = Stopwatch({"a": quick})
    sample = watch.sample("a")
    assert sample.calls > 10
    assert sample.seconds * sample.calls > FLOOR_SECONDS / 4
    assert sample.void is None
    assert watch.last["a"] == calls


def test_a_slow_call_is_one_sample_and_its_first_call_stays_out() -> None:
    slept = iter([0.02, 0.001, 0.001, 0.001, 0.001])
    sample = Stopwatch({"a": lambda: time.sleep(next(slept))}).sample("a")
    assert sample.calls == 1
    assert 0.001 <= sample.seconds < 0.015


def test_P5_what_is_written_in_place_is_restored_before_every_call_outside_the_time() -> None:
    data = [1]
    seen: list[int] = []

    def restore() -> None:
        time.sleep(0.002)
        data[0] = 1

    def double() -> None:
        seen.append(data[0])
        data[0] *= 2
        time.sleep(0.0002)

    sample = Stopwatch({"a": double}, {"a": restore}).sample("a")
    assert set(seen) == {1}
    assert len(seen) >= 2
    assert sample.seconds < 0.002
    assert sample.void is None


@pytest.mark.parametrize(("raised", "said"), [(Declined("ragged"), "ragged"), (ValueError("no"), "ValueError: no")])
def test_T6_what_a_call_raises_is_its_reason(raised: Exception, said: str) -> None:
    def call() -> None:
        raise raised

    with pytest.raises(Unmeasured, match=said):
        Stopwatch({"a": call}).sample("a")


def test_T13_a_device_time_needs_a_timer_of_each() -> None:
    watch = Stopwatch({"a": lambda: None, "b": lambda: None}, metric="device", timers={"a": lambda _: 1e-9})
    with pytest.raises(NoTimer):
        watch.sample("b")
    assert race(["a", "b"], watch.sample, random.Random(0)).outcome.kind == "no_contest"


def test_T12_a_device_timer_beyond_the_wall_clock_is_void() -> None:
    watch = Stopwatch({"a": lambda: None}, metric="device", timers={"a": lambda _: 5.0})
    assert "5 s by its timer" in (watch.sample("a").void or "")
