"""Laws of whole files: parse after format is the identity; nothing that anybody types makes the parser raise."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tessera_rules.source import Source
from tessera_rules.syntax import parse, parse_items, read_source
from tessera_rules.syntax.aliases import without_aliases
from tessera_rules.syntax.format import format_text, same_meaning
from tests.property.syntax_strategies import files
from tests.syntax.texts import EXAMPLES

QUICK = settings(max_examples=80, deadline=None, derandomize=True)
TEXTS = [path.read_text(encoding="utf-8") for path in EXAMPLES]
PIECES = [*'{}()[]",;#=?*- ≤\\', "\n", "..", "not ", "candidate x {\n", "01", "else", "in", "\r\n", "{s}", "for ", "because"]


@QUICK
@given(files())
def test_D12_parse_after_format_is_the_identity(text: str) -> None:
    source = Source("t", text)
    file, findings = parse(source)
    assert findings == (), text
    once = format_text(source)
    plain, _ = parse(Source("t", without_aliases(file)))
    assert same_meaning(parse(Source("t", once))[0], plain)
    assert format_text(Source("t", once)) == once
    assert [each.text.rstrip() for each in parse(Source("t", once))[0].comments] == [each.text.rstrip() for each in file.comments]


@QUICK
@given(files())
def test_D1_crlf_changes_the_line_ends_and_nothing_else(text: str) -> None:
    crlf = text.replace("\n", "\r\n")
    assert parse(Source("t", crlf))[0] == parse(Source("t", text))[0]
    if "\n" in text:
        assert format_text(Source("t", crlf)) == format_text(Source("t", text)).replace("\n", "\r\n")


@QUICK
@given(files(), st.data())
def test_D6_a_prefix_never_raises_and_its_places_lie_inside(text: str, data: st.DataObject) -> None:
    cut = text[: data.draw(st.integers(0, len(text)))]
    _, findings = parse_items(Source("t", cut))
    for finding in findings:
        assert 0 <= finding.span.start <= finding.span.end <= len(cut)
        assert finding.message
    assert list(findings) == sorted(findings, key=lambda each: (each.span.start, each.span.end, each.code, each.message))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.sampled_from(TEXTS), st.lists(st.tuples(st.integers(0, 5_000), st.sampled_from(PIECES), st.integers(0, 4)), min_size=1, max_size=6))
@example("candidate c { requires { a", [(10, "{", 0)])
def test_no_edit_of_a_good_file_makes_the_parser_raise(text: str, edits: list[tuple[int, str, int]]) -> None:
    for place, piece, removed in edits:
        at = place % (len(text) + 1)
        text = text[:at] + piece + text[at + removed :]
    file, findings = parse(Source("t", text))
    for finding in findings:
        assert 0 <= finding.span.start <= finding.span.end <= len(text)
    if not any(finding.severity == "error" for finding in findings):
        assert not any(item.damaged for item in file.items)
        once = format_text(Source("t", text))
        assert format_text(Source("t", once)) == once


@QUICK
@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_no_bytes_make_reading_raise(data: bytes) -> None:
    source, findings = read_source("t", data)
    for finding in findings:
        assert 0 <= finding.span.start <= finding.span.end <= len(source.text)
    parse(source)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.sampled_from(TEXTS), st.integers(0, 10_000))
def test_D16_one_deleted_closing_bracket_is_at_most_a_few_findings(text: str, pick: int) -> None:
    places = [index for index, character in enumerate(text) if character in ")]}"]
    if not places:
        return
    at = places[pick % len(places)]
    _, findings = parse(Source("t", text[:at] + text[at + 1 :]))
    assert len(findings) <= 3
