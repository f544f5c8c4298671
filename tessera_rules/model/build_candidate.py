"""Candidates from nodes."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import define, field

from tessera_rules.diagnostic import Related
from tessera_rules.model import codes
from tessera_rules.model.bindings import native_binding, python_binding, python_path
from tessera_rules.model.build_op import dtype_words
from tessera_rules.model.clauses import build_clauses
from tessera_rules.model.expressions import TermBuilder
from tessera_rules.model.fields import Fields
from tessera_rules.model.loops import Loops, declared_text, name_text
from tessera_rules.model.report import Findings
from tessera_rules.model.scope import ACCURACY, AVAILABLE, AVOID, COST, GUARD, REQUIRES, USES, WORKSPACE, OpNames, Place, PredicateDef, Scope
from tessera_rules.model.terms import Fact, Term
from tessera_rules.model.types import DTYPE
from tessera_rules.model.values import TIERS, Accuracy, Candidate, Clause, Guard, NativeBinding, Op, Pack, PythonBinding, Target, Tier, Uses
from tessera_rules.nearest import did_you_mean
from tessera_rules.source import Span
from tessera_rules.syntax import nodes

RESERVED_CANDIDATES = ("reference", "undecided", "all")


@define
class CandidateBuilder:
    """Builds candidates over the ops, targets and predicates of one load."""

    ops: Mapping[str, Op]
    targets: Mapping[str, Target]
    predicates: Mapping[str, PredicateDef]
    damaged_ops: frozenset[str]
    findings: Findings
    op_names: dict[str, OpNames] = field(factory=dict)

    def names_of(self, op: Op) -> OpNames:
        """Return the names of an op, made once."""
        found = self.op_names.get(op.name)
        if found is None:
            found = self.op_names[op.name] = OpNames(op.name, op.dims, op.attrs, op.operands, op.results)
        return found

    def build(self, node: nodes.Declaration, loops: Loops, order: int) -> Candidate | None:
        """Return a candidate, or None where op, target, tier or binding cannot be told."""
        findings = self.findings
        name = declared_text(node.name, loops, findings)
        if name in RESERVED_CANDIDATES:
            findings.add(codes.RESERVED.at(node.name.span, f"'{name}' is a word of decisions, and no name of a candidate"))
        fields = Fields(node, findings)
        whole = fields.need("tier", "target", "op", "bind")
        tier = self._tier(fields, loops)
        target = self._target(fields, loops)
        op = self._op(fields, loops)
        bind_field = fields.get("bind", nodes.BindField)
        if op is None or not whole or target is None or tier is None or bind_field is None:
            return None
        names = self.names_of(op)
        subject = f"candidate {name}"

        def scope(place: Place) -> Scope:
            return Scope(place, names, target.name, target.facts, self.predicates, loops, subject)

        requires_scope = scope(REQUIRES)
        requires = build_clauses(fields.get("requires", nodes.ClausesField), requires_scope, findings, "requires")
        honours = self._honours(fields, op, loops)
        implied: tuple[Clause, ...] = ()
        passed: frozenset[str] = frozenset()
        bind: PythonBinding | NativeBinding
        if bind_field.language == "python":
            bind = python_binding(bind_field, loops, findings)
        else:
            bind, implied, passed = native_binding(bind_field, requires_scope, findings)
        named = {
            key.split(":", 2)[1]
            for clause in requires
            for key in clause.reads
            if key.startswith(("attr:", "given:", "dtype:", "stride:", "contiguous:", "align:"))
        }
        workspace = fields.get("workspace", nodes.ExprField)
        cost = fields.get("cost", nodes.ExprField)
        computes = fields.get("computes", nodes.NameField)
        return Candidate(
            name=name,
            doc=fields.doc(loops),
            tier=tier,
            target=target.name,
            op=op.name,
            tags=self._tags(fields, loops),
            available=build_clauses(fields.get("available", nodes.ClausesField), scope(AVAILABLE), findings, "available"),
            requires=requires,
            implied=implied,
            computes=None if computes is None else self._computes(computes, loops),
            honours=honours,
            named=frozenset(named) | passed | frozenset(honours),
            guard=self._guard(fields, scope(GUARD), loops),
            avoid=build_clauses(fields.get("avoid", nodes.ClausesField), scope(AVOID), findings, "avoid"),
            accuracy=self._accuracy(fields, scope(ACCURACY)),
            cost=None if cost is None else TermBuilder(scope(COST), findings).number(cost.value),
            bind=bind,
            uses=tuple(self._uses(item, scope(USES), loops) for item in fields.all("uses", nodes.UsesField)),
            workspace=None if workspace is None else TermBuilder(scope(WORKSPACE), findings).number(workspace.value, integer=True),
            packs=self._packs(fields, op, loops),
            deterministic="deterministic" in fields.by_keyword,
            batch_invariant="batch_invariant" in fields.by_keyword,
            order=order,
            family={key: value.value for key, value in loops.items()},
            span=node.span,
            name_span=node.name.span,
        )

    def _tier(self, fields: Fields, loops: Loops) -> Tier | None:
        item = fields.get("tier", nodes.NameField)
        if item is None:
            return None
        text = name_text(item.value, loops, self.findings)
        for tier in TIERS:
            if tier == text:
                return tier
        self.findings.add(codes.BAD_FIELD.at(item.value.span, f"'{text}' is no tier", hint=did_you_mean(text, TIERS, "tier")))
        return None

    def _target(self, fields: Fields, loops: Loops) -> Target | None:
        item = fields.get("target", nodes.NameField)
        if item is None:
            return None
        text = name_text(item.value, loops, self.findings)
        if text not in self.targets:
            self.findings.add(codes.UNKNOWN_TARGET.at(item.value.span, f"target '{text}' is not declared", hint=did_you_mean(text, self.targets, "target")))
        return self.targets.get(text)

    def _op(self, fields: Fields, loops: Loops) -> Op | None:
        item = fields.get("op", nodes.NameField)
        if item is None:
            return None
        text = name_text(item.value, loops, self.findings)
        if text not in self.ops and text not in self.damaged_ops:
            hint = did_you_mean(text, self.ops, "op") if self.ops else 'bring the ops in: use "std/ops.tsr"'
            self.findings.add(codes.UNKNOWN_OP.at(item.value.span, f"op '{text}' is not declared", hint=hint))
        return self.ops.get(text)

    def _tags(self, fields: Fields, loops: Loops) -> frozenset[str]:
        item = fields.get("tags", nodes.NamesField)
        return frozenset() if item is None else frozenset(name_text(name, loops, self.findings) for name in item.values)

    def _honours(self, fields: Fields, op: Op, loops: Loops) -> tuple[str, ...]:
        item = fields.get("honours", nodes.NamesField)
        found: list[str] = []
        for name in item.values if item is not None else ():
            text = name_text(name, loops, self.findings)
            optional = [operand.name for operand in op.operands.values() if operand.optional]
            if text in op.attrs or text in optional:
                found.append(text)
            elif text in op.operands:
                self.findings.add(codes.UNKNOWN_ATTRIBUTE.at(name.span, f"operand '{text}' is always given, so nothing is left to honour", hint="leave it out"))
            else:
                self.findings.add(
                    codes.UNKNOWN_ATTRIBUTE.at(
                        name.span, f"op {op.name} has no attribute or optional operand '{text}'", hint=did_you_mean(text, [*op.attrs, *optional], "name")
                    )
                )
        return tuple(found)

    def _computes(self, item: nodes.NameField, loops: Loops) -> str | None:
        return next(iter(dtype_words((item.value,), loops, self.findings)), None)

    def _guard(self, fields: Fields, scope: Scope, loops: Loops) -> Guard | None:
        block = fields.get("guard", nodes.ClausesField)
        if block is None:
            return None
        otherwise = None if block.otherwise is None else name_text(block.otherwise, loops, self.findings)
        return Guard(build_clauses(block, scope, self.findings, "guard"), otherwise, block.span if block.otherwise is None else block.otherwise.span)

    def _accuracy(self, fields: Fields, scope: Scope) -> Accuracy | None:
        item = fields.get("accuracy", nodes.AccuracyField)
        if item is None:
            return None
        parts: dict[str, Term] = {}
        places: dict[str, Span] = {}
        for part in item.parts:
            if part.keyword in parts:
                self.findings.add(
                    codes.DUPLICATE_FIELD.at(part.span, f"`{part.keyword}` stands twice", related=(Related(places[part.keyword], "the first one"),))
                )
                continue
            parts[part.keyword] = TermBuilder(scope, self.findings).number(part.value)
            places[part.keyword] = part.span
        return Accuracy(parts.get("atol"), parts.get("rtol"), item.span)

    def _uses(self, item: nodes.UsesField, scope: Scope, loops: Loops) -> Uses:
        name = name_text(item.op, loops, self.findings)
        other = self.ops.get(name)
        dims: dict[str, Term] = {}
        attrs: dict[str, Term] = {}
        dtype: Term | None = None
        if other is None:
            if name not in self.damaged_ops:
                self.findings.add(codes.UNKNOWN_OP.at(item.op.span, f"op '{name}' is not declared", hint=did_you_mean(name, self.ops, "op")))
        else:
            for key, value in item.arguments:
                builder = TermBuilder(scope, self.findings)
                if key.text in other.dims:
                    dims[key.text] = builder.number(value, integer=True)
                elif key.text in other.attrs:
                    attrs[key.text] = builder.build(value, other.attrs[key.text].type)
                elif key.text == "dtype":
                    dtype = builder.build(value, DTYPE)
                else:
                    known = [*other.dims, *other.attrs, "dtype"]
                    self.findings.add(
                        codes.UNKNOWN_ATTRIBUTE.at(
                            key.span, f"op {name} has no dimension or attribute '{key.text}'", hint=did_you_mean(key.text, known, "name")
                        )
                    )
            missing = [dim for dim in other.dims if dim not in dims]
            if missing and len(dims) + len(attrs) + (dtype is not None) == len(item.arguments):
                self.findings.add(codes.MISSING_FIELD.at(item.span, f"`uses {name}` states the whole request, and {', '.join(missing)} is left out"))
        return Uses(name, dims, attrs, dtype if dtype is not None else Fact(DTYPE, "dtype", "dtype"), item.span, " ".join(item.span.text.split()))

    def _packs(self, fields: Fields, op: Op, loops: Loops) -> tuple[Pack, ...]:
        found: list[Pack] = []
        for item in fields.all("packs", nodes.PacksField):
            name = name_text(item.operand, loops, self.findings)
            if name not in op.operands:
                self.findings.add(
                    codes.UNKNOWN_ATTRIBUTE.at(item.operand.span, f"op {op.name} has no operand '{name}'", hint=did_you_mean(name, op.operands, "operand"))
                )
                continue
            if any(pack.operand == name for pack in found):
                self.findings.add(codes.DUPLICATE_FIELD.at(item.operand.span, f"operand '{name}' is packed twice"))
                continue
            module, attribute = python_path(item.path, loops, self.findings)
            found.append(Pack(name, module, attribute, item.span))
        return tuple(found)
