"""Bytes to a source, and characters that are wrong anywhere."""

from __future__ import annotations

import pytest

from tessera_rules.syntax import parse, read_source
from tests.syntax.texts import places


def test_D2_a_byte_order_mark_moves_no_column() -> None:
    text = "tessera 1\ncandidate c { teir x }\n"
    with_mark, findings = read_source("t", b"\xef\xbb\xbf" + text.encode())
    without, _ = read_source("t", text.encode())
    assert findings == ()
    assert with_mark.bom
    assert not without.bom
    assert with_mark.text == without.text == text
    assert [(each.span.line, each.span.column) for each in parse(with_mark)[1]] == [(2, 15)]


def test_D2_a_byte_order_mark_elsewhere_is_an_error() -> None:
    assert places("tessera 1\n\ufeffpredicate p = a\n", whole=True) == [("TSR012", 2, 1)]
    assert parse(read_source("t", b"\xef\xbb\xbf\xef\xbb\xbftessera 1\n")[0])[1][0].code == "TSR012"


def test_bytes_that_are_not_utf8_have_their_place() -> None:
    _, (finding,) = read_source("t", "tessera 1\n# é".encode() + b"\xff\xfe")
    assert (finding.code, finding.span.line, finding.span.column) == ("TSR007", 2, 4)
    assert "0xFF" in finding.message


def test_binary_files_and_utf16_say_so() -> None:
    _, (finding,) = read_source("t", b"\x7fELF\x02\x01\x00\x00")
    assert finding.code == "TSR008"
    assert "binary" in finding.message
    _, (finding,) = read_source("t", "tessera 1\n".encode("utf-16"))
    assert finding.code == "TSR008"
    assert "UTF-16" in finding.message


def test_a_file_past_16_mib_is_not_read() -> None:
    assert read_source("t", b"#" * (16 * 1024 * 1024))[1] == ()
    _, (finding,) = read_source("t", b"#" * (16 * 1024 * 1024 + 1))
    assert finding.code == "TSR009"


@pytest.mark.parametrize("character", ["\u202e", "\u2066", "\u200b", "\u200d", "\u2060", "\u061c", "\u00ad"])
@pytest.mark.parametrize("where", ["# a {} comment", 'predicate p = a == "x{}"', "predicate p = a{} == 1"])
def test_invisible_characters_are_errors_anywhere(character: str, where: str) -> None:
    text = "tessera 1\n" + where.format(character)
    assert places(text, whole=True) == [("TSR012", 2, where.index("{}") + 1)]


def test_a_lone_carriage_return_is_an_error_with_its_place() -> None:
    assert places("tessera 1\npredicate p = a # x\ry\n", whole=True) == [("TSR011", 2, 20)]
    assert places("tessera 1\r\npredicate p = a\r\n", whole=True) == []


def test_control_characters_are_errors() -> None:
    assert places("tessera 1\npredicate p = a \x07\n", whole=True) == [("TSR013", 2, 17)]


def test_D1_mixed_line_endings_are_a_warning() -> None:
    (finding,) = parse(read_source("t", b"tessera 1\r\npredicate p = a\n")[0])[1]
    assert (finding.code, finding.severity, finding.span.line) == ("TSR020", "warning", 2)


def test_a_line_past_64_kib_is_an_error() -> None:
    assert places("tessera 1\n# " + "x" * 65_536 + "\npredicate p = 01", whole=True)[0][:2] == ("TSR010", 2)
    assert places("tessera 1\n# " + "é" * 40_000, whole=True) == [("TSR010", 2, 1)]
