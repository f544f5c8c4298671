"""Clauses from nodes: the term, the text, what it reads."""

from __future__ import annotations

from tessera_rules.model.expressions import TermBuilder
from tessera_rules.model.loops import fill
from tessera_rules.model.report import Findings
from tessera_rules.model.scope import Scope
from tessera_rules.model.terms import Term, loop_values, reads
from tessera_rules.model.values import Clause
from tessera_rules.syntax import nodes


def build_clause(node: nodes.Clause, scope: Scope, findings: Findings, code: str) -> Clause:
    """Return a clause of one place; ``code`` is what its refusal is called."""
    term = TermBuilder(scope, findings).boolean(node.expr)
    because = None if node.because is None else fill(node.because.value, scope.loops, node.because.span, findings, string=True)
    return make_clause(term, node.text, because, node, code)


def make_clause(term: Term, text: str, because: str | None, node: nodes.Clause | nodes.ExprField | nodes.Argument, code: str) -> Clause:
    """Return a clause around a term that is built already."""
    span = node.expr.span if isinstance(node, nodes.Clause) else node.span
    return Clause(term, text, because, span, code, reads(term), loop_values(term))


def build_clauses(block: nodes.ClausesField | None, scope: Scope, findings: Findings, code: str) -> tuple[Clause, ...]:
    """Return the clauses of a block in file order; none where there is no block."""
    return () if block is None else tuple(build_clause(clause, scope, findings, code) for clause in block.clauses)
