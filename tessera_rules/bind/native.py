"""Native bindings: every argument of a C function worked out, checked and packed before the function is entered.

Conventions for what C has no type for: a ``one of`` attribute is passed as the index of its word in declared order, a dtype as
its index in `dtypes.DTYPES`, a list by ``ptr`` to its count followed by its items (words and dtypes: int32, integers:
int64, floats: double; the count has the items' type), a string by ``ptr`` to its UTF-8 with a NUL. ``f32? x`` is a pointer to
the value, null where it is null. The stride of an operand that is not given is 0.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Mapping
from typing import Any

from attrs import frozen

from tessera_rules.arbiter.facts import RequestFacts
from tessera_rules.bind.arrays import ArrayView, is_contiguous
from tessera_rules.bind.ccall import Slot
from tessera_rules.bind.outcome import KernelFailed
from tessera_rules.bind.results import Contract
from tessera_rules.compile.evaluate import UNKNOWN, ClauseError, evaluate, truth
from tessera_rules.compile.operators import shown
from tessera_rules.dtypes import DTYPES
from tessera_rules.model.request import Request
from tessera_rules.model.terms import reads
from tessera_rules.model.types import Type
from tessera_rules.model.values import Candidate, NativeArgument, NativeBinding

RANGES = {f"i{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)} | {f"u{bits}": (0, 2**bits - 1) for bits in (8, 16, 32, 64)}
FORMATS = {
    "i8": "=b", "i16": "=h", "i32": "=i", "i64": "=q", "u8": "=B", "u16": "=H", "u32": "=I", "u64": "=Q", "f32": "=f", "f64": "=d", "bool": "=?", "char": "=c",
}  # fmt: skip
F32_MAX = 3.4028234663852886e38


@frozen(eq=False)
class Call:
    """What one native call passes, but for addresses. ``facts`` gives the value of every fact of the call."""

    candidate: Candidate
    request: Request
    views: Mapping[str, ArrayView]
    outs: Mapping[str, ArrayView]
    results: tuple[Contract, ...]
    threads: int
    device_facts: Mapping[str, Any]

    def facts(self) -> Callable[[str], Any]:
        """Return the facts: those of the request, strides as they are, 0 for an operand that is not given."""
        of_request = RequestFacts(self.request)

        def lookup(key: str) -> Any:
            kind, _, rest = key.partition(":")
            name, _, axis = rest.partition(":")
            if kind == "device":
                if rest not in self.device_facts:
                    raise ClauseError(f"device.{rest} is missing: the machine does not list it")
                return self.device_facts[rest]
            if kind == "threads":
                return self.threads
            out = self.outs.get(name) if name not in self.request.op.operands else None
            it = out if out is not None else self.views.get(name)
            if kind == "stride":
                return 0 if it is None else it.strides[int(axis)]
            if kind == "contiguous":
                return it is None or is_contiguous(it.shape, it.strides)
            if kind == "max_offset" and it is not None and out is not None:
                return sum((n - 1) * abs(s) for n, s in zip(it.shape, it.strides, strict=True)) if it.size else 0
            return of_request(key)

        return lookup


def slots_of(call: Call) -> tuple[Slot, ...]:
    """Return the arguments of a call. Raises `KernelFailed` for a value that its C type cannot hold, or an implied clause that is false."""
    binding = call.candidate.bind
    assert isinstance(binding, NativeBinding)
    lookup = call.facts()
    for clause in call.candidate.implied:
        found = truth(clause, lookup)
        if found is not True:
            said = found.message if isinstance(found, ClauseError) else "it does not hold"
            raise KernelFailed(f"not entered: `{clause.text}`, which its binding takes for granted: {said}")
    passed = {key for argument in binding.arguments if argument.value is not None for key in reads(argument.value) if key.startswith("stride:")}
    for name, it in call.outs.items():
        _dense(name, it, passed)
    return tuple(_slot(argument, call, lookup) for argument in binding.arguments)


def _dense(name: str, it: ArrayView, passed: Collection[str]) -> None:
    """Hold the strides of an output that are not passed to those of C order."""
    expected = 1
    for axis in range(len(it.shape) - 1, -1, -1):
        told = f"stride:{name}:{axis}" in passed
        if not told and it.shape[axis] > 1 and it.strides[axis] != expected and it.size:
            raise KernelFailed(
                f"not entered: output '{name}' has stride {it.strides[axis]} at axis {axis}, which its binding is not told and takes for {expected}"
            )
        expected = it.shape[axis] * (it.strides[axis] if told else expected)


def _slot(argument: NativeArgument, call: Call, lookup: Callable[[str], Any]) -> Slot:
    name, request = argument.name, call.request
    match argument.kind:
        case "operand":
            if name in call.views:
                return "ptr", "array", name
            if not argument.nullable:
                raise KernelFailed(f"not entered: operand '{name}' is not given, and its argument is never null")
            return "ptr", "null", None
        case "out":
            out = call.results[0].name if name == "out" else name
            inout = next((each.inout for each in call.results if each.name == out), None)
            return "ptr", "array", inout or out
        case "dim":
            return _scalar(argument, request.dims[name], name)
        case "attr":
            return _value(argument, request.attrs[name], request.op.attrs[name].type, name)
        case "threads":
            return _scalar(argument, call.threads, name)
        case "device":
            return _scalar(argument, request.device, name)
        case "stream":
            return "ptr", "null", None
        case "workspace":
            size = workspace_bytes(call.candidate, lookup)
            return ("ptr", "workspace", size) if size else ("ptr", "null", None)
        case "workspace_bytes":
            return _scalar(argument, workspace_bytes(call.candidate, lookup), name)
    assert argument.value is not None
    try:
        value = evaluate(argument.value, lookup)
    except ClauseError as problem:
        raise KernelFailed(f"not entered: argument '{name}' has no value: {problem.message}") from None
    if value is UNKNOWN:
        raise KernelFailed(f"not entered: argument '{name}' has no value yet")
    return _value(argument, value, argument.value.type, name)


def workspace_bytes(candidate: Candidate, lookup: Callable[[str], Any]) -> int:
    """Return the bytes of scratch memory that a candidate asks for. Raises `KernelFailed` where that is no size."""
    if candidate.workspace is None:
        return 0
    try:
        size = evaluate(candidate.workspace, lookup)
    except ClauseError as problem:
        raise KernelFailed(f"not entered: its workspace has no size: {problem.message}") from None
    if size is UNKNOWN or not 0 <= size < 2**48:
        raise KernelFailed(f"not entered: its workspace comes to {'no known size' if size is UNKNOWN else f'{shown(size)} bytes'}")
    return int(size)


def _value(argument: NativeArgument, value: Any, kind: Type, name: str) -> Slot:
    if value is None:
        if argument.ctype != "ptr" and not argument.nullable:
            raise KernelFailed(f"not entered: argument '{name}' is null, and {argument.ctype} has no null")
        return "ptr", "null", None
    if kind.kind == "list" or isinstance(value, tuple | list):
        return "ptr", "bytes", _list(tuple(value), kind, name)
    if kind.kind == "word":
        value = kind.words.index(value)
    elif kind.kind == "dtype":
        value = DTYPES.index(value)
    elif isinstance(value, str) and argument.ctype == "ptr":
        return "ptr", "bytes", value.encode() + b"\0"
    if argument.ctype == "ptr":
        raise KernelFailed(f"not entered: argument '{name}' is {shown(value)}, which is no pointer")
    slot = _scalar(argument, value, name)
    return ("ptr", "bytes", struct.pack(FORMATS[argument.ctype], slot[2])) if argument.nullable else slot


def _scalar(argument: NativeArgument, value: Any, name: str) -> Slot:
    """Return a number for its C type, held to the type's range exactly."""
    ctype = argument.ctype
    if ctype == "char":
        data = value.encode() if isinstance(value, str) else bytes([value]) if isinstance(value, int) and 0 <= value <= 255 else b""
        if len(data) != 1:
            raise KernelFailed(f"not entered: argument '{name}' is {shown(value)}, and char holds one byte")
        return ctype, "scalar", data
    if ctype == "bool":
        return ctype, "scalar", bool(value)
    if ctype in ("f32", "f64"):
        number = float(value) if not isinstance(value, int) or abs(value) <= F32_MAX else None
        if number is None or (ctype == "f32" and abs(number) > F32_MAX and number == number and abs(number) != float("inf")):
            raise KernelFailed(f"not entered: argument '{name}' is {shown(value)}, which does not fit {ctype}")
        return ctype, "scalar", number
    low, high = RANGES[ctype]
    number = int(value)
    if number != value or not low <= number <= high:
        raise KernelFailed(f"not entered: argument '{name}' is {shown(value)}, which does not fit {ctype} ({low} to {high})")
    return ctype, "scalar", number


def _list(values: tuple[Any, ...], kind: Type, name: str) -> bytes:
    item = kind.item.kind if kind.item is not None else "int" if all(isinstance(value, int) for value in values) else "float"
    words = kind.item.words if kind.item is not None else ()
    count = len(values)
    try:
        match item:
            case "word":
                return struct.pack(f"={count + 1}i", count, *(words.index(value) for value in values))
            case "dtype":
                return struct.pack(f"={count + 1}i", count, *(DTYPES.index(value) for value in values))
            case "bool":
                return struct.pack(f"={count + 1}i", count, *(int(value) for value in values))
            case "int":
                return struct.pack(f"={count + 1}q", count, *values)
            case "float":
                return struct.pack(f"={count + 1}d", count, *values)
    except struct.error:
        raise KernelFailed(f"not entered: an item of '{name}' is {shown(values)}, which does not fit 64 bits") from None
    raise KernelFailed(f"not entered: '{name}' is a list of {item}, which no C array here holds")


def status_of(binding: NativeBinding, value: Any) -> str:
    """Return the word of a returned status: ``ok``, ``decline``, another of the binding's, or the number where none names it."""
    if binding.returns is None:
        return "ok"
    if isinstance(value, bytes):
        value = value[0] if value else 0
    if not binding.statuses:
        return "ok" if not value else str(value)
    return next((word for word, number in binding.statuses.items() if number == value), str(value))
