"""The nearest valid name, for messages."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known name that a misspelt word most likely means, or None.

    >>> nearest("casual", ["causal", "scale"])
    'causal'
    """
    names = list(dict.fromkeys(known))
    lowered = {name.lower(): name for name in reversed(names)}
    if word.lower() in lowered:
        return lowered[word.lower()]
    found = get_close_matches(word.lower(), list(lowered), n=1, cutoff=0.6)
    return lowered[found[0]] if found else None


def did_you_mean(word: str, known: Iterable[str], what: str = "name") -> str:
    """Return ``did you mean 'causal'?`` or, with nothing near, the names that there are.

    >>> did_you_mean("x", ["causal", "scale"], "attribute")
    "the attributes are 'causal', 'scale'"
    """
    names = list(dict.fromkeys(known))
    near = nearest(word, names)
    if near is not None:
        return f"did you mean '{near}'?"
    if not names:
        return f"there is no {what} to choose from"
    shown = ", ".join(f"'{name}'" for name in names[:12]) + (", …" if len(names) > 12 else "")
    return f"the {what}s are {shown}" if len(names) > 1 else f"the only {what} is {shown}"
