"""Ops and targets from nodes."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from tessera_rules.diagnostic import Related
from tessera_rules.dtypes import DTYPES, canonical
from tessera_rules.model import codes
from tessera_rules.model.bindings import python_binding
from tessera_rules.model.clauses import build_clause
from tessera_rules.model.constant import NotConstant, constant
from tessera_rules.model.expressions import TermBuilder
from tessera_rules.model.fields import Fields
from tessera_rules.model.loops import Loops, LoopValue, declared_text, name_text
from tessera_rules.model.report import Findings
from tessera_rules.model.scope import CHECK, SHAPE, OpNames, PredicateDef, Scope
from tessera_rules.model.types import BOOL, DTYPE, FLOAT, INT, STRING, VERSION, Type
from tessera_rules.model.values import REQUIRED, Attr, Dim, Op, Operand, PythonBinding, Result, Target
from tessera_rules.nearest import did_you_mean
from tessera_rules.source import Span
from tessera_rules.syntax import nodes

RESERVED_NAMES = ("dtype", "threads", "device", "given", "allow", "require", "target")
SIMPLE = {"bool": BOOL, "int": INT, "float": FLOAT, "string": STRING, "dtype": DTYPE, "version": VERSION}


def build_op(node: nodes.Declaration, loops: Loops, predicates: dict[str, PredicateDef], findings: Findings) -> Op:
    """Return an op. What is wrong in it is reported, and the rest is kept so that its candidates can be read."""
    fields = Fields(node, findings)
    fields.need("result")
    if not any(keyword in fields.by_keyword for keyword in ("operand", "inout")) and not node.damaged:
        findings.add(codes.MISSING_FIELD.at(node.name.span, f"op {node.name.text} lacks an `operand`"))
    taken: dict[str, Span] = {}
    attrs = {item.name.text: _attr(item, loops, findings) for item in fields.all("attr", nodes.AttrField) if _claim(item.name, taken, findings)}
    operand_nodes = [item for item in node.fields if isinstance(item, nodes.OperandField) and _claim(item.name, taken, findings)]
    dims = _dims(operand_nodes, attrs, fields, taken, findings)
    op_name = declared_text(node.name, loops, findings)
    subject = f"op {op_name}"
    shapes = TermBuilder(Scope(SHAPE, OpNames(op_name, dims, attrs, {}), None, None, predicates, loops, subject), findings)
    operands = {item.name.text: _operand(item, shapes, loops, findings) for item in operand_nodes}
    dtype_operand, dtypes = _dtype(fields, operands, loops, findings)
    results = tuple(_result(item, shapes, operands, attrs, dtypes, loops, findings) for item in fields.all("result", nodes.ResultField))
    checks = Scope(CHECK, OpNames(op_name, dims, attrs, operands, results), None, None, predicates, loops, subject)
    clauses = tuple(build_clause(clause, checks, findings, "check") for item in fields.all("check", nodes.ClausesField) for clause in item.clauses)
    reference = fields.get("reference", nodes.BindField)
    return Op(
        name=op_name,
        doc=fields.doc(loops),
        operands=operands,
        results=results,
        dims=dims,
        attrs=attrs,
        dtype_operand=dtype_operand,
        dtypes=dtypes,
        checks=clauses,
        reference=None if reference is None else python_binding(reference, loops, findings),
        span=node.span,
        name_span=node.name.span,
    )


def _claim(name: nodes.Name, taken: dict[str, Span], findings: Findings) -> bool:
    """Whether a name of the op's one namespace is free. Reports TSR306 and TSR310."""
    if name.text in RESERVED_NAMES:
        findings.add(codes.RESERVED.at(name.span, f"'{name.text}' is a word of requests, and no name here", hint=f"call it {name.text}_ or otherwise"))
        return False
    if name.text in taken:
        findings.add(codes.ONE_NAMESPACE.at(name.span, f"'{name.text}' names two things of this op", related=(Related(taken[name.text], "the first one"),)))
        return False
    taken[name.text] = name.span
    return True


def _dims(operand_nodes: list[nodes.OperandField], attrs: dict[str, Attr], fields: Fields, taken: dict[str, Span], findings: Findings) -> dict[str, Dim]:
    """Return the dimensions that the operands bind, in reading order, with the bounds of their ``dim`` fields."""
    spans: dict[str, Span] = {}
    for item in operand_nodes:
        for size in item.shape:
            stack = [size]
            while stack:
                expr = stack.pop()
                if isinstance(expr, nodes.NameRef) and expr.name not in attrs and expr.name not in spans:
                    if expr.name in taken:
                        findings.add(
                            codes.ONE_NAMESPACE.at(
                                expr.span, f"'{expr.name}' names a dimension and an operand", related=(Related(taken[expr.name], "the operand"),)
                            )
                        )
                    elif expr.name in RESERVED_NAMES:
                        findings.add(codes.RESERVED.at(expr.span, f"'{expr.name}' is a word of requests, and no name of a dimension"))
                    spans[expr.name] = expr.span
                elif isinstance(expr, nodes.Binary):
                    stack += [expr.right, expr.left]
    dims = {name: Dim(name) for name in spans}
    stated: dict[str, Span] = {}
    for field in fields.all("dim", nodes.DimField):
        name = field.name.text
        if name in stated:
            findings.add(codes.DUPLICATE_FIELD.at(field.name.span, f"`dim {name}` stands twice", related=(Related(stated[name], "the first one"),)))
            continue
        stated[name] = field.name.span
        if name not in dims:
            findings.add(codes.SHAPE.at(field.name.span, f"no operand has a dimension '{name}'", hint=did_you_mean(name, dims, "dimension")))
            continue
        low, high, step = (_bound(bound, findings) for bound in (field.range.low, field.range.high, field.range.step))
        if (low is not None and low < 0) or (high is not None and low is not None and high < low) or (step is not None and step <= 0):
            findings.add(codes.BAD_RANGE.at(field.range.span, "the sizes of a dimension are a range from 0 up, low end first"))
            continue
        dims[name] = Dim(name, low or 0, high, step or 1, field.name.span)
    return dims


def _bound(expr: nodes.Expr | None, findings: Findings) -> int | None:
    if expr is None:
        return None
    try:
        value = constant(expr, {})
    except NotConstant as problem:
        findings.add(codes.BAD_RANGE.at(problem.expr.span, f"the bounds of a dimension are fixed: {problem}"))
        return None
    if not isinstance(value, LoopValue) or value.kind != "int":
        findings.add(codes.BAD_RANGE.at(expr.span, "the bounds of a dimension are integers"))
        return None
    return int(value.value)


def dtype_words(names: tuple[nodes.Name, ...], loops: Loops, findings: Findings) -> tuple[str, ...]:
    """Return canonical dtypes. Reports TSR206 for a word that is none."""
    found: list[str] = []
    for name in names:
        text = name_text(name, loops, findings)
        dtype = canonical(text)
        if dtype is None:
            findings.add(codes.UNKNOWN_WORD.at(name.span, f"'{text}' is no dtype", hint=did_you_mean(text, DTYPES, "dtype")))
        else:
            found.append(dtype)
    return tuple(found)


def _operand(item: nodes.OperandField, shapes: TermBuilder, loops: Loops, findings: Findings) -> Operand:
    dtypes: tuple[str, ...] | None = None
    if item.dtype is not None:
        if item.dtype.attribute is not None:
            findings.add(codes.SHAPE.at(item.dtype.span, "`dtype ATTR` is for results; an operand has the request's dtype, one of its own, or `one of [...]`"))
        elif item.dtype.name is not None:
            dtypes = dtype_words((item.dtype.name,), loops, findings) or None
        elif item.dtype.choices is not None:
            dtypes = dtype_words(item.dtype.choices, loops, findings) or None
    return Operand(
        item.name.text, tuple(shapes.number(size, integer=True) for size in item.shape), item.optional, item.keyword == "inout", dtypes, item.name.span
    )


def _result(
    item: nodes.ResultField,
    shapes: TermBuilder,
    operands: dict[str, Operand],
    attrs: dict[str, Attr],
    dtypes: tuple[str, ...] | None,
    loops: Loops,
    findings: Findings,
) -> Result:
    name = item.name.text if item.name is not None else None
    if item.shape is None:
        operand = operands.get(name or "")
        if operand is None or not operand.inout:
            findings.add(codes.SHAPE.at(item.span, f"'{name}' is no inout operand", hint="write `inout " + f"{name}: [..]` or give the result a shape"))
            return Result(name, (), None, None, None, item.span)
        dtype = operand.dtypes[0] if operand.dtypes is not None and len(operand.dtypes) == 1 else None
        return Result(name, operand.shape, dtype, None, name, item.span)
    dtype, attribute = None, None
    choices: tuple[str, ...] = ()
    if item.dtype is not None:
        if item.dtype.attribute is not None:
            attribute = item.dtype.attribute.text
            if attribute not in attrs or attrs[attribute].type.kind != "dtype":
                findings.add(codes.SHAPE.at(item.dtype.span, f"'{attribute}' is no attribute of type dtype", hint=f"declare `attr {attribute}: dtype`"))
                attribute = None
        elif item.dtype.name is not None:
            dtype = next(iter(dtype_words((item.dtype.name,), loops, findings)), None)
        else:
            choices = dtype_words(item.dtype.choices or (), loops, findings)
            if len(choices) != len(dtypes or ()):
                why = f"the dtypes of a result go with those of the op's `dtype` field, one with one: here are {len(choices)}, there {len(dtypes or ())}"
                findings.add(codes.SHAPE.at(item.dtype.span, why, hint="or give the result one dtype, or `dtype ATTR`"))
                choices = ()
    return Result(name, tuple(shapes.number(size, integer=True) for size in item.shape), dtype, attribute, None, item.span, choices or None)


def _dtype(fields: Fields, operands: dict[str, Operand], loops: Loops, findings: Findings) -> tuple[str | None, tuple[str, ...] | None]:
    item = fields.get("dtype", nodes.DtypeField)
    if item is None:
        return next((operand.name for operand in operands.values() if operand.dtypes is None), None), None
    name = item.operand.text
    if name not in operands:
        findings.add(codes.UNKNOWN_ATTRIBUTE.at(item.operand.span, f"'{name}' is no operand", hint=did_you_mean(name, operands, "operand")))
        return None, None
    choices = None if item.choices is None else dtype_words(item.choices, loops, findings)
    own = operands[name].dtypes
    if own is not None:
        # `operand x: [n] one of [c64, c128]` and `dtype x` say together what `dtype x in [c64, c128]` says.
        if choices is not None:
            findings.add(codes.SHAPE.at(item.operand.span, f"operand '{name}' and the `dtype` field both list dtypes", hint="list them once, in `dtype`"))
        operands[name] = evolve(operands[name], dtypes=None)
        return name, own
    return name, choices


def build_type(spec: nodes.TypeSpec, findings: Findings, *, fact: bool = False) -> Type:
    """Return the type that a ``TypeSpec`` says. Facts of a ``one of`` are strings with a universe; attributes have words."""
    if spec.kind == "one of":
        words = tuple(word.value if isinstance(word, nodes.StrLit) else word.text for word in spec.words or ())
        if len(set(words)) != len(words) or not words:
            findings.add(codes.BAD_FIELD.at(spec.span, "`one of` lists different words, at least one"))
        return Type("string" if fact else "word", words=tuple(dict.fromkeys(words)), nullable=spec.nullable)
    if spec.kind == "list of":
        if spec.words is not None:
            words = tuple(dict.fromkeys(word.value if isinstance(word, nodes.StrLit) else word.text for word in spec.words))
            return Type("list", item=Type("word", words=words), nullable=spec.nullable)
        item = SIMPLE.get(spec.item or "")
        if item is None:
            findings.add(codes.BAD_FIELD.at(spec.span, f"'{spec.item}' is no type", hint=did_you_mean(spec.item or "", SIMPLE, "type")))
        return Type("list", item=item or INT, nullable=spec.nullable)
    kind = SIMPLE.get(spec.kind)
    if kind is None:
        findings.add(codes.BAD_FIELD.at(spec.span, f"'{spec.kind}' is no type", hint=did_you_mean(spec.kind, [*SIMPLE, "one of [..]", "list of [..]"], "type")))
        return Type("any")
    return Type(kind.kind, nullable=spec.nullable)


def _attr(item: nodes.AttrField, loops: Loops, findings: Findings) -> Attr:
    kind = build_type(item.type, findings)
    default: Any = None if kind.nullable else REQUIRED
    if item.default is not None:
        default = typed_constant(item.default, kind, dict(loops), findings, f"the default of '{item.name.text}'")
    return Attr(item.name.text, kind, default, item.name.span)


def typed_constant(expr: nodes.Expr, kind: Type, loops: dict[str, LoopValue], findings: Findings, what: str) -> Any:
    """Return a constant as a value of a type (None where it is wrong). Reports TSR206 and TSR207."""
    try:
        value = constant(expr, loops)
    except NotConstant as problem:
        findings.add(codes.TYPE_MISMATCH.at(problem.expr.span, f"{what} is a constant: {problem}"))
        return None
    if isinstance(value, tuple):
        if kind.kind != "list":
            findings.add(codes.TYPE_MISMATCH.at(expr.span, f"{what} is {kind.describe()}, and this is a list"))
            return None
        return tuple(_typed(item, kind.item or INT, expr.span, findings, what) for item in value)
    return _typed(value, kind, expr.span, findings, what)


def _typed(value: LoopValue, kind: Type, span: Span, findings: Findings, what: str) -> Any:
    if kind.kind == "any" or (value.kind == "null" and kind.nullable):
        return value.value
    if value.kind == "name" and kind.kind == "dtype":
        dtype = canonical(value.value)
        if dtype is None:
            findings.add(codes.UNKNOWN_WORD.at(span, f"'{value.value}' is no dtype", hint=did_you_mean(value.value, DTYPES, "dtype")))
        return dtype
    if kind.kind == "word" and value.kind in ("name", "string"):
        if value.value not in kind.words:
            findings.add(codes.UNKNOWN_WORD.at(span, f"'{value.value}' is no value of {what}", hint=did_you_mean(value.value, kind.words, "value")))
        return value.value
    if value.kind == kind.kind and value.kind in ("int", "float", "bool", "string"):
        return value.value
    if kind.kind == "float" and value.kind == "int":
        return float(value.value)
    if kind.kind == "version" and value.kind == "string":
        return value.value
    findings.add(codes.TYPE_MISMATCH.at(span, f"{what} is {kind.describe()}, and this is {value.text}"))
    return None


def build_target(node: nodes.Declaration, loops: Loops, findings: Findings) -> Target:
    """Return a target with the types of its facts."""
    fields = Fields(node, findings)
    facts: dict[str, Type] = {}
    spans: dict[str, Span] = {}
    for item in fields.all("fact", nodes.FactField):
        name = item.name.text
        if name in facts:
            findings.add(codes.DUPLICATE_FIELD.at(item.name.span, f"fact '{name}' stands twice", related=(Related(spans[name], "the first one"),)))
            continue
        facts[name], spans[name] = build_type(item.type, findings, fact=True), item.name.span
    provider: PythonBinding | None = None
    found = fields.get("facts", nodes.BindField)
    if found is not None:
        provider = python_binding(found, loops, findings)
    return Target(declared_text(node.name, loops, findings), fields.doc(loops), facts, spans, provider, node.span)
