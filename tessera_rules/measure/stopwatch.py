"""The real clock: samples of callables, each long enough to be told from the timer's own grain."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal

from attrs import define, field

from tessera_rules.measure.race import NoTimer, Sample, Unmeasured

FLOOR_SECONDS = 2e-5
GRAINS = 100
"""A sample is at least so many times the timer's resolution, and at least `FLOOR_SECONDS`."""
MAX_CALLS = 1 << 20
DIGITS = 6
"""Digits of a time: more than a clock tells, and short where it is written down."""

Metric = Literal["wall", "device"]
Call = Callable[[], Any]


def now() -> float:
    """Return seconds since 1970: when something was measured."""
    return time.time()


def elapsed() -> float:
    """Return seconds of a clock that only goes forward: what a time budget is held against."""
    return time.monotonic()


@define(eq=False)
class Stopwatch:
    """Samples contestants. The first call of each, and what finds out how many calls a sample takes, stay out of every time.

    ``before`` is called ahead of each call of a contestant, outside its time: it restores operands that are written in place
    (P5), or flushes caches; then each call is timed by itself. ``timers`` give, for the metric ``device``, the seconds of a
    call by the device's own timer; a contestant without one is a `NoTimer`.
    """

    calls: Mapping[str, Call]
    before: Mapping[str, Callable[[], None]] = field(factory=dict)
    metric: Metric = "wall"
    timers: Mapping[str, Callable[[Call], float]] = field(factory=dict)
    last: dict[str, Any] = field(factory=dict, init=False)
    _repeats: dict[str, int] = field(factory=dict, init=False)

    def sample(self, name: str) -> Sample:
        """Take one sample. Raises `Unmeasured` where the contestant declines or fails, `NoTimer` where nothing times it."""
        if self.metric == "device" and name not in self.timers:
            raise NoTimer(f"it runs, and has no timer of its {self.metric}")
        try:
            if name not in self._repeats:
                self._warm_up(name)
            return self._timed(name)
        except Unmeasured:
            raise
        except Exception as problem:  # whatever a kernel raises is its own reason, and the race goes on (T8)
            raise Unmeasured(_reason(problem)) from None

    def _warm_up(self, name: str) -> None:
        """Make the first calls, and find how many calls a sample takes."""
        self._repeats[name] = 1
        self._once(name)
        floor = max(FLOOR_SECONDS, GRAINS * time.get_clock_info("perf_counter").resolution)
        if self.metric == "device":
            return
        while True:
            found = self._timed(name)
            total = found.seconds * found.calls
            if total >= floor or self._repeats[name] >= MAX_CALLS:
                return
            wanted = max(2 * self._repeats[name], round(1.2 * floor / max(found.seconds, 1e-9)))
            self._repeats[name] = min(MAX_CALLS, 1 << (wanted - 1).bit_length())  # a power of two: equals mostly make as many calls a sample

    def _once(self, name: str) -> None:
        if name in self.before:
            self.before[name]()
        self.last[name] = self.calls[name]()

    def _timed(self, name: str) -> Sample:
        call, before, repeats = self.calls[name], self.before.get(name), self._repeats[name]
        collecting = gc.isenabled()
        gc.disable()
        try:
            begin = time.monotonic()
            if self.metric == "device":
                if before is not None:
                    before()
                return Sample(self.timers[name](call), 1, time.monotonic() - begin)
            spent = 0
            if before is None:
                start = time.perf_counter_ns()
                for _ in range(repeats):
                    result = call()
                spent = time.perf_counter_ns() - start
            else:
                for _ in range(repeats):
                    before()
                    start = time.perf_counter_ns()
                    result = call()
                    spent += time.perf_counter_ns() - start
            around = time.monotonic() - begin
        finally:
            if collecting:
                gc.enable()
        self.last[name] = result
        return Sample(float(f"{spent * 1e-9 / repeats:.{DIGITS}g}"), repeats, around)


def _reason(problem: Exception) -> str:
    said = getattr(problem, "reason", None)
    return str(said) if said else f"{type(problem).__name__}: {problem}"
