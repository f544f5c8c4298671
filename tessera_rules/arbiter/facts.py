"""The value of every fact that a clause can read, by its key (the keys are those of ``model/terms.py``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tessera_rules.arbiter import layouts
from tessera_rules.compile.evaluate import ClauseError, evaluate
from tessera_rules.machine.base import Machine
from tessera_rules.model.request import UNKNOWN, Request
from tessera_rules.model.terms import Term
from tessera_rules.model.values import Candidate
from tessera_rules.nearest import nearest

Lookup = Callable[[str], Any]
_LAYOUT = ("align", "stride", "contiguous", "broadcast", "max_offset")
_DATA = ("amax", "amin", "all_finite")
_MISSING = object()


class RequestFacts:
    """The facts of one request, each worked out when it is first asked for. Asked for another key it returns None."""

    def __init__(self, request: Request) -> None:
        self.request = request
        known: dict[str, Any] = {"dtype": UNKNOWN if request.dtype is None else request.dtype}
        known["threads"] = UNKNOWN if request.threads is None else request.threads
        for name in request.op.dims:
            known[f"dim:{name}"] = request.dims.get(name, UNKNOWN)
        for name, value in request.attrs.items():
            known[f"attr:{name}"] = value
        for name, operand in request.op.operands.items():
            known[f"given:{name}"] = not operand.optional or name in request.given
        self.known = known

    def __call__(self, key: str) -> Any:
        """Return the value of a fact of the request, `UNKNOWN` where it is open."""
        value = self.known.get(key, _MISSING)
        if value is _MISSING:
            value = self._derived(key)
            if value is not _MISSING:
                self.known[key] = value
        return value

    def _derived(self, key: str) -> Any:
        kind, _, rest = key.partition(":")
        if kind == "dtype":
            return self._dtype(rest)
        if kind not in _LAYOUT:
            return _MISSING
        name, _, axis = rest.partition(":")
        layout = self.request.layouts.get(name, layouts.PLAIN)
        match kind:
            case "align":
                return layouts.align(layout)
            case "contiguous" | "broadcast" if layout.strides is None:
                return kind == "contiguous"
        shape = self.shape(name)
        match kind:
            case "stride":
                return layouts.stride(shape, layout, int(axis))
            case "contiguous":
                return layouts.contiguous(shape, layout)
            case "broadcast":
                return layouts.broadcast(shape, layout)
        return layouts.max_offset(shape, layout)

    def _dtype(self, name: str) -> Any:
        request = self.request
        operand = request.op.operands[name]
        stated = request.layouts.get(name, layouts.PLAIN).dtype
        if stated is not None:
            return stated
        if operand.optional and name not in request.given:
            raise ClauseError(f"'{name}' is not given, so that it has no dtype")
        if operand.dtypes is None:
            return self.known["dtype"]
        return operand.dtypes[0] if len(operand.dtypes) == 1 else UNKNOWN

    def shape(self, name: str) -> tuple[layouts.Size, ...]:
        """Return the sizes of an operand, or of a result by its name or as ``out``."""
        return self.sizes(shape_terms(self.request, name))

    def sizes(self, terms: Sequence[Term]) -> tuple[layouts.Size, ...]:
        """Return the sizes that shape terms come to; one that is an error is open."""
        found: list[layouts.Size] = []
        for term in terms:
            try:
                found.append(evaluate(term, self))
            except ClauseError:
                found.append(UNKNOWN)
        return tuple(found)


def shape_terms(request: Request, name: str) -> tuple[Term, ...]:
    """Return the shape of an operand or a result as terms over the dimensions."""
    op = request.op
    if name in op.operands:
        return op.operands[name].shape
    for result in op.results:
        if result.name == name or (name == "out" and result.name is None):
            return op.operands[result.inout].shape if result.inout is not None else result.shape
    if name == "out" and op.results:
        result = op.results[0]
        return op.operands[result.inout].shape if result.inout is not None else result.shape
    raise KeyError(name)


def lookup_for(
    request: Request | RequestFacts, device_facts: Mapping[str, Any] | None, machine: Machine, candidate: Candidate | None = None, data: Lookup | None = None
) -> Lookup:
    """Return what gives the facts for one candidate.

    ``device_facts`` is None where the target has no device: its facts are `UNKNOWN` then; a fact that a device does not list
    is missing, and reading it raises `ClauseError`. Facts about the data are given by ``data``; without it they are not asked.
    """
    of_request = request if isinstance(request, RequestFacts) else RequestFacts(request)
    known = of_request.known

    def lookup(key: str) -> Any:
        value = known.get(key, _MISSING)
        if value is not _MISSING:
            return value
        kind, _, rest = key.partition(":")
        if kind == "device":
            return UNKNOWN if device_facts is None else _device_fact(device_facts, rest)
        if kind == "probe" or key == "os":
            if candidate is None:
                raise ClauseError(f"{key} asks the machine for a candidate, and there is none")
            return machine.probe(key, candidate).value
        if kind in _DATA:
            return UNKNOWN if data is None else data(key)
        value = of_request(key)
        if value is _MISSING:
            raise ClauseError(f"'{key}' is no fact")
        return value

    return lookup


def _device_fact(facts: Mapping[str, Any], name: str) -> Any:
    value = facts.get(name, _MISSING)
    if value is _MISSING:
        near = nearest(name, facts)
        hint = f"; the machine lists '{near}'" if near else ""
        raise ClauseError(f"device.{name} is missing: the machine does not list it{hint}")
    return value


def needed_names(key: str, shown: str, request: Request, lookup: Lookup) -> tuple[str, ...]:
    """Return the names that a person would give so that an open fact has a value: for a stride the sizes that it hangs on."""
    kind, _, rest = key.partition(":")
    if kind in ("stride", "contiguous", "max_offset", "broadcast"):
        from tessera_rules.model.terms import facts

        names = [fact.shown for term in shape_terms(request, rest.partition(":")[0]) for fact in facts(term) if lookup(fact.key) is UNKNOWN]
        return tuple(dict.fromkeys(names))
    if kind == "dtype" and rest:
        return (f"{rest}.dtype",)
    return (shown,)
