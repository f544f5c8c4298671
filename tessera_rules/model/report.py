"""Collecting findings while a ruleset is built: each cause once."""

from __future__ import annotations

from attrs import define, field

from tessera_rules.diagnostic import Finding


@define
class Findings:
    """What has been found so far. A second finding of the same code at the same place (another member of a family) is dropped."""

    found: list[Finding] = field(factory=list)
    _seen: set[tuple[str, int, int]] = field(factory=set)

    def add(self, finding: Finding) -> None:
        """Keep a finding unless its cause is known already."""
        key = (finding.code, id(finding.span.source), finding.span.start)
        if key not in self._seen:
            self._seen.add(key)
            self.found.append(finding)

    @property
    def errors(self) -> int:
        """How many of the findings are errors."""
        return sum(finding.severity == "error" for finding in self.found)
