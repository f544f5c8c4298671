"""What rounds of times say: who is eliminated by whom, and when a winner, a tie, or neither can be named.

Pure: fed with rounds as they are measured, or with those of a record, it comes to the same outcome.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from attrs import define, field, frozen

from tessera_rules.measure.evidence import e_value, wins_needed

ALPHA = 0.05
"""The chance of a false winner among contestants that are equally fast is at most this."""
DELTA = 0.03
"""Contestants whose times differ by less than this part count as equally fast."""
CLEARLY = 1.3
"""After `EARLY` rounds a contestant whose best time is this much above some other's worst is dropped."""
EARLY = 3

Kind = Literal["separated", "tie", "unresolved", "uncontested", "no_contest"]


@frozen
class Beaten:
    """How a contestant fell: behind whom, in which round, by what evidence (None: dropped early, or left out by a heat)."""

    by: str
    round: int
    evidence: float | None = None


@frozen(eq=False)
class Outcome:
    """What a contest came to.

    ``separated``: one is left, ``winner``. ``tie``: all left are proved equally fast. ``unresolved``: not proved either way.
    ``uncontested``: fewer than two could be timed. ``no_contest``: one that races has no valid time by this timer. Only the
    first names a winner.
    """

    kind: Kind
    winner: str | None
    rounds: int
    left: tuple[str, ...]
    beaten: Mapping[str, Beaten]
    medians: Mapping[str, float]

    @property
    def gain(self) -> float | None:
        """The part by which the winner's median is below the next best one's, None without a winner."""
        others = [value for name, value in self.medians.items() if name != self.winner]
        return None if self.winner is None or not others else 1 - self.medians[self.winner] / min(others)

    def gain_over(self, name: str) -> float | None:
        """Return the part by which the winner's median is below another's, None where one of them has no time."""
        if self.winner is None or name not in self.medians or self.winner not in self.medians:
            return None
        return 1 - self.medians[self.winner] / self.medians[name]


@define(eq=False)
class Contest:
    """Counts the rounds of each ordered pair of contestants, and eliminates.

    ``count`` is the number of contestants that the threshold is for: all who raced, also where fewer are looked at.
    """

    names: Sequence[str]
    count: int | None = None
    rounds: int = 0
    live: list[str] = field(init=False)
    beaten: dict[str, Beaten] = field(factory=dict, init=False)
    times: dict[str, list[float]] = field(init=False)
    threshold: float = field(init=False)
    _untied: dict[tuple[str, str], int] = field(factory=dict, init=False)
    _met: dict[tuple[str, str], int] = field(factory=dict, init=False)
    _wins: dict[tuple[str, str], int] = field(factory=dict, init=False)
    _near: dict[tuple[str, str], int] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        self.live = sorted(self.names)
        self.times = {name: [] for name in self.live}
        self.threshold = 2 * max(1, (self.count or len(self.live)) - 1) / ALPHA
        for one in self.live:
            for other in self.live:
                if one != other:
                    self._wins[one, other] = self._near[one, other] = self._untied[one, other] = self._met[one, other] = 0

    def add(self, samples: Mapping[str, float | None]) -> None:
        """Take one round: a time for each contestant; None, or none at all, where the sample was void.

        A pair meets where both have a time. Equal times (a coarse timer) are no win of either, and not counted.
        """
        self.rounds += 1
        got = [(name, value) for name in self.live if (value := samples.get(name)) is not None]
        for place, (one, mine) in enumerate(got):
            self.times[one].append(mine)
            for other, its in got[place + 1 :]:
                pair, back = (one, other), (other, one)
                self._met[pair] += 1
                self._met[back] += 1
                if mine != its:
                    self._untied[pair] += 1
                    self._untied[back] += 1
                    self._wins[pair if mine < its else back] += 1
                self._near[pair] += mine < (1 + DELTA) * its
                self._near[back] += its < (1 + DELTA) * mine
        if self.rounds == EARLY:
            self._drop_clearly_behind()
        for name in list(self.live):
            self._eliminate(name)

    def _drop_clearly_behind(self) -> None:
        timed = [name for name in self.live if len(self.times[name]) == EARLY]
        if len(timed) < 2:
            return
        best = min(timed, key=lambda name: max(self.times[name]))
        for name in timed:
            if name != best and min(self.times[name]) > CLEARLY * max(self.times[best]):
                self._fall(name, Beaten(best, self.rounds))

    def _eliminate(self, name: str) -> None:
        for other in self.live:
            if other != name and self.is_ahead(other, name):
                untied, wins = self._untied[other, name], self._wins[other, name]
                self._fall(name, Beaten(other, self.rounds, e_value(untied, wins)))
                return

    def _fall(self, name: str, how: Beaten) -> None:
        self.live.remove(name)
        self.beaten[name] = how

    def is_ahead(self, one: str, other: str) -> bool:
        """Whether the evidence that one is faster than another is enough."""
        return self._wins[one, other] >= wins_needed(self._untied[one, other], self.threshold)

    def is_level(self, one: str, other: str) -> bool:
        """Whether the evidence that one is at most `DELTA` slower than another is enough."""
        return self._near[one, other] >= wins_needed(self._met[one, other], self.threshold)

    @property
    def is_tied(self) -> bool:
        """Whether all who are left are proved equally fast."""
        return len(self.live) > 1 and all(self.is_level(one, other) for one in self.live for other in self.live if one != other)

    @property
    def is_over(self) -> bool:
        """Whether another round would change nothing."""
        return len(self.live) < 2 or self.is_tied

    def outcome(self) -> Outcome:
        """Return what the rounds so far say."""
        timeless = [name for name in self.live if not self.times[name]]
        winner: str | None = None
        kind: Kind
        if timeless and self.rounds:
            kind = "no_contest"
        elif len(self.live) + len(self.beaten) < 2:
            kind = "uncontested"
        elif len(self.live) == 1:
            kind, winner = "separated", self.live[0]
        else:
            kind = "tie" if self.is_tied else "unresolved"
        medians = {name: statistics.median(found) for name, found in self.times.items() if found}
        return Outcome(kind, winner, self.rounds, tuple(self.live), dict(self.beaten), medians)


def judged(rounds: Iterable[Mapping[str, float | None]], names: Iterable[str], count: int | None = None) -> Outcome:
    """Return what recorded rounds say about some of those who raced; ``count`` is how many raced.

    >>> judged([{"a": 1.0, "b": 1.1 + i / 100} for i in range(8)], ["b", "a"]).winner
    'a'
    """
    contest = Contest(list(names), count)
    for each in rounds:
        if contest.is_over:
            break
        contest.add({name: value for name, value in each.items() if name in contest.times and value is not None and is_time(value)})
    return contest.outcome()


def is_time(value: float) -> bool:
    """Whether a number can be a time: finite and positive (T12).

    >>> [is_time(value) for value in (1e-6, 0.0, -1.0, math.nan, math.inf)]
    [True, False, False, False, False]
    """
    return math.isfinite(value) and value > 0
