"""What a value is: its kind for messages, whether it has a type, how a verdict shows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tessera_rules.model.terms import Version
from tessera_rules.model.types import Type


class ClauseError(Exception):
    """A clause has no answer: a divisor that is not positive, a wrong type, a missing fact, a number past the limits."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClauseError) and self.message == other.message

    def __hash__(self) -> int:
        return hash(self.message)


def kind_of(value: Any) -> str:
    """Say what a value is, with its article where it has one.

    >>> kind_of(3), kind_of(None), kind_of(True), kind_of("f16")
    ('an integer', 'null', 'a boolean', 'a word')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    for kind, name in ((int, "an integer"), (float, "a float"), (str, "a word"), (Version, "a version"), (tuple | list, "a list")):
        if isinstance(value, kind):
            return name
    return f"a {type(value).__name__}"


def shown(value: Any) -> str:
    """A value for messages, cut short where it is long."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value.bit_length() > 256:
        return f"a number of {value.bit_length()} bits"
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(shown, value[:8]))}{', …' if len(value) > 8 else ''}]"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 80 else text[:79] + "…"


def typed(value: Any, kind: Type, name: str) -> Any:
    """Return a fact's value as its type has it: a version from its text, a list as a tuple. Raises `ClauseError` on a wrong type."""
    if value is None:
        if kind.nullable or kind.kind in ("null", "any"):
            return None
        raise ClauseError(f"{name} is null, and {article(kind)} was expected")
    match kind.kind:
        case "int":
            fits = isinstance(value, int) and not isinstance(value, bool)
        case "float":
            fits = isinstance(value, int | float) and not isinstance(value, bool)
        case "bool":
            fits = isinstance(value, bool)
        case "string" | "word" | "dtype":
            fits = isinstance(value, str)
        case "version":
            if isinstance(value, str):
                try:
                    return Version(value)
                except ValueError:  # a component of thousands of digits
                    raise ClauseError(f"{name} is {shown(value)}, which is no version") from None
            fits = isinstance(value, Version)
        case "list":
            if isinstance(value, list):
                return tuple(value)
            fits = isinstance(value, tuple)
        case "null":
            fits = False
        case _:
            return tuple(value) if isinstance(value, list) else value
    if not fits:
        raise ClauseError(f"{name} is {shown(value)}, and {article(kind)} was expected")
    return value


def article(kind: Type) -> str:
    """Return a type with its article, for messages."""
    text = kind.describe()
    return f"{'an' if kind.kind == 'int' else 'a'} {text}" if kind.kind != "word" else text


def values_of(names: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return named values as a verdict shows them: versions as text, lists as lists; a name met twice keeps its first value."""
    found: dict[str, Any] = {}
    for name, value in names:
        found.setdefault(name, plain(value))
    return found


def plain(value: Any) -> Any:
    """A value as JSON has it.

    >>> plain((Version("12.9"), "f16", None))
    ['12.9', 'f16', None]
    """
    if isinstance(value, Version):
        return value.text
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return value
