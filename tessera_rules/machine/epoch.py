"""One mark for everything that is remembered of decisions in this process, and the environment that they hang on.

What was decided holds for the mark of its time. Looking again at the machine, new proofs and the like advance it; what
changes in the environment is seen by itself, since a decision remembers the values that it hung on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, Final

from attrs import define, field


@define(eq=False)
class Epoch:
    """Remembered decisions hold while ``mark`` is the one that they were made under.

    >>> epoch = Epoch()
    >>> before = epoch.mark
    >>> epoch.advance()
    >>> epoch.mark is before
    False
    """

    mark: object = field(factory=object)

    def advance(self) -> None:
        """Drop what is remembered: a machine was asked anew, a proof came in from elsewhere."""
        self.mark = object()


EPOCH: Final = Epoch()
"""The process's. It is one for all rulesets: what raises it is rare, and dropping too much costs time alone."""


def _reader() -> tuple[Callable[[Any], Any], Callable[[str], Any]]:
    """Return how to read a variable quickly, and the form of its name for that: as `os.environ` holds them, without decoding."""
    held, encode = getattr(os.environ, "_data", None), getattr(os.environ, "encodekey", None)
    if isinstance(held, dict) and callable(encode):
        return held.get, encode
    return os.environ.get, str


variable, variable_name = _reader()
"""``variable(variable_name("TSR_FORCE"))``: an object that is another one after the variable was set, None where it is not set."""
FORCE, DECISIONS, CORPUS, LOG = map(variable_name, ("TSR_FORCE", "TSR_DECISIONS", "TSR_CORPUS", "TSR_LOG"))


def environment() -> tuple[Any, Any, Any]:
    """Return what every decision hangs on of the environment: who is forced, what is pinned, where measurements are."""
    return variable(FORCE), variable(DECISIONS), variable(CORPUS)


def variables(names: Iterable[str]) -> tuple[tuple[Any, Any], ...]:
    """Return variables with their values now, for `unchanged`."""
    return tuple((name, variable(name)) for name in map(variable_name, sorted(set(names))))


def unchanged(held: Iterable[tuple[Any, Any]]) -> bool:
    """Whether variables have the values that they had."""
    return all(variable(name) == value for name, value in held)
