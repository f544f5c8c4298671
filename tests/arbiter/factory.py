"""Rulesets by hand: conditions as text, read by Python's own parser, so that the arbiter is tested without the language's."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from tessera_rules.dtypes import FORMATS
from tessera_rules.model.terms import Apply, Const, Fact, Term, Version, loop_values, reads
from tessera_rules.model.types import ANY, BOOL, DTYPE, FLOAT, INT, STRING, Type
from tessera_rules.model.values import (
    REQUIRED,
    Action,
    Attr,
    Candidate,
    Clause,
    Dim,
    Guard,
    Op,
    Operand,
    Policy,
    PythonBinding,
    Result,
    Rule,
    Ruleset,
    Target,
    Uses,
)
from tessera_rules.source import Source, Span

BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "floordiv", ast.Mod: "mod", ast.Div: "div"}
COMPARE = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
PROBES = ("library", "symbol", "executable", "file", "env", "python", "cpu", "smoke", "call")
ACTS = ("none", "relu", "gelu", "silu")


def span(text: str = "rules.tsr") -> Span:
    source = Source("rules.tsr", text)
    return Span(source, 0, len(text))


class _Reader:
    """Turns Python's tree of a condition into a term, names resolved by the op."""

    def __init__(self, op: Op, facts: Mapping[str, Type], loops: Mapping[str, Any]) -> None:
        self.op, self.facts, self.loops = op, facts, loops

    def read(self, node: ast.expr) -> Term:
        match node:
            case ast.Constant(value=bool() as value):
                return Const(BOOL, value)
            case ast.Constant(value=value):
                return Const({int: INT, float: FLOAT, str: STRING}.get(type(value), ANY), value)
            case ast.Name(id=name):
                return self.name(name)
            case ast.Attribute(value=ast.Name(id="device"), attr=name):
                return Fact(self.facts[name], f"device:{name}", f"device.{name}")
            case ast.BinOp(left=left, op=operator, right=right):
                return Apply(FLOAT if isinstance(operator, ast.Div) else INT, BINARY[type(operator)], (self.read(left), self.read(right)))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Apply(BOOL, "not", (self.read(operand),))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return Apply(INT, "neg", (self.read(operand),))
            case ast.BoolOp(op=operator, values=values):
                return Apply(BOOL, "and" if isinstance(operator, ast.And) else "or", tuple(map(self.read, values)))
            case ast.Compare(left=left, ops=[ast.In()], comparators=[ast.List(elts=items)]):
                return Apply(BOOL, "in", (self.read(left), *map(self.read, items)))
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                return Apply(BOOL, COMPARE[type(operator)], (self.read(left), self.read(right)))
            case ast.Call(func=ast.Name(id=name), args=args):
                return self.call(name, args)
        raise AssertionError(ast.dump(node))

    def name(self, name: str) -> Term:
        if name in self.loops:
            return Const(INT, self.loops[name], name)
        if name in self.op.dims:
            return Fact(INT, f"dim:{name}", name)
        if name in self.op.attrs:
            return Fact(self.op.attrs[name].type, f"attr:{name}", name)
        if name == "dtype":
            return Fact(DTYPE, "dtype", "dtype")
        if name == "threads":
            return Fact(INT, "threads", "threads")
        if name == "os":
            return Fact(Type("word"), "os", "os")
        if name in ("true", "false"):
            return Const(BOOL, name == "true")
        if name == "null":
            return Const(Type("null"), None)
        assert name in FORMATS or name in ACTS or name in ("linux", "windows"), name
        return Const(DTYPE if name in FORMATS else Type("word"), name)

    def call(self, name: str, args: Sequence[ast.expr]) -> Term:
        if name == "version":
            assert isinstance(args[0], ast.Constant)
            return Const(Type("version"), Version(str(args[0].value)))
        if name in PROBES:
            texts = [str(arg.value) for arg in args if isinstance(arg, ast.Constant)]
            quoted = ", ".join(f'"{text}"' for text in texts)
            kind = Type("string", nullable=True) if name == "env" else BOOL
            return Fact(kind, f"probe:{name}:{':'.join(texts)}", f"{name}({quoted})")
        if name in ("bytes", "bits", "abs", "min", "max", "ceil_div"):
            return Apply(INT, name, tuple(map(self.read, args)))
        assert isinstance(args[0], ast.Name)
        operand = args[0].id
        if name == "aligned":
            align = Fact(INT, f"align:{operand}", f"{operand}.align")
            return Apply(BOOL, "eq", (Apply(INT, "mod", (align, self.read(args[1]))), Const(INT, 0)))
        if name == "stride":
            assert isinstance(args[1], ast.Constant)
            return Fact(INT, f"stride:{operand}:{args[1].value}", f"stride({operand}, {args[1].value})")
        if name == "dtype_of":
            return Fact(DTYPE, f"dtype:{operand}", f"dtype({operand})")
        if name == "amax":
            return Fact(FLOAT, f"amax:{operand}", f"amax({operand})")
        assert name in ("given", "contiguous", "broadcast", "max_offset"), name
        return Fact(INT if name == "max_offset" else BOOL, f"{name}:{operand}", f"{name}({operand})")


def term(text: str, op: Op, facts: Mapping[str, Type] | None = None, loops: Mapping[str, Any] | None = None) -> Term:
    return _Reader(op, facts or {}, loops or {}).read(ast.parse(text, mode="eval").body)


def clause(text: str, op: Op, facts: Mapping[str, Type] | None = None, *, code: str = "requires", loops: Mapping[str, Any] | None = None) -> Clause:
    """Return a clause; ``text because why`` gives it a because."""
    body, _, because = text.partition(" because ")
    found = term(body, op, facts, loops)
    return Clause(found, body, because or None, span(body), code, reads(found), loop_values(found))


def make_op(
    name: str,
    operands: Mapping[str, str],
    result: str,
    *,
    attrs: Mapping[str, tuple[Type, Any]] | None = None,
    dims: Mapping[str, tuple[int, int | None]] | None = None,
    dtypes: tuple[str, ...] | None = None,
    choices: Mapping[str, tuple[str, ...]] | None = None,
    checks: Sequence[str] = (),
) -> Op:
    """Return an op; operands are ``{"a": "M K", "bias?": "N"}``."""
    shapes = {key.rstrip("?"): shape.split() for key, shape in operands.items()}
    names = dict.fromkeys(dim for shape in [*shapes.values(), result.split()] for dim in shape)
    bounds = dims or {}
    found_dims = {dim: Dim(dim, *bounds.get(dim, (0, None))) for dim in names}
    terms = {dim: Fact(INT, f"dim:{dim}", dim) for dim in names}
    found_operands = {
        key.rstrip("?"): Operand(
            key.rstrip("?"), tuple(terms[dim] for dim in shape.split()), key.endswith("?"), False, (choices or {}).get(key.rstrip("?")), span()
        )
        for key, shape in operands.items()
    }
    found_attrs = {key: Attr(key, kind, default, span()) for key, (kind, default) in (attrs or {}).items()}
    results = (Result(None, tuple(terms[dim] for dim in result.split()), None, None, None, span()),)
    bare = Op(name, None, found_operands, results, found_dims, found_attrs, next(iter(found_operands)), dtypes, (), None, span(), span())
    found_checks = tuple(clause(text, bare, code="check") for text in checks)
    return Op(name, None, found_operands, results, found_dims, found_attrs, next(iter(found_operands)), dtypes, found_checks, None, span(), span())


WORD = Type("word", words=ACTS)
MATMUL = make_op(
    "matmul",
    {"a": "M K", "b": "K N", "bias?": "N"},
    "M N",
    attrs={"act": (WORD, "none"), "epilogue": (Type("list", item=Type("word", words=("bias", "relu", "gelu"))), ()), "transpose_b": (BOOL, False)},
)
ATTENTION = make_op(
    "attention",
    {"q": "B Hq Sq head_dim", "k": "B Hkv Skv head_dim", "v": "B Hkv Skv Dv", "mask?": "Sq Skv"},
    "B Hq Sq Dv",
    attrs={"causal": (BOOL, False), "softcap": (Type("float", nullable=True), None), "window": (Type("int", nullable=True), None)},
    dims={"Hkv": (1, None), "head_dim": (1, 1024)},
    dtypes=("f64", "f32", "f16", "bf16"),
    checks=["Hq % Hkv == 0 because query heads come in whole groups"],
)
NEEDY = make_op("needy", {"x": "M"}, "M", attrs={"fn": (Type("word", words=("exp", "log")), REQUIRED)})
FACTS = {
    "arch": Type("word", words=("gfx942", "gfx1100", "gfx1150", "gfx1151")),
    "compute_units": INT,
    "driver": Type("version"),
}
ROCM = Target("rocm", None, FACTS, {}, None, span())
CPU = Target("cpu", None, {"cores": INT}, {}, None, span())


def candidate(
    name: str,
    tier: str = "emitted",
    *,
    op: Op = MATMUL,
    target: Target = CPU,
    requires: Sequence[str] = (),
    implied: Sequence[str] = (),
    available: Sequence[str] = (),
    avoid: Sequence[str] = (),
    honours: Sequence[str] = (),
    computes: str | None = None,
    cost: str | None = None,
    workspace: str | None = None,
    deterministic: bool = False,
    uses: Sequence[Uses] = (),
    guard: tuple[str, str | None] | None = None,
    loops: Mapping[str, Any] | None = None,
    order: int = 0,
) -> Candidate:
    """Return a candidate; `ruleset` numbers them in the order that it is given."""
    wanted = tuple(clause(text, op, target.facts, loops=loops) for text in requires)
    named = {key.split(":")[1] for each in wanted for key in each.reads if key.startswith(("attr:", "given:"))}
    return Candidate(
        name=name,
        doc=None,
        tier=tier,  # type: ignore[arg-type]
        target=target.name,
        op=op.name,
        tags=frozenset(),
        available=tuple(clause(text, op, target.facts, code="available") for text in available),
        requires=wanted,
        implied=tuple(clause(text, op, target.facts, code="binding") for text in implied),
        computes=computes,
        honours=tuple(honours),
        named=frozenset(named) | frozenset(honours),
        guard=None if guard is None else Guard((clause(guard[0], op, target.facts, code="guard"),), guard[1], span()),
        avoid=tuple(clause(text, op, target.facts, code="avoid") for text in avoid),
        accuracy=None,
        cost=None if cost is None else term(cost, op, target.facts),
        bind=PythonBinding("no.such", name, {}, span()),
        uses=tuple(uses),
        workspace=None if workspace is None else term(workspace, op, target.facts),
        packs=(),
        deterministic=deterministic,
        batch_invariant=False,
        order=order,
        family=loops or {},
        span=span(),
        name_span=span(name),
    )


def rule(name: str, *actions: str, op: Op = MATMUL, target: Target = CPU, when: str | None = None, because: str | None = None) -> Rule:
    """Return a rule; actions are ``deny a,b`` and ``prefer a over b,c``."""
    found = []
    for action in actions:
        kind, _, rest = action.partition(" ")
        left, _, over = rest.partition(" over ")
        names = frozenset(left.split(","))
        found.append(Action(kind, names, frozenset(over.split(",")) - names if over else frozenset(), span(action)))  # type: ignore[arg-type]
    conditions = {} if when is None else {(op.name, target.name): clause(when, op, target.facts, code="when")}
    return Rule(name, None, op.name, target.name, conditions, when is None, tuple(found), because, span(), span(name))


def ruleset(
    *candidates: Candidate,
    rules: Sequence[Rule] = (),
    policy: Policy | None = None,
    ops: Sequence[Op] = (MATMUL, ATTENTION, NEEDY),
    untrusted: frozenset[str] = frozenset(),
) -> Ruleset:
    from attrs import evolve

    numbered = [evolve(each, order=index) for index, each in enumerate(candidates)]
    registered: dict[tuple[str, str], tuple[Candidate, ...]] = {}
    for each in numbered:
        registered[each.op, each.target] = (*registered.get((each.op, each.target), ()), each)
    return Ruleset(
        (),
        {op.name: op for op in ops},
        {"rocm": ROCM, "cpu": CPU},
        {each.name: each for each in numbered},
        tuple(rules),
        policy or Policy(),
        (),
        "digest",
        registered,
        untrusted,
    )
