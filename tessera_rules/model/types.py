"""The types of expressions: what a name can be compared with, and what a function takes."""

from __future__ import annotations

from typing import Literal

from attrs import frozen

TypeKind = Literal["int", "float", "bool", "string", "dtype", "version", "word", "list", "null", "any"]


@frozen
class Type:
    """The type of a term. ``words`` are the values of a ``one of`` (kind ``word``); ``item`` is what a list holds.

    ``nullable`` marks what may be ``null`` (``float?``). ``any`` is what a name that is not known stands for, so that one
    mistake gives one finding.
    """

    kind: TypeKind
    words: tuple[str, ...] = ()
    item: Type | None = None
    nullable: bool = False

    @property
    def numeric(self) -> bool:
        """Whether arithmetic and order apply."""
        return self.kind in ("int", "float", "any")

    def describe(self) -> str:
        """Return the type as a person would write it.

        >>> LIST_OF_INT.describe()
        'list of int'
        """
        mark = "?" if self.nullable else ""
        if self.kind == "word":
            return f"one of [{', '.join(self.words)}]{mark}"
        if self.kind == "list":
            if self.item is None:
                return "list"
            inner = f"[{', '.join(self.item.words)}]" if self.item.kind == "word" else self.item.describe()
            return f"list of {inner}{mark}"
        return self.kind + mark


INT = Type("int")
FLOAT = Type("float")
BOOL = Type("bool")
STRING = Type("string")
DTYPE = Type("dtype")
VERSION = Type("version")
NULL = Type("null")
ANY = Type("any")
LIST_OF_INT = Type("list", item=INT)
