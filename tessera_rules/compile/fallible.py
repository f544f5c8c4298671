"""Which conditions can be errors, as far as their text tells."""

from __future__ import annotations

from tessera_rules.model.terms import Apply, Const, Term

_TOTAL = frozenset(
    ("add", "sub", "mul", "neg", "abs", "min", "max", "gcd", "is_pow2", "eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not", "if", "in", "in_range")
)


def may_fail(term: Term) -> bool:
    """Whether a condition can be an error for some value of its names, as far as the text tells. Facts are taken to have their types."""
    pending = [term]
    while pending:
        part = pending.pop()
        if not isinstance(part, Apply):
            continue
        divides = part.op in ("floordiv", "mod", "ceil_div", "align_up", "in_range")
        divisor = part.args[-1] if divides else None
        positive = isinstance(divisor, Const) and isinstance(divisor.value, int) and divisor.value > 0
        if (
            (divides and not positive)
            or (not divides and part.op not in _TOTAL)
            or any(arg.type.nullable for arg in part.args if part.op not in ("eq", "ne", "in"))
        ):
            return True
        pending.extend(part.args)
    return False
