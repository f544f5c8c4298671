"""Colours for a line of the REPL: keywords, names that are known, strings, numbers, comments."""

from __future__ import annotations

import re

from tessera_rules.model.values import Ruleset
from tessera_rules.repl.console import DECLARATIONS, VERBS

_FIELDS = (
    "tier target op tags available requires computes honours guard avoid accuracy cost bind uses workspace packs because "
    "and or not in like if else true false null when deny prefer over force step expect request device assume"
)
WORDS = frozenset((*DECLARATIONS, *VERBS, *_FIELDS.split()))
_PIECE = re.compile(r'(?P<comment>#.*)|(?P<string>"(?:\\.|[^"\\])*"?)|(?P<number>\b\d[\w.]*)|(?P<word>[A-Za-z_]\w*)|(?P<other>.)')


def fragments(line: str, ruleset: Ruleset) -> list[tuple[str, str]]:
    """Return a line in pieces with what each is: ``keyword name string number comment`` or nothing. The pieces join to the line."""
    found: list[tuple[str, str]] = []
    for match in _PIECE.finditer(line):
        kind, text = match.lastgroup or "other", match.group()
        if kind == "word":
            known = text in ruleset.ops or text in ruleset.candidates or text in ruleset.targets
            kind = "keyword" if text in WORDS else "name" if known else ""
        elif kind == "other":
            kind = ""
        found.append((kind, text))
    return found
