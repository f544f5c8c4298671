"""Races of a kernel against itself, and against itself with more to do, on this machine: how often a race is wrong where it counts.

    python -m benchmarks.race_here [RACES]

Bars: a winner among equals in at most 4 % of races with two contestants and 0.5 % with four, of at least 300 races, none
discarded. Of planted slow-downs it prints how many are found; on a busy machine the others stay unresolved, and none may be
won by the slower one.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np

from tessera_rules.measure.race import race
from tessera_rules.measure.stopwatch import Stopwatch

WORK = 40
"""Products of one call: a planted slow-down of 5 % is two more."""


RNG = np.random.default_rng(0)
A, B, OUT = (RNG.standard_normal((24, 24)).astype(np.float32) for _ in range(3))
"""The same for all: where operands lie is a real difference, once seen to win two races of three between equals."""


def kernel(products: int) -> Callable[[], None]:
    """Return a call that multiplies small matrices so many times; each call of this makes another."""

    def call() -> None:
        for _ in range(products):
            np.matmul(A, B, out=OUT)

    return call


def outcomes(work: Mapping[str, int], races: int) -> Counter[str]:
    """Race so many times, and count the kinds of outcome and the winners."""
    found: Counter[str] = Counter()
    for number in range(races):
        names = list(work)
        random.Random(number).shuffle(names)
        outcome = race(names, Stopwatch({name: kernel(work[name]) for name in names}).sample, random.Random(number)).outcome
        found[outcome.kind if outcome.winner is None else f"won by {outcome.winner}"] += 1
    return found


def main() -> int:
    """Run from the command line."""
    races = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    over = 0
    for count, bar in ((2, 0.04), (4, 0.005)):
        start = time.perf_counter()
        found = outcomes({f"c{index}": WORK for index in range(count)}, races)
        named = sum(value for kind, value in found.items() if kind.startswith("won"))
        over += named / races > bar
        print(f"{count} equals: a winner in {named / races:.2%} of {races} (bar {bar:.1%}); {dict(found)}; {time.perf_counter() - start:.0f} s", flush=True)
    for more in (2, 4):
        found = outcomes({"plain": WORK, "more": WORK + more}, races)
        over += found["won by more"] / races > 0.001
        print(f"{more / WORK:.0%} slower: {dict(found)}", flush=True)
    return int(bool(over))


if __name__ == "__main__":
    sys.exit(main())
