"""From a condition to the set of values that one name, or one expression, may have.

A comparison with a constant is undone step by step, outermost operator first: ``(K + 8) % 16 == 0`` becomes
``K + 8`` in {…, 0, 16, …}, then ``K`` in {…, 8, 24, …}. What stands at the end is a fact, or an expression of several facts
that no step can undo (``M * N * K``); the set is about that.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd

from attrs import frozen

from tessera_rules.compile.domain.integers import EVERY, MAX_RESIDUES, NOTHING, IntegerSet, Piece, at_least, at_most, between, exactly, make_piece, multiples
from tessera_rules.model.show import show
from tessera_rules.model.terms import Apply, Const, Fact, Term

LARGEST_LISTED_POWER = 40
BEYOND_LISTED = (1 << LARGEST_LISTED_POWER) + 1


@frozen(eq=False)
class Solved:
    """That ``core`` lies in ``values`` is what a condition says. ``key`` is the fact's key, or ``expr:`` and the text of the core."""

    core: Term
    key: str
    values: IntegerSet


def solve(term: Term, wanted: bool) -> Solved | None:
    """Return what a comparison says where it is true (or false, without being an error), or None where no step can undo it.

    ``in_range`` and ``in`` count as comparisons where their bounds and items are constants.

    >>> from tessera_rules.model.types import BOOL, INT
    >>> k = Fact(INT, "dim:K", "K")
    >>> found = solve(Apply(BOOL, "lt", (Apply(INT, "floordiv", (k, Const(INT, 16))), Const(INT, 4))), True)
    >>> found.key, found.values.high
    ('dim:K', 63)
    """
    said = _said(term)
    if said is None:
        return None
    subject, values = said
    if not wanted and not values.exact:
        # is_pow2: up to the bound its complement is known as well
        return undo(subject, IntegerSet((~IntegerSet(values.pieces)).pieces + at_least(BEYOND_LISTED).pieces, exact=False))
    return undo(subject, values if wanted else ~values)


def integer(term: Term) -> int | None:
    """Return the value of a term that is a constant integer."""
    return term.value if isinstance(term, Const) and isinstance(term.value, int) and not isinstance(term.value, bool) else None


_ORDER: dict[str, Callable[[int], IntegerSet]] = {
    "eq": lambda c: exactly(c),
    "ne": lambda c: ~exactly(c),
    "lt": lambda c: at_most(c - 1),
    "le": lambda c: at_most(c),
    "gt": lambda c: at_least(c + 1),
    "ge": lambda c: at_least(c),
}
_MIRRORED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def _said(term: Term) -> tuple[Term, IntegerSet] | None:
    """Return the left side of a condition and the set that it has to lie in."""
    if not isinstance(term, Apply):
        return None
    op, args = term.op, term.args
    if op in _ORDER:
        left, right = args
        if left.type.kind != "int" or right.type.kind != "int" or left.type.nullable or right.type.nullable:
            return None
        constant = integer(right)
        if constant is not None:
            return left, _ORDER[op](constant)
        constant = integer(left)
        if constant is not None:
            return right, _ORDER[_MIRRORED[op]](constant)
        return _difference(left, right), _ORDER[op](0)
    if op == "in" and args[0].type.kind == "int" and not args[0].type.nullable:
        items = [integer(arg) for arg in args[1:]]
        listed = [item for item in items if item is not None]
        return (args[0], exactly(*listed)) if len(listed) == len(items) else None
    if op == "in_range":
        low, high, step = map(integer, args[1:])
        if low is None or high is None or step is None or step <= 0:
            return None
        return args[0], between(low, high, step)
    if op == "is_pow2":
        # Listed up to a bound that no size reaches; beyond it every number is let through, and the set says that it is not exact.
        powers = exactly(*(1 << k for k in range(LARGEST_LISTED_POWER + 1)))
        return args[0], IntegerSet((powers | at_least(BEYOND_LISTED)).pieces, exact=False)
    return None


def _difference(left: Term, right: Term) -> Term:
    return Apply(left.type, "sub", (left, right))


def undo(term: Term, values: IntegerSet) -> Solved | None:
    """Return what it means for the innermost part that ``term`` lies in ``values``."""
    while True:
        linear = _linear(term)
        if linear is not None:
            core, factor, offset = linear
            if core is None:
                return Solved(term, "", IntegerSet((EVERY if offset in values else NOTHING).pieces, values.exact))
            values = _divided(values.shift(-offset), factor)
            term = core
        if isinstance(term, Fact):
            return Solved(term, term.key, values)
        if not isinstance(term, Apply):
            return None
        step = _UNDO.get(term.op)
        if step is None:
            return Solved(term, core_key(term), values) if term.op in ("add", "sub", "mul", "floordiv", "mod", "ceil_div", "align_up", "gcd") else None
        inner = step(term.args, values)
        if inner is None:
            return Solved(term, core_key(term), values)
        term, values = inner


def core_key(term: Term) -> str:
    """Return a key for an expression, equal for expressions that differ only in the order of sums and products."""
    return "expr:" + _canonical(term)


def _canonical(term: Term) -> str:
    if isinstance(term, Apply) and term.op in ("add", "mul"):
        parts: list[str] = []
        pending: list[Term] = [term]
        while pending:
            part = pending.pop()
            if isinstance(part, Apply) and part.op == term.op:
                pending.extend(part.args)
            else:
                parts.append(_canonical(part))
        return f"({f' {term.op} '.join(sorted(parts))})"
    if isinstance(term, Apply):
        return f"{term.op}({', '.join(map(_canonical, term.args))})"
    return show(term)


# ---- linear expressions -------------------------------------------------------------------------------------------


def _linear(term: Term) -> tuple[Term | None, int, int] | None:
    """Return ``(core, factor, offset)`` with ``term == factor * core + offset``, or None; core None is a constant.

    The core is the one part that is neither a constant nor a sum or a multiple, or, where there are several, their sum with
    the signs and factors reduced so that equal sums look equal.
    """
    parts: dict[str, tuple[Term, int]] = {}
    offset = 0
    pending = [(term, 1)]
    while pending:
        part, factor = pending.pop()
        constant = integer(part)
        if constant is not None:
            offset += factor * constant
            continue
        if isinstance(part, Apply) and part.type.kind == "int":
            if part.op == "add":
                pending += [(part.args[0], factor), (part.args[1], factor)]
                continue
            if part.op == "sub":
                pending += [(part.args[0], factor), (part.args[1], -factor)]
                continue
            if part.op == "neg":
                pending.append((part.args[0], -factor))
                continue
            if part.op == "mul":
                left, right = integer(part.args[0]), integer(part.args[1])
                if left is not None:
                    pending.append((part.args[1], factor * left))
                    continue
                if right is not None:
                    pending.append((part.args[0], factor * right))
                    continue
        key = part.key if isinstance(part, Fact) else _canonical(part)
        held = parts.get(key, (part, 0))[1] + factor
        parts[key] = (part, held)
    kept = {key: part for key, part in parts.items() if part[1] != 0}
    if any(part[1] == 0 and not isinstance(part[0], Fact) for part in parts.values()):
        return None  # `x - x` may still be an error inside
    if not kept:
        return None, 0, offset
    if len(kept) == 1:
        ((core, factor),) = kept.values()
        return core, factor, offset
    return _sum(kept, offset, term)


def _sum(parts: dict[str, tuple[Term, int]], offset: int, whole: Term) -> tuple[Term, int, int]:
    keys = sorted(parts)
    sign = 1 if parts[keys[0]][1] > 0 else -1
    core: Term | None = None
    for key in keys:
        part, factor = parts[key]
        factor *= sign
        piece: Term = part if abs(factor) == 1 else Apply(whole.type, "mul", (Const(whole.type, abs(factor)), part))
        if core is None:
            core = piece
        else:
            core = Apply(whole.type, "add" if factor > 0 else "sub", (core, piece))
    assert core is not None
    return core, sign, offset


def _divided(values: IntegerSet, factor: int) -> IntegerSet:
    """Return the x with ``factor * x`` in a set."""
    if factor == 1:
        return values
    if factor == 0:
        return EVERY if 0 in values else NOTHING
    if factor < 0:
        return _divided(values.negated(), -factor)
    found = NOTHING
    for piece in values.pieces:
        low = None if piece.low is None else -(-piece.low // factor)
        high = None if piece.high is None else piece.high // factor
        found = found | _congruent(low, high, piece, factor)
    return IntegerSet(found.pieces, found.exact and values.exact)


def _congruent(low: int | None, high: int | None, piece: Piece, factor: int) -> IntegerSet:
    """Return the x in an interval with ``factor * x`` congruent to what a piece wants."""
    common = gcd(factor, piece.modulus)
    modulus = piece.modulus // common
    inverse = pow(factor // common, -1, modulus) if modulus > 1 else 0
    residues = [r // common * inverse % modulus if modulus > 1 else 0 for r in piece.residues if r % common == 0]
    made = make_piece(low, high, modulus, residues) if residues else None
    return IntegerSet(() if made is None else (made,))


# ---- the other operators ------------------------------------------------------------------------------------------

Step = Callable[[tuple[Term, ...], IntegerSet], tuple[Term, IntegerSet] | None]


def _floordiv(args: tuple[Term, ...], values: IntegerSet) -> tuple[Term, IntegerSet] | None:
    divisor = integer(args[1])
    if divisor is None:
        return None
    if divisor <= 0:
        return args[0], NOTHING  # always an error
    found = NOTHING
    for piece in values.pieces:
        low = None if piece.low is None else piece.low * divisor
        high = None if piece.high is None else piece.high * divisor + divisor - 1
        if piece.modulus == 1:
            found = found | between(low, high)
        elif len(piece.residues) * divisor <= MAX_RESIDUES:
            residues = (r * divisor + i for r in piece.residues for i in range(divisor))
            made = make_piece(low, high, piece.modulus * divisor, residues)
            found = found | IntegerSet(() if made is None else (made,))
        else:
            return None
    return args[0], IntegerSet(found.pieces, found.exact and values.exact)


def _mod(args: tuple[Term, ...], values: IntegerSet) -> tuple[Term, IntegerSet] | None:
    divisor = integer(args[1])
    if divisor is None:
        return None
    if divisor <= 0:
        return args[0], NOTHING
    within = values & between(0, divisor - 1)
    if within.empty:
        return args[0], IntegerSet((), within.exact)
    residues = within.values(MAX_RESIDUES)
    if residues is None:
        return None
    return args[0], IntegerSet(multiples(divisor, *residues).pieces, within.exact)


def _ceil_div(args: tuple[Term, ...], values: IntegerSet) -> tuple[Term, IntegerSet] | None:
    # ceil(x / c) == -((-x) // c)
    inner = _floordiv((args[0], args[1]), values.negated())
    return None if inner is None else (args[0], inner[1].negated())


def _align_up(args: tuple[Term, ...], values: IntegerSet) -> tuple[Term, IntegerSet] | None:
    size = integer(args[1])
    return None if size is None else _ceil_div(args, _divided(values, size) if size > 0 else values)


def _abs(args: tuple[Term, ...], values: IntegerSet) -> tuple[Term, IntegerSet] | None:
    positive = values & at_least(0)
    return args[0], positive | positive.negated()


def _least(args: tuple[Term, ...], values: IntegerSet) -> tuple[Term, IntegerSet] | None:
    return _clipped(args, values, least=True)


def _most(args: tuple[Term, ...], values: IntegerSet) -> tuple[Term, IntegerSet] | None:
    return _clipped(args, values, least=False)


def _clipped(args: tuple[Term, ...], values: IntegerSet, *, least: bool) -> tuple[Term, IntegerSet] | None:
    constants = [value for arg in args if (value := integer(arg)) is not None]
    rest = [arg for arg in args if integer(arg) is None]
    if len(rest) != 1:
        return None
    if not constants:
        return rest[0], values
    bound = min(constants) if least else max(constants)
    free = (at_most(bound) if least else at_least(bound)) & values
    beyond = (at_least(bound) if least else at_most(bound)) if bound in values else NOTHING
    return rest[0], free | beyond


def _log2(args: tuple[Term, ...], values: IntegerSet) -> tuple[Term, IntegerSet] | None:
    found = NOTHING
    for piece in (values & between(0, 4096)).pieces:
        assert piece.low is not None
        assert piece.high is not None
        if piece.modulus == 1:
            found = found | between(1 << piece.low, (1 << (piece.high + 1)) - 1)
        else:
            for k in IntegerSet((piece,)).values(64) or ():
                found = found | between(1 << k, (1 << (k + 1)) - 1)
            if IntegerSet((piece,)).values(64) is None:
                return None
    return args[0], IntegerSet(found.pieces, found.exact and values.exact)


def _gcd(args: tuple[Term, ...], values: IntegerSet) -> tuple[Term, IntegerSet] | None:
    left, right = integer(args[0]), integer(args[1])
    constant, other = (left, args[1]) if left is not None else (right, args[0])
    if constant is None or not 0 < abs(constant) <= MAX_RESIDUES:
        return None
    size = abs(constant)
    residues = [r for r in range(size) if gcd(r, size) in values]
    return other, IntegerSet(multiples(size, *residues).pieces if residues else (), values.exact)


_UNDO: dict[str, Step] = {
    "floordiv": _floordiv,
    "mod": _mod,
    "ceil_div": _ceil_div,
    "align_up": _align_up,
    "abs": _abs,
    "min": _least,
    "max": _most,
    "log2": _log2,
    "gcd": _gcd,
}
