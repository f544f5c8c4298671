"""From parsed files to a ruleset: names claimed, families expanded, each declaration built, all findings collected."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence

from attrs import define, field

from tessera_rules.diagnostic import Related
from tessera_rules.model import codes
from tessera_rules.model.build_candidate import CandidateBuilder
from tessera_rules.model.build_op import build_op, build_target
from tessera_rules.model.build_rule import RuleBuilder, build_policy
from tessera_rules.model.build_test import TestBuilder
from tessera_rules.model.causes import words_lost
from tessera_rules.model.expand import Declared, Expander
from tessera_rules.model.loops import declared_text, fill, name_text
from tessera_rules.model.recursion import check_recursion
from tessera_rules.model.report import Findings
from tessera_rules.model.scope import PredicateDef
from tessera_rules.model.values import Candidate, Op, Policy, Rule, Ruleset, Target, Test
from tessera_rules.nearest import did_you_mean
from tessera_rules.source import Source, Span
from tessera_rules.syntax import nodes


@define
class Names:
    """The names that a load declares, one namespace a kind; the first of two counts, except where a later source replaces."""

    findings: Findings
    replacing: Collection[Source]
    kept: dict[tuple[str, str], Declared] = field(factory=dict)

    def claim(self, kind: str, name: str, declared: Declared) -> None:
        """Declare a name. Reports TSR301 for a second declaration that does not replace."""
        key = (kind, name)
        first = self.kept.get(key)
        if first is None:
            self.kept[key] = declared
            return
        here, there = declared.node.name.span, first.node.name.span
        if here.source in self.replacing and here.source is not there.source:
            del self.kept[key]
            self.kept[key] = declared
            return
        hint = "put a loop name into its name: NAME_{s}" if here == there else "rename or delete one"
        what = kind if kind == name else f"{kind} {name}"  # a policy has no name of its own
        message = f"each round of the `for` declares {what} again" if here == there else f"{what} is declared twice"
        self.findings.add(codes.DUPLICATE.at(here, message, hint=hint, related=(Related(there, "declared first here"),)))

    def of(self, kind: str) -> list[tuple[str, Declared]]:
        """Return the declarations of one kind in load order."""
        return [(name, declared) for (each, name), declared in self.kept.items() if each == kind]


def build(files: Sequence[nodes.File], findings: Findings, replacing: Collection[Source] = (), untrusted: Collection[Source] = ()) -> Ruleset:
    """Return the ruleset of parsed files (in load order). What is wrong goes to ``findings``; the rest is built all the same."""
    names = _claim(_expand(files, findings), findings, replacing)
    findings.lost |= words_lost(each.node for _, each in (*names.of("op"), *names.of("target")) if isinstance(each.node, nodes.Declaration))
    targets: dict[str, Target] = {name: build_target(_node(each), each.loops, findings) for name, each in names.of("target")}
    predicates = {name: PredicateDef(each.node, each.loops) for name, each in names.of("predicate") if isinstance(each.node, nodes.Predicate)}
    ops: dict[str, Op] = {}
    for name, each in names.of("op"):
        ops[name] = build_op(_node(each), each.loops, predicates, findings)
    damaged = frozenset(name for name, each in names.of("op") if each.node.damaged)
    builder = CandidateBuilder(ops, targets, predicates, damaged, findings)
    candidates: dict[str, Candidate] = {}
    lost: set[str] = set()
    for order, (name, each) in enumerate(names.of("candidate")):
        made = builder.build(_node(each), each.loops, order)
        if made is None:
            lost.add(name)
        else:
            candidates[name] = made
    rule_builder = RuleBuilder(builder, candidates, frozenset(lost), findings)
    rules: list[Rule] = [rule_builder.build(_node(each), each.loops) for _name, each in names.of("rule")]
    policies = [build_policy(_node(each), findings) for _name, each in names.of("policy")]
    test_builder = TestBuilder(ops, targets, candidates, frozenset(lost), findings)
    tests = [test for _name, each in names.of("test") if (test := test_builder.build(_node(each), each.loops)) is not None]
    _check_guards(candidates, lost, findings)
    _check_uses(candidates, findings)
    _check_sources(files, names, findings)
    check_recursion(predicates, {name for op in ops.values() for name in (*op.dims, *op.attrs)}, findings)
    return _ruleset(files, ops, targets, candidates, rules, policies, tests, untrusted)


def _node(declared: Declared) -> nodes.Declaration:
    assert isinstance(declared.node, nodes.Declaration)
    return declared.node


def _expand(files: Sequence[nodes.File], findings: Findings) -> list[Declared]:
    """Return all declarations; `targets with op` is followed until no round adds a target."""
    quiet = Expander(Findings())
    members = quiet.expand(files)
    known: dict[str, tuple[str, ...]] = {}
    while quiet.derives:
        found = _targets_with_op(members)
        if found == known:
            break
        known = found
        quiet = Expander(Findings(), known)
        members = quiet.expand(files)
    return Expander(findings, known).expand(files)


def _targets_with_op(members: list[Declared]) -> dict[str, tuple[str, ...]]:
    order = [
        declared_text(each.node.name, each.loops, Findings()) for each in members if isinstance(each.node, nodes.Declaration) and each.node.kind == "target"
    ]
    pairs: dict[str, set[str]] = {}
    for each in members:
        if isinstance(each.node, nodes.Declaration) and each.node.kind == "candidate":
            words = {item.keyword: name_text(item.value, each.loops, Findings()) for item in each.node.fields if isinstance(item, nodes.NameField)}
            if "op" in words and "target" in words:
                pairs.setdefault(words["op"], set()).add(words["target"])
    return {op: tuple(target for target in order if target in found) for op, found in pairs.items()}


def _claim(members: list[Declared], findings: Findings, replacing: Collection[Source]) -> Names:
    names = Names(findings, replacing)
    for each in members:
        kind = each.node.kind if isinstance(each.node, nodes.Declaration) else "predicate"
        if kind == "test":
            name = fill(each.node.name.text, each.loops, each.node.name.span, findings, string=True)
        elif kind == "policy":
            name = "policy"
        else:
            name = declared_text(each.node.name, each.loops, findings)
        names.claim(kind, name, each)
    return names


def _check_guards(candidates: dict[str, Candidate], lost: set[str], findings: Findings) -> None:
    """Hold `guard … else NAME` to a candidate of the same op and target. Reports TSR204."""
    for each in candidates.values():
        if each.guard is None or each.guard.otherwise is None:
            continue
        name = each.guard.otherwise
        other = candidates.get(name)
        if name in lost or name == "reference":
            continue
        if other is None:
            known = [one.name for one in candidates.values() if (one.op, one.target) == (each.op, each.target) and one is not each]
            findings.add(codes.UNKNOWN_CANDIDATE.at(each.guard.span, f"candidate '{name}' is not declared", hint=did_you_mean(name, known, "candidate")))
        elif other is each or (other.op, other.target) != (each.op, each.target):
            what = "itself" if other is each else f"a candidate of op {other.op} on {other.target}"
            findings.add(codes.UNKNOWN_CANDIDATE.at(each.guard.span, f"'{name}' is {what}, and cannot take this call over"))


def _check_uses(candidates: dict[str, Candidate], findings: Findings) -> None:
    """Reports TSR309 for ops that are derived from each other in a circle on one target."""
    edges: dict[tuple[str, str], list[tuple[str, Span]]] = {}
    for each in candidates.values():
        for uses in each.uses:
            edges.setdefault((each.op, each.target), []).append((uses.op, uses.span))
    done: set[tuple[str, str]] = set()
    for start in edges:
        stack = [(start, iter(edges[start]))]
        path = [start]
        if start in done:
            continue
        while stack:
            here, rest = stack[-1]
            step = next(rest, None)
            if step is None:
                done.add(here)
                stack.pop()
                path.pop()
                continue
            there = (step[0], here[1])
            if there in path:
                chain = " → ".join([op for op, _ in path[path.index(there) :]] + [there[0]])
                findings.add(codes.USES_CYCLE.at(step[1], f"on {here[1]} these ops need each other: {chain}"))
            elif there in edges and there not in done:
                stack.append((there, iter(edges[there])))
                path.append(there)


def _check_sources(files: Sequence[nodes.File], names: Names, findings: Findings) -> None:
    """Reports TSR202 for `targets with op NAME` of an op that nobody declares: such a family is empty in silence."""
    ops = dict(names.of("op"))
    stack: list[tuple[nodes.Item, frozenset[str]]] = [(item, frozenset()) for file in files for item in file.items]
    while stack:
        item, loops = stack.pop()
        if not isinstance(item, nodes.For):
            continue
        asked = item.source.op if isinstance(item.source, nodes.TargetsWithOp) else None
        if asked is not None and "{" not in asked.text and asked.text not in ops and asked.text not in loops:
            findings.add(codes.UNKNOWN_OP.at(asked.span, f"op '{asked.text}' is not declared", hint=did_you_mean(asked.text, ops, "op")))
        stack += [(inner, loops | {name.text for name in item.names}) for inner in item.body]


def _ruleset(
    files: Sequence[nodes.File],
    ops: dict[str, Op],
    targets: dict[str, Target],
    candidates: dict[str, Candidate],
    rules: list[Rule],
    policies: list[Policy],
    tests: list[Test],
    untrusted: Collection[Source],
) -> Ruleset:
    digest = hashlib.sha256()
    for file in files:
        data = file.source.text.encode()
        digest.update(len(data).to_bytes(8, "big") + data)
    registered: dict[tuple[str, str], list[Candidate]] = {}
    for each in candidates.values():
        registered.setdefault((each.op, each.target), []).append(each)
    return Ruleset(
        sources=tuple(file.source for file in files),
        ops=ops,
        targets=targets,
        candidates=candidates,
        rules=tuple(rules),
        policy=policies[0] if policies else Policy(),
        tests=tuple(tests),
        digest=digest.hexdigest(),
        registered={pair: tuple(found) for pair, found in registered.items()},
        untrusted=frozenset(each.name for each in candidates.values() if each.span.source in untrusted),
        untrusted_sources=frozenset(untrusted),
    )
