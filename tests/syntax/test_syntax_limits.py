"""Limits count what is written: a clear finding, never a traceback, a hang or a crash."""

from __future__ import annotations

import sys
import time

import pytest

from tessera_rules.source import Source
from tessera_rules.syntax import nodes, parse_items
from tests.syntax.texts import expr, findings, items

DEEP = {
    "brackets": lambda n: "(" * n + "a" + ")" * n,
    "lists": lambda n: "a in " + "[" * n + "]" * n,
    "calls": lambda n: "f(" * n + "a" + ")" * n,
    "sum": lambda n: " +\n".join(["a"] * (n + 1)),
    "difference": lambda n: " -\n".join(["a"] * (n + 1)),
    "minus": lambda n: "-" * n + "a",
    "not": lambda n: "not " * n + "a",
    "conditional": lambda n: "a if b else " * n + "c",
    "index": lambda n: "a" + "[1]" * n,
    "mixed": lambda n: "(not " * (n // 2) + "a" + ")" * (n // 2),
}


@pytest.mark.parametrize("kind", DEEP)
@pytest.mark.parametrize("times", [400, 5_000])
def test_D7_what_is_nested_past_200_is_one_finding(kind: str, times: int) -> None:
    text = f"predicate p = {DEEP[kind](times)}\npredicate q = b\n"
    file, found = parse_items(Source("t", text))
    (finding,) = found
    assert finding.code == "TSR014"
    assert "200" in finding.message
    assert [item.damaged for item in file.items] == [True, False]


@pytest.mark.parametrize("kind", ["brackets", "sum", "minus", "not", "conditional", "index"])
def test_D7_the_limit_is_the_same_everywhere(kind: str) -> None:
    limit = 200 if kind == "brackets" else nodes.MAX_DEPTH - 1
    before = sys.getrecursionlimit()
    for allowed in (before, 150):
        sys.setrecursionlimit(allowed if allowed == before else len(_frames()) + allowed)
        try:
            assert findings(f"predicate p = {DEEP[kind](limit)}") == ()
            assert [finding.code for finding in findings(f"predicate p = {DEEP[kind](limit + 1)}")] == ["TSR014"]
        finally:
            sys.setrecursionlimit(before)


def _frames() -> list[object]:
    frame = sys._getframe()
    found: list[object] = []
    while frame is not None:
        found.append(frame)
        frame = frame.f_back  # type: ignore[assignment]
    return found


def test_chains_of_and_and_or_are_one_level() -> None:
    found = expr(" and\n".join(["a"] * 9_000))
    assert isinstance(found, nodes.BoolOp)
    assert len(found.operands) == 9_000
    assert found.depth == 2
    assert [finding.code for finding in findings("predicate p = " + " or\n".join(["a"] * 30_000))] == ["TSR015"]


def test_a_sum_of_50_000_terms_is_refused_quickly() -> None:
    before = time.perf_counter()
    (finding,) = findings("predicate p = " + "\n+ b".join(["(a"]) + " +\nb" * 50_000 + ")")
    assert finding.code == "TSR014"
    assert time.perf_counter() - before < 20


def test_a_line_of_2_mib_is_one_finding() -> None:
    assert [(finding.code, finding.span.line) for finding in findings("predicate a = 1\npredicate p = " + "a" * 2_000_000)] == [("TSR010", 2)]
    assert findings("predicate p = " + "a" * 60_000) == ()


@pytest.mark.parametrize(
    "text",
    [
        "{\n" * 20_000,
        "}\n" * 20_000,
        "(\n" * 20_000,
        '"\n' * 20_000,
        "candidate c {\n" * 2_000,
        "foo bar\n" * 20_000,
        "candidate c {\n requires {\n" + " M % (16 == 0\n" * 4_000,
    ],
)
def test_junk_is_read_in_linear_time(text: str) -> None:
    before = time.perf_counter()
    assert findings(text)
    assert time.perf_counter() - before < 20


def test_more_than_100_000_declarations_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from tessera_rules.syntax import parse as module

    monkeypatch.setattr(sys.modules["tessera_rules.syntax.parse"], "MAX_DECLARATIONS", 3)
    assert module is not None
    text = "predicate p{} = a\n"
    items("".join(text.format(number) for number in range(3)))
    assert [finding.code for finding in findings("".join(text.format(number) for number in range(4)))] == ["TSR017"]
