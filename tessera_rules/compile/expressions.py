"""Terms as expressions of Python, as ``ast`` nodes.

No name or string of a rule file becomes a name of Python: facts are the variables that the caller names, values that have no
literal are ``c0``, ``c1`` … in the namespace. Facts are taken to have their types, integers below 2**63 in size; with that
known, most arithmetic needs no check.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, field

from tessera_rules.compile import operators
from tessera_rules.compile.evaluate import evaluate
from tessera_rules.compile.operators import MAX_BITS, STRICT
from tessera_rules.model.terms import Apply, Const, Fact, Term, facts
from tessera_rules.model.types import Type

FACT_BITS = 63
"""Bits of an integer fact that a positional function takes."""
LIMIT = 1 << FACT_BITS
MAX_COMPILED_DEPTH = 80
"""Deepest term that becomes code."""

_BINARY: dict[str, ast.operator] = {"add": ast.Add(), "sub": ast.Sub(), "mul": ast.Mult(), "floordiv": ast.FloorDiv(), "mod": ast.Mod()}
_COMPARE: dict[str, ast.cmpop] = {"eq": ast.Eq(), "ne": ast.NotEq(), "lt": ast.Lt(), "le": ast.LtE(), "gt": ast.Gt(), "ge": ast.GtE()}
_FUNCTIONS: dict[str, Callable[..., Any]] = {**STRICT, "contains": operators.contains, "in_range": operators.in_range}
_PLAIN: dict[str, Callable[..., Any]] = {"min": min, "max": max, "abs": abs}
_TEXTS = ("string", "word", "dtype")


def _is(kind: Type, *kinds: str) -> bool:
    return kind.kind in kinds and not kind.nullable


@define
class Emitter:
    """Turns terms into expressions over given variables. One emitter makes the expressions of one function.

    ``variables`` maps fact keys to the names of local variables. ``namespace`` collects what the expressions refer to besides:
    pass it to the module that they end up in.
    """

    variables: Mapping[str, str]
    namespace: dict[str, Any] = field(factory=dict)
    _known: dict[int, str] = field(factory=dict, init=False)
    _temporaries: int = field(default=0, init=False)

    # ---- pieces ----

    def constant(self, value: Any) -> ast.expr:
        """Return an expression for a value: a literal where Python has one."""
        if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and value == value and abs(value) != float("inf")):
            return ast.Constant(value)
        name = self._known.get(id(value))
        if name is None:
            name = f"c{len(self._known)}"
            self._known[id(value)] = name
            self.namespace[name] = value
        return ast.Name(name, ast.Load())

    def call(self, function: Callable[..., Any], *args: ast.expr) -> ast.expr:
        """Return a call of a function of ours."""
        name = f"op_{function.__name__}"
        self.namespace[name] = function
        return ast.Call(ast.Name(name, ast.Load()), list(args), [])

    def _held(self, term: Term) -> tuple[ast.expr, Callable[[], ast.expr]]:
        """Return an expression to stand first, and a way to name its value again."""
        if isinstance(term, Const | Fact):
            return self.expression(term), lambda: self.expression(term)
        name = f"t{self._temporaries}"
        self._temporaries += 1
        return ast.NamedExpr(ast.Name(name, ast.Store()), self.expression(term)), lambda: ast.Name(name, ast.Load())

    # ---- terms ----

    def expression(self, term: Term) -> ast.expr:
        """Return an expression whose value is the term's; evaluating it raises `ClauseError` where the term is an error."""
        if isinstance(term, Const):
            return self.constant(term.value)
        if isinstance(term, Fact):
            return ast.Name(self.variables[term.key], ast.Load())
        assert isinstance(term, Apply)
        if term.depth > MAX_COMPILED_DEPTH:
            return self._interpreted(term)
        special = _EMIT.get(term.op)
        found = special(self, term) if special is not None else None
        return found if found is not None else self._through_function(term)

    def _interpreted(self, term: Term) -> ast.expr:
        """Call the interpreter for a term that is too deep for Python's own compiler."""
        read = tuple(facts(term))
        keys = [fact.key for fact in read]

        def interpreted(*values: Any) -> Any:
            return evaluate(term, dict(zip(keys, values, strict=True)).__getitem__)

        return ast.Call(self.constant(interpreted), [self.expression(fact) for fact in read], [])

    def condition(self, term: Term) -> ast.expr:
        """Return an expression that is true or false, or raises."""
        return self.expression(term) if _is(term.type, "bool") and _truly_boolean(term) else self.call(operators.boolean, self.expression(term))

    def _through_function(self, term: Apply) -> ast.expr:
        return self.call(_FUNCTIONS[term.op], *map(self.expression, term.args))

    def arithmetic(self, term: Apply) -> ast.expr | None:
        """``+ - *`` of integers that cannot pass the limit."""
        left, right = term.args
        if not (_is(left.type, "int") and _is(right.type, "int")) or _bits(term) > MAX_BITS:
            return None
        return ast.BinOp(self.expression(left), _BINARY[term.op], self.expression(right))

    def division(self, term: Apply) -> ast.expr | None:
        """``//`` and ``%``: bare where the divisor is a positive constant, with a test where it is a plain name."""
        left, right = term.args
        if not (_is(left.type, "int") and _is(right.type, "int")):
            return None
        if _positive(right):
            return ast.BinOp(self.expression(left), _BINARY[term.op], self.expression(right))
        if isinstance(right, Fact) and isinstance(left, Fact | Const):
            test = ast.Compare(self.expression(right), [ast.Gt()], [ast.Constant(0)])
            bare = ast.BinOp(self.expression(left), _BINARY[term.op], self.expression(right))
            return ast.IfExp(test, bare, self.call(STRICT[term.op], self.expression(left), self.expression(right)))
        return None

    def rounded_up(self, term: Apply) -> ast.expr | None:
        """``ceil_div`` and ``align_up`` by a positive constant."""
        left, right = term.args
        if not (_is(left.type, "int") and _is(right.type, "int") and _positive(right)) or _bits(term) > MAX_BITS:
            return None
        up = ast.UnaryOp(ast.USub(), ast.BinOp(ast.UnaryOp(ast.USub(), self.expression(left)), ast.FloorDiv(), self.expression(right)))
        return up if term.op == "ceil_div" else ast.BinOp(up, ast.Mult(), self.expression(right))

    def negative(self, term: Apply) -> ast.expr | None:
        """``-x`` of an integer."""
        (arg,) = term.args
        return ast.UnaryOp(ast.USub(), self.expression(arg)) if _is(arg.type, "int") and _bits(arg) <= MAX_BITS else None

    def extreme(self, term: Apply) -> ast.expr | None:
        """``min``, ``max`` and ``abs`` of integers, as Python's own."""
        if not all(_is(arg.type, "int") and _bits(arg) <= MAX_BITS for arg in term.args):
            return None
        if len(term.args) == 1 and term.op != "abs":
            return self.expression(term.args[0])
        return self.call(_PLAIN[term.op], *map(self.expression, term.args))

    def comparison(self, term: Apply) -> ast.expr | None:
        """A comparison of two values whose types say that it cannot be an error."""
        left, right = term.args
        equality = term.op in ("eq", "ne")
        if isinstance(left, Const) and isinstance(right, Const):
            return None
        if equality and any(isinstance(arg, Const) and arg.value is None for arg in (left, right)):
            return ast.Compare(self.expression(left), [ast.Is() if term.op == "eq" else ast.IsNot()], [self.expression(right)])
        numbers = _is(left.type, "int", "float") and _is(right.type, "int", "float")
        versions = _is(left.type, "version") and _is(right.type, "version")
        texts = equality and _is(left.type, *_TEXTS) and _is(right.type, *_TEXTS)
        flags = equality and all(_is(arg.type, "bool") and _truly_boolean(arg) for arg in (left, right))
        if not (numbers or versions or texts or flags):
            return None
        return ast.Compare(self.expression(left), [_COMPARE[term.op]], [self.expression(right)])

    def connective(self, term: Apply) -> ast.expr | None:
        """``and`` and ``or``, which stop where Python's do."""
        parts = [self.condition(arg) for arg in term.args]
        if not parts:
            return ast.Constant(term.op == "and")
        return parts[0] if len(parts) == 1 else ast.BoolOp(ast.And() if term.op == "and" else ast.Or(), parts)

    def negation(self, term: Apply) -> ast.expr | None:
        """``not x``."""
        return ast.UnaryOp(ast.Not(), self.condition(term.args[0]))

    def choice(self, term: Apply) -> ast.expr | None:
        """``x if c else y``."""
        condition, value, otherwise = term.args
        return ast.IfExp(self.condition(condition), self.expression(value), self.expression(otherwise))

    def membership(self, term: Apply) -> ast.expr | None:
        """``x in [a, b]``: a look-up where the items are constants of x's own kind, else one comparison after the other."""
        x, *items = term.args
        plain = all(isinstance(item, Const) and item.value is not None for item in items)
        integers = _is(x.type, "int") and all(_is(item.type, "int") for item in items)
        texts = _is(x.type, *_TEXTS) and all(_is(item.type, *_TEXTS) for item in items)
        if items and plain and (integers or texts):
            return ast.Compare(self.expression(x), [ast.In()], [ast.Set([self.expression(item) for item in items])])
        first, again = self._held(x)
        if not items:
            return ast.Subscript(ast.Tuple([first, ast.Constant(False)], ast.Load()), ast.Constant(1), ast.Load())
        tests: list[ast.expr] = []
        for item in items:
            tests.append(self._equal(x, first if not tests else again(), item))
        return tests[0] if len(tests) == 1 else ast.BoolOp(ast.Or(), tests)

    def _equal(self, x: Term, held: ast.expr, item: Term) -> ast.expr:
        if _is(x.type, "int", "float") and _is(item.type, "int", "float"):
            return ast.Compare(held, [ast.Eq()], [self.expression(item)])
        return self.call(operators.eq, held, self.expression(item))

    def interval(self, term: Apply) -> ast.expr | None:
        """``x in low..high step s`` with constants of integers."""
        x, low, high, step = term.args
        ends = all(_is(arg.type, "int") and isinstance(arg, Const) for arg in (low, high, step))
        if not (ends and _is(x.type, "int") and _positive(step)):
            return None
        first, again = self._held(x)
        # low <= x <= high, written so that x is computed once, and first
        above = ast.Compare(first, [ast.GtE()], [self.expression(low)])
        parts: list[ast.expr] = [above, ast.Compare(again(), [ast.LtE()], [self.expression(high)])]
        assert isinstance(step, Const)
        if step.value != 1:
            rest = ast.BinOp(ast.BinOp(again(), ast.Sub(), self.expression(low)), ast.Mod(), self.expression(step))
            parts.append(ast.Compare(rest, [ast.Eq()], [ast.Constant(0)]))
        return ast.BoolOp(ast.And(), parts)


_EMIT: dict[str, Callable[[Emitter, Apply], ast.expr | None]] = {
    "add": Emitter.arithmetic, "sub": Emitter.arithmetic, "mul": Emitter.arithmetic, "floordiv": Emitter.division, "mod": Emitter.division,
    "ceil_div": Emitter.rounded_up, "align_up": Emitter.rounded_up, "neg": Emitter.negative,
    "min": Emitter.extreme, "max": Emitter.extreme, "abs": Emitter.extreme,
    "eq": Emitter.comparison, "ne": Emitter.comparison, "lt": Emitter.comparison, "le": Emitter.comparison,
    "gt": Emitter.comparison, "ge": Emitter.comparison, "and": Emitter.connective, "or": Emitter.connective,
    "not": Emitter.negation, "if": Emitter.choice, "in": Emitter.membership, "in_range": Emitter.interval,
}  # fmt: skip


def _positive(term: Term) -> bool:
    return isinstance(term, Const) and isinstance(term.value, int) and not isinstance(term.value, bool) and term.value > 0


def _truly_boolean(term: Term) -> bool:
    """Whether a term of boolean type has a boolean value: constants and branches are looked at, the rest makes none else."""
    if isinstance(term, Const):
        return isinstance(term.value, bool)
    if isinstance(term, Apply) and term.op == "if":
        return _truly_boolean(term.args[1]) and _truly_boolean(term.args[2])
    return not (isinstance(term, Apply) and term.op == "index")


def _bits(term: Term) -> int:
    """Return a bound of the bits of an integer term, its facts having at most `FACT_BITS`."""
    if isinstance(term, Const):
        return term.value.bit_length() if isinstance(term.value, int) else MAX_BITS + 1
    if isinstance(term, Fact):
        return FACT_BITS
    assert isinstance(term, Apply)
    if term.op in ("bits", "bytes", "log2", "index"):
        return MAX_BITS + 1 if term.op == "index" else 16
    if term.op == "if":
        return max(map(_bits, term.args[1:]))
    if term.op in ("eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not", "in", "in_range", "like", "contains", "is_pow2"):
        return 1
    parts = [_bits(arg) for arg in term.args]
    bound = {"mul": sum, "align_up": sum, "add": lambda p: max(p) + 1, "sub": lambda p: max(p) + 1, "ceil_div": lambda p: p[0] + 1}.get(term.op, max)(parts)
    return int(bound)
