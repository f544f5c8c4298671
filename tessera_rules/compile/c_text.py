"""Words of rule files inside C: comments and literals that nothing in them can end, and identifiers."""

from __future__ import annotations

LONGEST = 400
"""Characters of a text in a literal: C99 promises no literal of more than 4,095, and one character may take sixteen."""
_PLAIN = frozenset(map(chr, range(0x20, 0x7F)))


def comment(text: str) -> str:
    """Return a text for the inside of a comment.

    >>> comment("a */ b /* c"), comment("x\\n#include"), comment("what??/"), comment("é")
    ('a * / b / * c', 'x #include', 'what? ?/', '\\\\u{E9}')
    """
    words = " ".join(text.split())
    plain = "".join(char if char in _PLAIN else f"\\u{{{ord(char):X}}}" for char in words)
    for bad, good in (("*/", "* /"), ("/*", "/ *")):
        plain = plain.replace(bad, good)
    while "??" in plain:
        plain = plain.replace("??", "? ?")
    return plain[:-1] + "\\ " if plain.endswith("\\") else plain


def literal(text: str | None) -> str:
    """Return a string literal, or ``NULL``. What is not plain ASCII, and what begins a trigraph, is escaped.

    >>> literal('a"b'), literal("??="), literal("\\n"), literal("é1"), literal(None)
    ('"a\\\\"b"', '"\\\\?\\\\?="', '"\\\\012"', '"\\\\303\\\\2511"', 'NULL')
    """
    if text is None:
        return "NULL"
    shown = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    return '"' + "".join(_escaped(char) for char in shown) + '"'


def _escaped(char: str) -> str:
    if char in '"\\?':
        return "\\" + char
    if char in _PLAIN:
        return char
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogatepass"))


def number(value: int) -> str:
    """Return an integer of 64 bits.

    >>> number(5), number(-5), number(-(2**63))
    ('INT64_C(5)', '(-INT64_C(5))', '(-INT64_C(9223372036854775807) - 1)')
    """
    if value == -(2**63):
        return "(-INT64_C(9223372036854775807) - 1)"
    return f"INT64_C({value})" if value >= 0 else f"(-INT64_C({-value}))"
