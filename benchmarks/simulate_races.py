"""Races contestants whose true times are known, and prints how often the race is wrong.

    python -m benchmarks.simulate_races [RACES] [SEED]

Bars: a false winner among equals at most 3 % of races with two contestants and 0.5 % with four; a wrong winner at most 0.1 %
where the gap is at least the jitter; a gap of 5 % found in at least 97 % at 1 % jitter, within the budget of rounds.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterable, Sequence

from attrs import define, field, frozen

from tessera_rules.measure.race import Sample, race

BASE_SECONDS = 1e-3


@frozen
class Noise:
    """What lies between a true time and a sample. Parts of the true time, but for chances and counts."""

    jitter: float = 0.01
    spike_chance: float = 0.0
    drift: float = 0.0
    first_slot: float = 0.0
    slow_clock: float = 0.0
    clock_dwell: int = 1
    quantum: float = 0.0


@frozen
class Scenario:
    """True gaps behind the best, and the noise."""

    name: str
    gaps: Sequence[float]
    noise: Noise = Noise()

    @property
    def is_tie(self) -> bool:
        """Whether all are equally fast."""
        return len(set(self.gaps)) == 1


@define
class Machine:
    """A machine that is simulated: it has a clock state and a drift, and knows which slot of a round it is in."""

    scenario: Scenario
    random: random.Random
    seen: set[str] = field(factory=set)
    warmth: float = 0.0
    slow: bool = False

    def sample(self, name: str) -> Sample:
        """Return one sample of a contestant (``c0`` is the first)."""
        noise, draw = self.scenario.noise, self.random
        first = not self.seen or name in self.seen
        if first:
            self.seen.clear()
        self.seen.add(name)
        value = BASE_SECONDS * (1 + self.scenario.gaps[int(name[1:])])
        value *= max(0.2, 1 + draw.gauss(0, noise.jitter)) if noise.jitter else 1
        if noise.drift:
            self.warmth += draw.gauss(noise.drift / 100, noise.drift / 20)
            value *= max(0.2, 1 + self.warmth)
        if noise.first_slot and first:
            value *= 1 + noise.first_slot
        if noise.slow_clock:
            if draw.random() < 1 / noise.clock_dwell:
                self.slow = draw.random() < 0.5
            value *= 1 + noise.slow_clock * self.slow
        if noise.spike_chance and draw.random() < noise.spike_chance:
            value *= draw.uniform(1.5, 10)
        if noise.quantum:
            value = round(value / BASE_SECONDS / noise.quantum) * noise.quantum * BASE_SECONDS
        return Sample(value)


@frozen
class Rates:
    """What became of many races of one scenario, as parts of them."""

    right: float
    wrong: float
    named: float
    tie: float
    unresolved: float
    samples: float


def ways(count: int) -> list[tuple[str, Noise]]:
    """Return the kinds of noise by name."""
    return [
        ("jitter 1 %", Noise()),
        ("jitter 3 %", Noise(jitter=0.03)),
        ("spikes", Noise(spike_chance=0.05)),
        ("drift", Noise(drift=0.1)),
        ("first slot 1 %", Noise(first_slot=0.01)),
        ("bimodal clock", Noise(slow_clock=0.25, clock_dwell=10 * count)),
        ("bimodal samples", Noise(slow_clock=0.15)),
        ("quantised 1 %", Noise(quantum=0.01)),
        ("quantised 5 %", Noise(quantum=0.05)),
    ]


def scenarios() -> list[Scenario]:
    """Return ties of two and of four under every noise, and gaps of 1, 3, 5, 10 %."""
    ties = [Scenario(f"tie of {count}, {name}", [0.0] * count, noise) for count in (2, 4) for name, noise in ways(count)]
    gaps = [
        Scenario(f"gap {gap:.0%} of {count}, {name}", [0.0] + [gap] * (count - 1), noise)
        for gap in (0.01, 0.03, 0.05, 0.1)
        for count in (2, 4)
        for name, noise in ways(count)
    ]
    return ties + gaps


def rates(scenario: Scenario, races: int, seed: int) -> Rates:
    """Race a scenario many times."""
    names = [f"c{index}" for index in range(len(scenario.gaps))]
    best = min(scenario.gaps)
    kinds = {"right": 0, "wrong": 0, "tie": 0, "unresolved": 0}
    samples = 0
    for number in range(races):
        draw = random.Random(f"{seed} {scenario.name} {number}")
        found = race(names, Machine(scenario, draw).sample, draw)
        samples += sum(len(each) for each in found.rounds)
        outcome = found.outcome
        if outcome.winner is None:
            kinds[outcome.kind] += 1
        else:
            kinds["right" if scenario.gaps[int(outcome.winner[1:])] == best and not scenario.is_tie else "wrong"] += 1
    part = {name: count / races for name, count in kinds.items()}
    return Rates(part["right"], part["wrong"], part["right"] + part["wrong"], part["tie"], part["unresolved"], samples / races)


def broken_bars(scenario: Scenario, found: Rates) -> list[str]:
    """Return the bars that rates are over, in words."""
    if scenario.is_tie:
        allowed = 0.03 if len(scenario.gaps) == 2 else 0.005
        return [f"false winners {found.wrong:.2%} > {allowed:.1%}"] if found.wrong > allowed else []
    seen = scenario.gaps[-1] >= scenario.noise.jitter  # a gap that is small beside the jitter is a tie to any test
    wrong = [f"wrong winners {found.wrong:.2%} > 0.1%"] if found.wrong > (0.001 if seen else 0.03) else []
    if scenario.gaps[-1] == 0.05 and scenario.noise == Noise() and len(scenario.gaps) == 2 and found.right < 0.97:
        wrong.append(f"found {found.right:.1%} < 97%")
    return wrong


def report(chosen: Iterable[Scenario], races: int, seed: int, say: Callable[[str], None]) -> int:
    """Print a line for each scenario, and return how many are over a bar."""
    over = 0
    say(f"{'scenario':<34}{'right':>8}{'wrong':>8}{'tie':>8}{'open':>8}{'samples':>9}   {races} races each, seed {seed}")
    for scenario in chosen:
        found = rates(scenario, races, seed)
        broken = broken_bars(scenario, found)
        over += bool(broken)
        shown = "".join(f"{value:>8.2%}" for value in (found.right, found.wrong, found.tie, found.unresolved))
        say(f"{scenario.name:<34}{shown}{found.samples:>9.1f}   {'; '.join(broken)}")
    return over


def main() -> int:
    """Run from the command line."""
    races = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    start = time.perf_counter()
    over = report(scenarios(), races, seed, lambda line: print(line, flush=True))
    print(f"{over} scenarios over a bar; {time.perf_counter() - start:.0f} s")
    return int(bool(over))


if __name__ == "__main__":
    sys.exit(main())
