"""A second opinion from Z3 where the search is undecided: the same question as integers and choices, within a fixed amount of work.

Only the extra `analyze` brings Z3; without it the search answers alone. Division and remainder are Z3's, which agree with the
language's where the divisor is positive; where it is not, the condition is an error, and that is said to the solver as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from attrs import define, field

from tessera_rules.compile.domain import UNDECIDED, IntegerSet, Undecided, Values
from tessera_rules.compile.evaluate import evaluate
from tessera_rules.compile.kinds import ClauseError
from tessera_rules.model.terms import Apply, Const, Fact, Term, facts

WORK = 4_000_000
"""Z3's own count of steps for one question: the same on every machine. About a second."""
MOST_ROWS = 600
"""Largest table of a condition over listed values."""
MOST_RESIDUES = 64


class Unsupported(Exception):
    """A condition that is not put to the solver."""


def solver() -> Any:
    """Return the function that asks Z3, None where Z3 is not installed."""
    try:
        import z3
    except ImportError:
        return None

    def ask(holds: Sequence[Term], fails: Sequence[Term], universe: Mapping[str, Values]) -> Mapping[str, Any] | Undecided | None:
        """Return a point, None for a proof that there is none, or `UNDECIDED`."""
        translation = _Translation(z3, dict(universe))
        asked = z3.Solver()
        asked.set("rlimit", WORK)
        try:
            for term in holds:
                value, error = translation.of(term)
                asked.add(value, z3.Not(error))
            for term in fails:
                value, error = translation.of(term)
                asked.add(z3.Or(z3.Not(value), error))
        except (Unsupported, RecursionError):
            return UNDECIDED
        asked.add(*translation.sides)
        answer = asked.check()
        if answer == z3.unsat:
            return None
        return translation.point(asked.model()) if answer == z3.sat else UNDECIDED

    return ask


@define(eq=False)
class _Translation:
    """Terms as pairs of a value and whether it is an error. ``sides`` are what the universe says of the variables."""

    z3: Any
    universe: dict[str, Values]
    variables: dict[str, Any] = field(factory=dict)
    sides: list[Any] = field(factory=list)
    done: dict[int, tuple[Any, Any]] = field(factory=dict)
    kept: list[Term] = field(factory=list)

    def variable(self, key: str) -> Any:
        """Return the variable of a name: its value where it is an integer of a set, else the place in the list of its values."""
        if key not in self.variables:
            if key not in self.universe:
                raise Unsupported(key)
            made = self.variables[key] = self.z3.Int(key)
            values = self.universe[key]
            if isinstance(values, tuple):
                self.sides += [made >= 0, made < len(values)]
            else:
                self.sides.append(self._member(made, values))
        return self.variables[key]

    def _member(self, variable: Any, values: IntegerSet) -> Any:
        z3, ways = self.z3, []
        for piece in values.pieces:
            parts = [variable >= piece.low] if piece.low is not None else []
            parts += [variable <= piece.high] if piece.high is not None else []
            if piece.modulus > 1:
                if len(piece.residues) > MOST_RESIDUES:
                    raise Unsupported("a set with many remainders")
                parts.append(z3.Or(*(variable % piece.modulus == residue for residue in sorted(piece.residues))))
            ways.append(z3.And(*parts))
        return z3.Or(*ways)

    def point(self, model: Any) -> dict[str, Any]:
        """Return a model as values by name; names that the solver did not need have their first."""
        from tessera_rules.compile.domain import preferred

        found: dict[str, Any] = {}
        for key, values in self.universe.items():
            if key not in self.variables:
                found[key] = preferred(values)
                continue
            number = model.eval(self.variables[key], model_completion=True).as_long()
            found[key] = values[number] if isinstance(values, tuple) else number
        return found

    def of(self, term: Term) -> tuple[Any, Any]:
        """Return a term's value and its error. Raises `Unsupported`."""
        if id(term) not in self.done:
            self.kept.append(term)
            self.done[id(term)] = self._of(term)
        return self.done[id(term)]

    def _of(self, term: Term) -> tuple[Any, Any]:
        z3 = self.z3
        no = z3.BoolVal(False)
        if isinstance(term, Const):
            return self._constant(term.value), no
        listed = self._listed(term)
        if listed is not None:
            return listed
        if isinstance(term, Fact):
            return self.variable(term.key), no
        assert isinstance(term, Apply)
        match term.op:
            case "and" | "or":
                return self._chain(term)
            case "not":
                value, error = self.of(term.args[0])
                return z3.Not(value), error
            case "if":
                (condition, wrong), (one, one_wrong), (two, two_wrong) = map(self.of, term.args)
                return z3.If(condition, one, two), z3.Or(wrong, z3.If(condition, one_wrong, two_wrong))
        if any(arg.type.kind not in ("int", "bool") or arg.type.nullable for arg in term.args) or term.type.kind not in ("int", "bool"):
            raise Unsupported(term.op)
        pairs = [self.of(arg) for arg in term.args]
        values, errors = [value for value, _ in pairs], [error for _, error in pairs]
        return self._strict(term.op, values, errors)

    def _constant(self, value: Any) -> Any:
        if isinstance(value, bool):
            return self.z3.BoolVal(value)
        if isinstance(value, int):
            return self.z3.IntVal(value)
        raise Unsupported("a constant that is no integer")

    def _chain(self, term: Apply) -> tuple[Any, Any]:
        z3 = self.z3
        value, error = self.of(term.args[0])
        for arg in term.args[1:]:
            following, wrong = self.of(arg)
            if term.op == "and":
                value, error = z3.And(value, following), z3.Or(error, z3.And(value, wrong))
            else:
                value, error = z3.Or(value, following), z3.Or(error, z3.And(z3.Not(value), wrong))
        return value, error

    def _strict(self, op: str, values: list[Any], errors: list[Any]) -> tuple[Any, Any]:
        z3 = self.z3
        wrong = z3.Or(*errors)
        a: Any = values[0]
        b: Any = values[1] if len(values) > 1 else None
        match op:
            case "add":
                return a + b, wrong
            case "sub":
                return a - b, wrong
            case "mul":
                return a * b, wrong
            case "neg":
                return -a, wrong
            case "abs":
                return z3.If(a < 0, -a, a), wrong
            case "floordiv":
                return a / b, z3.Or(wrong, b <= 0)
            case "mod":
                return a % b, z3.Or(wrong, b <= 0)
            case "ceil_div":
                return (a + b - 1) / b, z3.Or(wrong, b <= 0)
            case "align_up":
                return (a + b - 1) / b * b, z3.Or(wrong, b <= 0)
            case "min" | "max":
                found = a
                for other in values[1:]:
                    found = z3.If(other < found if op == "min" else other > found, other, found)
                return found, wrong
            case "eq":
                return a == b, wrong
            case "ne":
                return a != b, wrong
            case "lt":
                return a < b, wrong
            case "le":
                return a <= b, wrong
            case "gt":
                return a > b, wrong
            case "ge":
                return a >= b, wrong
            case "in":
                return z3.Or(*(a == other for other in values[1:])), wrong
            case "in_range":
                low, high, step = values[1:]
                return z3.And(a >= low, a <= high, (a - low) % step == 0), z3.Or(wrong, step <= 0)
            case "is_pow2":
                return z3.Or(*(a == 1 << power for power in range(63))), wrong
        raise Unsupported(op)

    def _listed(self, term: Term) -> tuple[Any, Any] | None:
        """Return a condition or a number over listed values as a table of what it comes to; None where it reads something else."""
        names = list(facts(term))
        values = [self.universe.get(fact.key) for fact in names]
        if not names or not all(isinstance(each, tuple) for each in values) or term.type.kind not in ("bool", "int"):
            return None
        listed = [each for each in values if isinstance(each, tuple)]
        rows = 1
        for each in listed:
            rows *= len(each)
        if rows > MOST_ROWS:
            return None
        z3 = self.z3
        value: Any = z3.BoolVal(False) if term.type.kind == "bool" else z3.IntVal(0)
        wrong = []
        for places in product(*(range(len(each)) for each in listed)):
            here = z3.And(*(self.variable(fact.key) == place for fact, place in zip(names, places, strict=True)))
            at = {fact.key: each[place] for fact, each, place in zip(names, listed, places, strict=True)}
            try:
                found = evaluate(term, at.__getitem__)
            except ClauseError:
                wrong.append(here)
                continue
            if term.type.kind == "bool":
                value = z3.Or(value, here) if found is True else value
            else:
                value = z3.If(here, self._constant(found), value)
        return value, z3.Or(*wrong) if wrong else z3.BoolVal(False)
