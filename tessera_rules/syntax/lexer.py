"""Text to tokens, one at a time, as the parser asks for them.

The lexer knows what was taken last, so that a newline after an operator or a comma ends nothing, and looks one token ahead,
so that a newline before an operator or a `}` ends nothing either. Which word is a keyword is the parser's to say.
"""

from __future__ import annotations

import re
from functools import cache

from tessera_rules.syntax.nodes import MAX_DEPTH
from tessera_rules.syntax.tables import Tables, tables

END = "$END"
BAD = "$BAD"
DEEP = "$DEEP"
SEP = "SEP"

# What a line cannot end with: after these a newline ends nothing.
GOES_ON_AFTER = frozenset(
    [
        "+",
        "-",
        "*",
        "/",
        "//",
        "%",
        "==",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        "and",
        "or",
        "in",
        "like",
        ",",
        "because",
        "returns",
        "over",
        "with",
        "if",
        "else",
        "SEP",
        "{",
        "$START",
    ]
)
# What a line cannot begin with: before these a newline ends nothing.
_GOES_ON_BEFORE = re.compile(
    r"(?:and|or|in|not(?:[ \t]+)in|like|because|returns|over|with|if|else)(?![A-Za-z0-9_{])|[*/%}<>]|==|!=|\Z",
)
_CLOSERS = {")": "(", "]": "["}
# All that can stand between two tokens where something may end. Each part is atomic: nothing in a comment is ever tried as code.
_BREAK = re.compile(r"(?>(?:[ \t;]|\r?\n|#[^\n]*)+)")
_COMMENT = re.compile(r"#[^\n]*")


def begins_continuation(text: str) -> bool:
    """Whether a line that begins so goes on with the one before it."""
    return text != "" and _GOES_ON_BEFORE.match(text) is not None


class Vocabulary:
    """The patterns that the grammar's terminals make, compiled once."""

    def __init__(self, tables: Tables) -> None:
        self.words: dict[str, tuple[tuple[str, re.Pattern[str] | None], ...]] = {}
        words: dict[str, list[tuple[str, re.Pattern[str] | None]]] = {}
        marks = []
        for literal in tables.literals:
            if literal[0].isalpha():
                words.setdefault(literal, []).append((literal, None))
            else:
                marks.append(literal)
        tokens = []
        for name, pattern in tables.patterns.items():
            word = re.match(r"([a-z]+)\(\?=", pattern)
            if word:
                words.setdefault(word.group(1), []).append((name, re.compile(pattern[word.end(1) :])))
            else:
                tokens.append(f"(?P<{name}>{pattern})")
        self.words = {word: tuple(choices) for word, choices in words.items()}
        marks.sort(key=len, reverse=True)
        mark = "|".join(re.escape(each) for each in marks)
        self.token = re.compile(rf"(?>[ \t]*)(?:{'|'.join(tokens)}|(?P<SEP>;|\r?\n|#)|(?P<MARK>{mark}))")


@cache
def vocabulary() -> Vocabulary:
    """Return the vocabulary of the grammar."""
    return Vocabulary(tables())


_SPACE = re.compile(r"[ \t]*")


class Lexer:
    """The tokens of one text. After each call of `advance`: ``kind``, ``start``, ``end`` of the token.

    ``brackets`` holds the open brackets as ``(mark, offset)``. The parser sets ``last`` to the symbol that it took the
    token for, and ``position`` where it goes on after a mistake.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.last = "$START"
        self.brackets: list[tuple[str, int]] = []
        self.kind = SEP
        self.start = 0
        self.end = 0
        # What the last token did to the brackets, so that a mistake at it can take that back.
        self._before: list[tuple[str, int]] | None = None
        self._after: list[tuple[str, int]] | None = None
        self._match = vocabulary().token.match

    def advance(self) -> None:
        """Read the next token; at the end of the text the kind is ``$END``, where nothing fits ``$BAD``."""
        text = self.text
        self._before = None
        while True:
            match = self._match(text, self.position)
            if match is None:
                self.start = self.end = _SPACE.match(text, self.position).end()  # type: ignore[union-attr]
                self.kind = END if self.start >= len(text) else BAD
                return
            kind = match.lastgroup
            start, end = match.span(kind)  # type: ignore[arg-type]
            if kind == "MARK":
                mark = text[start:end]
                if mark in "([{)]}":
                    self._before = self.brackets[:]
                if mark in "([{":
                    if mark == "{":
                        self._drop_round()
                    if len(self.brackets) >= MAX_DEPTH:
                        kind = DEEP
                    else:
                        self.brackets.append((mark, start))
                        kind = mark
                else:
                    kind = mark
                    if mark in ")]":
                        if self.brackets and self.brackets[-1][0] == _CLOSERS[mark]:
                            self.brackets.pop()
                    elif mark == "}":
                        self._drop_round()
                        if self.brackets:
                            self.brackets.pop()
            elif kind == SEP:
                if text[start] == "#":
                    # A comment alone ends nothing; the newline after it may.
                    self.position = _COMMENT.match(text, start).end()  # type: ignore[union-attr]
                    continue
                end = _BREAK.match(text, start).end()  # type: ignore[union-attr]
                self.position = end
                if not self._ends_something(start, end):
                    continue
            self.kind = kind  # type: ignore[assignment]
            self.start = start
            self.end = self.position = end
            return

    def _ends_something(self, start: int, end: int) -> bool:
        piece = self.text[start:end]
        if ";" in piece and ";" in _COMMENT.sub("", piece):
            # A `;` ends what stands before it whatever the line looks like, unless nothing does.
            return self.last not in (SEP, "{", "$START") and self.text[end : end + 1] not in ("}", "")
        if self.last in GOES_ON_AFTER:
            return False
        if self.brackets and self.brackets[-1][0] != "{":
            return False
        return _GOES_ON_BEFORE.match(self.text, end) is None

    def restore(self) -> None:
        """Put the brackets back to what they were before the last token."""
        if self._before is not None:
            self._after, self.brackets, self._before = self.brackets, self._before, None
        else:
            self._after = None

    def redo(self) -> None:
        """Take `restore` back: the token counts after all."""
        if self._after is not None:
            self.brackets = self._after

    def open_braces(self) -> list[int]:
        """Return where the open braces are, outermost first."""
        return [offset for mark, offset in self.brackets if mark == "{"]

    def go_to(self, offset: int, brackets: list[tuple[str, int]]) -> None:
        """Go on from another place."""
        self.position = offset
        self.brackets = brackets
        self.advance()

    def split_brace(self) -> None:
        """Take a name with a brace, such as ``requires{tile}``, for what stands before the brace, or for the brace."""
        brace = self.text.index("{", self.start, self.end)
        if brace > self.start:
            self.end = self.position = brace
            return
        self._before = self.brackets[:]
        self._drop_round()
        self.brackets.append(("{", self.start))
        self.kind = "{"
        self.end = self.position = self.start + 1

    def _drop_round(self) -> None:
        # No brace stands inside ( or [: one that is still open was never closed, and the parser has said so.
        brackets = self.brackets
        while brackets and brackets[-1][0] != "{":
            brackets.pop()
