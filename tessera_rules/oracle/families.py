"""Which probes an op has: the module of `tessera_rules.oracle.probes` that is named like its reference's, or the random ones."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

from attrs import frozen

from tessera_rules.model.values import Op
from tessera_rules.oracle.probes.draft import Asked, Draft, random_drafts

SHIPPED = "tessera_rules.ops."


@frozen(eq=False)
class Family:
    """The probes of one op. ``module`` is None for an op whose reference does not ship; ``sample`` is its ``sample_operands``."""

    module: ModuleType | None
    sample: Any = None

    @staticmethod
    def of(op: Op) -> Family:
        """Return the probes of an op. The module of a reference was imported for the reference itself; nothing else is."""
        if op.reference is None:
            return Family(None)
        path = op.reference.module
        module = None
        if path.startswith(SHIPPED):
            try:
                module = importlib.import_module(f"tessera_rules.oracle.probes.{path.removeprefix(SHIPPED)}")
            except ModuleNotFoundError:
                module = None
            importlib.import_module(path)
        return Family(module, getattr(sys.modules.get(path), "sample_operands", None))

    def values(self, attr: str) -> tuple[Any, ...]:
        """Return values of an attribute that matter; none where the op's module does not say."""
        listed: Mapping[str, tuple[Any, ...]] = getattr(self.module, "ATTRS", {})
        return tuple(listed.get(attr, ()))

    @property
    def sizes(self) -> tuple[Mapping[str, int], ...]:
        """Return sizes at which attributes show, where some do not at others."""
        return tuple(getattr(self.module, "SIZES", ()))

    def structures(self, asked: Asked) -> Iterable[tuple[Mapping[str, Any], frozenset[str]]]:
        """Return combinations of attributes and given operands."""
        if hasattr(self.module, "TOGETHER"):
            return [(attrs, asked.request.given) for attrs in self.module.TOGETHER]  # type: ignore[union-attr]
        make = getattr(self.module, "structures", None)
        return [] if make is None else list(make(asked))

    def exact(self, asked: Asked) -> Iterator[Draft]:
        """Yield inputs whose right result is known bit for bit."""
        if self.module is not None:
            yield from self.module.exact(asked)

    def bound(self, asked: Asked) -> Iterator[Draft]:
        """Yield inputs that are compared inside a bound."""
        if self.module is None:
            yield from random_drafts(asked, self.sample)
        else:
            yield from self.module.bound(asked)
