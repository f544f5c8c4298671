"""Families: every declaration of a load with the loop values around it, `for` by `for`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from attrs import define, field, frozen

from tessera_rules.model import codes
from tessera_rules.model.constant import NotConstant, scalar
from tessera_rules.model.loops import Loops, LoopValue, name_text
from tessera_rules.model.report import Findings
from tessera_rules.syntax import nodes

MAX_DECLARATIONS = 100_000


@frozen(eq=False)
class Declared:
    """One declaration with the loops around it; of a family, one member."""

    node: nodes.Declaration | nodes.Predicate
    loops: Loops


@define
class Expander:
    """Goes through files and families. ``targets_with_op`` says which targets have a candidate for an op so far."""

    findings: Findings
    targets_with_op: Mapping[str, tuple[str, ...]] = field(factory=dict)
    derives: bool = False
    count: int = 0

    def expand(self, files: Iterable[nodes.File]) -> list[Declared]:
        """Return every declaration in load order."""
        found: list[Declared] = []
        for file in files:
            found.extend(self._items(file.items, {}))
            if self.count > MAX_DECLARATIONS:
                break
        return found

    def _items(self, items: tuple[nodes.Item, ...], loops: Loops) -> Iterator[Declared]:
        for item in items:
            if isinstance(item, nodes.For):
                if isinstance(item.source, nodes.TargetsWithOp):
                    self.derives = True
                for inner in rounds(item.names, item.source, loops, self.findings, self.targets_with_op):
                    yield from self._items(item.body, inner)
                    if self.count > MAX_DECLARATIONS:
                        return
                continue
            self.count += 1
            if self.count > MAX_DECLARATIONS:
                self.findings.add(codes.TOO_MANY.at(item.name.span, f"this is declaration {MAX_DECLARATIONS + 1}, and a load has at most {MAX_DECLARATIONS}"))
                return
            yield Declared(item, loops)


def rounds(
    names: tuple[nodes.Name, ...], source: nodes.ForSource, loops: Loops, findings: Findings, targets_with_op: Mapping[str, tuple[str, ...]]
) -> list[Loops]:
    """Return the loop values of each round of a `for`, those around it included. Reports TSR311."""
    texts = [name.text for name in names]
    for i, name in enumerate(names):
        if name.text in texts[:i]:
            findings.add(codes.BAD_SOURCE.at(name.span, f"'{name.text}' is bound twice"))
    if isinstance(source, nodes.TargetsWithOp):
        if len(names) != 1:
            findings.add(codes.BAD_SOURCE.at(source.span, "`targets with op` binds one name"))
        return [{**loops, texts[0]: LoopValue("name", target)} for target in targets_with_op.get(name_text(source.op, loops, findings), ())]
    if isinstance(source, nodes.RangeExpr):
        if len(names) != 1:
            findings.add(codes.BAD_SOURCE.at(source.span, "a range binds one name"))
        return [{**loops, texts[0]: LoopValue("int", value)} for value in _range(source, loops, findings)]
    if not isinstance(source, nodes.ListExpr):
        findings.add(codes.BAD_SOURCE.at(source.span, "a `for` goes through a list, a range or `targets with op NAME`"))
        return []
    found: list[Loops] = []
    for item in source.items:
        parts = item.items if isinstance(item, nodes.TupleExpr) else (item,)
        if len(parts) != len(names):
            findings.add(
                codes.BAD_SOURCE.at(
                    item.span,
                    f"{len(names)} name{'s are' if len(names) != 1 else ' is'} bound, and this item has {len(parts)} value{'s' if len(parts) != 1 else ''}",
                )
            )
            continue
        try:
            found.append({**loops, **{text: scalar(part, loops) for text, part in zip(texts, parts, strict=True)}})
        except NotConstant as problem:
            findings.add(codes.BAD_SOURCE.at(problem.expr.span, f"the values of a `for` are fixed: {problem}"))
    return found


def _range(source: nodes.RangeExpr, loops: Loops, findings: Findings) -> range:
    values: list[int] = []
    for part in (source.low, source.high, source.step):
        if part is None:
            values.append(1)
            continue
        try:
            value = scalar(part, loops)
        except NotConstant as problem:
            findings.add(codes.BAD_SOURCE.at(problem.expr.span, f"the ends of a range are fixed here: {problem}"))
            return range(0)
        if value.kind != "int":
            findings.add(codes.BAD_SOURCE.at(part.span, "the ends and the step of a range are integers"))
            return range(0)
        values.append(value.value)
    low, high, step = values
    if source.high is None:
        findings.add(codes.BAD_RANGE.at(source.span, "a `for` goes through a range with both ends"))
        return range(0)
    if low > high or step <= 0:
        findings.add(codes.BAD_RANGE.at(source.span, f"{low}..{high} step {step} holds nothing" if step > 0 else f"the step is {step}, and a step is positive"))
        return range(0)
    if (high - low) // step >= MAX_DECLARATIONS:
        findings.add(codes.TOO_MANY.at(source.span, f"this range has more than {MAX_DECLARATIONS} rounds"))
        return range(0)
    return range(low, high + 1, step)
