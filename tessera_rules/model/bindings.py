"""Bindings from nodes: a Python callable, or a C function with its arguments and the clauses that they imply."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from attrs import evolve

from tessera_rules.model import codes
from tessera_rules.model.clauses import make_clause
from tessera_rules.model.constant import NotConstant, constant
from tessera_rules.model.expressions import TermBuilder
from tessera_rules.model.loops import Loops, LoopValue, fill
from tessera_rules.model.python_names import missing_name, names_of
from tessera_rules.model.report import Findings
from tessera_rules.model.scope import ARGUMENT, OpNames, Scope
from tessera_rules.model.terms import Apply, Const, Fact, Term, facts
from tessera_rules.model.types import BOOL, INT, Type
from tessera_rules.model.values import Clause, LaunchShape, NativeArgument, NativeBinding, Operand, PythonBinding
from tessera_rules.nearest import did_you_mean, nearest
from tessera_rules.source import Span
from tessera_rules.syntax import nodes

INTEGERS = {"i8": (-(2**7), 2**7 - 1), "i16": (-(2**15), 2**15 - 1), "i32": (-(2**31), 2**31 - 1), "i64": (-(2**63), 2**63 - 1)} | {
    "u8": (0, 2**8 - 1), "u16": (0, 2**16 - 1), "u32": (0, 2**32 - 1), "u64": (0, 2**64 - 1)
}  # fmt: skip
CTYPES = ("ptr", *INTEGERS, "f32", "f64", "char", "bool")
STATUSES = ("ok", "decline")
SPECIAL = {"threads": (*INTEGERS,), "workspace": ("ptr",), "workspace_bytes": ("i64", "u64"), "stream": ("ptr",), "device": ("i32", "i64")}
_CALLABLE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def python_path(path: nodes.StrLit, loops: Loops, findings: Findings) -> tuple[str, str]:
    """Return module and callable of ``"module:callable"``. Reports TSR105 and TSR215."""
    text = fill(path.value, loops, path.span, findings, string=True)
    if not _CALLABLE.fullmatch(text):
        findings.add(codes.BAD_BINDING.at(path.span, f'"{text}" names no callable', hint='write "package.module:callable"'))
        return text, ""
    module, _, name = text.partition(":")
    lacking = missing_name(module, name)
    if lacking is not None:
        findings.add(codes.NO_SUCH_CALLABLE.at(path.span, lacking, hint=did_you_mean(name, names_of(module), "name") if names_of(module) else None))
    return module, name


def python_binding(field: nodes.BindField, loops: Loops, findings: Findings) -> PythonBinding:
    """Return a Python binding with the constants of this family member."""
    module, name = python_path(field.path, loops, findings)
    constants: dict[str, Any] = {}
    for key, value in field.constants:
        try:
            found = constant(value, loops)
        except NotConstant as problem:
            findings.add(codes.BAD_BINDING.at(problem.expr.span, f"`with` gives constants: {problem}"))
            continue
        if key.text in constants:
            findings.add(codes.DUPLICATE_FIELD.at(key.span, f"constant '{key.text}' stands twice"))
        constants[key.text] = [item.value for item in found] if isinstance(found, tuple) else found.value
    return PythonBinding(module, name, constants, field.span)


def native_binding(field: nodes.BindField, scope: Scope, findings: Findings) -> tuple[NativeBinding, tuple[Clause, ...], frozenset[str]]:
    """Return a native or source binding, the clauses that it implies, and the attributes and operands that it is passed."""
    loops = scope.loops
    language = "source" if field.language == "source" else "native"
    for what, value in (("symbol", field.symbol), ("an argument list", field.arguments)):
        if value is None:
            findings.add(codes.BAD_BINDING.at(field.span, f"`bind {language}` needs {what}", hint='… symbol "NAME" (ptr a, …)'))
    if language == "source" and field.compiler is None:
        findings.add(codes.BAD_BINDING.at(field.span, "`bind source` needs a compiler", hint='… compiler "cc" …'))
    compiler = None if field.compiler is None else fill(field.compiler.value, loops, field.compiler.span, findings, string=True)
    if field.launch is not None and compiler not in ("nvrtc", "hip", "hiprtc", "hipcc", "nvcc"):
        findings.add(codes.BAD_BINDING.at(field.launch.span, "`launch` belongs to a source for a device compiler", hint='compiler "nvrtc" or "hip"'))
    where = evolve(scope, place=ARGUMENT)
    arguments = tuple(_argument(argument, where, findings) for argument in field.arguments or ())
    statuses = _statuses(field, findings)
    path = field.path.span.source.path
    binding = NativeBinding(
        language="source" if language == "source" else "native",
        path=fill(field.path.value, loops, field.path.span, findings, string=True),
        symbol="" if field.symbol is None else fill(field.symbol.value, loops, field.symbol.span, findings, string=True),
        arguments=arguments,
        returns=None if field.returns is None else field.returns.text,
        statuses=statuses,
        compiler=compiler,
        flags=tuple(fill(flag.value, loops, flag.span, findings, string=True) for flag in field.flags),
        launch=_launch(field.launch, where, findings),
        folder=None if path is None else str(Path(path).parent),
        span=field.span,
    )
    return binding, tuple(_implied(field, arguments, scope.op)), _passed(arguments, scope.op)


def _statuses(field: nodes.BindField, findings: Findings) -> dict[str, int]:
    if field.returns is not None and field.returns.text not in CTYPES:
        findings.add(codes.ARGUMENT_TYPE.at(field.returns.span, f"'{field.returns.text}' is no C type", hint=did_you_mean(field.returns.text, CTYPES, "type")))
    statuses: dict[str, int] = {}
    for status in field.statuses:
        try:
            value = constant(status.value, {})
        except NotConstant:
            value = LoopValue("null", None)
        if not isinstance(value, LoopValue) or value.kind != "int":
            findings.add(codes.BAD_BINDING.at(status.value.span, f"status '{status.name.text}' has an integer value"))
        elif status.name.text in statuses or value.value in statuses.values():
            findings.add(codes.BAD_BINDING.at(status.span, "two statuses have one name or one value"))
        elif status.name.text not in STATUSES and nearest(status.name.text, STATUSES) is not None:
            # Any other name is one of a failure; a slip would make a decline one of these in silence.
            hint = did_you_mean(status.name.text, STATUSES, "status")
            findings.add(codes.BAD_BINDING.at(status.name.span, f"'{status.name.text}' would be a failure like any other", hint=hint))
        else:
            statuses[status.name.text] = value.value
    if field.statuses and "ok" not in statuses:
        findings.add(codes.BAD_BINDING.at(field.span, "the statuses lack `ok`, so that no call could ever succeed", hint="returns i32 { ok 0 }"))
    return statuses


def _launch(launch: nodes.Launch | None, scope: Scope, findings: Findings) -> LaunchShape | None:
    if launch is None:
        return None
    builder = TermBuilder(scope, findings)
    if launch.grid is None or launch.block is None:
        findings.add(codes.BAD_BINDING.at(launch.span, "a launch states `grid` and `block`"))
    sizes = [tuple(builder.number(item, integer=True) for item in (part.items if part else ())) for part in (launch.grid, launch.block)]
    for part, terms in zip((launch.grid, launch.block), sizes, strict=True):
        if part is not None and not 1 <= len(terms) <= 3:
            findings.add(codes.BAD_BINDING.at(part.span, "a grid or block has one to three sizes"))
    return LaunchShape(sizes[0], sizes[1], None if launch.shared is None else builder.number(launch.shared, integer=True))


def _argument(node: nodes.Argument, scope: Scope, findings: Findings) -> NativeArgument:
    op, name = scope.op, node.name.text
    if name in scope.loops and node.value is None:
        name = scope.loops[name].text
    if node.ctype not in CTYPES:
        findings.add(codes.ARGUMENT_TYPE.at(node.span, f"'{node.ctype}' is no C type", hint=did_you_mean(node.ctype, CTYPES, "type")))
    value: Term | None = None
    if node.value is not None:
        value = TermBuilder(scope, findings).build(node.value)
        kind = "value"
        fits = _fits(value.type, node.ctype)
        if isinstance(value, Const) and isinstance(value.value, str) and node.ctype == "char":
            fits = len(value.value.encode()) == 1
        if not fits:
            findings.add(codes.ARGUMENT_TYPE.at(node.span, f"{node.ctype} '{name}' cannot carry {value.type.describe()}"))
    else:
        kind = _kind(name, op)
        if not kind and op is not None:
            known = [*op.operands, *(result.name or "out" for result in op.results if result.inout is None), *op.dims, *op.attrs, *SPECIAL]
            hint = f"{did_you_mean(name, known, 'name')}, or write `{node.ctype} {name} = EXPRESSION`"
            findings.add(codes.UNKNOWN_ARGUMENT.at(node.name.span, f"'{name}' is no operand, dimension or attribute of op {op.name}", hint=hint))
        elif op is not None:
            _check_type(node, name, kind, op, findings)
    if node.nullable and kind not in ("operand", "attr", "workspace", "stream", "value"):
        findings.add(codes.ARGUMENT_TYPE.at(node.span, f"'{name}' is never absent, so `{node.ctype}?` has no null to stand for"))
    return NativeArgument(node.ctype, name, node.nullable, kind or "value", value, node.span)


def _kind(name: str, op: OpNames | None) -> str:
    if op is None:
        return ""
    if name in op.operands:
        return "operand"
    written = [result for result in op.results if result.inout is None]
    if any(name == (result.name or "out") for result in written) or (name == "out" and len(written) == len(op.results) <= 1):
        return "out"
    if name in op.dims:
        return "dim"
    if name in op.attrs:
        return "attr"
    return name if name in SPECIAL else ""


def _fits(kind: Type, ctype: str) -> bool:
    """Whether a C type can carry a value of a type."""
    match kind.kind:
        case "any":
            return True
        case "int":
            return ctype in INTEGERS or ctype in ("f32", "f64", "char")
        case "float":
            return ctype in ("f32", "f64")
        case "bool":
            return ctype in INTEGERS or ctype == "bool"
        case "word" | "dtype":
            return ctype in INTEGERS
        case "list":
            return ctype == "ptr"
        case "string":
            return ctype in ("ptr", "char")
    return False


def _check_type(node: nodes.Argument, name: str, kind: str, op: OpNames, findings: Findings) -> None:
    wrong = ""
    if kind in ("operand", "out"):
        wrong = "" if node.ctype == "ptr" else "an operand is passed as `ptr`"
        operand = op.operands.get(name)
        if not wrong and operand is not None and operand.optional and not node.nullable:
            wrong = f"'{name}' is optional: `ptr? {name}` is null where it is absent"
        elif not wrong and operand is not None and not operand.optional and node.nullable:
            wrong = f"'{name}' is always given, so `ptr?` has no null to stand for"
    elif kind == "dim":
        wrong = "" if node.ctype in INTEGERS else "a dimension is passed as an integer"
    elif kind == "attr":
        attr = op.attrs[name]
        if not _fits(evolve(attr.type, nullable=False), node.ctype):
            wrong = f"attribute '{name}' is {attr.type.describe()}"
        elif attr.type.nullable and not node.nullable:
            wrong = f"attribute '{name}' can be null: write `{node.ctype}? {name}`, a pointer that is null then"
        elif node.nullable and not attr.type.nullable:
            wrong = f"attribute '{name}' is never null"
    elif kind in SPECIAL:
        wrong = "" if node.ctype in SPECIAL[kind] else f"`{kind}` is passed as {' or '.join(SPECIAL[kind])}"
    if wrong:
        findings.add(codes.ARGUMENT_TYPE.at(node.span, f"{node.ctype}{'?' if node.nullable else ''} '{name}' does not fit: {wrong}"))


def _passed(arguments: tuple[NativeArgument, ...], op: OpNames | None) -> frozenset[str]:
    """Return the attributes and operands that a native function is told of."""
    names: set[str] = set()
    for argument in arguments:
        if argument.kind in ("operand", "attr"):
            names.add(argument.name)
        elif argument.value is not None:
            names |= {fact.key.split(":", 2)[1] for fact in facts(argument.value) if fact.key.startswith(("attr:", "given:"))}
    return frozenset(names)


def _implied(field: nodes.BindField, arguments: tuple[NativeArgument, ...], op: OpNames | None) -> list[Clause]:
    """Return what a binding takes for granted: contiguity where strides are not passed, sizes that fit their C type."""
    if op is None:
        return []
    passed: set[str] = set()
    for argument in arguments:
        if argument.value is not None:
            passed |= {fact.key for fact in facts(argument.value) if fact.key.startswith("stride:")}
    clauses: list[Clause] = []
    for argument, node in zip(arguments, field.arguments or (), strict=True):
        if argument.kind == "operand":
            clauses += _contiguity(op.operands[argument.name], passed, node)
        elif argument.ctype in INTEGERS:
            clauses += _narrow(argument, op, node)
    return clauses


def _contiguity(operand: Operand, passed: set[str], node: nodes.Argument) -> list[Clause]:
    rank = len(operand.shape)
    known = [f"stride:{operand.name}:{axis}" in passed for axis in range(rank)]
    if not any(known):
        if rank == 0:
            return []
        text = f"contiguous({operand.name})"
        return [make_clause(Fact(BOOL, f"contiguous:{operand.name}", text), text, "its strides are not passed", node, "binding")]
    clauses = []
    for axis in range(rank):
        if known[axis]:
            continue
        here = Fact(INT, f"stride:{operand.name}:{axis}", f"stride({operand.name}, {axis})")
        if axis == rank - 1:
            dense: Term = Const(INT, 1)
            text = f"{here.shown} == 1"
        else:
            after = f"stride({operand.name}, {axis + 1})"
            dense = Apply(INT, "mul", (operand.shape[axis + 1], Fact(INT, f"stride:{operand.name}:{axis + 1}", after)), node.span)
            text = f"{here.shown} == {_size_text(operand.shape[axis + 1])} * {after}"
        # An axis of one element has a stride that nothing reads.
        single = Apply(BOOL, "le", (operand.shape[axis], Const(INT, 1)), node.span)
        term = Apply(BOOL, "or", (single, Apply(BOOL, "eq", (here, dense), node.span)), node.span)
        clauses.append(make_clause(term, text, "this stride is not passed", node, "binding"))
    return clauses


def _narrow(argument: NativeArgument, op: OpNames, node: nodes.Argument) -> list[Clause]:
    """Return ``M <= 2147483647`` where an integer argument is narrower than what may come."""
    low, high = INTEGERS[argument.ctype]
    because = f"passed as {argument.ctype}"
    if argument.kind == "dim":
        dim = op.dims[argument.name]
        if (dim.high is not None and dim.high <= high) or argument.ctype in ("i64", "u64"):
            return []
        value: Term = Fact(INT, f"dim:{argument.name}", argument.name)
        return [make_clause(Apply(BOOL, "le", (value, Const(INT, high)), node.span), f"{argument.name} <= {high}", because, node, "binding")]
    if argument.kind == "attr" and op.attrs[argument.name].type.kind == "int" and not argument.nullable:
        value, text = Fact(INT, f"attr:{argument.name}", argument.name), argument.name
    elif argument.kind == "value" and argument.value is not None and argument.value.type.kind == "int" and not isinstance(argument.value, Const):
        if argument.ctype in ("i64", "u64"):
            return []
        value, text = argument.value, _expression_text(node)
    else:
        return []
    between = Apply(BOOL, "and", (Apply(BOOL, "le", (Const(INT, low), value), node.span), Apply(BOOL, "le", (value, Const(INT, high)), node.span)), node.span)
    return [make_clause(between, f"{low} <= {text} <= {high}", because, node, "binding")]


def _expression_text(node: nodes.Argument) -> str:
    span: Span = node.value.span if node.value is not None else node.span
    text = " ".join(span.text.split())
    simple = isinstance(node.value, nodes.NameRef | nodes.Call | nodes.Member | nodes.IntLit)
    return text if simple else f"({text})"


def _size_text(size: Term) -> str:
    if isinstance(size, Fact):
        return size.shown
    return str(size.value) if isinstance(size, Const) else "(the next size)"
