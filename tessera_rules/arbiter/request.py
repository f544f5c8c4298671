"""Requests stated by words: the step `bind` for what a person types or a test says, with every mistake the caller's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attrs import define, evolve, field

from tessera_rules.arbiter.facts import RequestFacts
from tessera_rules.arbiter.words import dtype_of, integer, names_of, value_of
from tessera_rules.compile.evaluate import UNKNOWN, ClauseError, clause_values, truth
from tessera_rules.compile.kinds import shown
from tessera_rules.errors import OperandError, UsageError
from tessera_rules.machine.base import Machine
from tessera_rules.model.request import Request
from tessera_rules.model.types import INT
from tessera_rules.model.values import REQUIRED, Dim, Op, Ruleset, StatedLayout, TestRequest
from tessera_rules.model.words import PROMISES
from tessera_rules.nearest import did_you_mean

LAYOUT_WORDS = ("align", "strides", "dtype")


def find_op(ruleset: Ruleset, name: str) -> Op:
    """Return an op by name. Raises `UsageError` with the nearest name."""
    op = ruleset.ops.get(name)
    if op is None:
        raise UsageError(f"there is no op '{name}'", hint=did_you_mean(name, ruleset.ops, "op"))
    return op


def find_target(ruleset: Ruleset, name: str | None, op: Op) -> str:
    """Return the name of a target that is declared. Raises `UsageError` with the nearest name."""
    if name is None:
        raise UsageError(f"on which target should {op.name} run?", hint=did_you_mean("", ruleset.targets, "target"))
    if name not in ruleset.targets:
        raise UsageError(f"there is no target '{name}'", hint=did_you_mean(name, ruleset.targets, "target"))
    return name


def bind_words(ruleset: Ruleset, op_name: str, target_name: str | None, words: Mapping[str, Any], machine: Machine) -> Request:
    """Return the request that words state: ``{"dtype": "f16", "M": "512", "causal": "true", "q.align": "8"}``, values as text or typed.

    Dimensions that are not named are open, attributes have their defaults. Raises `UsageError` for an op or a target that is
    not declared, `OperandError` for a word that the op lacks, a value that does not fit, and a check that is false.
    """
    op = find_op(ruleset, op_name)
    reader = _Reader(op, find_target(ruleset, target_name, op), machine.threads)
    for key, word in words.items():
        reader.read(key, word)
    request = reader.request()
    check_request(request)
    return request


def bind_test(ruleset: Ruleset, stated: TestRequest, machine: Machine) -> Request:
    """Return the request of one round of a test."""
    words: dict[str, Any] = dict(stated.words)
    if stated.given:
        words["given"] = stated.given
    for name, layout in stated.layouts.items():
        for word in LAYOUT_WORDS:
            value = getattr(layout, word)
            if value is not None:
                words[f"{name}.{word}"] = value
    return bind_words(ruleset, stated.op, stated.target, words, machine)


def check_request(request: Request) -> None:
    """Ask the checks of the op. A false one, or one that is an error, raises `OperandError`; one that is open says nothing."""
    lookup = RequestFacts(request)
    for clause in request.op.checks:
        found = truth(clause, lookup)
        if found is UNKNOWN or found is True:
            continue
        values = clause_values(clause, lookup)
        said = ", ".join(f"{name} = {shown(value)}" for name, value in values.items())
        where = f"{clause.span.source.name}:{clause.span.line}"
        why = f": {clause.because}" if clause.because else ""
        what = f"cannot be asked, {found.message}" if isinstance(found, ClauseError) else "does not hold"
        raise OperandError(
            f"{request.op.name}: the check `{clause.text}` {what}{why}" + (f" ({said}; {where})" if said else f" ({where})"),
            clause=clause.text,
            values=values,
            span=clause.span,
        )


@define
class _Reader:
    """Reads words one after the other; what they say together is settled in `request`."""

    op: Op
    target: str
    threads: int
    dims: dict[str, int] = field(factory=dict)
    attrs: dict[str, Any] = field(factory=dict)
    layouts: dict[str, StatedLayout] = field(factory=dict)
    dtype: str | None = None
    given: frozenset[str] = frozenset()
    allow: frozenset[str] = frozenset()
    require: frozenset[str] = frozenset()
    device: int = 0

    def read(self, key: str, word: Any) -> None:
        """Take one word. Raises `OperandError`."""
        if key in self.op.dims:
            self.dims[key] = _size(self.op.dims[key], self.op, word)
        elif key in self.op.attrs:
            self.attrs[key] = value_of(word, self.op.attrs[key].type, f"attribute '{key}' of {self.op.name}")
        elif key in _WORDS:
            _WORDS[key](self, word)
        elif "." in key:
            self._layout(key, word)
        elif key in self.op.operands:
            way = f"given={key}" if self.op.operands[key].optional else f"layouts as {key}.align=16, {key}.strides=64,1"
            raise OperandError(f"'{key}' is an operand of {self.op.name}, whose sizes are stated by dimensions", hint=f"such as {way}")
        else:
            known = [*self.op.dims, *self.op.attrs, *_WORDS]
            raise OperandError(f"op {self.op.name} has no dimension or attribute '{key}'", hint=did_you_mean(key, known, "name"))

    def _dtype(self, word: Any) -> None:
        self.dtype = None if word is None else dtype_of(word, "dtype")

    def _allow(self, word: Any) -> None:
        self.allow = allow_of(word)

    def _given(self, word: Any) -> None:
        names = names_of(word)
        optional = [operand.name for operand in self.op.operands.values() if operand.optional]
        for name in names:
            if name in self.op.operands and name not in optional:
                raise OperandError(
                    f"operand '{name}' of {self.op.name} is not optional: it is always given", hint=did_you_mean("", optional, "optional operand")
                )
            if name not in optional:
                raise OperandError(f"op {self.op.name} has no optional operand '{name}'", hint=did_you_mean(name, optional, "optional operand"))
        self.given = frozenset(names)

    def _require(self, word: Any) -> None:
        self.require = require_of(word)

    def _threads(self, word: Any) -> None:
        self.threads = threads_of(word)

    def _device(self, word: Any) -> None:
        self.device = device_of(word)

    def _layout(self, key: str, word: Any) -> None:
        name, _, part = key.partition(".")
        operand = self.op.operands.get(name)
        if operand is None:
            raise OperandError(f"op {self.op.name} has no operand '{name}' (in {key})", hint=did_you_mean(name, self.op.operands, "operand"))
        layout = self.layouts.get(name, StatedLayout())
        match part:
            case "align":
                size = value_of(word, INT, key)
                if size < 1 or size & (size - 1):
                    raise OperandError(f"{key} is {size}, and an alignment is a power of two in bytes", hint="such as 16")
                layout = evolve(layout, align=size)
            case "strides":
                layout = evolve(layout, strides=self._strides(key, word, len(operand.shape)))
            case "dtype":
                layout = evolve(layout, dtype=dtype_of(word, key))
            case _:
                raise OperandError(f"a layout has no '{part}' (in {key})", hint=did_you_mean(part, LAYOUT_WORDS, "word"))
        self.layouts[name] = layout

    def _strides(self, key: str, word: Any, rank: int) -> tuple[int, ...]:
        strides = tuple(value_of(each, INT, f"a stride in {key}") for each in (names_of(word) if isinstance(word, str) else word))
        if len(strides) != rank:
            raise OperandError(
                f"{key} has {len(strides)} stride{'s' if len(strides) != 1 else ''}, and the operand has rank {rank}", hint="one for each axis, in elements"
            )
        return strides

    def request(self) -> Request:
        """Return what the words came to. Raises `OperandError` where they do not go together."""
        op = self.op
        dtype = self._settled_dtype()
        if dtype is not None and op.dtypes is not None and dtype not in op.dtypes:
            raise OperandError(f"{op.name} takes {_list(op.dtypes)}, and not {dtype}", hint=did_you_mean(dtype, op.dtypes, "dtype"))
        for name in self.layouts:
            if op.operands[name].optional and name not in self.given:
                raise OperandError(f"a layout is stated for '{name}', which is not given", hint=f"add given={','.join([*sorted(self.given), name])}")
        attrs = {name: attr.default for name, attr in op.attrs.items()} | self.attrs
        for name, value in attrs.items():
            if value is REQUIRED:
                raise OperandError(f"attribute '{name}' of {op.name} has no default, and is not given", hint=f"{name} is {op.attrs[name].type.describe()}")
        return Request(op, self.target, dtype, self.dims, attrs, self.given, self.layouts, self.threads, self.allow, self.require, self.device)

    def _settled_dtype(self) -> str | None:
        """Return the request's dtype; an operand of that dtype whose own is stated says it too, and two that differ are a mistake."""
        dtype, said = self.dtype, "the request"
        for name, layout in self.layouts.items():
            if layout.dtype is None:
                continue
            allowed = self.op.operands[name].dtypes
            if allowed is not None:
                if layout.dtype not in allowed:
                    raise OperandError(
                        f"operand '{name}' of {self.op.name} is {_list(allowed)}, and not {layout.dtype}", hint=did_you_mean(layout.dtype, allowed, "dtype")
                    )
            elif dtype is None:
                dtype, said = layout.dtype, f"'{name}'"
            elif dtype != layout.dtype:
                raise OperandError(f"operand '{name}' of {self.op.name} is {layout.dtype}, where {said} is {dtype}: they have one dtype")
        return dtype


def allow_of(word: Any) -> frozenset[str]:
    """Return the dtypes that may stand in for a wider one. Raises `OperandError`."""
    return frozenset(dtype_of(each, "allow") for each in names_of(word))


def require_of(word: Any) -> frozenset[str]:
    """Return the promises that a request asks for. Raises `OperandError`."""
    names = names_of(word)
    for name in names:
        if name not in PROMISES:
            raise OperandError(f"'{name}' is nothing that a candidate promises", hint=did_you_mean(name, PROMISES, "promise"))
    return frozenset(names)


def threads_of(word: Any) -> int:
    """Return how many threads a request may use. Raises `OperandError`."""
    threads: int = value_of(word, INT, "threads")
    if threads < 1:
        raise OperandError(f"threads is {threads}, and at least one is needed")
    return threads


def device_of(word: Any) -> int:
    """Return the number of a device. Raises `OperandError`."""
    device: int = value_of(word, INT, "device")
    if device < 0:
        raise OperandError(f"device is {device}, and devices are counted from 0")
    return device


def _list(words: Iterable[str]) -> str:
    names = list(words)
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _size(dim: Dim, op: Op, word: Any) -> int:
    size = value_of(word, INT, f"dimension '{dim.name}' of {op.name}") if not isinstance(word, str) else integer(word)
    if size is None:
        raise OperandError(f"dimension '{dim.name}' of {op.name} is an integer, and '{str(word)[:80]}' is none", hint="such as 512 or 64Ki")
    if size < 0:
        raise OperandError(f"dimension '{dim.name}' of {op.name} is {size}, and a size is 0 or more", values={dim.name: size})
    if size < dim.low or (dim.high is not None and size > dim.high) or (size - dim.low) % dim.step:
        range_text = f"{dim.low}..{'' if dim.high is None else dim.high}" + (f" step {dim.step}" if dim.step != 1 else "")
        raise OperandError(f"dimension '{dim.name}' of {op.name} is {shown(size)}, and it is in {range_text}", values={dim.name: size}, span=dim.span)
    return int(size)


_WORDS: dict[str, Callable[[_Reader, Any], None]] = {
    "dtype": _Reader._dtype,
    "allow": _Reader._allow,
    "given": _Reader._given,
    "threads": _Reader._threads,
    "device": _Reader._device,
    "require": _Reader._require,
}
