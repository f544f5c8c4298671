"""Sums and multiples: an integer expression as a factor, a core and an offset."""

from __future__ import annotations

from math import gcd

from tessera_rules.compile.domain.integers import EVERY, NOTHING, IntegerSet
from tessera_rules.compile.domain.pieces import Piece, make_piece
from tessera_rules.model.show import show
from tessera_rules.model.terms import Apply, Const, Fact, Term


def integer(term: Term) -> int | None:
    """Return the value of a term that is a constant integer."""
    return term.value if isinstance(term, Const) and isinstance(term.value, int) and not isinstance(term.value, bool) else None


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


def linear_parts(term: Term) -> tuple[Term | None, int, int] | None:
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


def divided(values: IntegerSet, factor: int) -> IntegerSet:
    """Return the x with ``factor * x`` in a set."""
    if factor == 1:
        return values
    if factor == 0:
        return EVERY if 0 in values else NOTHING
    if factor < 0:
        return divided(values.negated(), -factor)
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
