"""The fields of a declaration by keyword: each once, the needed ones there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from tessera_rules.diagnostic import Related
from tessera_rules.model import codes
from tessera_rules.model.loops import Loops, fill
from tessera_rules.model.report import Findings
from tessera_rules.source import Span
from tessera_rules.syntax import nodes

REPEATABLE = {
    "op": {"operand", "inout", "dim", "result", "attr", "check"},
    "target": {"fact"},
    "candidate": {"uses", "packs"},
    "rule": {"prefer"},
    "policy": set[str](),
    "test": {"expect", "assume"},
}

F = TypeVar("F", bound=nodes.Field)


class Fields:
    """Fields of one declaration. Reports TSR103 for one that stands twice; the first one counts."""

    def __init__(self, declaration: nodes.Declaration, findings: Findings) -> None:
        self.declaration = declaration
        self.findings = findings
        self.by_keyword: dict[str, list[nodes.Field]] = {}
        for item in declaration.fields:
            known = self.by_keyword.setdefault(item.keyword, [])
            if known and item.keyword not in REPEATABLE[declaration.kind]:
                findings.add(
                    codes.DUPLICATE_FIELD.at(
                        item.keyword_span,
                        f"`{item.keyword}` stands twice in {declaration.kind} {declaration.name.text}",
                        hint="join the two, or delete one",
                        related=(Related(known[0].keyword_span, "the first one"),),
                    )
                )
                continue
            known.append(item)

    def get(self, keyword: str, kind: type[F]) -> F | None:
        """Return the field with a keyword, or None."""
        found = self.by_keyword.get(keyword)
        return found[0] if found and isinstance(found[0], kind) else None

    def all(self, keyword: str, kind: type[F]) -> Iterator[F]:
        """Yield every field with a keyword, in file order."""
        for item in self.by_keyword.get(keyword, ()):
            if isinstance(item, kind):
                yield item

    def need(self, *keywords: str) -> bool:
        """Whether all of these are there. Reports TSR102 once for those that are missing, unless a syntax error lies in the block."""
        missing = [keyword for keyword in keywords if keyword not in self.by_keyword]
        if missing and not self.declaration.damaged:
            shown = ", ".join(f"`{keyword}`" for keyword in missing)
            name = self.declaration.name
            self.findings.add(
                codes.MISSING_FIELD.at(
                    _name_span(self.declaration),
                    f"{self.declaration.kind} {name.text} lacks {shown}",
                    hint=f"add {'them' if len(missing) > 1 else 'it'} to the block",
                )
            )
        return not missing

    def doc(self, loops: Loops) -> str | None:
        """Return the documentation string of the block."""
        found = self.get("doc", nodes.DocField)
        return fill(found.value.value, loops, found.value.span, self.findings, string=True) if found else None


def _name_span(declaration: nodes.Declaration) -> Span:
    return declaration.name.span if declaration.name.text else declaration.span
