"""The formatter: one canonical layout, nothing else changed."""

from __future__ import annotations

from tessera_rules.errors import RuleError, TesseraError
from tessera_rules.source import Source
from tessera_rules.syntax import nodes
from tessera_rules.syntax.aliases import without_aliases
from tessera_rules.syntax.layout import Layout, ending_of, read_tokens
from tessera_rules.syntax.parse import parse, parse_items
from tessera_rules.syntax.print_expr import print_expr

__all__ = ["LayoutError", "format_text", "print_expr", "same_meaning"]


class LayoutError(TesseraError):
    """A layout would have changed what the text says. This is a mistake of ours; the text is left alone."""

    kind = "layout"


def format_text(source: Source, *, ending: str | None = None, items: bool = False) -> str:
    """Return a text in the canonical layout.

    One field a line, two spaces of indent, short blocks on one line, at most one blank line between; dtype aliases become the
    canonical words; comments stay, in order. The result is parsed again and compared before it is given back, and laying it
    out again changes nothing.

    ``ending`` is ``"\\n"`` or ``"\\r\\n"``; without it the text keeps its own (of a mixed text the commoner one). ``items``
    takes a text without an edition line. The byte order mark is dropped.

    Raises `RuleError` with the findings for a text that does not parse: what is broken is never rearranged.

    >>> print(format_text(Source("a.tsr", "tessera 1\\npredicate t=M%16==0  # tile\\n")), end="")
    tessera 1
    predicate t = M % 16 == 0  # tile
    """
    read = parse_items if items else parse
    file, findings = read(source)
    if any(finding.severity == "error" for finding in findings):
        raise RuleError(findings)
    plain = Source(source.name, without_aliases(file), source.path)
    if plain.text != source.text:
        file, _ = read(plain)
    tokens, roles = read_tokens(plain)
    text = Layout(plain, tokens, roles, file.comments).text()
    laid = Source(source.name, text, source.path)
    again, problems = read(laid)
    if any(problem.severity == "error" for problem in problems) or not same_meaning(file, again):
        raise LayoutError(f"{source.name}: the layout would change what the text says, so it is left alone", hint="please report the file")
    wanted = ending or ending_of(source.text)
    return text if wanted == "\n" else text.replace("\n", wanted)


def same_meaning(one: nodes.File, other: nodes.File) -> bool:
    """Whether two files say the same: equal nodes, and equal comments in the same order."""
    return one == other and [each.text.rstrip() for each in one.comments] == [each.text.rstrip() for each in other.comments]
