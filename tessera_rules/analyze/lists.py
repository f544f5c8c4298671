"""Lists of words that conditions cannot tell apart: one list stands for all of its class, so that a search over few lists is a proof over all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from attrs import frozen

from tessera_rules.model.patterns import Matcher
from tessera_rules.model.terms import Apply, Const, Fact, Term

MAX_CLASSES = 2000
"""Past this many classes only short lists are looked at, and nothing is proved about the others."""


@frozen(eq=False)
class Classes:
    """A shortest list of each class, shorter ones first. ``exact``: whether these are all classes there are."""

    lists: tuple[tuple[str, ...], ...]
    exact: bool


@frozen(eq=False)
class _Asked:
    """What conditions ask of a list attribute. ``other``: something that depends on more than classes can say."""

    matchers: tuple[Matcher, ...]
    constants: tuple[tuple[str, ...], ...]
    words: frozenset[str]
    other: bool


def list_classes(key: str, words: Sequence[str], default: Any, terms: Iterable[Term]) -> Classes:
    """Return lists over ``words`` that stand for all lists, as far as ``terms`` can tell lists of this attribute apart.

    Words are appended one by one; two lists are of one class where every pattern is in the same states, the same constants can
    still be equalled, and the same words of ``in`` have been met.
    """
    asked = _asked(key, terms)
    constants = tuple(dict.fromkeys((*asked.constants, *((default,) if isinstance(default, tuple) else ()))))
    runs = [_Run(matcher) for matcher in asked.matchers]
    start = (tuple(run.start for run in runs), frozenset(constants), frozenset[str]())
    found: dict[Any, tuple[str, ...]] = {_closed(start, 0): ()}
    layer = [(start, tuple[str, ...]())]
    exact = not asked.other
    while layer:
        following = []
        for (states, open_constants, met), so_far in layer:
            for word in words:
                longer = (*so_far, word)
                after = (
                    tuple(run.step(state, word) for run, state in zip(runs, states, strict=True)),
                    frozenset(each for each in open_constants if each[: len(longer)] == longer),
                    met | ({word} & asked.words),
                )
                name = _closed(after, len(longer))
                if name not in found:
                    found[name] = longer
                    following.append((after, longer))
        layer = following
        if len(found) > MAX_CLASSES:
            return Classes(tuple(each for each in found.values() if len(each) <= 2), False)
    return Classes(tuple(found.values()), exact)


def _closed(state: tuple[Any, frozenset[tuple[str, ...]], Any], length: int) -> Any:
    states, constants, met = state
    return states, frozenset((each, len(each) == length) for each in constants), met


class _Run:
    """Runs one pattern: a state is the set of automaton states that the words so far can have led to."""

    def __init__(self, matcher: Matcher) -> None:
        self.matcher = matcher
        self.start = matcher.start_states()
        self._steps: dict[tuple[frozenset[int], str], frozenset[int]] = {}

    def step(self, state: frozenset[int], word: str) -> frozenset[int]:
        if (state, word) not in self._steps:
            self._steps[state, word] = self.matcher.after(state, word)
        return self._steps[state, word]


def _asked(key: str, terms: Iterable[Term]) -> _Asked:
    matchers: dict[Matcher, None] = {}
    constants: dict[tuple[str, ...], None] = {}
    words: set[str] = set()
    other = False
    pending = list(terms)
    seen: set[int] = set()
    while pending:
        part = pending.pop()
        if not isinstance(part, Apply) or id(part) in seen:
            continue
        seen.add(id(part))
        pending.extend(part.args)
        if not any(isinstance(arg, Fact) and arg.key == key for arg in part.args):
            continue
        rest = [arg for arg in part.args if not (isinstance(arg, Fact) and arg.key == key)]
        fixed = [arg.value for arg in rest if isinstance(arg, Const)]
        if len(fixed) != len(rest):
            other = True
        elif part.op == "like":
            matchers.update(dict.fromkeys(fixed))
        elif part.op == "contains":
            words.update(fixed)
        elif part.op in ("eq", "ne", "in"):
            constants.update(dict.fromkeys(tuple(each) for each in fixed if isinstance(each, tuple | list)))
        else:
            other = True
    return _Asked(tuple(matchers), tuple(constants), frozenset(words), other)
