"""The evidence of a pair: exact, and rarely large where nobody is faster."""

from __future__ import annotations

import random

import pytest

from tessera_rules.measure.evidence import e_value, wins_needed


@pytest.mark.parametrize(("rounds", "wins"), [(1, 1), (5, 2), (8, 8), (24, 15), (40, 33)])
def test_an_e_value_is_the_integral_of_its_definition(rounds: int, wins: int) -> None:
    steps = 20_000
    points = [0.5 + 0.5 * (step + 0.5) / steps for step in range(steps)]
    integral = sum(p**wins * (1 - p) ** (rounds - wins) for p in points) * 0.5 / steps
    assert e_value(rounds, wins) == pytest.approx(2 ** (rounds + 1) * integral, rel=1e-4)


def test_more_wins_are_more_evidence_and_the_threshold_is_where_it_is_reached() -> None:
    for rounds in range(1, 41):
        values = [e_value(rounds, wins) for wins in range(rounds + 1)]
        assert values == sorted(values)
        needed = wins_needed(rounds, 40.0)
        assert needed > rounds or (values[needed] >= 40 and (needed == 0 or values[needed - 1] < 40))


def test_looking_after_every_round_keeps_the_chance_of_a_false_finding() -> None:
    draw = random.Random(7)
    found = 0
    for _ in range(4000):
        wins = 0
        for rounds in range(1, 41):
            wins += draw.random() < 0.5
            if wins >= wins_needed(rounds, 40.0):
                found += 1
                break
    assert 0 < found / 4000 <= 1 / 40
