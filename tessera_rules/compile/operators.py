"""The operators on known values: one meaning, which every evaluator shares.

Each function takes values and returns a value, or raises `ClauseError` with a message that shows them. Integers are exact;
``//`` and ``%`` floor and want a positive divisor; floats are IEEE doubles and a result that is not finite is an error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from tessera_rules.compile.kinds import ClauseError, kind_of, plain, shown, typed
from tessera_rules.dtypes import FORMATS
from tessera_rules.model.patterns import Matcher
from tessera_rules.model.terms import Version
from tessera_rules.nearest import did_you_mean

__all__ = [
    "MAX_BITS",
    "STRICT",
    "ClauseError",
    "boolean",
    "check_range",
    "check_step",
    "contains",
    "eq",
    "in_range",
    "kind_of",
    "plain",
    "shown",
    "typed",
]

MAX_BITS = 4096
"""Bits of the largest integer that an expression may come to (language.md §4)."""


def boolean(value: Any) -> bool:
    """Return a condition's value. There is no implicit truth value."""
    if value is True or value is False:
        return bool(value)
    raise ClauseError(f"a condition is true or false, and this is {kind_of(value)}: {shown(value)}")


def _number(symbol: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ClauseError(f"`{symbol}` takes numbers, and this is {kind_of(value)}" + ("" if value is None else f": {shown(value)}"))


def _integer(symbol: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ClauseError(f"`{symbol}` takes integers, and this is {kind_of(value)}" + ("" if value is None else f": {shown(value)}"))


def _result(symbol: str, value: int | float) -> int | float:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ClauseError(f"the result of `{symbol}` is {value}, which is no finite number")
    elif value.bit_length() > MAX_BITS:
        raise ClauseError(f"the result of `{symbol}` has more than {MAX_BITS:,} bits")
    return value


# ---- arithmetic ---------------------------------------------------------------------------------------------------


def _overflow(symbol: str) -> ClauseError:
    return ClauseError(f"the result of `{symbol}` is too large for a float")


def add(a: Any, b: Any) -> Any:
    """``a + b``."""
    _number("+", a)
    _number("+", b)
    try:
        return _result("+", a + b)
    except OverflowError:
        raise _overflow("+") from None


def sub(a: Any, b: Any) -> Any:
    """``a - b``."""
    _number("-", a)
    _number("-", b)
    try:
        return _result("-", a - b)
    except OverflowError:
        raise _overflow("-") from None


def mul(a: Any, b: Any) -> Any:
    """``a * b``; a product past the limit is refused before it is computed."""
    _number("*", a)
    _number("*", b)
    if isinstance(a, int) and isinstance(b, int) and a.bit_length() + b.bit_length() > MAX_BITS + 1:
        raise ClauseError(f"the result of `*` has more than {MAX_BITS:,} bits")
    try:
        return _result("*", a * b)
    except OverflowError:
        raise _overflow("*") from None


def div(a: Any, b: Any) -> Any:
    """``a / b``, a float."""
    _number("/", a)
    _number("/", b)
    if b == 0:
        raise ClauseError("division by zero")
    try:
        return _result("/", a / b)
    except OverflowError:
        raise _overflow("/") from None


def _divisor(symbol: str, a: Any, b: Any) -> None:
    _integer(symbol, a)
    _integer(symbol, b)
    if b <= 0:
        raise ClauseError(f"the divisor of `{symbol}` is {shown(b)}, and a divisor is positive")


def floordiv(a: Any, b: Any) -> Any:
    """``a // b``, floored; ``b`` is positive."""
    _divisor("//", a, b)
    return a // b


def mod(a: Any, b: Any) -> Any:
    """``a % b``, from 0 up to ``b - 1``; ``b`` is positive."""
    _divisor("%", a, b)
    return a % b


def neg(a: Any) -> Any:
    """``-a``."""
    _number("-", a)
    return _result("-", -a)


def absolute(a: Any) -> Any:
    """``abs(a)``."""
    _number("abs", a)
    return _result("abs", abs(a))


def minimum(*values: Any) -> Any:
    """``min(a, b, …)``; the first of equal ones."""
    for value in values:
        _number("min", value)
    return _result("min", min(values, key=_finite("min")))


def maximum(*values: Any) -> Any:
    """``max(a, b, …)``; the first of equal ones."""
    for value in values:
        _number("max", value)
    return _result("max", max(values, key=_finite("max")))


def _finite(symbol: str) -> Callable[[Any], Any]:
    def key(value: Any) -> Any:
        if isinstance(value, float) and value != value:
            raise ClauseError(f"`{symbol}` of a number that is nan")
        return value

    return key


def sqrt(a: Any) -> Any:
    """``sqrt(a)``, a float."""
    _number("sqrt", a)
    if a < 0:
        raise ClauseError(f"`sqrt` of {shown(a)}, which is negative")
    try:
        return _result("sqrt", math.sqrt(a))
    except OverflowError:
        raise _overflow("sqrt") from None


def ceil_div(a: Any, b: Any) -> Any:
    """The least integer that is at least ``a / b``; ``b`` is positive."""
    _divisor("ceil_div", a, b)
    return -(-a // b)


def align_up(a: Any, b: Any) -> Any:
    """The least multiple of ``b`` that is at least ``a``; ``b`` is positive."""
    _divisor("align_up", a, b)
    return _result("align_up", -(-a // b) * b)


def gcd(a: Any, b: Any) -> Any:
    """The greatest common divisor, never negative; ``gcd(0, 0)`` is 0."""
    _integer("gcd", a)
    _integer("gcd", b)
    return math.gcd(a, b)


def is_pow2(a: Any) -> Any:
    """Whether ``a`` is 1, 2, 4, 8, …"""
    _integer("is_pow2", a)
    return a > 0 and a & (a - 1) == 0


def log2(a: Any) -> Any:
    """The floor of the logarithm to base 2 of a positive integer."""
    _integer("log2", a)
    if a <= 0:
        raise ClauseError(f"`log2` of {shown(a)}, which is not positive")
    return a.bit_length() - 1


def bits(dtype: Any) -> Any:
    """Bits of one element of a dtype."""
    if not isinstance(dtype, str):
        raise ClauseError(f"`bits` takes a dtype, and this is {kind_of(dtype)}")
    if dtype not in FORMATS:
        raise ClauseError(f"'{dtype}' is no dtype; {did_you_mean(dtype, FORMATS, 'dtype')}")
    return FORMATS[dtype].bits


def size_in_bytes(dtype: Any) -> Any:
    """Bytes of one element of a dtype that takes whole bytes."""
    count = bits(dtype)
    if count % 8:
        raise ClauseError(f"bytes({dtype}): one element takes {count} bits, which is no whole byte; use bits({dtype})")
    return count // 8


# ---- comparison ---------------------------------------------------------------------------------------------------


def eq(a: Any, b: Any) -> bool:
    """``a == b``. ``null`` equals only ``null``; values of two kinds are not compared."""
    if a is None or b is None:
        return a is b
    if isinstance(a, bool) or isinstance(b, bool):
        if isinstance(a, bool) and isinstance(b, bool):
            return a is b
    elif any(isinstance(a, kind) and isinstance(b, kind) for kind in (int | float, str, Version)):
        return bool(a == b)
    elif isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(eq(x, y) for x, y in zip(a, b, strict=True))
    raise ClauseError(f"{kind_of(a)} is compared with {kind_of(b)}: {shown(a)} and {shown(b)}")


def ne(a: Any, b: Any) -> bool:
    """``a != b``."""
    return not eq(a, b)


def _ordered(symbol: str, a: Any, b: Any) -> None:
    if isinstance(a, Version) and isinstance(b, Version):
        return
    for value in (a, b):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ClauseError(f"`{symbol}` orders numbers and versions, and this is {kind_of(a)} and {kind_of(b)}: {shown(a)} {symbol} {shown(b)}")


def lt(a: Any, b: Any) -> bool:
    """``a < b``."""
    _ordered("<", a, b)
    return bool(a < b)


def le(a: Any, b: Any) -> bool:
    """``a <= b``."""
    _ordered("<=", a, b)
    return bool(a <= b)


def gt(a: Any, b: Any) -> bool:
    """``a > b``."""
    _ordered(">", a, b)
    return bool(a > b)


def ge(a: Any, b: Any) -> bool:
    """``a >= b``."""
    _ordered(">=", a, b)
    return bool(a >= b)


def check_step(step: Any) -> None:
    """Raise where the step of a range is not positive."""
    if step <= 0:
        raise ClauseError(f"the step of a range is {shown(step)}, and a step is positive")


def check_range(value: Any) -> None:
    """Raise where a part of ``x in low..high`` is no integer."""
    _integer("in", value)


def in_range(x: Any, low: Any, high: Any, step: Any) -> bool:
    """``x in low..high step s``: both ends in, counted from the first."""
    for value in (x, low, high, step):
        check_range(value)
    check_step(step)
    return bool(low <= x <= high and (x - low) % step == 0)


# ---- lists --------------------------------------------------------------------------------------------------------


def _list(symbol: str, value: Any) -> None:
    if not isinstance(value, tuple | list):
        raise ClauseError(f"`{symbol}` takes a list, and this is {kind_of(value)}" + ("" if value is None else f": {shown(value)}"))


def contains(items: Any, item: Any) -> bool:
    """``item in items`` where the list is a value."""
    _list("in", items)
    return any(eq(each, item) for each in items)


def like(words: Any, matcher: Matcher) -> bool:
    """``words like pattern``."""
    _list("like", words)
    for word in words:
        if not isinstance(word, str):
            raise ClauseError(f"`like` matches words, and the list holds {kind_of(word)}: {shown(word)}")
    return matcher.matches(words)


def index(items: Any, place: Any) -> Any:
    """``items[place]``, counted from 0."""
    _list("[]", items)
    _integer("[]", place)
    if not 0 <= place < len(items):
        raise ClauseError(f"there is no item {shown(place)} in a list of {len(items)}")
    return items[place]


def negate(a: Any) -> bool:
    """``not a``."""
    return not boolean(a)


STRICT: Mapping[str, Callable[..., Any]] = {
    "add": add, "sub": sub, "mul": mul, "div": div, "floordiv": floordiv, "mod": mod, "neg": neg, "abs": absolute,
    "min": minimum, "max": maximum, "sqrt": sqrt, "ceil_div": ceil_div, "align_up": align_up, "gcd": gcd,
    "is_pow2": is_pow2, "log2": log2, "bits": bits, "bytes": size_in_bytes, "eq": eq, "ne": ne, "lt": lt, "le": le,
    "gt": gt, "ge": ge, "like": like, "index": index, "not": negate,
}  # fmt: skip
"""Operators that need all their arguments: with one that is unknown the result is unknown. The others stop when fixed."""
