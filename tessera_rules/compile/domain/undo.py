"""The operators that can be undone: from the values of ``x // c`` to those of ``x``, and so on."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd

from tessera_rules.compile.domain.integers import NOTHING, IntegerSet, at_least, at_most, between, multiples
from tessera_rules.compile.domain.linear import divided, integer
from tessera_rules.compile.domain.pieces import MAX_RESIDUES, make_piece
from tessera_rules.model.terms import Term

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
    return None if size is None else _ceil_div(args, divided(values, size) if size > 0 else values)


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


UNDO: dict[str, Step] = {
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
