"""Answers as JSON documents: one function for each kind, the field names of ``docs/schema``."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from tessera_rules.arbiter.decision import Decision
from tessera_rules.diagnostic import Finding
from tessera_rules.errors import RuleError, TesseraError
from tessera_rules.model.request import UNKNOWN, Request
from tessera_rules.source import Span


def plain(value: Any) -> Any:
    """Return a value as JSON has it: versions as text, sets sorted, what is not finite as a word, unknown as null.

    >>> from tessera_rules.model.terms import Version
    >>> plain({"arch": Version("6.4.1"), "shape": (1, 2), "worst": float("inf")})
    {'arch': '6.4.1', 'shape': [1, 2], 'worst': 'inf'}
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Set):
        return sorted((plain(item) for item in value), key=str)
    if isinstance(value, Sequence):
        return [plain(item) for item in value]
    if value is UNKNOWN:
        return None
    return str(value)


def dumps(document: Mapping[str, Any], *, ascii_only: bool = False, sort_keys: bool = False) -> str:
    """Return a document as text, indented, without a last newline."""
    return json.dumps(document, indent=2, ensure_ascii=ascii_only, sort_keys=sort_keys, allow_nan=False)


def position(span: Span) -> dict[str, Any]:
    """Return where a span begins.

    >>> from tessera_rules.source import Source
    >>> position(Span(Source("a.tsr", "tessera 1"), 8, 9))
    {'file': 'a.tsr', 'line': 1, 'column': 9}
    """
    return {"file": span.source.name, "line": span.line, "column": span.column}


def finding_document(finding: Finding) -> dict[str, Any]:
    """Return one finding as ``lint --json`` lists it; ``witness`` only where there is one."""
    document: dict[str, Any] = {
        "code": finding.code,
        "severity": finding.severity,
        "message": finding.message,
        "hint": finding.hint,
        **position(finding.span),
        "end_line": finding.span.end_line,
        "end_column": finding.span.end_column,
        "fixable": finding.fixable,
        "related": [{**position(related.span), "message": related.message} for related in finding.related],
    }
    if finding.witness is not None:
        document["witness"] = plain(finding.witness)
    return document


def findings_document(findings: Iterable[Finding], files: int) -> dict[str, Any]:
    """Return the document of ``lint`` and ``check``; ``files`` is how many files were read."""
    return {"findings": [finding_document(finding) for finding in findings], "files": files}


def error_document(error: TesseraError) -> dict[str, Any]:
    """Return the document of exit 2. Where rules have errors it lists every finding of them."""
    fields = {name: plain(value) for name, value in error.to_json().items()}
    if isinstance(error, RuleError):
        fields["findings"] = [finding_document(finding) for finding in error.findings]
    return {"error": fields}


def request_document(request: Request) -> dict[str, Any]:
    """Return what was asked. ``attrs`` has those that differ from their default; ``layouts`` what was stated."""
    attrs = {name: value for name, value in request.attrs.items() if name not in request.op.attrs or value != request.op.attrs[name].default}
    layouts = {
        name: {part: value for part, value in (("align", layout.align), ("strides", layout.strides), ("dtype", layout.dtype)) if value is not None}
        for name, layout in request.layouts.items()
    }
    document = {
        "op": request.op.name,
        "target": request.target,
        "dtype": request.dtype,
        "attrs": attrs,
        "dims": {name: request.dims[name] for name in request.op.dims if name in request.dims},
        "given": request.given,
        "layouts": layouts,
        "threads": request.threads,
        "allow": request.allow,
        "require": request.require,
        "device": request.device,
    }
    return {name: plain(value) for name, value in document.items()}


def decision_document(decision: Decision, holds_for: str | None = None) -> dict[str, Any]:
    """Return a decision as ``eval --json`` prints it."""
    return {
        "request": request_document(decision.request),
        "winner": decision.winner,
        "tag": decision.tag,
        "criterion": decision.criterion,
        "verdicts": [plain(verdict.to_json()) for verdict in decision.verdicts],
        "residual": [plain(residual.to_json()) for residual in decision.residual],
        "ranking": list(decision.ranking),
        "notes": list(decision.notes),
        "holds_for": holds_for,
    }
