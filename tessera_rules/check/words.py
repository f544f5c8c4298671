"""Which words a file uses, read from its nodes: what `unused` checks count."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from tessera_rules.syntax import nodes

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*+"?|#[^\n]*|[A-Za-z_][A-Za-z0-9_]*')
_LOOP_PART = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


def count_words(file: nodes.File) -> Mapping[str, int]:
    """Return how often each word stands in a file: names outside of comments, and ``{s}`` parts inside strings."""
    return words_of(file.source.text)


def words_of(text: str) -> Counter[str]:
    """Return how often each word stands in a piece of text.

    >>> sorted(words_of('a_{s} == "x{t}" # b').items())
    [('a_', 1), ('s', 1), ('t', 1)]
    """
    found: Counter[str] = Counter()
    for match in _TOKEN.finditer(text):
        piece = match[0]
        if piece[0] == "#":
            continue
        if piece[0] == '"':
            found.update(_LOOP_PART.findall(piece))
        else:
            found[piece] += 1
    return found
