"""What can be seen in a text without its grammar: blanks and tabs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tessera_rules.check.edits import replace
from tessera_rules.check.registry import Mark, check
from tessera_rules.check.subjects import Where
from tessera_rules.diagnostic import Code
from tessera_rules.source import Source, Span

TRAILING_BLANKS = Code(
    "TSR401",
    "blanks at the end of a line",
    "A line ends with blanks that nobody sees. They show up in every diff that an editor makes of the file.\n\nDelete them; `tsr lint --fix` and `tsr fmt` do.",
    severity="note",
)
TAB_INDENT = Code(
    "TSR402",
    "a line is indented with tabs",
    "A tab is as wide as each reader's editor says, and counts one column in every place that a tool prints. The canonical layout indents by two "
    "blanks.\n\n`tsr lint --fix` writes two blanks for each tab, `tsr fmt` lays the file out.",
    severity="note",
)

_TRAILING = re.compile(r"[ \t]+(?=\r?\n|\Z)")
_INDENT = re.compile(r"^[ \t]*\t[ \t]*(?=[^\s])", re.MULTILINE)


@check(TRAILING_BLANKS, Source)
def trailing_blanks(source: Source, _where: Where) -> Iterator[Mark]:
    """Blanks before a line's end or the end of the file."""
    for match in _TRAILING.finditer(source.text):
        span = Span(source, *match.span())
        yield Mark(span, f"{len(match[0])} blank{'s' if len(match[0]) != 1 else ''} at the end of the line", edits=replace(span, ""))


@check(TAB_INDENT, Source)
def tab_indent(source: Source, _where: Where) -> Iterator[Mark]:
    """Tabs before the first character of a line."""
    for match in _INDENT.finditer(source.text):
        span = Span(source, *match.span())
        yield Mark(span, "the line is indented with a tab", edits=replace(span, match[0].replace("\t", "  ")))
