"""Rules and the policy from nodes, once all candidates are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from attrs import define, evolve

from tessera_rules.model import codes
from tessera_rules.model.build_candidate import CandidateBuilder
from tessera_rules.model.clauses import make_clause
from tessera_rules.model.constant import NotConstant, constant
from tessera_rules.model.expressions import TermBuilder
from tessera_rules.model.fields import Fields
from tessera_rules.model.loops import Loops, LoopValue, declared_text, fill, name_text
from tessera_rules.model.report import Findings
from tessera_rules.model.scope import WHEN, Scope
from tessera_rules.model.values import CRITERIA, TIERS, Action, Candidate, Clause, Policy, Rule
from tessera_rules.model.words import PROMISES
from tessera_rules.nearest import did_you_mean
from tessera_rules.syntax import nodes

ACTIONS = ("deny", "avoid", "prefer", "force")


@define
class RuleBuilder:
    """Builds rules over the candidates of one load. ``unsure`` says that some candidates could not be built."""

    base: CandidateBuilder
    candidates: Mapping[str, Candidate]
    lost: frozenset[str]
    findings: Findings

    def build(self, node: nodes.Declaration, loops: Loops) -> Rule:
        """Return a rule with its selections made and its condition resolved for each op and target that it can be about."""
        fields = Fields(node, self.findings)
        op = self._scope(fields, loops, "op", self.base.ops, codes.UNKNOWN_OP)
        target = self._scope(fields, loops, "target", self.base.targets, codes.UNKNOWN_TARGET)
        actions = tuple(
            action for kind in ACTIONS for item in fields.all(kind, nodes.ActionField) if (action := self._action(item, kind, op, target, loops)) is not None
        )
        if not any(kind in fields.by_keyword for kind in ACTIONS) and not node.damaged:
            self.findings.add(codes.MISSING_FIELD.at(node.name.span, f"rule {node.name.text} lacks an action", hint="deny, avoid, prefer … over …, or force"))
        because = fields.get("because", nodes.TextField)
        when = fields.get("when", nodes.ExprField)
        return Rule(
            name=declared_text(node.name, loops, self.findings),
            doc=fields.doc(loops),
            op=op,
            target=target,
            conditions={} if when is None else self._conditions(when, actions, op, target, loops, node),
            always=when is None,
            actions=actions,
            because=None if because is None else fill(because.value.value, loops, because.value.span, self.findings, string=True),
            span=node.span,
            name_span=node.name.span,
        )

    def _scope(self, fields: Fields, loops: Loops, keyword: str, known: Mapping[str, Any], code: Any) -> str | None:
        item = fields.get(keyword, nodes.NameField)
        if item is None:
            return None
        text = name_text(item.value, loops, self.findings)
        if text not in known and not (keyword == "op" and text in self.base.damaged_ops):
            self.findings.add(code.at(item.value.span, f"{keyword} '{text}' is not declared", hint=did_you_mean(text, known, keyword)))
        return text

    def _in_scope(self, op: str | None, target: str | None) -> list[Candidate]:
        return [each for each in self.candidates.values() if op in (None, each.op) and target in (None, each.target)]

    def _action(self, item: nodes.ActionField, kind: str, op: str | None, target: str | None, loops: Loops) -> Action | None:
        scope = self._in_scope(op, target)
        if op not in (None, *self.base.ops) or target not in (None, *self.base.targets):
            return None  # a scope that nobody knows was reported; who is in it cannot be said
        left, sure = self._select(item.selector, scope, op, target, loops)
        over: frozenset[str] = frozenset()
        if kind == "prefer":
            empty = Findings()
            over, over_sure = self._select(item.over, scope, op, target, loops, empty)
            over, sure = over - left, sure and over_sure
            if over or not sure:
                for finding in empty.found:
                    self.findings.add(finding)
            elif item.over:
                self.findings.add(
                    codes.EMPTY_SELECTION.at(
                        item.over[0].span,
                        "nothing is left on the right once the left side is taken out of it",
                        hint="a preference needs somebody to be preferred over",
                    )
                )
                return None
        if not left:
            return None
        return Action(kind, left, over, item.span)  # type: ignore[arg-type]

    def _select(
        self, items: Sequence[nodes.SelectorItem], scope: list[Candidate], op: str | None, target: str | None, loops: Loops, empty: Findings | None = None
    ) -> tuple[frozenset[str], bool]:
        """Return the candidates that a selector is about, and whether no error in it was reported; ``empty`` takes the warnings."""
        found: set[str] = set()
        sure = True
        for item in items:
            value = loops[item.value].text if item.value in loops and item.kind != "glob" else fill(item.value, loops, item.span, self.findings)
            chosen: list[str] = []
            if item.kind == "name":
                sure = self._named(value, item, scope, op, target, chosen) and sure
            elif item.kind == "tier":
                if value not in TIERS:
                    self.findings.add(codes.BAD_FIELD.at(item.span, f"'{value}' is no tier", hint=did_you_mean(value, TIERS, "tier")))
                    sure = False
                    continue
                chosen = [each.name for each in scope if each.tier == value]
            elif item.kind == "tag":
                chosen = [each.name for each in scope if value in each.tags]
            else:
                chosen = [each.name for each in scope if fnmatchcase(each.name, value)]
            if not chosen and item.kind != "name" and not self.lost:
                what = f'"{value}"' if item.kind == "glob" else f"{item.kind} {value}"
                tags = sorted({tag for each in scope for tag in each.tags}) if item.kind == "tag" else []
                hint = did_you_mean(value, tags, "tag") if tags else None
                (self.findings if empty is None else empty).add(
                    codes.SELECTS_NOBODY.at(item.span, f"{what} selects no candidate in the rule's scope", hint=hint)
                )
            found.update(chosen)
        return frozenset(found), sure

    def _named(self, value: str, item: nodes.SelectorItem, scope: list[Candidate], op: str | None, target: str | None, chosen: list[str]) -> bool:
        if any(each.name == value for each in scope):
            chosen.append(value)
            return True
        if value in self.lost:
            return False
        if value in self.candidates:
            other = self.candidates[value]
            self.findings.add(
                codes.UNKNOWN_CANDIDATE.at(
                    item.span,
                    f"'{value}' is a candidate of op {other.op} on {other.target}, outside the scope of this rule",
                    hint="correct the rule's `op` and `target`",
                )
            )
        else:
            self.findings.add(
                codes.UNKNOWN_CANDIDATE.at(
                    item.span, f"candidate '{value}' is not declared", hint=did_you_mean(value, [each.name for each in scope] or self.candidates, "candidate")
                )
            )
        return False

    def _conditions(
        self, when: nodes.ExprField, actions: tuple[Action, ...], op: str | None, target: str | None, loops: Loops, node: nodes.Declaration
    ) -> dict[tuple[str, str], Clause]:
        names = {name for action in actions for name in action.candidates | action.over}
        pairs = {(self.candidates[name].op, self.candidates[name].target) for name in names}
        if not pairs and op in self.base.ops and not node.damaged:
            # Nobody is selected (reported already): the condition is still read, so that its own mistakes show in the same run.
            pairs = {(op or "", target if target is not None and target in self.base.targets else next(iter(self.base.targets), ""))}
        conditions: dict[tuple[str, str], Clause] = {}
        for pair in sorted(pairs):
            found = self.base.ops.get(pair[0])
            if found is None:
                continue
            place = self.base.targets.get(pair[1])
            scope = Scope(WHEN, self.base.names_of(found), pair[1], place.facts if place else None, self.base.predicates, loops, f"rule {node.name.text}")
            mine = Findings()
            term = TermBuilder(scope, mine).boolean(when.value)
            for finding in mine.found:
                hint = finding.hint
                if len(pairs) > 1 and finding.code in ("TSR201", "TSR212"):
                    hint = f"the rule is about {len(pairs)} pairs of op and target; give it `op` and `target`" + (f"; {hint}" if hint else "")
                self.findings.add(evolve(finding, hint=hint))
            conditions[pair] = evolve(make_clause(term, when.text, None, when, "when"), span=when.value.span)
        return conditions


def build_policy(node: nodes.Declaration, findings: Findings) -> Policy:
    """Return the policy that a block states; what it leaves out is the language's default."""
    fields = Fields(node, findings)
    words: dict[str, str] = {}
    for keyword, known in (
        ("on_decline", ("next", "reference", "error")),
        ("on_none", ("reference", "error")),
        ("verify", ("first_use", "always", "never", "ahead")),
    ):
        item = fields.get(keyword, nodes.NameField)
        if item is None:
            continue
        if item.value.text not in known:
            findings.add(
                codes.BAD_FIELD.at(item.value.span, f"'{item.value.text}' is no value of `{keyword}`", hint=did_you_mean(item.value.text, known, "value"))
            )
            continue
        words[keyword] = item.value.text
    order = _words(fields, "order", CRITERIA, findings)
    if order is not None and "declaration" in order and order[-1] != "declaration":
        findings.add(codes.BAD_FIELD.at(fields.by_keyword["order"][0].span, "`declaration` breaks every tie, so it is always last"))
    require = _words(fields, "require", PROMISES, findings)
    workspace: int | None = None
    size = fields.get("workspace", nodes.ExprField)
    if size is not None:
        try:
            value = constant(size.value, {})
        except NotConstant:
            value = LoopValue("null", None)
        if isinstance(value, LoopValue) and value.kind == "int" and value.value >= 0:
            workspace = value.value
        else:
            findings.add(codes.BAD_FIELD.at(size.value.span, "`workspace` is a number of bytes, such as 512Mi"))
    return Policy(
        order=CRITERIA if order is None else (*(word for word in order if word != "declaration"), "declaration"),  # type: ignore[arg-type]
        require=frozenset(require or ()),
        workspace_bytes=workspace,
        **words,  # type: ignore[arg-type]
    )


def _words(fields: Fields, keyword: str, known: Sequence[str], findings: Findings) -> tuple[str, ...] | None:
    item = fields.get(keyword, nodes.NamesField)
    if item is None:
        return None
    found: list[str] = []
    for name in item.values:
        if name.text not in known:
            findings.add(codes.BAD_FIELD.at(name.span, f"'{name.text}' is no value of `{keyword}`", hint=did_you_mean(name.text, known, "value")))
        elif name.text in found:
            findings.add(codes.DUPLICATE_FIELD.at(name.span, f"'{name.text}' stands twice in `{keyword}`"))
        else:
            found.append(name.text)
    return tuple(found)
