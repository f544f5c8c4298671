"""Terms as C expressions over 64-bit sizes, in the order in which the interpreter evaluates, with its errors.

Each piece of code knows bounds of its value. Where they show that a result fits in 64 bits and that a divisor is positive, the
bare operator is written; else a checked function of the prelude, which says through ``st`` that there is no answer
(`TSR_ST_ERROR`) or that 64 bits do not hold it (`TSR_ST_WIDE`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

from attrs import define, evolve, field, frozen

from tessera_rules.compile.c_text import number
from tessera_rules.model.terms import Apply, Const, Fact, Term

LOW, HIGH = -(2**63), 2**63 - 1
MAX_WRITTEN_DEPTH = 60
"""Deepest term that is written: compilers promise to nest brackets 63 deep in C99, and take 256."""


class CannotWriteError(Exception):
    """A term that C over 64-bit sizes does not say: a list, a word of a fact that is not known."""


@frozen
class Code:
    """An expression. ``kind`` is ``int float mixed bool text null fail``; ``mixed`` is a number that is an integer in some cases.

    ``pure`` says that it cannot set ``st``. ``low`` and ``high`` bound an integer, with the 0 that stands for one that is no answer.
    ``wide`` marks a constant that 64 bits do not hold: bounds are then its value.
    """

    text: str
    kind: str
    low: int = 0
    high: int = 0
    pure: bool = True
    wide: bool = False


def _int(text: str, low: int, high: int, pure: bool) -> Code:
    """Return an integer; one that may be no answer may be 0."""
    if not pure:
        low, high = min(low, 0), max(high, 0)
    return Code(text, "int", max(low, LOW), min(high, HIGH), pure)


FAIL = Code("TSR_FAIL(st)", "fail", pure=False)
WIDE = "TSR_WIDE(st)"


@define
class Terms:
    """Writes the expressions of one function. ``sizes`` maps dimensions to the code that names them.

    ``temporaries`` collects the C type of each variable that the expressions use, named ``t0``, ``t1`` ….
    """

    sizes: Mapping[str, Code]
    temporaries: list[str] = field(factory=list)
    texts: dict[str, int] = field(factory=dict)
    needs_sqrt: bool = False

    def condition(self, term: Term) -> Code:
        """Write a condition; what is no boolean is an error."""
        found = self.write(term)
        return found if found.kind == "bool" else self._fail(found)

    def write(self, term: Term) -> Code:
        """Write a term. Raises `CannotWriteError`."""
        if isinstance(term, Const):
            return self._constant(term.value)
        if isinstance(term, Fact):
            size = self.sizes.get(term.key.removeprefix("dim:")) if term.key.startswith("dim:") else None
            return FAIL if size is None else size
        assert isinstance(term, Apply)
        if term.depth > MAX_WRITTEN_DEPTH:
            raise CannotWriteError("it is nested too deep")
        match term.op:
            case "and" | "or":
                return self._chain([self.condition(arg) for arg in term.args], "&&" if term.op == "and" else "||")
            case "if":
                return self._if(*term.args)
            case "in":
                return self._in(term.args)
        args = [self.write(arg) for arg in term.args]
        writer = _WRITERS.get(term.op)
        if writer is None:
            raise CannotWriteError(f"`{term.op}` is not for C")
        if any(arg.kind == "fail" for arg in args):
            return self._fail(*args)
        return writer(self, term.op, args)

    # ---- pieces ----

    def _constant(self, value: Any) -> Code:
        if isinstance(value, bool):
            return Code(str(int(value)), "bool")
        if isinstance(value, int):
            if LOW <= value <= HIGH:
                return Code(number(value), "int", value, value)
            return Code(WIDE, "int", value, value, pure=False, wide=True)
        if isinstance(value, float):
            if not isfinite(value):
                raise CannotWriteError("a float that is not finite")
            return Code(value.hex() if value >= 0 else f"({value.hex()})", "float")
        if isinstance(value, str):
            return Code(str(self.texts.setdefault(value, len(self.texts))), "text")
        if value is None:
            return Code("0", "null")
        raise CannotWriteError(f"a value of type {type(value).__name__}")

    @staticmethod
    def _fail(*args: Code) -> Code:
        effects = [f"(void)({arg.text})" for arg in args if not arg.pure and arg.kind != "fail"]
        return evolve(FAIL, text=f"({', '.join([*effects, FAIL.text])})") if effects else FAIL

    def _held(self, code: Code) -> tuple[str, Code]:
        """Return what to write first, and how to name the value again."""
        if code.pure and len(code.text) <= 40:
            return "", code
        name = f"t{len(self.temporaries)}"
        self.temporaries.append("double" if code.kind in ("float", "mixed") else "int64_t" if code.kind == "int" else "int")
        return f"{name} = {code.text}, ", evolve(code, text=name, pure=True)

    @staticmethod
    def _chain(parts: list[Code], joiner: str) -> Code:
        if not parts:
            return Code("1" if joiner == "&&" else "0", "bool")
        text = f" {joiner} ".join(f"{part.text} != 0" if part.kind == "fail" else part.text for part in parts)
        return Code(f"({text})", "bool", pure=all(part.pure for part in parts))

    def _if(self, condition: Term, value: Term, otherwise: Term) -> Code:
        chosen = self.condition(condition)
        one, two = self.write(value), self.write(otherwise)
        if chosen.kind == "fail":
            return chosen
        pure = chosen.pure and one.pure and two.pure
        if "fail" in (one.kind, two.kind):
            kept = two if one.kind == "fail" else one
            kept = evolve(kept, low=LOW, high=HIGH) if kept.wide else kept
        elif one.kind == two.kind:
            kept = evolve(one, low=min(one.low, two.low), high=max(one.high, two.high))
        elif {one.kind, two.kind} <= {"int", "float", "mixed"}:
            one, two = self.comparable(one), self.comparable(two)
            kept, pure = Code("", "mixed"), chosen.pure and one.pure and two.pure
        else:
            raise CannotWriteError("a choice of two kinds")
        picked = f"({chosen.text} ? {one.text} : {two.text})"
        if kept.kind == "int":
            return _int(picked, kept.low, kept.high, pure)
        return evolve(kept, text=f"({picked} != 0)" if kept.kind == "bool" else picked, pure=pure)

    def _in(self, args: tuple[Term, ...]) -> Code:
        x = self.write(args[0])
        if x.kind == "fail":
            return x
        first, held = self._held(x)
        tests = [self.equality("eq", [held, self.write(arg)]) for arg in args[1:]]
        whole = self._chain(tests, "||")
        if not first:
            return evolve(whole, pure=whole.pure and x.pure)
        return Code(f"({first}{whole.text})", "bool", pure=whole.pure and x.pure)

    # ---- operators ----

    @staticmethod
    def _all(args: list[Code], *kinds: str) -> bool:
        return all(arg.kind in kinds for arg in args)

    def _wanting(self, args: list[Code], *kinds: str) -> Code | None:
        """Return the error that arguments of other kinds are, None where all are of these."""
        if self._all(args, *kinds):
            return None
        if any(arg.kind == "mixed" for arg in args):
            raise CannotWriteError("a number that is an integer in some cases only")
        return self._fail(*args)

    def arithmetic(self, op: str, args: list[Code]) -> Code:
        """``+ - *``."""
        wrong = self._wanting(args, "int", "float")
        if wrong is not None:
            return wrong
        symbol = {"add": "+", "sub": "-", "mul": "*"}[op]
        pure = all(arg.pure for arg in args)
        if not self._all(args, "int"):
            one, two = (self._double(arg) for arg in args)
            return Code(f"tsr_finite({one} {symbol} {two}, st)", "float", pure=False)
        a, b = args
        match op:
            case "add":
                low, high = a.low + b.low, a.high + b.high
            case "sub":
                low, high = a.low - b.high, a.high - b.low
            case _:
                corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
                low, high = min(corners), max(corners)
        if a.wide or b.wide:
            low, high = LOW, HIGH
        elif low >= LOW and high <= HIGH:
            return _int(f"({a.text} {symbol} {b.text})", low, high, pure)
        return _int(f"tsr_{op}({a.text}, {b.text}, st)", low, high, pure=False)

    @staticmethod
    def _double(arg: Code) -> str:
        if arg.wide:
            try:
                return f"({float(arg.low).hex()})"
            except OverflowError:
                return f"(double){WIDE}"
        return f"(double)({arg.text})" if arg.kind == "int" else arg.text

    def division(self, op: str, args: list[Code]) -> Code:
        """``// % ceil_div align_up``."""
        wrong = self._wanting(args, "int")
        if wrong is not None:
            return wrong
        a, b = args
        if a.wide or b.wide:
            return _int(f"tsr_{op}({a.text}, {b.text}, st)", LOW, HIGH, pure=False) if b.high > 0 else self._fail(*args)
        if b.high <= 0:
            return self._fail(*args)
        least, most = max(b.low, 1), b.high
        quotients = [x // y for x in (a.low, a.high) for y in (least, most)]
        match op:
            case "mod":
                low, high = 0, min(most - 1, a.high) if a.low >= 0 else most - 1
            case "floordiv":
                low, high = min(quotients), max(quotients)
            case "ceil_div":
                ups = [-(-x // y) for x in (a.low, a.high) for y in (least, most)]
                low, high = min(ups), max(ups)
            case _:
                low, high = max(a.low, LOW), a.high + most
        pure = a.pure and b.pure and b.low > 0
        if a.low >= 0 and b.low > 0 and b.pure and op in ("mod", "floordiv"):
            return _int(f"({a.text} {'%' if op == 'mod' else '/'} {b.text})", low, high, pure)
        return _int(f"tsr_{op}({a.text}, {b.text}, st)", low, high, pure and (op != "align_up" or high <= HIGH))

    def quotient(self, _op: str, args: list[Code]) -> Code:
        """``/``: integers that a double holds exactly, or floats."""
        wrong = self._wanting(args, "int", "float")
        if wrong is not None:
            return wrong
        one, two = (self.comparable(arg) for arg in args)
        return Code(f"tsr_div({one.text}, {two.text}, st)", "float", pure=False)

    def sign(self, op: str, args: list[Code]) -> Code:
        """``-x`` and ``abs``."""
        wrong = self._wanting(args, "int", "float")
        if wrong is not None:
            return wrong
        (x,) = args
        if x.kind == "float":
            if op == "neg":
                return Code(f"(-{x.text})", "float", pure=x.pure)
            first, held = self._held(x)
            return Code(f"({first}{held.text} < 0.0 ? -{held.text} : {held.text})", "float", pure=x.pure)
        if x.wide:
            return _int(f"tsr_{op}({x.text}, st)", LOW, HIGH, pure=False)
        low, high = (-x.high, -x.low) if op == "neg" else (0 if x.low < 0 < x.high else min(abs(x.low), abs(x.high)), max(abs(x.low), abs(x.high)))
        if op == "abs" and x.low >= 0:
            return x
        if x.low > LOW and op == "neg":
            return _int(f"(-{x.text})", low, high, x.pure)
        return _int(f"tsr_{op}({x.text}, st)", low, high, x.pure and x.low > LOW)

    def extreme(self, op: str, args: list[Code]) -> Code:
        """``min`` and ``max``."""
        wrong = self._wanting(args, "int", "float", "mixed")
        if wrong is not None:
            return wrong
        pure = all(arg.pure for arg in args)
        if self._all(args, "int"):
            pick: Callable[..., int] = min if op == "min" else max
            text = args[0].text
            for arg in args[1:]:
                text = f"tsr_{op}({text}, {arg.text})"
            if any(arg.wide for arg in args):
                return _int(text, LOW, HIGH, pure=False)
            return _int(text, pick(arg.low for arg in args), pick(arg.high for arg in args), pure)
        same = self._all(args, "float")
        doubles = args if same else [self.comparable(arg) for arg in args]
        text = doubles[0].text
        for arg in doubles[1:]:
            text = f"tsr_f{op}({text}, {arg.text})"
        return Code(text, "float" if same else "mixed", pure=all(arg.pure for arg in doubles))

    def root(self, _op: str, args: list[Code]) -> Code:
        """``sqrt``."""
        wrong = self._wanting(args, "int", "float")
        if wrong is not None:
            return wrong
        self.needs_sqrt = True
        return Code(f"tsr_sqrt({self._double(args[0])}, st)", "float", pure=False)

    def common(self, _op: str, args: list[Code]) -> Code:
        """``gcd``."""
        wrong = self._wanting(args, "int")
        if wrong is not None:
            return wrong
        top = min(max(abs(bound) for arg in args for bound in (arg.low, arg.high)), HIGH)
        return _int(f"tsr_gcd({args[0].text}, {args[1].text}, st)", 0, top, pure=False)

    def logarithm(self, _op: str, args: list[Code]) -> Code:
        """``log2``."""
        wrong = self._wanting(args, "int")
        if wrong is not None:
            return wrong
        return _int(f"tsr_log2({args[0].text}, st)", 0, 62, pure=args[0].pure and args[0].low > 0)

    def power(self, _op: str, args: list[Code]) -> Code:
        """``is_pow2``."""
        wrong = self._wanting(args, "int")
        return wrong if wrong is not None else Code(f"tsr_is_pow2({args[0].text})", "bool", pure=args[0].pure)

    def interval(self, _op: str, args: list[Code]) -> Code:
        """``x in low..high step s``."""
        wrong = self._wanting(args, "int")
        if wrong is not None:
            return wrong
        pure = all(arg.pure for arg in args) and args[3].low > 0
        return Code(f"tsr_in_range({', '.join(arg.text for arg in args)}, st)", "bool", pure=pure)

    def negation(self, _op: str, args: list[Code]) -> Code:
        """``not``."""
        wrong = self._wanting(args, "bool")
        return wrong if wrong is not None else Code(f"(!{args[0].text})", "bool", pure=args[0].pure)

    def comparable(self, arg: Code) -> Code:
        """Return a number as a double that is exactly it."""
        if arg.kind != "int":
            return arg
        if arg.low >= -(2**53) and arg.high <= 2**53 and not arg.wide:
            return Code(f"(double)({arg.text})", "float", pure=arg.pure)
        return Code(f"tsr_exact({arg.text}, st)", "float", pure=False)

    def equality(self, op: str, args: list[Code]) -> Code:
        """``== !=``."""
        a, b = args
        if "fail" in (a.kind, b.kind):
            return self._fail(*args)
        pure = a.pure and b.pure
        if "null" in (a.kind, b.kind):
            value = (a.kind == b.kind) is (op == "eq")
            effects = "".join(f"(void)({arg.text}), " for arg in args if not arg.pure)
            return Code(f"({effects}{int(value)})", "bool", pure=pure)
        if self._all(args, "int", "float", "mixed"):
            return self.order(op, args)
        if a.kind != b.kind:
            return self._fail(*args)
        return self._compared(op, a, b)

    def order(self, op: str, args: list[Code]) -> Code:
        """``< <= > >=``, and equality of numbers."""
        if not self._all(args, "int", "float", "mixed"):
            return self._fail(*args)
        a, b = args
        if not self._all(args, "int"):
            return self._compared(op, self.comparable(a), self.comparable(b))
        settled = _settled(op, a, b)
        if settled is not None and (a.pure or a.wide) and (b.pure or b.wide):
            return Code(str(int(settled)), "bool")
        return self._compared(op, a, b)

    @staticmethod
    def _compared(op: str, a: Code, b: Code) -> Code:
        pure = a.pure and b.pure
        if pure and a.text == b.text:
            return Code(str(int(op in ("eq", "le", "ge"))), "bool")
        return Code(f"({a.text} {_SYMBOLS[op]} {b.text})", "bool", pure=pure)


_SYMBOLS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _settled(op: str, a: Code, b: Code) -> bool | None:
    """Return what a comparison of integers comes to where their bounds leave no choice."""
    if op in ("gt", "ge"):
        op, a, b = {"gt": "lt", "ge": "le"}[op], b, a
    if op == "lt":
        return True if a.high < b.low else False if a.low >= b.high else None
    if op == "le":
        return True if a.high <= b.low else False if a.low > b.high else None
    if a.high < b.low or b.high < a.low:
        return op == "ne"
    return op == "eq" if a.low == a.high == b.low == b.high else None


Writer = Callable[[Terms, str, list[Code]], Code]
_WRITERS: dict[str, Writer] = {
    "add": Terms.arithmetic, "sub": Terms.arithmetic, "mul": Terms.arithmetic, "floordiv": Terms.division, "mod": Terms.division,
    "ceil_div": Terms.division, "align_up": Terms.division, "div": Terms.quotient, "neg": Terms.sign, "abs": Terms.sign,
    "min": Terms.extreme, "max": Terms.extreme, "sqrt": Terms.root, "gcd": Terms.common, "log2": Terms.logarithm,
    "is_pow2": Terms.power, "in_range": Terms.interval, "not": Terms.negation, "eq": Terms.equality, "ne": Terms.equality,
    "lt": Terms.order, "le": Terms.order, "gt": Terms.order, "ge": Terms.order,
}  # fmt: skip
