"""A request: what is asked of an op, with some of it perhaps not known yet."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

from attrs import field, frozen

from tessera_rules.model.values import Op, StatedLayout


class Unknown(Enum):
    """The value of a name that has none yet."""

    UNKNOWN = "unknown"


UNKNOWN: Final = Unknown.UNKNOWN
DEFAULT_ALIGN = 64
"""Bytes: where nothing is stated, operands lie at 64-byte-aligned addresses (language.md §2)."""
MAX_ALIGN = 4096
"""Bytes: alignments beyond a page are not told apart."""


@frozen(eq=False)
class Request:
    """What is asked: an op on a target, with a dtype, attributes, dimensions, operands given and layouts.

    ``dims`` holds only those that are known; ``attrs`` holds every attribute of the op, defaults filled in; ``dtype`` is
    None where it is not known. ``layouts`` holds what was stated (or read off arrays) per operand. ``workspace_bytes``,
    where the caller says how much there is. Built and checked by `bind_words` or from operands; the caller's mistakes are
    `OperandError`.
    """

    op: Op
    target: str
    dtype: str | None
    dims: Mapping[str, int]
    attrs: Mapping[str, Any]
    given: frozenset[str] = frozenset()
    layouts: Mapping[str, StatedLayout] = field(factory=dict)
    threads: int | None = None
    allow: frozenset[str] = frozenset()
    require: frozenset[str] = frozenset()
    device: int = 0
