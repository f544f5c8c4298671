"""Bytes to a source, and the checks that need no grammar: encoding, size, characters that deceive."""

from __future__ import annotations

import re

from tessera_rules.diagnostic import Finding
from tessera_rules.source import Source, Span
from tessera_rules.syntax import codes

MAX_BYTES = 16 * 1024 * 1024
MAX_LINE = 64 * 1024

_INVISIBLE = re.compile("[\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u180e\u00ad\u2028\u2029\U000e0000-\U000e007f]")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_LONE_CR = re.compile(r"\r(?!\n)")
_BARE_LF = re.compile(r"(?<!\r)\n")
_MOST = 20


def read_source(name: str, data: bytes, path: str | None = None) -> tuple[Source, tuple[Finding, ...]]:
    """Return the text of a file as a source. With a finding the source is for showing its place only, not for parsing.

    Reports TSR007 (not UTF-8), TSR008 (binary), TSR009 (too large).

    >>> read_source("a.tsr", b"\\xef\\xbb\\xbftessera 1\\n")[0].bom
    True
    """
    if len(data) > MAX_BYTES:
        source = Source(name, "", path)
        return source, (codes.TOO_LARGE.at(Span(source, 0, 0), f"the file has {len(data):,} bytes, the limit is 16 MiB ({MAX_BYTES:,})"),)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        source = Source(name, "", path)
        return source, (codes.BINARY.at(Span(source, 0, 0), "the file is UTF-16 text", hint="save it as UTF-8"),)
    bom = data.startswith(b"\xef\xbb\xbf")
    body = data[3:] if bom else data
    zero = body.find(b"\0")
    if zero >= 0:
        source = Source(name, body[: zero + 1].decode("utf-8", "replace"), path, bom)
        at = len(source.text) - 1
        return source, (codes.BINARY.at(Span(source, at, at + 1), f"byte {zero} is NUL: this is a binary file, no rules", hint="name the right file"),)
    try:
        return Source(name, body.decode("utf-8"), path, bom), ()
    except UnicodeDecodeError as problem:
        at = len(body[: problem.start].decode("utf-8"))
        source = Source(name, body.decode("utf-8", "replace"), path, bom)
        byte = body[problem.start]
        return source, (codes.NOT_UTF8.at(Span(source, at, at + 1), f"byte 0x{byte:02X} is not UTF-8", hint="save the file as UTF-8"),)


def check_text(source: Source) -> list[Finding]:
    """Return what is wrong with a text whatever it says. Reports TSR010 to TSR013 and TSR020."""
    text = source.text
    findings: list[Finding] = []
    if len(text) > MAX_LINE // 4:
        for number, start in enumerate(source.starts):
            end = source.starts[number + 1] if number + 1 < len(source.starts) else len(text)
            length = end - start
            if length > MAX_LINE or (length > MAX_LINE // 4 and len(text[start:end].encode("utf-8", "replace")) > MAX_LINE):
                findings.append(codes.LONG_LINE.at(Span(source, start, start), f"line {number + 1} is longer than 64 KiB", hint="break it"))
    if "\r" in text:
        for match in _LONE_CR.finditer(text):
            findings.append(codes.LONE_CR.at(Span(source, *match.span()), "a carriage return (CR) without a line feed", hint="end lines with LF or CRLF"))
            if len(findings) >= _MOST:
                break
        if "\r\n" in text and (bare := _BARE_LF.search(text)):
            first = text.index("\r\n")
            odd = max(bare.start(), first)
            findings.append(
                codes.MIXED_ENDINGS.at(
                    Span(source, odd, odd + 1),
                    f"line {source.position(odd)[0]} ends with {'CRLF' if odd == first else 'LF'}, the lines before it do not",
                    hint="tsr fmt --line-ending lf, or crlf",
                )
            )
    if not text.isascii():
        for match in _INVISIBLE.finditer(text):
            character = match[0]
            what = "a byte order mark inside the text" if character == "\ufeff" else f"the invisible character U+{ord(character):04X}"
            findings.append(codes.INVISIBLE.at(Span(source, *match.span()), what, hint="delete it; in a string write it as an escape"))
            if len(findings) >= _MOST:
                break
    for match in _CONTROL.finditer(text):
        findings.append(codes.CONTROL.at(Span(source, *match.span()), f"the control character U+{ord(match[0]):04X}", hint="delete it"))
        if len(findings) >= _MOST:
            break
    return findings
