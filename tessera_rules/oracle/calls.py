"""One call of a candidate under watch: on arrays between guards, outputs poisoned, operands compared afterwards.

Native code runs in a child process, one for all probes of a proof; Python in this process, where a call that reaches the op's
reference is seen too: that is a decline in disguise.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import CodeType, FrameType, TracebackType
from typing import Any

import numpy as np
from attrs import define, field

from tessera_rules.bind.arrays import as_numpy, view
from tessera_rules.bind.bound import Bound, PythonBound
from tessera_rules.bind.child import Trial, Trier
from tessera_rules.bind.memory import check_reach
from tessera_rules.bind.outcome import BrokenContract, KernelFailed
from tessera_rules.bind.results import contracts
from tessera_rules.declined import Declined
from tessera_rules.errors import OperandError
from tessera_rules.model.request import Request

Array = np.ndarray[Any, Any]
GUARD_BYTES = 512
GUARD = 0xA5
POISONS = (0xFF, 0x5B)
"""Bytes that outputs hold before a call: a NaN of every float, then a finite number."""


@define(eq=False)
class Caller:
    """Calls one candidate, as often as asked. Use as a context manager."""

    bound: Bound
    in_child: bool
    watched: tuple[CodeType, ...] = ()
    in_hand: bool = False
    _trier: Trier | None = field(default=None, init=False)

    def __enter__(self) -> Caller:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        if self._trier is not None:
            self._trier.close()
            self._trier = None

    def __call__(self, operands: Mapping[str, Array], request: Request, *, threads: int | None = None, poison: int = POISONS[0]) -> Trial:
        """Run once on copies of operands. Never raises for what the kernel does.

        Raises `OperandError` while operands ``in_hand`` are not those of the request: their owner's mistake, and no verdict.
        """
        try:
            if self.in_child:
                if self._trier is None:
                    self._trier = Trier()
                return self._trier.run(self.bound, operands, request, threads=threads, poison=poison)
            return self._here(operands, request, threads, poison)
        except OperandError as problem:  # what is asked of memory before a kernel is entered
            if self.in_hand:
                raise
            return Trial("declined", problem.message)

    def _here(self, operands: Mapping[str, Array], request: Request, threads: int | None, poison: int) -> Trial:
        inout = {each.inout for each in contracts(request) if each.inout is not None}
        for name, x in operands.items():
            check_reach(name, view(x, name))
        copies = {name: Guarded.of(x) for name, x in operands.items()}
        out = self._poisoned(operands, request, poison)
        reached: list[str] = []
        try:
            with watching(self.watched, reached), np.errstate(all="ignore"):
                result = self.bound.call({name: each.array for name, each in copies.items()}, request, threads=threads, poison=True, out=out)
        except Declined as problem:
            return Trial("declined", problem.reason)
        except BrokenContract as problem:
            return Trial("ran", problem.reason)
        except KernelFailed as problem:
            return Trial("failed", problem.reason)
        except Exception as problem:
            return Trial("crashed", f"{type(problem).__name__}: {problem}")
        if reached:
            return Trial("declined", f"a decline in disguise: it called {reached[0]}, the op's own reference")
        changed = tuple(name for name, each in copies.items() if name not in inout and each.changed)
        outside = tuple(name for name, each in copies.items() if each.written_around)
        several = result if isinstance(result, tuple) else (result,)
        return Trial("ran", outputs=tuple(np.array(as_numpy(each)) for each in several), changed=changed, outside=outside)

    def _poisoned(self, operands: Mapping[str, Array], request: Request, poison: int) -> Any:
        """Return outputs of our own for a callable that writes to ``out``, where they are to hold another poison than it has by itself."""
        if poison == POISONS[0] or not isinstance(self.bound, PythonBound) or "out" not in self.bound.callable.extras:
            return None
        from tessera_rules.bind.arrays import dtype_of

        made = []
        for each in contracts(request):
            if each.inout is None:
                x = np.empty(each.shape, dtype_of(each.dtype))
                x.reshape(-1).view(np.uint8).fill(poison)
                made.append(x)
        return made[0] if len(made) == 1 else tuple(made)


def agreeing(one: Trial, two: Trial) -> bool:
    """Whether two runs gave the same bits."""
    return len(one.outputs) == len(two.outputs) and all(
        a.shape == b.shape and a.dtype == b.dtype and np.array_equal(bits(a), bits(b)) for a, b in zip(one.outputs, two.outputs, strict=True)
    )


def bits(x: Array) -> Array:
    """Return the bytes of an array's elements in order."""
    dense = np.ascontiguousarray(x)
    return dense.reshape(-1).view(np.uint8)


# ---- memory -------------------------------------------------------------------------------------------------------------


class _Bytes:
    """Memory by address, as NumPy reads it."""

    def __init__(self, address: int, size: int) -> None:
        self.__array_interface__ = {"data": (address, True), "shape": (size,), "typestr": "|u1", "version": 3}


@define(eq=False)
class Guarded:
    """A copy of an array in memory of its own, between guard bytes, with the original's strides and place in a page."""

    array: Array
    memory: Array
    start: int
    size: int
    before: bytes

    @staticmethod
    def of(x: Any) -> Guarded:
        """Return a guarded copy."""
        source = as_numpy(x)
        low, high = view(source).extent if source.size else (0, 0)
        memory = np.full(high - low + 2 * GUARD_BYTES + 4096, GUARD, dtype=np.uint8)
        address = memory.__array_interface__["data"][0] + GUARD_BYTES
        start = GUARD_BYTES + (low - address) % 4096
        offset = start
        if source.size:
            memory[start : start + high - low] = np.asarray(_Bytes(low, high - low))  # gaps too, and elements on top of each other once
            offset += source.__array_interface__["data"][0] - low
        made: Array = np.ndarray(source.shape, source.dtype, memory, offset, source.strides)
        return Guarded(made, memory, start, high - low, memory[start : start + high - low].tobytes())

    @property
    def changed(self) -> bool:
        """Whether its bytes are other than at first."""
        return self.memory[self.start : self.start + self.size].tobytes() != self.before

    @property
    def written_around(self) -> bool:
        """Whether somebody wrote before or after it."""
        return bool((self.memory[: self.start] != GUARD).any() or (self.memory[self.start + self.size :] != GUARD).any())


# ---- the reference under another name -----------------------------------------------------------------------------------


def codes_of(*functions: Any) -> tuple[CodeType, ...]:
    """Return the code of functions and of what their decorators wrap."""
    found: list[CodeType] = []
    for function in functions:
        while function is not None:
            code = getattr(function, "__code__", None)
            if isinstance(code, CodeType):
                found.append(code)
            function = getattr(function, "__wrapped__", None)
    # What a decorator adds is one piece of code for everything that it decorates.
    return tuple(code for code in found if code.co_name != "called" or len(found) == 1)


@contextmanager
def watching(codes: tuple[CodeType, ...], reached: list[str]) -> Iterator[None]:
    """Note each call of one of the codes, in this thread and in those that are started meanwhile."""
    if not codes:
        yield
        return

    def see(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code in codes:
            reached.append(f"{frame.f_globals.get('__name__', '?')}.{frame.f_code.co_name}")

    before = sys.getprofile()
    sys.setprofile(see)
    threading.setprofile(see)
    try:
        yield
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
