"""The text that ``tsr lint`` prints: findings file by file, then what they come to."""

from __future__ import annotations

from collections.abc import Iterable

from tessera_rules.diagnostic import Finding
from tessera_rules.report.text import Paint, count_findings, render_finding

PLAIN = Paint()


def render_report(findings: Iterable[Finding], files: int, paint: Paint = PLAIN) -> str:
    """Return the whole report, without a last newline.

    >>> render_report([], 2)
    'no findings in 2 files'
    """
    shown = list(findings)
    parts = [render_finding(finding, paint) for finding in shown]
    fixable = sum(finding.fixable for finding in shown)
    last = f"{count_findings(shown)} in {files} file{'s' if files != 1 else ''}"
    if fixable:
        last += f"; {fixable} can be mended by --fix"
    worst = "error" if any(finding.severity != "note" for finding in shown) else "good"
    return "\n".join([*parts, paint(worst, last)])
