"""Text with places: a source is one file's text, a span is a piece of it."""

from __future__ import annotations

from bisect import bisect_right

from attrs import field, frozen


def _line_starts(text: str) -> tuple[int, ...]:
    starts = [0]
    position = text.find("\n")
    while position >= 0:
        starts.append(position + 1)
        position = text.find("\n", position + 1)
    return tuple(starts)


@frozen(eq=False, repr=False)
class Source:
    """One text that rules are read from.

    ``name`` is what people see (the path as they typed it, or ``<repl>``); ``text`` has no byte order mark and keeps
    its own line endings; offsets everywhere are code points into ``text``.

    >>> Source("a.tsr", "tessera 1\\nuse").position(11)
    (2, 2)
    """

    name: str
    text: str
    path: str | None = None
    bom: bool = False
    starts: tuple[int, ...] = field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "starts", _line_starts(self.text))

    def position(self, offset: int) -> tuple[int, int]:
        """Return line and column of an offset, both counted from 1, in code points; a tab counts one."""
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def line_text(self, line: int) -> str:
        """Return the text of a line (counted from 1) without its ending."""
        start = self.starts[line - 1]
        end = self.starts[line] if line < len(self.starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")

    def __repr__(self) -> str:
        return f"Source({self.name!r})"


@frozen(repr=False)
class Span:
    """A piece of a source, from ``start`` up to but not with ``end`` (code points)."""

    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        """The line of the first character, from 1."""
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        """The column of the first character, from 1."""
        return self.source.position(self.start)[1]

    @property
    def end_line(self) -> int:
        """The line of the place just past the last character, from 1."""
        return self.source.position(self.end)[0]

    @property
    def end_column(self) -> int:
        """The column just past the last character, from 1."""
        return self.source.position(self.end)[1]

    @property
    def text(self) -> str:
        """The text that the span covers, as written."""
        return self.source.text[self.start : self.end]

    def to(self, other: Span) -> Span:
        """Return the span from this one's start to the other's end."""
        return Span(self.source, self.start, max(self.end, other.end))

    def __repr__(self) -> str:
        return f"{self.source.name}:{self.line}:{self.column}"
