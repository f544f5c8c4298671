"""A quick, seeded sample of `benchmarks/simulate_races.py`: the bars hold, and a race that is decided by an argmin does not pass."""

from __future__ import annotations

import pytest

from benchmarks.simulate_races import Rates, Scenario, broken_bars, rates, scenarios

QUICK = [each for each in scenarios() if each.is_tie or each.gaps[-1] == 0.05]


@pytest.mark.parametrize("scenario", QUICK, ids=lambda each: each.name)
def test_error_rates_stay_within_the_bars(scenario: Scenario) -> None:
    found = rates(scenario, 200, 11)
    bar = 0.03 if len(scenario.gaps) == 2 else 0.005
    assert found.wrong <= (bar + 3 * (bar * (1 - bar) / 200) ** 0.5 if scenario.is_tie else 0.005)
    if not scenario.is_tie and scenario.noise.jitter <= 0.01 and not scenario.noise.slow_clock and not scenario.noise.spike_chance:
        assert found.right >= 0.97
    assert found.right + found.wrong + found.tie + found.unresolved == pytest.approx(1)


def test_a_rate_over_a_bar_is_said() -> None:
    tie = Scenario("tie", [0.0, 0.0])
    gap = Scenario("gap", [0.0, 0.05])
    assert broken_bars(tie, Rates(0, 0.04, 0.04, 0.9, 0.06, 20))
    assert not broken_bars(tie, Rates(0, 0.02, 0.02, 0.9, 0.08, 20))
    assert broken_bars(gap, Rates(0.9, 0, 0.9, 0, 0.1, 20)) == ["found 90.0% < 97%"]
