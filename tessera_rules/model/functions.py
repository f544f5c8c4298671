"""The closed set of functions and probes: what each takes and what it reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tessera_rules.model import codes
from tessera_rules.model.constant import NotConstant, constant
from tessera_rules.model.loops import LoopValue
from tessera_rules.model.terms import Apply, Const, Fact, Term, Version, facts
from tessera_rules.model.types import ANY, BOOL, DTYPE, FLOAT, INT, VERSION, Type
from tessera_rules.model.values import Operand
from tessera_rules.nearest import did_you_mean, nearest
from tessera_rules.syntax import nodes

if TYPE_CHECKING:
    from tessera_rules.model.expressions import TermBuilder

Handler = Callable[["TermBuilder", str, nodes.Call], Term]
OPTIONAL_STRING = Type("string", nullable=True)


def build_call(builder: TermBuilder, name: str, expr: nodes.Call) -> Term:
    """Return the term of a call. Reports TSR209 and TSR210."""
    handler = FUNCTIONS.get(name)
    if handler is None:
        known = [*FUNCTIONS, *builder.scope.predicates]
        near = nearest(name, known)
        hint = f"did you mean '{near}'?" if near else "the set of functions is closed; declare a `predicate` for one of your own"
        return builder.wrong(codes.UNKNOWN_FUNCTION, expr.span, f"there is no function '{name}'", hint)
    if expr.keywords and name != "smoke":
        return builder.wrong(codes.BAD_CALL, expr.span, f"{name} takes its arguments by position")
    if name in PROBES and not builder.scope.place.probes:
        return builder.wrong(codes.NOT_HERE, expr.span, f"{name}(…) asks the machine, and stands in `available` only", "put the clause into `available`")
    if name in DATA and not builder.scope.place.data:
        return builder.wrong(codes.NOT_HERE, expr.span, f"{name}(…) looks at the data, and stands in `guard` only", "put the clause into `guard`")
    if name in LAYOUT and not builder.scope.place.request:
        message = f"{name}(…) is about the request, which `{builder.scope.place.name}` does not see"
        return builder.wrong(codes.NOT_HERE, expr.span, message, "put the clause into `requires`")
    low, high = ARITY[name]
    count = len(expr.arguments)
    if count < low or (high is not None and count > high):
        wanted = f"{low}" if low == high else f"at least {low}" if high is None else f"{low} to {high}"
        message = f"{name} takes {wanted} argument{'s' if wanted != '1' else ''}, and {count} {'is' if count == 1 else 'are'} given"
        return builder.wrong(codes.BAD_CALL, expr.span, message)
    return handler(builder, name, expr)


def _number(builder: TermBuilder, name: str, expr: nodes.Call) -> Term:
    args = tuple(builder.number(argument) for argument in expr.arguments)
    kind = FLOAT if any(arg.type.kind == "float" for arg in args) else INT
    return builder.apply(kind, name, args, expr.span)


def _sqrt(builder: TermBuilder, name: str, expr: nodes.Call) -> Term:
    if not builder.scope.place.floats:
        return builder.wrong(codes.NOT_HERE, expr.span, "sqrt is floating point, and stands only in `cost`, `accuracy`, `guard` and native arguments")
    return builder.apply(FLOAT, name, (builder.number(expr.arguments[0]),), expr.span)


def _integer(builder: TermBuilder, name: str, expr: nodes.Call) -> Term:
    args = tuple(builder.number(argument, integer=True) for argument in expr.arguments)
    if name in ("ceil_div", "align_up") and isinstance(args[1], Const) and isinstance(args[1].value, int) and args[1].value <= 0:
        builder.findings.add(codes.DIVISOR.at(expr.arguments[1].span, f"{name} divides by {args[1].value}, and a divisor is positive"))
    return builder.apply(BOOL if name == "is_pow2" else INT, name, args, expr.span)


def _size(builder: TermBuilder, name: str, expr: nodes.Call) -> Term:
    term = builder.build(expr.arguments[0], DTYPE)
    if term.type.kind not in ("dtype", "any"):
        return builder.wrong(codes.BAD_CALL, expr.arguments[0].span, f"{name} takes a dtype", f"{name}(dtype) or {name}(dtype(x))")
    return builder.apply(INT, name, (term,), expr.span)


def _version(builder: TermBuilder, _name: str, expr: nodes.Call) -> Term:
    text = _text(builder, expr, 0)
    if text is None:
        return Const(ANY, None)
    if len(text) > 200 or not any(char.isalnum() for char in text):
        return builder.wrong(codes.BAD_CALL, expr.arguments[0].span, f'"{text}" is no version', 'such as "12.9"')
    return Const(VERSION, Version(text))


def _text(builder: TermBuilder, expr: nodes.Call, index: int) -> str | None:
    argument = expr.arguments[index]
    if isinstance(argument, nodes.StrLit):
        return builder.text(argument)
    if isinstance(argument, nodes.NameRef) and argument.name in builder.scope.loops:
        value = builder.scope.loops[argument.name]
        if value.kind == "string":
            return str(value.value)
    builder.findings.add(codes.BAD_CALL.at(argument.span, f"{expr.function} takes a string in quotes here"))
    return None


def _operand(builder: TermBuilder, expr: nodes.Call, *, results: bool = False) -> Operand | None:
    """Return the operand that the first argument names; with ``results`` the op's results too (as operands)."""
    argument = expr.arguments[0]
    op = builder.scope.op
    name = builder.operand_name(argument) or getattr(argument, "name", None)
    if op is None:
        builder.findings.add(codes.BAD_CALL.at(expr.span, f"{expr.function} needs the operands of an op"))
        return None
    if isinstance(argument, nodes.NameRef) and name is not None:
        if name in op.operands:
            return op.operands[name]
        if results and builder.scope.place.name == "a native argument":
            for result in op.results:
                if name == (result.name or "out") or (name == "out" and len(op.results) == 1):
                    if result.inout is not None:
                        return op.operands.get(result.inout)
                    dtypes = None if result.dtype is None else (result.dtype,)
                    return Operand(str(name), result.shape, False, True, dtypes, result.span)
    builder.findings.add(
        codes.BAD_CALL.at(argument.span, f"{expr.function} takes an operand of op {op.name}", hint=did_you_mean(str(name or ""), op.operands, "operand"))
    )
    return None


def _dtype(builder: TermBuilder, _name: str, expr: nodes.Call) -> Term:
    operand = _operand(builder, expr, results=True)
    if operand is None:
        return Const(ANY, None)
    if operand.dtypes is None:
        return Fact(DTYPE, "dtype", "dtype")
    if len(operand.dtypes) == 1:
        return Const(DTYPE, operand.dtypes[0])
    return Fact(DTYPE, f"dtype:{operand.name}", f"dtype({operand.name})")


def _given(builder: TermBuilder, _name: str, expr: nodes.Call) -> Term:
    argument, op = expr.arguments[0], builder.scope.op
    if op is not None and isinstance(argument, nodes.NameRef) and argument.name in op.attrs:
        attr = op.attrs[argument.name]
        if not attr.type.nullable:
            return builder.wrong(
                codes.BAD_CALL,
                argument.span,
                f"attribute '{attr.name}' always has a value",
                "given(x) is about an optional operand, or an attribute declared with `?`",
            )
        from tessera_rules.model.types import NULL

        return builder.apply(BOOL, "ne", (Fact(attr.type, f"attr:{attr.name}", attr.name), Const(NULL, None)), expr.span)
    operand = _operand(builder, expr)
    if operand is None:
        return Const(ANY, None)
    if not operand.optional:
        return builder.wrong(codes.BAD_CALL, argument.span, f"operand '{operand.name}' is always given", "given(x) is about an optional operand")
    return Fact(BOOL, f"given:{operand.name}", f"given({operand.name})")


def _layout(builder: TermBuilder, name: str, expr: nodes.Call) -> Term:
    operand = _operand(builder, expr, results=name in ("nbytes", "contiguous", "max_offset"))
    if operand is None:
        return Const(ANY, None)
    if name == "rank":
        return Const(INT, len(operand.shape))
    if name == "nbytes":
        count: Term = Const(INT, 1)
        for size in operand.shape:
            count = builder.apply(INT, "mul", (count, size), expr.span)
        dtype: Term = Fact(DTYPE, "dtype", "dtype")
        if operand.dtypes is not None:
            dtype = Const(DTYPE, operand.dtypes[0]) if len(operand.dtypes) == 1 else Fact(DTYPE, f"dtype:{operand.name}", f"dtype({operand.name})")
        bits = builder.apply(INT, "mul", (count, builder.apply(INT, "bits", (dtype,), expr.span)), expr.span)
        return builder.apply(INT, "ceil_div", (bits, Const(INT, 8)), expr.span)
    return Fact(INT if name == "max_offset" else BOOL, f"{name}:{operand.name}", f"{name}({operand.name})")


def _aligned(builder: TermBuilder, _name: str, expr: nodes.Call) -> Term:
    operand = _operand(builder, expr)
    size = builder.number(expr.arguments[1], integer=True)
    if operand is None:
        return Const(ANY, None)
    if isinstance(size, Const) and isinstance(size.value, int) and (size.value <= 0 or size.value & (size.value - 1)):
        return builder.wrong(codes.BAD_CALL, expr.arguments[1].span, f"an alignment is a power of two, and this is {size.value}")
    align = Fact(INT, f"align:{operand.name}", f"{operand.name}.align")
    return builder.apply(BOOL, "eq", (builder.apply(INT, "mod", (align, size), expr.span), Const(INT, 0)), expr.span)


def _stride(builder: TermBuilder, _name: str, expr: nodes.Call) -> Term:
    operand = _operand(builder, expr, results=True)
    axis = builder.build(expr.arguments[1])
    if operand is None:
        return Const(ANY, None)
    rank = len(operand.shape)
    if not (isinstance(axis, Const) and isinstance(axis.value, int)):
        negative = isinstance(axis, Apply) and axis.op == "neg" and isinstance(axis.args[0], Const) and isinstance(axis.args[0].value, int)
        value = -axis.args[0].value if negative and isinstance(axis, Apply) and isinstance(axis.args[0], Const) else None
    else:
        value = axis.value
    if value is None or not -rank <= value < rank:
        return builder.wrong(codes.BAD_CALL, expr.arguments[1].span, f"'{operand.name}' has axes 0 to {rank - 1}", "the axis is a constant integer")
    value %= rank
    return Fact(INT, f"stride:{operand.name}:{value}", f"stride({operand.name}, {value})")


def _data(builder: TermBuilder, name: str, expr: nodes.Call) -> Term:
    operand = _operand(builder, expr)
    if operand is None:
        return Const(ANY, None)
    return Fact(BOOL if name == "all_finite" else FLOAT, f"{name}:{operand.name}", f"{name}({operand.name})")


def _probe(builder: TermBuilder, name: str, expr: nodes.Call) -> Term:
    texts = [_text(builder, expr, index) for index in range(len(expr.arguments))]
    if None in texts:
        return Const(ANY, None)
    word = "call" if name == "probe python" else name
    if name == "probe python" and (texts[0] or "").count(":") != 1:
        return builder.wrong(codes.BAD_CALL, expr.arguments[0].span, f'"{texts[0]}" is no callable', 'write "module:callable"')
    shown = f'{name} "{texts[0]}"' if name == "probe python" else f"{name}({', '.join(_quoted(str(text)) for text in texts)})"
    return Fact(OPTIONAL_STRING if name == "env" else BOOL, f"probe:{word}:{':'.join(map(str, texts))}", shown)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _smoke(builder: TermBuilder, _name: str, expr: nodes.Call) -> Term:
    op = builder.scope.op
    if expr.arguments or op is None:
        return builder.wrong(codes.SMOKE, expr.span, "smoke states a request by name", "such as smoke(M=16, N=16, K=16)")
    words: dict[str, str] = {}
    known = [*op.dims, *op.attrs, "dtype", "given", "threads", "allow"]
    for key, value in expr.keywords:
        if key.text not in known:
            builder.findings.add(
                codes.SMOKE.at(key.span, f"'{key.text}' is no dimension or attribute of op {op.name}", hint=did_you_mean(key.text, known, "name"))
            )
            continue
        if key.text in words:
            builder.findings.add(codes.SMOKE.at(key.span, f"'{key.text}' is stated twice"))
        try:
            found = constant(value, builder.scope.loops)
        except NotConstant as problem:
            builder.findings.add(codes.SMOKE.at(problem.expr.span, f"the request of a smoke probe is fixed: {problem}"))
            continue
        words[key.text] = ",".join(item.text for item in found) if isinstance(found, tuple) else found.text
        if key.text in op.dims and not (isinstance(found, LoopValue) and found.kind == "int" and found.value >= 0):
            builder.findings.add(codes.SMOKE.at(value.span, f"dimension '{key.text}' is an integer from 0 up"))
    given = words.get("given", "").split(",")
    shapes = [operand.shape for operand in op.operands.values() if not operand.optional or operand.name in given]
    sizes = {fact.key for shape in shapes for size in shape for fact in facts(size)}
    missing = [dim for dim in op.dims if f"dim:{dim}" in sizes and dim not in words]
    if missing:
        return builder.wrong(codes.SMOKE, expr.span, f"smoke states a whole request, and {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} left out")
    text = " ".join(f"{key}={value}" for key, value in words.items())
    return Fact(BOOL, f"probe:smoke:{text}", f"smoke({', '.join(f'{key}={value}' for key, value in words.items())})")


PROBES = ("library", "symbol", "executable", "file", "env", "python", "cpu", "probe python", "smoke")
DATA = ("amax", "amin", "all_finite")
LAYOUT = ("dtype", "given", "contiguous", "aligned", "stride", "nbytes", "max_offset", "broadcast")
ARITY: dict[str, tuple[int, int | None]] = {
    "min": (1, None), "max": (1, None), "abs": (1, 1), "sqrt": (1, 1), "ceil_div": (2, 2), "align_up": (2, 2), "gcd": (2, 2), "is_pow2": (1, 1), "log2": (1, 1),
    "bytes": (1, 1), "bits": (1, 1), "version": (1, 1), "dtype": (1, 1), "given": (1, 1), "contiguous": (1, 1),
    "aligned": (2, 2), "stride": (2, 2), "rank": (1, 1),
    "nbytes": (1, 1), "max_offset": (1, 1), "broadcast": (1, 1), "amax": (1, 1), "amin": (1, 1), "all_finite": (1, 1), "library": (1, 1), "symbol": (2, 2),
    "executable": (1, 1), "file": (1, 1), "env": (1, 1), "python": (1, 1), "cpu": (1, 1), "probe python": (1, 1), "smoke": (0, None),
}  # fmt: skip
FUNCTIONS: dict[str, Handler] = {
    **dict.fromkeys(("min", "max", "abs"), _number),
    "sqrt": _sqrt,
    **dict.fromkeys(("ceil_div", "align_up", "gcd", "is_pow2", "log2"), _integer),
    **dict.fromkeys(("bytes", "bits"), _size),
    "version": _version,
    "dtype": _dtype,
    "given": _given,
    **dict.fromkeys(("contiguous", "rank", "nbytes", "max_offset", "broadcast"), _layout),
    "aligned": _aligned,
    "stride": _stride,
    **dict.fromkeys(DATA, _data),
    **dict.fromkeys(("library", "symbol", "executable", "file", "env", "python", "cpu", "probe python"), _probe),
    "smoke": _smoke,
}
