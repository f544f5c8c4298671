"""Numbers and strings to values, and the text of a clause as it is quoted."""

from __future__ import annotations

import re

MAX_BITS = 4096

_SUFFIX = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40}
_ESCAPE = re.compile(r'\\(?:(["\\nt])|u\{([0-9A-Fa-f]{1,6})\})')
_PLAIN = {'"': '"', "\\": "\\", "n": "\n", "t": "\t"}
_PIECE = re.compile(r'("(?:[^"\\\n]|\\.)*")|#[^\n]*|[^"#]+|"')


def integer(text: str) -> int | None:
    """Return the value of an integer literal, None where it has more than 4,096 bits.

    >>> integer("64Ki"), integer("1_000"), integer("0x40")
    (65536, 1000, 64)
    """
    shift = _SUFFIX.get(text[-2:], 0)
    digits = (text[:-2] if shift else text).replace("_", "")
    # 4,096 bits are at most 1,234 decimal digits: no longer text is ever converted, whatever Python's own limit is.
    if len(digits) > 1300:
        return None
    value = (int(digits[2:], 16) if digits[:2] in ("0x", "0X") else int(digits)) << shift
    return value if value.bit_length() <= MAX_BITS else None


def unescape(text: str) -> tuple[str, int | None]:
    """Return the value of a string literal with its quotes, and the place of an escape that is no character, or None.

    >>> unescape(r'"a\\u{3b1}\\n"')
    ('aα\\n', None)
    """
    body = text[1:-1]
    if "\\" not in body:
        return body, None
    bad: list[int] = []

    def replace(match: re.Match[str]) -> str:
        if match[1]:
            return _PLAIN[match[1]]
        point = int(match[2], 16)
        if point > 0x10FFFF or 0xD800 <= point <= 0xDFFF:
            bad.append(match.start() + 1)
            return "\ufffd"
        return chr(point)

    value = _ESCAPE.sub(replace, body)
    return value, bad[0] if bad else None


def folded(text: str) -> str:
    """Return a piece of source text with white space folded to single spaces and comments left out; strings stay as they are.

    >>> folded('M  %\\n 4 == 0  # why')
    'M % 4 == 0'
    """
    if "#" not in text and '"' not in text:
        return " ".join(text.split())
    parts: list[str] = []
    for match in _PIECE.finditer(text):
        if match[1] or match[0] == '"':
            parts.append(match[0])
        elif match[0][0] == "#":
            parts.append(" ")
        else:
            parts.append(re.sub(r"\s+", " ", match[0]))
    # Two runs of white space can meet around a comment.
    joined: list[str] = []
    for part in parts:
        if joined and joined[-1].endswith(" ") and part.startswith(" "):
            part = part.lstrip(" ")
        if part:
            joined.append(part)
    return "".join(joined).strip()


def same_clause(one: str, other: str) -> bool:
    """Whether two texts are one clause however it is spaced, so that the layout of a file never changes which clause a test means.

    >>> same_clause("K%16==0", "K % 16 == 0"), same_clause("not in", "notin"), same_clause('a == "x y"', 'a == "xy"')
    (True, False, False)
    """
    return clause_key(one) == clause_key(other)


def clause_key(text: str) -> str:
    """Return a clause's text without the white space that only spaces it: equal for texts that are one clause.

    >>> clause_key("K  % 16 == 0 and not a")
    'K%16==0 and not a'
    """
    parts = re.split(r'("(?:[^"\\\n]|\\.)*")', folded(text))
    # White space stays only where it parts two words or numbers.
    return "".join(part if part[:1] == '"' else re.sub(r"(?<![A-Za-z0-9_]) | (?![A-Za-z0-9_])", "", part) for part in parts)
