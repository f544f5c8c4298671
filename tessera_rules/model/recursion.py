"""Predicates that need themselves, whether or not anybody asks for them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import attrs

from tessera_rules.diagnostic import Related
from tessera_rules.model import codes
from tessera_rules.model.report import Findings
from tessera_rules.model.scope import PredicateDef
from tessera_rules.source import Span
from tessera_rules.syntax import nodes


def check_recursion(predicates: Mapping[str, PredicateDef], taken: Collection[str], findings: Findings) -> None:
    """Report TSR305 once for each circle that no use has reported; a name in ``taken`` may mean something of an op instead."""
    reported = {each.span for each in findings.found if each.code == codes.RECURSION.code}
    done: set[str] = set()
    for start in predicates:
        path: list[str] = []
        stack: list[tuple[str, Iterator[tuple[str, Span]]]] = []
        if start not in done:
            path, stack = [start], [(start, _needs(predicates, start, taken))]
        while stack:
            step = next(stack[-1][1], None)
            if step is None:
                done.add(path.pop())
                stack.pop()
                continue
            name, span = step
            if name in path:
                circle = path[path.index(name) :]
                if not any(predicates[each].node.name.span in reported for each in circle):
                    chain = " → ".join([*circle, name])
                    findings.add(
                        codes.RECURSION.at(
                            predicates[name].node.name.span,
                            f"predicate {name} needs itself: {chain}",
                            hint="predicates are not recursive",
                            related=(Related(span, "asked for here"),),
                        )
                    )
            elif name not in done:
                path.append(name)
                stack.append((name, _needs(predicates, name, taken)))


def _needs(predicates: Mapping[str, PredicateDef], name: str, taken: Collection[str]) -> Iterator[tuple[str, Span]]:
    """Yield the predicates that one asks for by name, in the order of its text."""
    node = predicates[name].node
    own = {*(each.text for each in node.parameters), *taken}
    stack: list[Any] = [node.body]
    while stack:
        expr = stack.pop()
        if isinstance(expr, tuple):
            stack.extend(reversed(expr))
        elif isinstance(expr, nodes.Expr):
            asked = expr.name if isinstance(expr, nodes.NameRef) else expr.function if isinstance(expr, nodes.Call) else None
            if asked is not None and asked in predicates and asked not in own:
                yield asked, expr.span
            stack.extend(getattr(expr, each.name) for each in reversed(attrs.fields(type(expr))) if each.eq)
