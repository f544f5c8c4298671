"""A race: rounds in fresh random order until somebody is ahead, all are level, or the budget of rounds is spent.

The sampler is a callable, so that a simulation and a real machine are raced by the same code.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Mapping, Sequence

from attrs import field, frozen

from tessera_rules.measure.contest import EARLY, Beaten, Contest, Outcome, is_time, judged

ROUNDS, THOROUGH = 24, 40
"""The budget of rounds."""
FIELD, FINALISTS = 16, 8
"""More contestants than `FIELD` run heats down to `FINALISTS` first."""
MIN_GAIN = 0.02
"""An incumbent is replaced only by a separated winner whose median is this part better."""
CLOCK_SLACK = 1.05
CLOCK_SLACK_SECONDS = 1e-6


@frozen
class Sample:
    """One sample: seconds of a call, of how many calls, and the seconds by the wall clock around all of it where known."""

    seconds: float
    calls: int = 1
    wall_seconds: float | None = None

    @property
    def void(self) -> str | None:
        """Why it is no time: not finite, not positive, or longer than the wall clock saw (T12); None where it is one."""
        if not is_time(self.seconds):
            return f"{self.seconds} s is no time"
        if self.wall_seconds is not None and self.seconds * self.calls > self.wall_seconds * CLOCK_SLACK + CLOCK_SLACK_SECONDS:
            return f"{self.seconds * self.calls:.3g} s by its timer, and {self.wall_seconds:.3g} s passed"
        return None


class Unmeasured(Exception):
    """A contestant declined, failed or crashed in the race: it has no time, and its reason is kept (T6)."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NoTimer(Unmeasured):
    """A contestant cannot be timed by the metric that is raced, though it runs: then there is no contest (T13)."""


Sampler = Callable[[str], Sample]


@frozen(eq=False)
class Race:
    """A race that was run: what it came to and all that it is judged from.

    ``rounds`` are those of the final, one mapping each (seconds; None where void), ``heats`` the number of rounds before it.
    ``unmeasured`` gives the reasons of those who could not be timed, ``void`` how many samples of whom did not count.
    """

    outcome: Outcome
    contestants: tuple[str, ...]
    rounds: tuple[Mapping[str, float | None], ...]
    unmeasured: Mapping[str, str]
    void: Mapping[str, int]
    heats: int = 0
    finalists: tuple[str, ...] = ()

    def choice(self, incumbent: str | None = None) -> str | None:
        """Return who is to run by this evidence: the separated winner; None where it does not replace the incumbent (P23)."""
        return chosen(self.outcome, incumbent)

    def without(self, refuted: Mapping[str, str]) -> Race:
        """Return the race as it is judged without some who turned out to have no part in it, each with the reason."""
        if not refuted:
            return self
        left = tuple(name for name in self.finalists if name not in refuted)
        rounds = tuple({name: value for name, value in each.items() if name not in refuted} for each in self.rounds)
        contestants = tuple(name for name in self.contestants if name not in refuted)
        return Race(judged(rounds, left), contestants, rounds, {**self.unmeasured, **refuted}, self.void, self.heats, left)


def chosen(outcome: Outcome, incumbent: str | None) -> str | None:
    """Return the winner that an outcome names against an incumbent, None where the incumbent stays or nobody is named."""
    winner = outcome.winner
    if winner is None or incumbent is None or winner == incumbent:
        return winner
    gain = outcome.gain_over(incumbent)
    return winner if gain is not None and gain >= MIN_GAIN else None


@frozen(eq=False)
class _Track:
    """What one race collects on the way."""

    sampler: Sampler
    order: random.Random
    unmeasured: dict[str, str] = field(factory=dict)
    void: dict[str, int] = field(factory=dict)
    timeless: list[str] = field(factory=list)

    def round(self, names: Sequence[str]) -> dict[str, float | None]:
        """Take one sample of each, in fresh random order; the order that they are given in plays no part."""
        found: dict[str, float | None] = {}
        names = sorted(names)
        self.order.shuffle(names)
        for name in names:
            try:
                sample = self.sampler(name)
            except NoTimer as problem:
                self.unmeasured[name] = problem.reason
                self.timeless.append(name)
            except Unmeasured as problem:
                self.unmeasured[name] = problem.reason
            else:
                found[name] = sample.seconds if sample.void is None else None
                if sample.void is not None:
                    self.void[name] = self.void.get(name, 0) + 1
        return found


def race(
    names: Sequence[str],
    sampler: Sampler,
    order: random.Random,
    *,
    default: str | None = None,
    rounds: int = ROUNDS,
    progress: Callable[[str], None] | None = None,
) -> Race:
    """Race contestants by samples of ``sampler``, and return what can be said of them.

    ``default`` is whoever would run unmeasured: heats never leave it out. ``order`` draws the order within each round.
    """
    track = _Track(sampler, order)
    say = progress or (lambda _: None)
    left = list(names)
    heats: dict[str, Beaten] = {}
    heat = 0
    while len(left) > (FIELD if not heat else FINALISTS):
        say(f"heat of {len(left)}, to find the {FINALISTS} to race")
        left, out = _heat(track, left, default, heat)
        heats.update(out)
        heat += 1
    contest = Contest(left)
    taken: list[Mapping[str, float | None]] = []
    while contest.rounds < rounds and not contest.is_over and not track.timeless:
        say(f"round {contest.rounds + 1} of at most {rounds}, {len(contest.live)} racing")
        found = track.round(contest.live)
        taken.append(found)
        if any(name in track.unmeasured for name in contest.live):
            contest = _without(contest, taken, track.unmeasured)
        else:
            contest.add(found)
    outcome = contest.outcome()
    if track.timeless:
        outcome = Outcome("no_contest", None, outcome.rounds, outcome.left, outcome.beaten, outcome.medians)
    outcome = Outcome(outcome.kind, outcome.winner, outcome.rounds, outcome.left, {**heats, **outcome.beaten}, outcome.medians)
    contestants = tuple(name for name in sorted(names) if name not in track.unmeasured)
    finalists = tuple(name for name in sorted(left) if name not in track.unmeasured)
    kept = tuple({name: value for name, value in each.items() if name not in track.unmeasured} for each in taken)
    return Race(outcome, contestants, kept, dict(track.unmeasured), dict(track.void), heat * EARLY, finalists)


def _without(contest: Contest, rounds: Sequence[Mapping[str, float | None]], unmeasured: Mapping[str, str]) -> Contest:
    """Return a contest of those who can be timed, from the rounds so far: whom an unmeasured one had beaten races again."""
    rest = Contest([name for name in contest.times if name not in unmeasured])
    for each in rounds:
        rest.add(each)
    return rest


def _heat(track: _Track, names: Sequence[str], default: str | None, number: int) -> tuple[list[str], dict[str, Beaten]]:
    """Run a few interleaved rounds and keep the better half by median, at least the finalists, the default among them."""
    samples: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(EARLY):
        for name, value in track.round([name for name in names if name not in track.unmeasured]).items():
            if value is not None:
                samples[name].append(value)
    running = [name for name in names if name not in track.unmeasured]
    ranked = sorted(running, key=lambda name: (statistics.median(samples[name]) if samples[name] else 0.0, name))
    kept = ranked[: max(FINALISTS, (len(running) + 1) // 2)]
    if default in running and default not in kept:
        kept[-1] = default
    return kept, {name: Beaten(kept[0], (number + 1) * EARLY) for name in running if name not in kept}
