"""Findings as text: the mark stands under its characters, whatever the line holds."""

from __future__ import annotations

import pytest

from tessera_rules.diagnostic import Finding, Related
from tessera_rules.report.text import EXCERPT_COLUMNS, Paint, count_findings, render_finding
from tessera_rules.source import Source, Span


def shown(line: str, part: str, **more: object) -> list[str]:
    source = Source("a.tsr", f"tessera 1\n{line}\n")
    start = source.text.index(part)
    return render_finding(Finding("TSR201", "m", Span(source, start, start + len(part)), **more)).split("\n")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "part", "marks"),
    [
        ("abc def", "def", "    ^^^"),
        ("\tdef", "def", " ^^^"),
        ("日本 def", "def", "     ^^^"),
        ("a\u0301 def", "def", "  ^^^"),
        ("x\u202ey def", "\u202e", " ^^^^^^^^"),
        ("ab", "", "^"),
    ],
)
def test_the_mark_stands_under_its_characters(line: str, part: str, marks: str) -> None:
    if not part:
        source = Source("a.tsr", f"{line}\n")
        lines = render_finding(Finding("TSR201", "m", Span(source, 0, 0))).split("\n")
    else:
        lines = shown(line, part)
    assert lines[2] == f"      | {marks}"


def test_nothing_that_a_terminal_obeys_is_written() -> None:
    text = "\n".join(shown("a \x1b[31m\u202e\u200b b", "b", hint="\x07", related=()))
    assert not set("\x1b\u202e\u200b\x07") & set(text)
    assert "\\u{1B}[31m\\u{202E}\\u{200B}" in text


def test_a_long_line_is_cut_around_its_place() -> None:
    lines = shown("x" * 50_000 + " here " + "y" * 50_000, "here")
    assert len(lines[1]) < EXCERPT_COLUMNS + 20
    start = lines[2].index("^")
    assert lines[1][start : start + 4] == "here"
    assert lines[1].count("…") == 2


def test_a_span_over_lines_is_marked_to_the_end_of_the_first() -> None:
    source = Source("a.tsr", "op x {\n}\n")
    lines = render_finding(Finding("TSR001", "m", Span(source, 3, 8))).split("\n")
    assert lines[1:] == ["    1 | op x {", "      |    ^^^"]


def test_the_end_of_the_text_is_a_place() -> None:
    source = Source("a.tsr", "op x {")
    assert render_finding(Finding("TSR001", "m", Span(source, 6, 6))).split("\n")[2] == "      |       ^"


def test_related_places_and_the_hint_follow() -> None:
    source = Source("b.tsr", "first\n")
    lines = shown("second", "second", hint="do this", related=(Related(Span(source, 0, 5), "the first one"),))
    assert [line for line in lines if "=" in line] == ["      = b.tsr:1:1: the first one", "      = hint: do this"]


def test_colours_change_no_character() -> None:
    source = Source("a.tsr", "op x {\n")
    finding = Finding("TSR001", "m", Span(source, 0, 2), hint="h")
    coloured = render_finding(finding, Paint(True))
    assert coloured != render_finding(finding)
    import re

    assert re.sub(r"\x1b\[\d+m", "", coloured) == render_finding(finding)


def test_counting() -> None:
    source = Source("a.tsr", "x")
    findings = [Finding("TSR001", "m", Span(source, 0, 1), severity) for severity in ("error", "error", "warning")]  # type: ignore[arg-type]
    assert count_findings(findings) == "2 errors, 1 warning"
