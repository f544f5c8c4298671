"""Collecting findings while a ruleset is built: each cause once."""

from __future__ import annotations

from attrs import define, field

from tessera_rules.diagnostic import Finding, sort_key

ELSEWHERE = ("TSR202", "TSR203", "TSR204", "TSR308", "TSR322")
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

    def sorted(self) -> tuple[Finding, ...]:
        """Return what was found in order, without those on the line of a syntax error: what was made of half a line is the same cause."""
        lines = {(each.span.source, each.span.line) for each in self.found if each.code.startswith("TSR0") and each.severity == "error"}
        crowded = any(each.code == "TSR017" for each in self.found)  # more declarations than a load may have, counted twice
        kept = [
            each
            for each in self.found
            if each.code.startswith("TSR0") or ((each.span.source, each.span.line) not in lines and not (crowded and each.code == "TSR317"))
        ]
        return tuple(sorted(kept, key=sort_key))
