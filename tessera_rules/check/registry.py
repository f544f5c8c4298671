"""How a check is declared, and what it yields: the place and the message; the driver fills in the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from attrs import field, frozen

from tessera_rules.diagnostic import Code, Edit, Related, Severity
from tessera_rules.source import Span


@frozen
class Mark:
    """What one check has to say of one place. Code and severity are the check's, unless it says another severity."""

    span: Span
    message: str
    hint: str | None = field(default=None, kw_only=True)
    related: tuple[Related, ...] = field(default=(), kw_only=True)
    edits: tuple[Edit, ...] = field(default=(), kw_only=True)
    severity: Severity | None = field(default=None, kw_only=True)


CheckFunction = Callable[[Any, Any], Iterable[Mark]]
F = TypeVar("F", bound=CheckFunction)


@frozen(eq=False)
class Check:
    """One check: a code, what it looks at, and the function.

    ``whole`` says that it concludes from what is *not* there (nobody uses a predicate), so that it is silent where some text of
    the load could not be read. ``unless`` names codes that say the same better: where one of them is found at an overlapping
    place of the same line, this one is silent.
    """

    code: Code
    over: tuple[type, ...]
    run: CheckFunction
    whole: bool
    unless: tuple[str, ...]


CHECKS: list[Check] = []
"""Every check of the modules imported so far."""


def check(code: Code, *over: type, whole: bool = False, unless: tuple[str, ...] = ()) -> Callable[[F], F]:
    """Declare a check of things of some types: `Source`, any node, or one of the values of `tessera_rules.check.subjects`."""

    def declare(run: F) -> F:
        CHECKS.append(Check(code, over, run, whole, unless))
        return run

    return declare
