"""Patterns of ``like``: which lists of words a pattern matches, decided by running a set of states over the list.

A pattern becomes a small automaton once. Matching keeps the set of states that the words so far can have led to, so the
time grows with (words × states) and never with the ways to match: ``[(a?)*, (a?)*, b]`` is as quick as ``[a, b]``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import field, frozen

from tessera_rules.syntax import nodes

ANY_WORD = None
"""The label of an edge that every word passes."""


@frozen
class Matcher:
    """A compiled pattern; equal to another one where the patterns say the same.

    ``words`` are the words that it names, in reading order, each once.
    """

    items: tuple[nodes.PatternItem, ...]
    words: tuple[str, ...] = field(init=False, eq=False)
    _edges: tuple[tuple[tuple[str | None, int], ...], ...] = field(init=False, eq=False, repr=False)
    """For each state the words that lead on, with where to; state numbers are places in this table."""
    _silent: tuple[tuple[int, ...], ...] = field(init=False, eq=False, repr=False)
    """For each state the states that it is at the same time, without any word."""
    _start: int = field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        builder = _Automaton()
        start = builder.sequence(self.items, builder.accept)
        object.__setattr__(self, "_edges", tuple(map(tuple, builder.edges)))
        object.__setattr__(self, "_silent", tuple(map(tuple, builder.silent)))
        object.__setattr__(self, "_start", start)
        object.__setattr__(self, "words", tuple(dict.fromkeys(_named(self.items))))

    @property
    def text(self) -> str:
        """The pattern as the language writes it, with single spaces."""
        return f"[{', '.join(map(_item_text, self.items))}]"

    def __str__(self) -> str:
        return self.text

    def matches(self, words: Sequence[str]) -> bool:
        """Whether the whole list matches."""
        states = self.start_states()
        for word in words:
            states = self.after(states, word)
            if not states:
                return False
        return _ACCEPT in states

    def start_states(self) -> frozenset[int]:
        """Return the states before the first word."""
        return self._closure({self._start})

    def after(self, states: frozenset[int], word: str) -> frozenset[int]:
        """Return the states that a word leads to; lists that lead to the same ones are matched alike, however they go on."""
        return self._closure({target for state in states for label, target in self._edges[state] if label is ANY_WORD or label == word})

    def shortest(self) -> tuple[str, ...]:
        """Return a shortest list that matches, of the words that the pattern names; every pattern matches some list."""
        reached: dict[int, tuple[str, ...]] = {}
        layer: list[tuple[int, tuple[str, ...]]] = [(self._start, ())]
        while layer:
            following: list[tuple[int, tuple[str, ...]]] = []
            for start, words in layer:
                for state in sorted(self._closure({start})):
                    if state in reached:
                        continue
                    reached[state] = words
                    following += [(target, (*words, label)) for label, target in self._edges[state] if label is not ANY_WORD]
            if _ACCEPT in reached:
                return reached[_ACCEPT]
            layer = following
        raise AssertionError("a pattern without a list that it matches")

    def lists(self, alphabet: Sequence[str], longest: int) -> Iterator[tuple[str, ...]]:
        """Yield every list over ``alphabet`` of at most ``longest`` words that matches, shorter ones first.

        Lists that no continuation can make match are left early, so this is quick where few match.
        """
        far = self._distances()
        layer: list[tuple[tuple[str, ...], frozenset[int]]] = [((), self._closure({self._start}))]
        for length in range(longest + 1):
            yield from (words for words, states in layer if _ACCEPT in states)
            following = []
            for words, states in layer:
                for word in alphabet:
                    after = self._closure({target for state in states for label, target in self._edges[state] if label is ANY_WORD or label == word})
                    if after and min(far.get(state, longest + 1) for state in after) <= longest - length - 1:
                        following.append(((*words, word), after))
            layer = following

    def _closure(self, states: set[int]) -> frozenset[int]:
        pending = list(states)
        found = set(states)
        while pending:
            for state in self._silent[pending.pop()]:
                if state not in found:
                    found.add(state)
                    pending.append(state)
        return frozenset(found)

    def _distances(self) -> dict[int, int]:
        """Fewest words from each state to acceptance."""
        backward: dict[int, list[tuple[int, int]]] = {}
        for state, edges in enumerate(self._edges):
            for _label, target in edges:
                backward.setdefault(target, []).append((state, 1))
            for target in self._silent[state]:
                backward.setdefault(target, []).append((state, 0))
        found: dict[int, int] = {}
        layer, distance = {_ACCEPT}, 0
        while layer:
            following: set[int] = set()
            pending = list(layer)
            while pending:
                state = pending.pop()
                if state in found:
                    continue
                found[state] = distance
                for source, step in backward.get(state, ()):
                    (following.add if step else pending.append)(source)
            layer, distance = following - set(found), distance + 1
        return found


_ACCEPT = 0


class _Automaton:
    """Built from the end to the start: each part is told where it leads on to, and says where it begins."""

    def __init__(self) -> None:
        self.edges: list[list[tuple[str | None, int]]] = [[]]
        self.silent: list[list[int]] = [[]]
        self.accept = _ACCEPT

    def state(self) -> int:
        self.edges.append([])
        self.silent.append([])
        return len(self.edges) - 1

    def sequence(self, items: Sequence[nodes.PatternItem], then: int) -> int:
        for item in reversed(items):
            then = self.item(item, then)
        return then

    def item(self, item: nodes.PatternItem, then: int) -> int:
        start = self.state()
        if isinstance(item, nodes.PatternWord):
            self.edges[start].append((item.name, then))
        elif isinstance(item, nodes.PatternAny):
            self.edges[start].append((ANY_WORD, start))
            self.silent[start].append(then)
        elif isinstance(item, nodes.PatternChoice):
            self.silent[start] += [self.item(option, then) for option in item.options]
        elif item.times == "?":
            self.silent[start] += [self.item(item.item, then), then]
        else:
            self.silent[start] += [self.item(item.item, start), then]
        return start


def _named(items: Sequence[nodes.PatternItem]) -> Iterator[str]:
    pending = list(reversed(items))
    while pending:
        item = pending.pop()
        if isinstance(item, nodes.PatternWord):
            yield item.name
        elif isinstance(item, nodes.PatternChoice):
            pending += reversed(item.options)
        elif isinstance(item, nodes.PatternRepeat):
            pending.append(item.item)


def _item_text(item: nodes.PatternItem) -> str:
    if isinstance(item, nodes.PatternWord):
        return item.name
    if isinstance(item, nodes.PatternAny):
        return "*"
    if isinstance(item, nodes.PatternChoice):
        return f"({' | '.join(map(_item_text, item.options))})"
    inner = _item_text(item.item)
    return f"({inner}){item.times}" if isinstance(item.item, nodes.PatternRepeat | nodes.PatternAny) else inner + item.times


def compile_pattern(pattern: nodes.Pattern) -> Matcher:
    """Return the matcher of a pattern.

    >>> from tessera_rules.source import Source, Span
    >>> place = Span(Source("x", ""), 0, 0)
    >>> bias = nodes.PatternRepeat(nodes.PatternWord("bias", span=place), "?", span=place)
    >>> matcher = compile_pattern(nodes.Pattern((bias, nodes.PatternWord("relu", span=place)), span=place))
    >>> matcher.text, matcher.matches(["bias", "relu"]), matcher.matches(["relu"]), matcher.matches(["bias"])
    ('[bias?, relu]', True, True, False)
    """
    return Matcher(pattern.items)
