"""Mending: to a fixpoint, never a broken file, never for ever."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tessera_rules.check.driver import check_load, named_files
from tessera_rules.check.fix import Fixed, apply_edits, fix
from tessera_rules.diagnostic import Edit, Finding
from tessera_rules.model.load import load
from tessera_rules.source import Source, Span
from tests.check.golden import codes, golden


def finding(source: Source, code: str, old: str, new: str) -> Finding | None:
    at = source.text.find(old)
    if at < 0:
        return None
    span = Span(source, at, at + len(old))
    return Finding(code, f"{old} is {new}", span, "warning", edits=(Edit(span, new),))


def mended(text: str, *rewrites: tuple[str, str, str]) -> tuple[Fixed, list[str]]:
    """Run `fix` on a made-up linter that has one rewrite for each code; return also every text that it was shown."""
    shown: list[str] = []

    def lint(texts: Mapping[str, str]) -> list[Finding]:
        source = Source("r.tsr", texts.get("r.tsr", text), "r.tsr")
        shown.append(source.text)
        return [found for code, old, new in rewrites if (found := finding(source, code, old, new)) is not None]

    return fix(lint, ["r.tsr"]), shown


def test_fixes_are_applied_until_nothing_changes() -> None:
    fixed, _ = mended("a", ("TSR901", "a", "b"), ("TSR902", "b", "c"))
    assert fixed.texts == {"r.tsr": "c"}
    assert fixed.mended == {"r.tsr": 2}
    assert fixed.stuck == []


def test_D18_two_fixes_that_undo_each_other_leave_the_file() -> None:
    fixed, shown = mended("x = a", ("TSR901", "a", "b"), ("TSR902", "b", "a"))
    assert fixed.texts == {}
    assert [(each.path, each.codes) for each in fixed.stuck] == [("r.tsr", ("TSR901", "TSR902"))]
    assert "undo each other" in fixed.stuck[0].reason
    assert len(shown) <= 5


def test_D18_a_longer_circle_is_seen_too() -> None:
    fixed, _ = mended("a", ("TSR901", "a", "b"), ("TSR902", "b", "c"), ("TSR903", "c", "a"))
    assert fixed.texts == {}
    assert {"TSR901", "TSR903"} & set(fixed.stuck[0].codes)


def test_D18_a_fix_that_never_ends_leaves_the_file() -> None:
    fixed, shown = mended("a", ("TSR901", "a", "aa"))
    assert fixed.texts == {}
    assert fixed.stuck[0].codes == ("TSR901",)
    assert len(shown) < 60


def test_a_fix_that_would_make_an_error_leaves_the_file() -> None:
    def lint(texts: Mapping[str, str]) -> list[Finding]:
        source = Source("r.tsr", texts.get("r.tsr", "a"), "r.tsr")
        found = finding(source, "TSR901", "a", "b")
        return [found] if found else [Finding("TSR201", "b is wrong", Span(source, 0, 1))]

    fixed = fix(lint, ["r.tsr"])
    assert fixed.texts == {}
    assert fixed.stuck[0].codes == ("TSR901",)
    assert [each.code for each in fixed.findings] == ["TSR901"]


def test_D19_a_file_with_a_syntax_error_is_left_alone() -> None:
    def lint(texts: Mapping[str, str]) -> list[Finding]:
        source = Source("r.tsr", texts.get("r.tsr", "ab"), "r.tsr")
        found = finding(source, "TSR901", "a", "b")
        return [*([found] if found else []), Finding("TSR001", "no", Span(source, 1, 2))]

    fixed = fix(lint, ["r.tsr"])
    assert fixed.texts == {}
    assert "syntax error" in fixed.stuck[0].reason


def test_edits_that_overlap_wait_for_the_next_round() -> None:
    source = Source("r.tsr", "abcd", "r.tsr")
    one = Finding("TSR901", "", Span(source, 0, 3), edits=(Edit(Span(source, 0, 3), "x"),))
    two = Finding("TSR902", "", Span(source, 2, 4), edits=(Edit(Span(source, 2, 4), "y"),))
    assert apply_edits("abcd", [two, one]) == ("xd", ("TSR901",))


def test_the_edits_of_one_finding_go_together() -> None:
    source = Source("r.tsr", "abcdef", "r.tsr")
    pair = Finding("TSR901", "", Span(source, 0, 6), edits=(Edit(Span(source, 0, 1), ""), Edit(Span(source, 5, 6), "")))
    other = Finding("TSR902", "", Span(source, 4, 6), edits=(Edit(Span(source, 4, 6), "z"),))
    assert apply_edits("abcdef", [pair, other])[0] == "bcde"


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 4), st.text("xy", max_size=2)), max_size=8))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_edits_are_what_they_would_be_one_by_one_from_the_end(pieces: list[tuple[int, int, str]]) -> None:
    source = Source("r.tsr", "abcdefghijklmnop", "r.tsr")
    found = [Finding("TSR901", "", Span(source, start, start + size), edits=(Edit(Span(source, start, start + size), text),)) for start, size, text in pieces]
    text, applied = apply_edits(source.text, found)
    kept: list[tuple[int, int, str]] = []
    for start, size, new in sorted(pieces, key=lambda piece: (piece[0], piece[0] + piece[1])):
        if all(start > end or start + size < begin for begin, end, _ in kept):
            kept.append((start, start + size, new))
    expected, at = "", 0
    for begin, end, new in sorted(kept):
        expected += source.text[at:begin] + new
        at = end
    assert text == expected + source.text[at:]
    assert len(applied) == len(kept)


def unmarked(code: str, folder: Path) -> Path:
    """Return a copy of a flagged golden without its markers: they are comments, and deleting a line would lose them."""
    place = folder / code
    place.mkdir()
    for path in golden(code, "flagged").files:
        text = re.sub(rb" *#!(?: TSR\d{3})+(?=\r?\n)", b"", path.read_bytes())
        (place / path.name).write_bytes(text)
    return place


def test_every_fix_of_a_golden_file_mends_its_finding_and_adds_none(tmp_path: Path) -> None:
    """What --fix writes has no finding with a fix, fewer findings, and none of a new kind."""
    tried = []
    for code in codes():
        folder = unmarked(code, tmp_path)
        loaded = load([folder])
        findings = check_load(loaded, named_files(loaded, [folder]))
        paths = {each.span.source.path for each in findings if each.edits}
        if not paths or any(each.severity == "error" and each.code.startswith("TSR0") for each in findings):
            continue
        tried.append(code)

        def lint(texts: Mapping[str, str], target: Path = folder) -> tuple[Finding, ...]:
            again = load([target], instead=texts)
            return check_load(again, named_files(again, [target]))

        fixed = fix(lint, [path for path in paths if path is not None])
        assert fixed.stuck == [], code
        assert [each.code for each in fixed.findings if each.edits] == [], code
        assert len(fixed.findings) < len(findings), code
        assert {each.code for each in fixed.findings} <= {each.code for each in findings}, code
    assert len(tried) >= 13, tried
