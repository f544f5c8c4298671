"""The words of a request as values: ``M=512``, ``causal=true``, ``epilogue=bias,relu``, each by the type that the op gives it."""

from __future__ import annotations

import math
import re
from typing import Any

from tessera_rules.dtypes import DTYPES, canonical
from tessera_rules.errors import OperandError
from tessera_rules.model.types import Type
from tessera_rules.nearest import did_you_mean

_INTEGER = re.compile(r"([+-]?)(0[xX][0-9a-fA-F][0-9a-fA-F_]*|0|[1-9][0-9_]*)(Ki|Mi|Gi|Ti)?")
_SUFFIX = {None: 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40}
_FLOAT = re.compile(r"[+-]?([0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)([eE][+-]?[0-9]+)?")
MAX_DIGITS = 1300
"""Digits of an integer that is read at all; 4,096 bits have 1,234."""
MAX_BITS = 4096


def integer(text: str) -> int | None:
    """Return the integer that a word means, or None; suffixes and hexadecimals as in the language.

    >>> integer("64Ki"), integer("0x40"), integer("1_000"), integer("-1"), integer("1.5")
    (65536, 64, 1000, -1, None)
    """
    match = _INTEGER.fullmatch(text) if len(text) <= MAX_DIGITS and text.isascii() else None
    if match is None or "__" in text or text.endswith("_"):
        return None
    sign, digits, suffix = match.groups()
    value = int(digits.replace("_", ""), 16 if digits[:2] in ("0x", "0X") else 10) * _SUFFIX[suffix]
    return None if value.bit_length() > MAX_BITS else -value if sign == "-" else value


def value_of(word: Any, kind: Type, name: str) -> Any:
    """Return a word (text as typed, or a value already) as a value of a type. Raises `OperandError` that names ``name``.

    >>> from tessera_rules.model.types import BOOL, LIST_OF_INT
    >>> value_of("true", BOOL, "attribute 'causal'"), value_of("1,2", LIST_OF_INT, "attribute 'axes'")
    (True, (1, 2))
    """
    if isinstance(word, str):
        return _parsed(word, kind, name)
    if getattr(word, "shape", None) == () and callable(getattr(word, "item", None)):
        word = word.item()  # a number of NumPy or of torch
    if word is None:
        if kind.nullable:
            return None
        raise OperandError(f"{name} is {kind.describe()}, and is never null")
    match kind.kind:
        case "int":
            if isinstance(word, int) and not isinstance(word, bool):
                return word
        case "float":
            if isinstance(word, int | float) and not isinstance(word, bool) and math.isfinite(word):
                return float(word)
        case "bool":
            if isinstance(word, bool):
                return word
        case "list":
            if isinstance(word, list | tuple):
                item = kind.item
                return tuple(word) if item is None else tuple(value_of(each, item, f"an item of {name}") for each in word)
    raise _wrong(word, kind, name)


def _parsed(text: str, kind: Type, name: str) -> Any:
    match kind.kind:
        case "word":
            if text in kind.words:
                return text
            if text == "null" and kind.nullable:
                return None
            raise OperandError(f"{name} is {kind.describe()}, and '{text}' is none of these", hint=did_you_mean(text, kind.words, "value"))
        case "string":
            return None if text == "null" and kind.nullable else text
    if text == "null":
        return value_of(None, kind, name)
    found: Any = None
    match kind.kind:
        case "int":
            found = integer(text)
        case "float":
            found = _float(text)
        case "bool":
            found = {"true": True, "false": False}.get(text.lower())
        case "dtype":
            found = canonical(text)
            if found is None:
                raise OperandError(f"{name} is a dtype, and '{text}' is none", hint=did_you_mean(text, DTYPES, "dtype"))
        case "list":
            inner = text[1:-1] if text.startswith("[") and text.endswith("]") else text
            parts = [part.strip() for part in inner.split(",")] if inner.strip() else []
            found = tuple(parts) if kind.item is None else tuple(_parsed(part, kind.item, f"an item of {name}") for part in parts)
    if found is None:
        raise _wrong(text, kind, name)
    return found


def _float(text: str) -> float | None:
    whole = integer(text)
    try:
        found = float(whole) if whole is not None else float(text.replace("_", "")) if _FLOAT.fullmatch(text) else math.nan
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def _wrong(word: Any, kind: Type, name: str) -> OperandError:
    article = "an" if kind.kind == "int" else "a"
    ways = {"bool": "write true or false", "int": "such as 16 or 64Ki", "float": "such as 0.5 or 1e-3", "list": "items by comma, nothing for the empty list"}
    shown = f"'{word}'" if isinstance(word, str) else repr(word)
    return OperandError(f"{name} is {article} {kind.describe()}, and {shown[:80]} is none", hint=ways.get(kind.kind))


def dtype_of(word: Any, name: str) -> str:
    """Return the dtype that a word, an alias or a dtype of an array library means. Raises `OperandError` with the nearest one.

    >>> dtype_of("float16", "dtype"), dtype_of(float, "dtype")
    ('f16', 'f64')
    """
    if not isinstance(word, str):
        word = dtype_name(word)
    found = canonical(word)
    if found is None:
        raise OperandError(f"{name}: '{word}' is no dtype", hint=did_you_mean(str(word), DTYPES, "dtype"))
    return found


def dtype_name(dtype: Any) -> str:
    """Return the name of a dtype of NumPy, torch or ml_dtypes, an object or a class; of anything else, what it says of itself."""
    if isinstance(dtype, type):
        return {"float": "f64", "bool": "bool"}.get(dtype.__name__, dtype.__name__)
    name = getattr(dtype, "name", None)
    return name if isinstance(name, str) else str(dtype).removeprefix("torch.")


def names_of(word: Any) -> tuple[str, ...]:
    """Return the names in ``bias,mask``, ``[bias, mask]`` or a sequence of names.

    >>> names_of("bias,mask"), names_of(""), names_of(["bias"])
    (('bias', 'mask'), (), ('bias',))
    """
    if isinstance(word, str):
        inner = word[1:-1] if word.startswith("[") and word.endswith("]") else word
        return tuple(part.strip() for part in inner.split(",") if part.strip())
    return tuple(str(each) for each in word)
