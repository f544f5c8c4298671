"""The arbiter's gates as conditions: for each candidate what has to hold so that it is in the race."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from attrs import field, frozen

from tessera_rules.analyze.probes import Probes
from tessera_rules.compile.domain import may_fail, plain_layout
from tessera_rules.compile.kinds import ClauseError
from tessera_rules.compile.simplify import FALSE, TRUE, conjunction, disjunction, simplify, substitute
from tessera_rules.dtypes import DTYPES, holds
from tessera_rules.model.request import UNKNOWN
from tessera_rules.model.terms import Apply, Const, Fact, Term
from tessera_rules.model.types import BOOL, DTYPE, INT, Type
from tessera_rules.model.values import REQUIRED, Candidate, Clause, Op, Rule, Ruleset, Uses
from tessera_rules.model.words import PROMISES

Kind = Literal["deny", "requires", "binding", "uses", "closed_world", "precision", "workspace", "promise", "available"]
DEEPEST_USE = 4


@frozen(eq=False)
class Gate:
    """One condition. ``clause`` is the author's where there is one; ``text`` says it in words; ``rule`` is who denies.

    ``exact``: whether the term says all; else the gate may refuse more than the term does.
    """

    term: Term
    kind: Kind
    text: str
    clause: Clause | None = None
    rule: Rule | None = None
    exact: bool = True


@frozen(eq=False)
class Frame:
    """How the facts of an op's request are put: operands that are always there, dtypes of operands.

    ``plain``: operands lie C-contiguous, one thread, nothing is allowed or required besides what the policy says, as where a witness is
    stated by its dimensions. Else layouts, threads, ``allow`` and ``require`` are names of their own, which proofs run over.
    """

    ruleset: Ruleset
    op: Op
    target: str
    probes: Probes
    plain: bool = True
    threads: int = 1
    depth: int = 0
    stated: Mapping[str, Term] = field(init=False)

    def __attrs_post_init__(self) -> None:
        found: dict[str, Term] = {}
        if self.plain:
            found |= plain_layout(self.op)
            found["threads"] = Const(INT, self.threads)
        own = Fact(DTYPE, "dtype", "dtype")
        for operand in self.op.operands.values():
            name = operand.name
            if not operand.optional:
                found[f"given:{name}"] = TRUE
            said: Term | None = own if operand.dtypes is None else Const(DTYPE, operand.dtypes[0]) if len(operand.dtypes) == 1 else None
            if operand.optional:
                given = Fact(BOOL, f"given:{name}", f"given({name})")
                said = Apply(DTYPE, "if", (given, said if said is not None else Fact(DTYPE, f"dtype:{name}", f"dtype({name})"), _NO_DTYPE))
            if said is not None:
                found[f"dtype:{name}"] = said
        object.__setattr__(self, "stated", found)

    def put(self, term: Term) -> Term:
        """Return a condition over dimensions, attributes, dtypes and facts alone."""
        return simplified(substitute(term, self.stated))


_NO_DTYPE = Apply(DTYPE, "index", (Const(Type("list", item=DTYPE), ()), Const(INT, 0)))
"""An error: the dtype of an operand that is not given."""


def simplified(term: Term) -> Term:
    """Return a term with its constants folded; one that is an error stays as it is."""
    try:
        return simplify(term, lambda key: UNKNOWN, exact=True)
    except ClauseError:
        return term


def legal(frame: Frame) -> list[Term]:
    """Return what makes a request legal and its result not empty."""
    return [*(frame.put(clause.term) for clause in frame.op.checks), not_empty(frame)]


def not_empty(frame: Frame) -> Term:
    """Return the condition that some result has elements."""
    one = Const(INT, 1)
    shapes = [frame.op.operands[result.inout].shape if result.inout is not None else result.shape for result in frame.op.results]
    return disjunction([conjunction([Apply(BOOL, "ge", (frame.put(size), one)) for size in shape]) for shape in shapes]) if shapes else TRUE


def gates_of(frame: Frame, candidate: Candidate) -> tuple[Gate, ...]:
    """Return every gate of a candidate but for what only running can tell, in the pipeline's order."""
    return tuple(_gates(frame, candidate))


def _gates(frame: Frame, candidate: Candidate) -> Iterator[Gate]:
    op = frame.op
    for rule in frame.ruleset.rules:
        if any(action.kind == "deny" and candidate.name in action.candidates for action in rule.actions) and about(rule, frame):
            yield Gate(simplified(Apply(BOOL, "not", (condition(rule, frame),))), "deny", f"rule {rule.name} denies it", rule=rule)
    for clause in candidate.requires:
        yield Gate(frame.put(clause.term), "requires", clause.text, clause)
    for clause in candidate.implied:
        yield Gate(frame.put(clause.term), "binding", clause.text, clause)
    for used in candidate.uses:
        term = _used(frame, used)
        yield Gate(TRUE if term is None else term, "uses", used.text, exact=term is not None and not may_fail(term))
    for attr in op.attrs.values():
        if attr.name not in candidate.named:
            fact = Fact(attr.type, f"attr:{attr.name}", attr.name)
            default = FALSE if attr.default is REQUIRED else Apply(BOOL, "eq", (fact, Const(attr.type, attr.default)))
            yield Gate(default, "closed_world", f"does not honour {attr.name}")
    for operand in op.operands.values():
        if operand.optional and operand.name not in candidate.named:
            given = Fact(BOOL, f"given:{operand.name}", f"given({operand.name})")
            yield Gate(Apply(BOOL, "not", (given,)), "closed_world", f"does not honour {operand.name}")
    if candidate.computes is not None:
        wide = [Const(DTYPE, dtype) for dtype in DTYPES if holds(candidate.computes, dtype)]
        held: Term = frame.put(Apply(BOOL, "in", (Fact(DTYPE, "dtype", "dtype"), *wide)))
        if not frame.plain:
            held = disjunction([Fact(BOOL, f"allow:{candidate.computes}", f"allow {candidate.computes}"), held])
        yield Gate(held, "precision", f"computes {candidate.computes}")
    policy = frame.ruleset.policy
    if candidate.workspace is not None and policy.workspace_bytes is not None:
        term = Apply(BOOL, "le", (candidate.workspace, Const(INT, policy.workspace_bytes)))
        yield Gate(frame.put(term), "workspace", f"its workspace is at most {policy.workspace_bytes} bytes")
    for promise in PROMISES:
        if not getattr(candidate, promise):
            if promise in policy.require:
                yield Gate(FALSE, "promise", f"the policy requires {promise}")
            elif not frame.plain:
                asked = Fact(BOOL, f"require:{promise}", f"require {promise}")
                yield Gate(Apply(BOOL, "not", (asked,)), "promise", f"it does not promise {promise}")
    for clause in candidate.available:
        yield Gate(frame.put(frame.probes(clause.term, candidate)), "available", clause.text, clause)


def about(rule: Rule, frame: Frame) -> bool:
    """Whether a rule is about the frame's op and target."""
    if rule.op not in (None, frame.op.name) or rule.target not in (None, frame.target):
        return False
    return rule.always or (frame.op.name, frame.target) in rule.conditions


def condition(rule: Rule, frame: Frame) -> Term:
    """Return the ``when`` of a rule that is about the frame."""
    return TRUE if rule.always else frame.put(rule.conditions[frame.op.name, frame.target].term)


def _used(frame: Frame, used: Uses) -> Term | None:
    """Return the condition that the other op has a winner, None where it cannot be put into one term."""
    op = frame.ruleset.ops.get(used.op)
    if op is None or used.dtype is None or frame.depth >= DEEPEST_USE or set(used.dims) != set(op.dims):
        return None
    inner = Frame(frame.ruleset, op, frame.target, frame.probes, True, frame.threads, frame.depth + 1)
    served = [conjunction([gate.term for gate in gates_of(inner, other)]) for other in frame.ruleset.for_op(used.op, frame.target)]
    exact = all(gate.exact for other in frame.ruleset.for_op(used.op, frame.target) for gate in gates_of(inner, other))
    if not exact or any(each.type.kind != "dtype" for each in (used.dtype,)):
        return None
    words: dict[str, Term] = {"dtype": frame.put(used.dtype)}
    parts: list[Term] = []
    for name, dim in op.dims.items():
        size = words[f"dim:{name}"] = frame.put(used.dims[name])
        high = (1 << 63) - 1 if dim.high is None else dim.high
        parts.append(Apply(BOOL, "in_range", (size, Const(INT, dim.low), Const(INT, high), Const(INT, dim.step))))
    for attr in op.attrs.values():
        words[f"attr:{attr.name}"] = frame.put(used.attrs[attr.name]) if attr.name in used.attrs else Const(attr.type, attr.default)
    words |= {f"given:{operand.name}": FALSE for operand in op.operands.values() if operand.optional}
    if op.dtypes is not None:
        parts.append(Apply(BOOL, "in", (words["dtype"], *(Const(DTYPE, dtype) for dtype in op.dtypes))))
    parts += [inner.put(clause.term) for clause in op.checks]
    parts.append(disjunction([simplified(Apply(BOOL, "not", (not_empty(inner),))), *served]))
    return simplified(substitute(conjunction(parts), words))
