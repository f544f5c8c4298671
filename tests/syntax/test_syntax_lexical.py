"""Newlines, numbers, strings and comments."""

from __future__ import annotations

import itertools

import pytest

from tessera_rules.syntax import nodes
from tests.syntax.texts import clauses, expr, findings, items, places


@pytest.mark.parametrize("operator", ["and", "or", "+", "-", "*", "//", "%", "==", "!=", "<", "<=", ">", ">="])
def test_a_line_that_ends_with_an_operator_goes_on(operator: str) -> None:
    assert [each.text for each in clauses(f"    a {operator}  # so\n\n      b")] == [f"a {operator} b"]


@pytest.mark.parametrize("operator", ["and", "or", "in", "not in", "like", "*", "//", "%", "==", "!=", "<", "<=", ">", ">="])
def test_a_line_that_begins_with_an_operator_goes_on(operator: str) -> None:
    right = "[b]" if operator in ("in", "not in", "like") else "b"
    assert [each.text for each in clauses(f"    a\n    # and so on\n      {operator} {right}")] == [f"a {operator} {right}"]


@pytest.mark.parametrize("begin", ["-b == 1", "not b", "notin == 1", "android", "order == 1", "overlap == 2", "iffy", "elsewhere", "inner", "likely"])
def test_a_line_that_begins_otherwise_is_a_clause_of_its_own(begin: str) -> None:
    assert [each.text for each in clauses(f"    a\n    {begin}")] == ["a", begin]


@pytest.mark.parametrize("text", ["(a\n  == b)", "f(a,\n  b)", "a in [1,\n # x\n  2]", "a if b\n else c", "a\nif b else c", "a if\n b else\n c"])
def test_brackets_and_conditionals_go_over_lines(text: str) -> None:
    assert len(clauses(text)) == 1


def test_because_over_returns_and_with_begin_a_line_that_goes_on() -> None:
    (clause,) = clauses('    a\n      because "x"')
    assert clause.because is not None
    items('candidate c { bind python "m:f"\n    with (a = 1)\n }')
    items('candidate c { bind native "l" symbol "f" ()\n    returns i32 { ok 0 }\n }')
    items("rule r {\n  prefer a\n    over b\n}")


def test_a_semicolon_ends_like_a_newline_but_joins_nothing() -> None:
    assert [each.text for each in clauses("a; b ; ; c;")] == ["a", "b", "c"]
    assert [code for code, _, _ in places("predicate p = a and ; b")] == ["TSR001"]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_lf_and_crlf_are_equal(ending: str) -> None:
    text = "candidate c {\n  tier emitted # x\n  requires {\n    a and\n      b\n  }\n}\n"
    assert items(text.replace("\n", ending)) == items(text)


def test_D5_no_last_newline_and_three_are_the_same() -> None:
    text = "candidate c { tier emitted }\npredicate p = a == 1  # end"
    assert items(text) == items(text + "\n") == items(text + "\n\n\n") == items(text + " \t")
    broken = "candidate c {\n  tier emitted"
    assert places(broken) == places(broken + "\n") == places(broken + "\n\n\n") == [("TSR002", 2, 15)]


@pytest.mark.parametrize(
    "comment",
    ["# for the tile selector", "# ok; and M == 3", "# only tried for M <= 64 and N == 7", "#; or", "# and", '# "', "# }", "# not in x", "#\tif x else y;"],
)
def test_nothing_in_a_comment_is_code(comment: str) -> None:
    assert [each.text for each in clauses(f"    a == 1 {comment}\n    {comment}\n    b")] == ["a == 1", "b"]
    assert [each.text for each in clauses(f"    a and {comment}\n    {comment}\n    b")] == ["a and b"]


SPELLINGS = {
    "0": 0,
    "7": 7,
    "128": 128,
    "1_000_000": 1_000_000,
    "0x40": 64,
    "0xff_ff": 65535,
    "64Ki": 65536,
    "2Mi": 2 << 20,
    "1Gi": 1 << 30,
    "1Ti": 1 << 40,
    "0x10Ki": 16384,
}
FLOATS = {"0.0": 0.0, "0.25": 0.25, "5e-3": 5e-3, "5.0e13": 5e13, "1E+2": 100.0, "1_0.2_5": 10.25, "0.7": 0.7}


@pytest.mark.parametrize("operator", ["==", "!=", "<", "<=", ">", ">="])
def test_D9_every_spelling_of_a_number_under_every_comparator(operator: str) -> None:
    values: dict[str, int | float] = {**SPELLINGS, **FLOATS}
    for left, right in itertools.product(values, repeat=2):
        for space in ("", " "):
            found = expr(f"{left}{space}{operator}{space}{right}")
            assert isinstance(found, nodes.Compare)
            assert found.operators == (operator,)
            shown = [each.value for each in found.operands if isinstance(each, nodes.IntLit | nodes.FloatLit)]
            assert shown == [values[left], values[right]]
            assert [type(each) for each in shown] == [type(values[left]), type(values[right])]


@pytest.mark.parametrize(
    "text",
    [
        "01",
        "00",
        "1and",
        "1or",
        "0x",
        "0xg",
        "1__0",
        "1_",
        "1.",
        "1.e5",
        "1e",
        "1e+",
        "64ki",
        "64KiB",
        "64K",
        "1.5.2",
        "12abc",
        "1.5Ki",
        "007.5",
        "0_1",
        "1e5Ki",
    ],
)
def test_D8_what_is_no_number_is_an_error_and_never_half_of_one(text: str) -> None:
    for whole in (f"predicate p = {text}", f"predicate p = a == 1 and {text} == b", f"predicate p = M % {text}"):
        file, found = _parsed(whole)
        assert [finding.code for finding in found] == ["TSR004"], whole
        assert found[0].span.text == text.rstrip("+")
        assert all(item.damaged for item in file.items)


@pytest.mark.parametrize("text", ['"abc', '"a\\q"', '"\\u{110000}"', '"\\u{D800}"', '"\\x41"', '"\\u41"', "K ≤ 3", "a ! b", "é == 1", "“x”", "a & b", "'x'"])
def test_D8_a_lexical_error_is_fatal_for_its_declaration_only(text: str) -> None:
    file, found = _parsed(f"predicate p = a == 1 and {text}\npredicate q = b\ncandidate c {{\n  requires {{\n    {text}\n    d\n  }}\n  tier emitted\n}}")
    assert len(found) == 2
    assert {finding.code for finding in found} <= {"TSR003", "TSR005", "TSR006"}
    assert [(item.name.text, item.damaged) for item in file.items if not isinstance(item, nodes.For)] == [("p", True), ("q", False), ("c", True)]


def _parsed(text: str) -> tuple[nodes.File, tuple]:  # type: ignore[type-arg]
    from tessera_rules.source import Source
    from tessera_rules.syntax import parse_items

    return parse_items(Source("t.tsr", text))


def test_the_place_of_a_bad_escape_is_the_escape() -> None:
    (finding,) = findings('predicate p = a == "ok \\q"')
    assert (finding.code, finding.span.text, finding.span.column) == ("TSR006", "\\q", 24)
    (finding,) = findings('predicate p = a == "\\u{110000}"')
    assert finding.span.text == "\\u{110000}"


def test_a_word_that_only_begins_with_a_keyword_is_no_keyword() -> None:
    assert [finding.message for finding in findings("candidatefoo { }")] == ["'candidatefoo' begins no declaration"]
    assert findings("candidate c { tierx emitted }")[0].code == "TSR101"
    assert places("predicate p = a andb") == [("TSR001", 1, 17)]


def test_strings_decode_their_escapes() -> None:
    found = expr(r'"a\"b\\c\nd\te\u{1F600}{s}"')
    assert found == nodes.StrLit('a"b\\c\nd\te\U0001f600{s}', span=found.span)


def test_integers_have_no_size_up_to_4096_bits() -> None:
    found = expr(str(2**4096 - 1))
    assert isinstance(found, nodes.IntLit)
    assert found.value == 2**4096 - 1
    for text in (str(2**4096), "0x1" + "0" * 1024, "9" * 50_000, str(2**4090) + "Ki"):
        assert [finding.code for finding in findings(f"predicate p = a == {text}")] == ["TSR016"]
