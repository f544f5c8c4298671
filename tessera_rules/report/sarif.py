"""Findings as SARIF 2.1.0 (OASIS, 27 March 2020)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from urllib.parse import quote

from tessera_rules.diagnostic import CODES, Finding
from tessera_rules.source import Span

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif_document(findings: Iterable[Finding]) -> dict[str, Any]:
    """Return one run with its findings. Lines and columns are counted from 1, in code points, as everywhere else.

    >>> sarif_document([])["runs"][0]["columnKind"]
    'unicodeCodePoints'
    """
    shown = list(findings)
    codes = sorted({finding.code for finding in shown})
    index = {code: at for at, code in enumerate(codes)}
    try:
        release = version("tessera-rules")
    except PackageNotFoundError:
        release = "0"
    driver = {
        "name": "tsr",
        "version": release,
        "informationUri": "https://pypi.org/project/tessera-rules/",
        "rules": [_rule(code) for code in codes],
    }
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": [_result(finding, index) for finding in shown]}],
    }


def _rule(code: str) -> dict[str, Any]:
    known = CODES.get(code)
    if known is None:
        return {"id": code}
    first = known.text.strip().split("\n\n", 1)[0].replace("\n", " ")
    return {
        "id": code,
        "shortDescription": {"text": known.title},
        "fullDescription": {"text": first},
        "help": {"text": known.text.strip(), "markdown": known.text.strip()},
        "defaultConfiguration": {"level": known.severity},
    }


def _result(finding: Finding, index: dict[str, int]) -> dict[str, Any]:
    message = finding.message if finding.hint is None else f"{finding.message} ({finding.hint})"
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index[finding.code],
        "level": finding.severity,
        "message": {"text": message},
        "locations": [{"physicalLocation": _place(finding.span)}],
    }
    if finding.related:
        result["relatedLocations"] = [
            {"id": number, "physicalLocation": _place(related.span), "message": {"text": related.message}}
            for number, related in enumerate(finding.related, start=1)
        ]
    if finding.edits:
        result["fixes"] = [_fix(finding)]
    return result


def _place(span: Span) -> dict[str, Any]:
    return {"artifactLocation": {"uri": _uri(span.source.name)}, "region": _region(span)}


def _region(span: Span) -> dict[str, int]:
    return {"startLine": span.line, "startColumn": span.column, "endLine": span.end_line, "endColumn": span.end_column}


def _fix(finding: Finding) -> dict[str, Any]:
    by_source: dict[str, list[dict[str, Any]]] = {}
    for edit in finding.edits:
        by_source.setdefault(edit.span.source.name, []).append({"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}})
    changes: Sequence[dict[str, Any]] = [{"artifactLocation": {"uri": _uri(name)}, "replacements": edits} for name, edits in by_source.items()]
    return {"description": {"text": f"mend {finding.code}"}, "artifactChanges": changes}


def _uri(name: str) -> str:
    """Return a file's name as a URI: relative as typed, absolute with its scheme, odd characters escaped."""
    path = quote(name.replace(os.sep, "/"), safe="/-._~")
    return f"file://{path}" if path.startswith("/") else path
