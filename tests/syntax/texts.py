"""What the tests of `syntax` share: reading a text, and the examples of the language's reference."""

from __future__ import annotations

from pathlib import Path

from tessera_rules.diagnostic import Finding
from tessera_rules.source import Source
from tessera_rules.syntax import nodes, parse, parse_expression, parse_items

EXAMPLES = sorted((Path(__file__).parent / "examples").glob("*.tsr"))


def example(name: str) -> str:
    """The text of one example."""
    return (Path(__file__).parent / "examples" / f"{name}.tsr").read_text(encoding="utf-8")


def items(text: str) -> nodes.File:
    """A text that must have no finding, without an edition line."""
    file, findings = parse_items(Source("t.tsr", text))
    assert findings == (), [(finding.code, finding.message) for finding in findings]
    return file


def expr(text: str) -> nodes.Expr:
    """An expression that must have no finding."""
    found, findings = parse_expression(Source("t.tsr", text))
    assert findings == (), [(finding.code, finding.message) for finding in findings]
    assert found is not None
    return found


def findings(text: str, *, whole: bool = False) -> tuple[Finding, ...]:
    """What is wrong with a text."""
    return (parse if whole else parse_items)(Source("t.tsr", text))[1]


def places(text: str, *, whole: bool = False) -> list[tuple[str, int, int]]:
    """Code, line and column of every finding."""
    return [(finding.code, finding.span.line, finding.span.column) for finding in findings(text, whole=whole)]


def clauses(text: str) -> tuple[nodes.Clause, ...]:
    """The clauses of a `requires` block with this body."""
    (candidate,) = items("candidate c {\n  requires {\n" + text + "\n  }\n}\n").items
    assert isinstance(candidate, nodes.Declaration)
    (block,) = candidate.fields
    assert isinstance(block, nodes.ClausesField)
    return block.clauses
