"""Collecting findings while a ruleset is built: each cause once."""

from __future__ import annotations

from attrs import define, field

from tessera_rules.diagnostic import Finding, sort_key
from tessera_rules.model.causes import ELSEWHERE, without_echoes


@define
class Findings:
    """What has been found so far. A second finding of the same code at the same place (another member of a family) is dropped.

    ``incomplete`` says that a file of the load is missing or unreadable: names that nobody declares may be declared there,
    so nothing is said of them (one cause, one finding). ``lost`` are the words of ops and targets that could not be read whole.
    """

    found: list[Finding] = field(factory=list)
    incomplete: bool = False
    lost: frozenset[str] = frozenset()
    _seen: set[tuple[str, int, int]] = field(factory=set)

    def add(self, finding: Finding) -> None:
        """Keep a finding unless its cause is known already."""
        if self.incomplete and finding.code in ELSEWHERE:
            return
        key = (finding.code, id(finding.span.source), finding.span.start)
        if key not in self._seen:
            self._seen.add(key)
            self.found.append(finding)

    def sorted(self) -> tuple[Finding, ...]:
        """Return what was found in order, without what only says again what another finding is the cause of."""
        return tuple(sorted(without_echoes(self.found, self.lost), key=sort_key))
