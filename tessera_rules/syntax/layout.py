# ruff: noqa: D102 - `Roles` overrides the methods that the grammar names

"""The canonical layout: the tokens of a text with the white space between them made anew.

Every token and comment is kept, in order; only what stands between two of them is decided here, from the two tokens and
what the parser took them for. Where an author broke a long expression, the break stays.
"""

from __future__ import annotations

import re
from typing import Any

from attrs import field, frozen, mutable

from tessera_rules.source import Source
from tessera_rules.syntax import nodes
from tessera_rules.syntax.builder import Builder
from tessera_rules.syntax.lexer import begins_continuation
from tessera_rules.syntax.parser import Parser

INDENT = "  "
WIDTH = 120
"""A block of short parts (``request``, ``accuracy``, …) stays on one line up to this width."""

_CLAUSES = {"available", "requires", "avoid", "guard"}
_PARTS = {"accuracy", "request", "device", "returns", "launch", "LAYOUT"}


@frozen
class Token:
    """A token as the parser took it. ``ended`` says that a newline or `;` that ends something stands before it."""

    kind: str
    text: str
    start: int
    end: int
    ended: bool


class Roles(Builder):
    """A builder that also notes which tokens stand close together and which begin a field or a part."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.tight: set[int] = set()
        self.tight_after: set[int] = set()
        self.fields: set[int] = set()
        self.parts: set[int] = set()
        self._equals: dict[int, int] = {}

    def index(self, parts: list[Any], begin: int, end: int) -> nodes.Expr:
        self.tight.add(parts[1][0])
        return super().index(parts, begin, end)

    def call(self, parts: list[Any], begin: int, end: int) -> nodes.Expr:
        self.tight.add(parts[1][0])
        for each in parts[2]:
            if isinstance(each, tuple):
                equal = self._equals[each[0].span.start]
                self.tight.add(equal)
                self.tight_after.add(equal)
        return super().call(parts, begin, end)

    def call_bare(self, parts: list[Any], begin: int, end: int) -> nodes.Expr:
        self.tight.add(parts[1][0])
        return super().call_bare(parts, begin, end)

    def keyword(self, parts: list[Any], begin: int, end: int) -> tuple[nodes.Name, nodes.Expr]:
        self._equals[begin] = parts[1][0]
        return super().keyword(parts, begin, end)

    def uses(self, parts: list[Any], begin: int, end: int) -> nodes.UsesField:
        self.tight.add(parts[2][0])
        return super().uses(parts, begin, end)

    def uses_bare(self, parts: list[Any], begin: int, end: int) -> nodes.UsesField:
        self.tight.add(parts[2][0])
        return super().uses_bare(parts, begin, end)

    def predicate_none(self, parts: list[Any], begin: int, end: int) -> nodes.Predicate:
        self.tight.add(parts[2][0])
        return super().predicate_none(parts, begin, end)

    def predicate_parameters(self, parts: list[Any], begin: int, end: int) -> nodes.Predicate:
        self.tight.add(parts[2][0])
        return super().predicate_parameters(parts, begin, end)

    def unary_minus(self, parts: list[Any], begin: int, end: int) -> nodes.Expr:
        self.tight_after.add(parts[0][0])
        return super().unary_minus(parts, begin, end)

    def pattern_repeat(self, parts: list[Any], begin: int, end: int) -> nodes.PatternItem:
        self.tight.add(parts[1][0])
        return super().pattern_repeat(parts, begin, end)

    def join_field(self, parts: list[Any], begin: int, end: int) -> list[Any]:
        self.fields.add(_begin(parts[1]))
        return super().join_field(parts, begin, end)

    def join_part(self, parts: list[Any], begin: int, end: int) -> list[Any]:
        self.parts.add(_begin(parts[1]))
        return super().join_part(parts, begin, end)

    def append_part(self, parts: list[Any], begin: int, end: int) -> list[Any]:
        self.parts.add(_begin(parts[2]))
        return super().append_part(parts, begin, end)


def _begin(part: Any) -> int:
    """Where a part of a list begins: a node, or a tuple that holds its first token."""
    if not isinstance(part, tuple):
        start: int = part.span.start
        return start
    place: int = part[0][0] if isinstance(part[0], tuple) else part[1][0]
    return place


def read_tokens(source: Source) -> tuple[list[Token], Roles]:
    """Return the tokens of a text that has no syntax error, as the parser takes them."""
    roles = Roles(source)
    parser = Parser(roles)
    taken: list[tuple[str, int, int]] = []
    parser.taken = taken
    parser.run()
    tokens: list[Token] = []
    ended = False
    for kind, start, end in taken:
        if kind == "SEP":
            ended = True
            continue
        tokens.append(Token(kind, source.text[start:end], start, end, ended))
        ended = False
    return tokens, roles


@mutable
class _Block:
    """An open `{`: whether its parts stand on lines of their own, and the indent of the line that it closes on."""

    broken: bool
    indent: int


@mutable
class Layout:
    """Lays one text out; `text` gives the result, with LF."""

    source: Source
    tokens: list[Token]
    roles: Roles
    comments: tuple[nodes.Comment, ...]
    lines: list[str] = field(factory=list)
    line: str = ""
    indent: int = 0
    hanging: bool = False
    blocks: list[_Block] = field(factory=list)
    closers: dict[int, int] = field(factory=dict)

    def text(self) -> str:
        """Return the whole text laid out."""
        self._pair()
        comments = list(self.comments)
        following = 0
        before: Token | None = None
        for number, token in enumerate(self.tokens):
            gap: list[nodes.Comment] = []
            while following < len(comments) and comments[following].span.start < token.start:
                gap.append(comments[following])
                following += 1
            self._between(before, token, gap)
            self._put(number, token)
            before = token
        self._comments(before, comments[following:], len(self.source.text))
        self._flush()
        while self.lines and not self.lines[-1]:
            self.lines.pop()
        return "".join(line + "\n" for line in self.lines)

    def _pair(self) -> None:
        open_braces: list[int] = []
        for number, token in enumerate(self.tokens):
            if token.kind == "{":
                open_braces.append(number)
            elif token.kind == "}":
                self.closers[open_braces.pop()] = number

    # ---- between two tokens ------------------------------------------------------------------------------------------

    def _between(self, before: Token | None, token: Token, gap: list[nodes.Comment]) -> None:
        """Write what stands before a token: its comments, a line's end, blank lines, spaces."""
        inner = before is not None and before.kind == "{" and self.blocks[-1].broken
        closes = token.kind == "}" and self.blocks[-1].broken
        part = token.start in self.roles.parts
        new = before is None or token.ended or token.start in self.roles.fields or part
        if part and not self.blocks[-1].broken:
            self._space("  ")
            return
        starts = new or inner or closes
        if starts:
            self.hanging = False
        broke = "\n" in self.source.text[before.end : token.start] if before is not None else False
        continued = not starts and (bool(gap) or (broke and before is not None and before.kind != "{" and token.kind != "}"))
        if continued:
            self.hanging = True
        if gap:
            self._comments(before, gap, token.start, blank_at_end=new and not inner)
        if starts or continued:
            if starts and token.ended and not gap and before is not None and begins_continuation(token.text + self.source.text[token.end : token.end + 1]):
                # A clause that begins with a name such as `in`: only a `;` parts it from the one before.
                self.line += ";"
            self._flush()
            if new and not inner and not gap and before is not None and self._blank(before.end, token.start):
                self._empty_line()
            return
        self._space(self._gap(before, token))

    def _comments(self, before: Token | None, gap: list[nodes.Comment], end: int, *, blank_at_end: bool = True) -> None:
        place = before.end if before is not None else 0
        for number, comment in enumerate(gap):
            start = comment.span.start
            own_line = (before is None and number == 0 and not self.line) or "\n" in self.source.text[place:start] or (number == 0 and before is None)
            if not own_line and self.line:
                self.line += "  " + comment.text.rstrip()
            else:
                self._flush()
                if (number > 0 or (before is not None and before.kind != "{")) and self._blank(place, start):
                    self._empty_line()
                self.line = self._margin(comment=True) + comment.text.rstrip()
            place = comment.span.end
            self._flush()
        if gap and blank_at_end and end < len(self.source.text) and self._blank(place, end) and self.source.text[end : end + 1] != "}":
            self._empty_line()

    def _blank(self, start: int, end: int) -> bool:
        return self.source.text.count("\n", start, end) > 1

    def _empty_line(self) -> None:
        if self.lines and self.lines[-1]:
            self.lines.append("")

    def _space(self, space: str) -> None:
        if self.line:
            self.line += space

    def _gap(self, before: Token | None, token: Token) -> str:
        """Return the space between two tokens on one line."""
        if before is None or before.kind in ("(", "[", "..", ".") or token.kind in (")", "]", ",", "?", ":", "..", "."):
            return ""
        if before.kind == "{" and token.kind == "}":
            return ""
        if token.start in self.roles.tight or before.start in self.roles.tight_after:
            return ""
        return " "

    # ---- tokens ------------------------------------------------------------------------------------------------------

    def _put(self, number: int, token: Token) -> None:
        if token.kind == "}":
            block = self.blocks.pop()
            self.indent = block.indent
            self.hanging = False
        if not self.line:
            closing = token.kind in (")", "]")
            self.line = self._margin(closing=closing)
        self.line += token.text
        if token.kind == "{":
            broken = self._breaks(number)
            self.blocks.append(_Block(broken, self.indent))
            if broken:
                self.indent += 1
                self.hanging = False

    def _margin(self, *, comment: bool = False, closing: bool = False) -> str:
        return INDENT * (self.indent + (2 if self.hanging and not closing else 0))

    def _flush(self) -> None:
        if self.line:
            self.lines.append(self.line)
            self.line = ""

    def _breaks(self, number: int) -> bool:
        """Whether a block's parts stand on lines of their own."""
        close = self.closers[number]
        if close == number + 1 and not self._has_comment(self.tokens[number], self.tokens[close]):
            return False
        word = self._word_before(number)
        if self._has_comment(self.tokens[number], self.tokens[close]):
            return True
        inside = self.tokens[number + 1 : close]
        if word in _CLAUSES:
            several = any(each.ended for each in inside)
            return several or "\n" in self.source.text[self.tokens[number].start : self.tokens[close].end]
        if word in _PARTS:
            return len(self.line) + self._length(number, close) > WIDTH
        return True

    def _word_before(self, number: int) -> str:
        """Return the keyword that a block belongs to: the nearest one before it that has blocks."""
        for each in reversed(self.tokens[max(0, number - 6) : number]):
            if each.kind in _CLAUSES or each.kind in _PARTS:
                return each.kind
            if each.kind in ("{", "}") or each.ended:
                break
        return ""

    def _has_comment(self, first: Token, last: Token) -> bool:
        return any(first.start < each.span.start < last.start for each in self.comments) if self.comments else False

    def _length(self, number: int, close: int) -> int:
        length = 0
        for position in range(number, close):
            here, there = self.tokens[position], self.tokens[position + 1]
            length += (2 if there.start in self.roles.parts else len(self._gap(here, there))) + len(there.text)
        return length


_ENDING = re.compile(r"\r\n|\n")


def ending_of(text: str) -> str:
    """Return the line ending of a text: the one that most of its lines have, LF where there is none.

    >>> ending_of("a\\r\\nb\\r\\n") == "\\r\\n"
    True
    """
    crlf = text.count("\r\n")
    return "\r\n" if crlf * 2 > text.count("\n") else "\n"
