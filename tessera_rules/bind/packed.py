"""Constant operands: a candidate that ``packs`` one is given what its packer made of it, once.

A packed constant is held, so that it cannot be freed meanwhile, and it must not change. An array that owns its memory is made
read-only for as long as it is packed, so that a write to it raises where it is written, and some of its words are compared at
each call, for writes by way of older views. Of one that owns none, all bytes are compared at each call.
"""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from attrs import define, field

from tessera_rules.bind.arrays import as_numpy
from tessera_rules.bind.bound import Bound, PythonBound
from tessera_rules.bind.digest import module_digest
from tessera_rules.bind.outcome import KernelFailed, Unbound
from tessera_rules.bind.python import described, resolve
from tessera_rules.declined import Declined
from tessera_rules.errors import OperandError

Array = np.ndarray[Any, Any]
SAMPLED = 64
"""Words of a packed constant that are compared at each call."""


class _Watched:
    """One constant as it was when it was packed."""

    def __init__(self, name: str, x: Any) -> None:
        self.name, self.array = name, as_numpy(x, name)
        self.owns = self.array.base is None and self.array.flags.c_contiguous
        self.whole = _digest(self.array)
        self.words = self.array.reshape(-1)[:: max(1, self.array.size // SAMPLED)] if self.owns else self.array
        self.sample = self.words.tobytes() if self.owns else b""
        if self.owns and self.array.flags.writeable:
            self.array.flags.writeable = False
            weakref.finalize(self, _give_back, self.array)

    def check(self) -> None:
        """Raise `OperandError` where it is another one now."""
        if self.owns and not self.array.flags.writeable:
            same = self.words.tobytes() == self.sample
        else:
            same = _digest(self.array) == self.whole
        if not same:
            raise OperandError(f"constant operand '{self.name}' changed after it was packed", hint="prepare it again, or pass it as an operand")


def _digest(x: Array) -> bytes:
    flat: Any = np.ascontiguousarray(x).reshape(-1).view(np.uint8)
    return hashlib.blake2b(flat, digest_size=16).digest()


def _give_back(x: Array) -> None:
    x.flags.writeable = True


@define(eq=False)
class PackedBound(PythonBound):
    """A Python candidate whose packers are applied: once to the constants, and to whatever else comes in their place (the oracle's inputs)."""

    packers: Mapping[str, Callable[[Any], Any]] = field(factory=dict, kw_only=True, repr=False)
    constants: Mapping[str, Any] = field(factory=dict, kw_only=True, repr=False)
    _packed: dict[str, Any] = field(factory=dict, init=False, repr=False)
    _watched: list[_Watched] = field(factory=list, init=False, repr=False)

    def passed(self, name: str, x: Any) -> Any:
        """Return an operand as the callable gets it."""
        if name not in self.packers:
            return x
        return self.kept(name) if x is self.constants.get(name) else self._pack(name, x)

    def kept(self, name: str) -> Any:
        """Return a packed constant, packed now if it was not yet."""
        if name not in self._packed:
            watched = _Watched(name, self.constants[name])
            self._packed[name] = self._pack(name, self.constants[name])
            self._watched.append(watched)
        return self._packed[name]

    def ready_operands(self) -> Mapping[str, Any]:
        """Return the operands that are the same at every call, as they are passed."""
        return {name: self.kept(name) for name in self.packers}

    def check(self) -> None:
        """Raise `OperandError` where a packed constant changed."""
        for each in self._watched:
            each.check()

    def _pack(self, name: str, x: Any) -> Any:
        try:
            return self.packers[name](x)
        except Declined:
            raise
        except (Exception, SystemExit) as problem:
            raise KernelFailed(f"the packer of '{name}' raised {described(problem)}") from problem


def with_constants(bound: Bound, constants: Mapping[str, Any]) -> Bound | Unbound:
    """Return a bound candidate for calls in which some operands are constant; itself where it packs none of them.

    Packers are for Python bindings: what a C function is passed is an operand as it is.
    """
    packs = [each for each in bound.candidate.packs if each.operand in constants]
    if not packs or not isinstance(bound, PythonBound):
        return bound
    packers: dict[str, Callable[[Any], Any]] = {}
    for each in packs:
        found = resolve(each.module, each.name)
        if isinstance(found, Unbound):
            return Unbound(f"its packer of '{each.operand}': {found.reason}")
        packers[each.operand] = found
    said = [f"{each.operand}={each.module}:{each.name} {module_digest(each.module)}" for each in packs]
    digest = hashlib.sha256("\0".join([bound.digest, *said]).encode()).hexdigest()
    return PackedBound(bound.candidate, bound.op, digest, bound.callable, device_facts=bound.device_facts, packers=packers, constants=constants)
