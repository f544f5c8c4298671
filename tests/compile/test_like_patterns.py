"""The matcher of ``like`` against Python's regular expressions, and in the shapes that make backtracking explode."""

from __future__ import annotations

import itertools
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tessera_rules.compile.evaluate import UNKNOWN, ClauseError
from tessera_rules.model.patterns import Matcher, compile_pattern
from tessera_rules.syntax import nodes
from tests.compile.term_strategies import ANYTHING, PLACE, const, either, epilogue, examples, known, many, maybe, outcome, pattern, scale, t, word

ALPHABET = ("a", "b", "c")
LISTS = [words for length in range(5) for words in itertools.product(ALPHABET, repeat=length)]


@st.composite
def items(draw: st.DrawFn, depth: int = 3) -> nodes.PatternItem:
    form = draw(st.sampled_from(["word", "word", "any"] + (["choice", "?", "*"] if depth else [])))
    if form == "word":
        return word(draw(st.sampled_from(ALPHABET[:2])))
    if form == "any":
        return ANYTHING
    if form == "choice":
        return either(*draw(st.lists(items(depth - 1), min_size=1, max_size=3)))
    return (maybe if form == "?" else many)(draw(items(depth - 1)))


def regex(item: nodes.PatternItem) -> str:
    if isinstance(item, nodes.PatternWord):
        return item.name
    if isinstance(item, nodes.PatternAny):
        return ".*"
    if isinstance(item, nodes.PatternChoice):
        return f"(?:{'|'.join(map(regex, item.options))})"
    return f"(?:{regex(item.item)}){item.times}"


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(st.lists(items(), max_size=4))
def test_every_pattern_matches_what_the_regular_expression_does(parts: list[nodes.PatternItem]) -> None:
    matcher = Matcher(tuple(parts))
    expected = re.compile("".join(map(regex, parts)))
    for words in LISTS:
        assert matcher.matches(words) is bool(expected.fullmatch("".join(words))), (matcher.text, words)


@settings(max_examples=examples(100), deadline=None, derandomize=True)
@given(st.lists(items(), max_size=4))
def test_listing_and_the_shortest_agree_with_matching(parts: list[nodes.PatternItem]) -> None:
    matcher = Matcher(tuple(parts))
    assert list(matcher.lists(ALPHABET, 3)) == [words for words in LISTS if len(words) <= 3 and matcher.matches(words)]
    shortest = matcher.shortest()
    assert matcher.matches(shortest)
    assert set(shortest) <= set(matcher.words)
    assert not any(matcher.matches(words) for words in LISTS if len(words) < len(shortest))


@pytest.mark.parametrize(
    ("parts", "text", "words"),
    [
        ((), "[]", ()),
        ((maybe(word("bias")), maybe(either(word("relu"), word("gelu")))), "[bias?, (relu | gelu)?]", ("bias", "relu", "gelu")),
        ((ANYTHING, word("relu")), "[*, relu]", ("relu",)),
        ((many(word("x")), word("y"), word("x")), "[x*, y, x]", ("x", "y")),
        ((many(maybe(word("x"))),), "[(x?)*]", ("x",)),
    ],
)
def test_text_and_words(parts: tuple[nodes.PatternItem, ...], text: str, words: tuple[str, ...]) -> None:
    matcher = compile_pattern(nodes.Pattern(parts, span=PLACE))
    assert (matcher.text, str(matcher), matcher.words) == (text, text, words)
    assert matcher == Matcher(parts)
    assert hash(matcher) == hash(Matcher(parts))


def test_order_counts_and_the_whole_list_is_matched() -> None:
    term = t("like", epilogue, pattern(maybe(word("bias")), maybe(either(word("relu"), word("gelu")))))
    yes = [(), ("bias",), ("relu",), ("bias", "gelu")]
    no = [("relu", "bias"), ("bias", "bias"), ("bias", "relu", "gelu"), ("silu",), ("bias", "silu")]
    assert [outcome(term, known(epilogue=words)) for words in yes + no] == [True] * len(yes) + [False] * len(no)
    assert outcome(term, {}) is UNKNOWN


def test_like_wants_a_list_of_words() -> None:
    assert isinstance(outcome(t("like", scale, pattern()), known(scale=None)), ClauseError)
    assert isinstance(outcome(t("like", const((1, 2)), pattern(ANYTHING)), {}), ClauseError)


@pytest.mark.parametrize(
    "parts",
    [
        tuple(maybe(word("a")) for _ in range(60)) + tuple(word("a") for _ in range(60)),
        (many(many(many(word("a")))), word("b")),
        (many(maybe(word("a"))),) * 20 + (word("b"),),
        (ANYTHING,) * 40 + (word("b"),),
        (many(either(word("a"), either(word("a"), word("a")), many(word("a")))), word("b")),
    ],
    ids=["a?^n a^n", "((a*)*)*", "(a?)* repeated", "* repeated", "overlapping choice"],
)
def test_no_pattern_backtracks(parts: tuple[nodes.PatternItem, ...]) -> None:
    matcher = Matcher(parts)
    started = time.process_time()
    matcher.matches(["a"] * 100)
    matcher.matches(["a"] * 100 + ["c"])
    assert time.process_time() - started < 2  # a backtracking matcher would need more than the age of the universe


def test_long_patterns_and_lists_are_linear() -> None:
    matcher = Matcher(tuple(word("a") for _ in range(5000)))
    assert matcher.matches(["a"] * 5000)
    assert not matcher.matches(["a"] * 4999)
    assert len(matcher.shortest()) == 5000


def test_deep_patterns_are_read_to_the_limit_of_nesting() -> None:
    item: nodes.PatternItem = word("a")
    for _ in range(nodes.MAX_DEPTH):
        item = maybe(item)
    assert Matcher((item,)).matches(["a"])
    assert Matcher((item,)).text.count("?") == nodes.MAX_DEPTH
