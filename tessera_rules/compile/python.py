"""Conditions as straight-line Python, built as ``ast`` nodes: what the hot path runs.

The code is never pasted together from text, and no name or string of a rule file becomes a name of Python: facts are ``f0``,
``f1`` …, values that have no literal are ``c0``, ``c1`` … in the namespace. What the code says is what
`tessera_rules.compile.evaluate` says, message for message; ``tests/compile/test_generated_python.py`` holds it to that.

The positional functions take values of their facts' types with integers below 2**63 in size. With that known, most
arithmetic needs no check. Everything else goes through `Scalar.__call__`, which hands odd values to the interpreter.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import frozen

from tessera_rules.compile.evaluate import evaluate
from tessera_rules.compile.expressions import LIMIT, Emitter
from tessera_rules.compile.kinds import ClauseError, typed
from tessera_rules.model.terms import Fact, Term, facts
from tessera_rules.model.types import Type
from tessera_rules.model.values import Clause


def function(name: str, parameters: Sequence[str], body: Sequence[ast.stmt], namespace: Mapping[str, Any]) -> Callable[..., Any]:
    """Return a function made of statements. The names in it are ours; ``namespace`` holds what they refer to."""
    arguments = ast.arguments([], [ast.arg(each) for each in parameters], None, [], [], None, [])
    definition = ast.FunctionDef(name, arguments, list(body), [], None)
    module = ast.fix_missing_locations(ast.Module([definition], []))
    scope: dict[str, Any] = {"__builtins__": {}, **namespace}
    exec(compile(module, "<rules>", "exec"), scope)
    made: Callable[..., Any] = scope[name]
    return made


@frozen(eq=False)
class Scalar:
    """A compiled term. ``run`` takes the values of ``facts`` in order; calling it takes them by key.

    >>> from tessera_rules.model.terms import Apply, Const, Fact
    >>> from tessera_rules.model.types import BOOL, INT
    >>> k = Fact(INT, "dim:K", "K")
    >>> even = compile_scalar(Apply(BOOL, "eq", (Apply(INT, "mod", (k, Const(INT, 2))), Const(INT, 0))))
    >>> even.run(72), even({"dim:K": 73})
    (True, False)
    """

    term: Term
    facts: tuple[Fact, ...]
    run: Callable[..., Any]

    def __call__(self, values: Mapping[str, Any]) -> Any:
        """Return the term's value for values by fact key. Raises `ClauseError`, also for a value that is missing or of a wrong type where it is met."""
        args = []
        for fact in self.facts:
            value = values.get(fact.key, _ABSENT)
            if not fits(value, fact.type):
                return evaluate(self.term, lambda key: _value(values, key))
            args.append(value)
        return self.run(*args)


_ABSENT = object()


def _value(values: Mapping[str, Any], key: str) -> Any:
    if key not in values:
        raise ClauseError(f"{key} has no value")
    return values[key]


def fits(value: Any, kind: Type) -> bool:
    """Whether a value can go into a positional function as it is: of the type, integers below 2**63 in size."""
    if value is None:
        return kind.nullable
    match kind.kind:
        case "int":
            return type(value) is int and -LIMIT < value < LIMIT
        case "float":
            return type(value) is float or (type(value) is int and -LIMIT < value < LIMIT)
        case "bool":
            return type(value) is bool
        case "string" | "word" | "dtype":
            return type(value) is str
    try:
        return typed(value, kind, "") is value and value is not _ABSENT
    except ClauseError:
        return False


def compile_scalar(condition: Clause | Term) -> Scalar:
    """Return a term as a Python function."""
    term = condition.term if isinstance(condition, Clause) else condition
    read = tuple(facts(term))
    emitter = Emitter({fact.key: f"f{i}" for i, fact in enumerate(read)})
    whole = isinstance(condition, Clause)
    result = emitter.condition(term) if whole else emitter.expression(term)
    run = function("run", list(emitter.variables.values()), [ast.Return(result)], emitter.namespace)
    return Scalar(term, read, run)


@frozen(eq=False)
class Gate:
    """Conditions that are asked one after the other. ``run`` takes the values of ``facts`` in order.

    It returns -1 where all are true, else the place of the first that is false, or ``(place, ClauseError)`` of the first error.
    """

    facts: tuple[Fact, ...]
    run: Callable[..., int | tuple[int, ClauseError]]


def compile_gate(conditions: Sequence[Clause | Term]) -> Gate:
    """Return conditions as one straight-line function.

    >>> from tessera_rules.model.terms import Apply, Const, Fact
    >>> from tessera_rules.model.types import BOOL, INT
    >>> m, k = Fact(INT, "dim:M", "M"), Fact(INT, "dim:K", "K")
    >>> positive = Apply(BOOL, "gt", (m, Const(INT, 0)))
    >>> whole = Apply(BOOL, "eq", (Apply(INT, "mod", (k, m)), Const(INT, 0)))
    >>> gate = compile_gate([positive, whole])
    >>> gate.run(4, 8), gate.run(4, 9), gate.run(0, 9), compile_gate([whole]).run(9, 0)
    (-1, 1, 0, (0, ClauseError('the divisor of `%` is 0, and a divisor is positive')))
    """
    terms = [each.term if isinstance(each, Clause) else each for each in conditions]
    read = tuple({fact.key: fact for term in terms for fact in facts(term)}.values())
    emitter = Emitter({fact.key: f"f{i}" for i, fact in enumerate(read)}, {"ClauseError": ClauseError})
    body: list[ast.stmt] = []
    for place, term in enumerate(terms):
        if may_raise(term):
            body.append(ast.Assign([ast.Name("place", ast.Store())], ast.Constant(place), lineno=0))
        body.append(ast.If(ast.UnaryOp(ast.Not(), emitter.condition(term)), [ast.Return(ast.Constant(place))], []))
    body.append(ast.Return(ast.Constant(-1)))
    if any(map(may_raise, terms)):
        caught = ast.Return(ast.Tuple([ast.Name("place", ast.Load()), ast.Name("problem", ast.Load())], ast.Load()))
        handler = ast.ExceptHandler(ast.Name("ClauseError", ast.Load()), "problem", [caught])
        body = [ast.Try(body, [handler], [], [])]
    return Gate(read, function("gate", list(emitter.variables.values()), body, emitter.namespace))


def may_raise(term: Term) -> bool:
    """Whether the code of a term can raise: it calls a function of ours that does."""
    emitter = Emitter({fact.key: "f" for fact in facts(term)})
    emitter.condition(term)
    return any(callable(value) and name not in ("op_min", "op_max", "op_abs") for name, value in emitter.namespace.items())
