"""Collecting findings while a ruleset is built: each cause once."""

from __future__ import annotations

from attrs import define, field

from tessera_rules.diagnostic import Finding

ELSEWHERE = ("TSR202", "TSR203", "TSR204", "TSR308")
"""Codes of names that another file may declare."""


@define
class Findings:
    """What has been found so far. A second finding of the same code at the same place (another member of a family) is dropped.

    ``incomplete`` says that a file of the load is missing or unreadable: names that nobody declares may be declared there,
    so nothing is said of them (one cause, one finding).
    """

    found: list[Finding] = field(factory=list)
    incomplete: bool = False
    _seen: set[tuple[str, int, int]] = field(factory=set)

    def add(self, finding: Finding) -> None:
        """Keep a finding unless its cause is known already."""
        if self.incomplete and finding.code in ELSEWHERE:
            return
        key = (finding.code, id(finding.span.source), finding.span.start)
        if key not in self._seen:
            self._seen.add(key)
            self.found.append(finding)

    @property
    def errors(self) -> int:
        """How many of the findings are errors."""
        return sum(finding.severity == "error" for finding in self.found)
