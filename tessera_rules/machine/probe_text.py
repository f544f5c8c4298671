"""Fact keys of probes taken apart, and ``$NAME`` in their strings."""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import frozen

PROBE_KINDS = ("library", "symbol", "executable", "file", "env", "python", "cpu", "call", "smoke")
_VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")


class UnsetVariable(Exception):
    """A probe names an environment variable that is not set; ``name`` is which."""

    def __init__(self, name: str) -> None:
        super().__init__(f"${name} is not set")
        self.name = name


@frozen
class ProbeKey:
    """A probe: its kind (one of `PROBE_KINDS`) and its text. A symbol's text is ``LIBRARY:NAME``."""

    kind: str
    text: str

    @property
    def symbol(self) -> tuple[str, str]:
        """The library and the name of a ``symbol`` probe. A library's path may hold colons, a symbol's name holds none.

        >>> split_key("probe:symbol:C:/x.dll:f").symbol
        ('C:/x.dll', 'f')
        """
        library, _, name = self.text.rpartition(":")
        return library, name


def split_key(key: str) -> ProbeKey:
    """Return what the key of a probe asks.

    >>> split_key("probe:library:libx.so")
    ProbeKey(kind='library', text='libx.so')
    """
    _, kind, text = key.split(":", 2)
    return ProbeKey(kind, text)


def expanded(text: str, environment: Mapping[str, str | None]) -> str:
    """Return a text with each ``$NAME`` replaced. Raises `UnsetVariable`.

    >>> expanded("$ROCM/lib", {"ROCM": "/opt/rocm"})
    '/opt/rocm/lib'
    """

    def value(match: re.Match[str]) -> str:
        found = environment.get(match[1])
        if found is None:
            raise UnsetVariable(match[1])
        return found

    return _VARIABLE.sub(value, text)


def plain_probe(text: str) -> str:
    """Return the text of a probe without what people write differently: white space, quotes, brackets, the function's name.

    >>> plain_probe('probe python "m:f"'), plain_probe("smoke(M=16, given=[bias])"), plain_probe("M=16 given=bias")
    ('m:f', 'M=16,given=bias', 'M=16,given=bias')
    """
    whole = text.strip()
    for head in ("probe python", "smoke"):
        whole = whole.removeprefix(head)
    return ",".join(part for part in re.split(r"[\s,]+", re.sub(r"[()\[\]\"']", " ", whole)) if part).replace("=,", "=")
