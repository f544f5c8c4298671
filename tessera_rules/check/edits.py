"""Edits that take something out of a text without leaving a hole."""

from __future__ import annotations

from tessera_rules.diagnostic import Edit
from tessera_rules.source import Span


def whole_lines(span: Span) -> Edit | None:
    """Return the edit that deletes a span with its lines, or None where something else stands on them.

    A comment on the line is something else: what it says may be about more than this.
    """
    text = span.source.text
    start = text.rfind("\n", 0, span.start) + 1
    end = text.find("\n", span.end)
    end = len(text) if end < 0 else end + 1
    if text[start : span.start].strip() or text[span.end : end].strip(" \t\r\n;"):
        return None
    return Edit(Span(span.source, start, end), "")


def delete_lines(span: Span) -> tuple[Edit, ...]:
    """Return `whole_lines` as the edits of a mark."""
    edit = whole_lines(span)
    return () if edit is None else (edit,)


def replace(span: Span, text: str) -> tuple[Edit, ...]:
    """Return the one edit that puts ``text`` in place of a span."""
    return (Edit(span, text),)
