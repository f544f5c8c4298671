"""What the arbiter asks of a machine, be it this one or a stated one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from attrs import frozen

from tessera_rules.model.values import Candidate, Target


@frozen
class Answer:
    """What a probe gave: ``value`` (bool; for ``env`` a string or None) and ``found``, a phrase that says what was there."""

    value: Any
    found: str


class Machine(Protocol):
    """Facts and probe answers. Asking twice gives the same answer until the machine is asked to look again."""

    @property
    def stated(self) -> bool:
        """Whether a document states it, so that nothing is asked of this computer."""

    @property
    def threads(self) -> int:
        """The cores that a request has where it does not say."""

    def devices(self, target: Target) -> tuple[Mapping[str, Any], ...]:
        """Return the facts of each device of a target; empty where no such device is. A fact not listed is missing."""

    def why_no_device(self, target: Target) -> str:
        """Say why a target has no device here."""

    def probe(self, key: str, candidate: Candidate) -> Answer:
        """Answer a probe by its fact key (``probe:library:libx.so``, ``os``); ``candidate`` is who asks (for ``smoke``)."""

    def bound(self, candidate: Candidate) -> Answer:
        """Whether the candidate's binding can be bound here: ``value`` is True, or False and ``found`` says why."""
