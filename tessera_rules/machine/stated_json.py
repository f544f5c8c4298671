"""Reading the JSON of a machine: each value with its place, each mistake with what was expected there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import frozen

from tessera_rules.errors import UsageError
from tessera_rules.nearest import did_you_mean, nearest


@frozen
class Reader:
    """One value of a document: ``name`` is the document's, ``path`` the way to the value."""

    value: Any
    name: str
    path: str = ""

    def wrong(self, expected: str) -> UsageError:
        """Return the error that says what was expected here and what stands there."""
        return UsageError(f"{self.name}: {self.path or 'the document'} is {_kind(self.value)}; expected: {expected}")

    def _inner(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def open_mapping(self) -> dict[str, Reader]:
        """Return the members of an object, whatever they are called."""
        if not isinstance(self.value, Mapping):
            raise self.wrong("an object, {…}")
        return {str(key): Reader(value, self.name, self._inner(str(key))) for key, value in self.value.items()}

    def mapping(self, known: Iterable[str]) -> dict[str, Reader]:
        """Return the members of an object that has no others than ``known``."""
        members, names = self.open_mapping(), list(known)
        for key, member in members.items():
            if key not in names:
                raise UsageError(f"{self.name}: '{member.path}' is nothing that a machine states", hint=did_you_mean(key, names, "name"))
        return members

    def near_misses(self, known: Iterable[str]) -> None:
        """Raise for a member that is one of ``known`` misspelt; others are let be."""
        names = list(known)
        for key, member in self.open_mapping().items():
            if key not in names and nearest(key, names) is not None:
                raise UsageError(f"{self.name}: '{member.path}' is nothing that a machine states", hint=did_you_mean(key, names, "name"))

    def items(self) -> list[Reader]:
        """Return the items of an array."""
        if not isinstance(self.value, list):
            raise self.wrong("an array, […]")
        return [Reader(value, self.name, f"{self.path}[{index}]") for index, value in enumerate(self.value)]

    def string(self) -> str:
        """Return a string."""
        if not isinstance(self.value, str):
            raise self.wrong("a string")
        return self.value

    def strings(self) -> list[str]:
        """Return an array of strings."""
        return [item.string() for item in self.items()]

    def boolean(self) -> bool:
        """Return a boolean."""
        if not isinstance(self.value, bool):
            raise self.wrong("true or false")
        return self.value

    def positive(self) -> int:
        """Return an integer from 1 up."""
        if not isinstance(self.value, int) or isinstance(self.value, bool) or self.value < 1:
            raise self.wrong("an integer from 1 up")
        return self.value

    def facts(self) -> dict[str, Any]:
        """Return the facts of one device: numbers, strings, booleans, or lists of them."""
        for member in self.open_mapping().values():
            if isinstance(member.value, Mapping) or (isinstance(member.value, list) and any(isinstance(item, list | Mapping) for item in member.value)):
                raise member.wrong("a fact is a number, a string, a boolean or a list of them")
        return dict(self.value)


def _kind(value: Any) -> str:
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list):
        return "an array"
    if isinstance(value, str):
        return f'"{value[:60]}"'
    return {None: "null", True: "true", False: "false"}.get(value, str(value)) if value is None or isinstance(value, bool) else str(value)[:60]
