"""A candidate run in a child process: a crash, a hang or a write past the end is found there, and becomes a value here.

Each array lies between two guard zones in memory that both processes map; the caller's own arrays are copied in and never
written to, those that the kernel writes in place too.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from attrs import evolve, frozen

from tessera_rules.bind.arrays import ArrayView, dense_strides, dtype_of, view
from tessera_rules.bind.bound import Bound, NativeBound, PythonBound
from tessera_rules.bind.memory import check_memory
from tessera_rules.bind.native import Call, slots_of, status_of, workspace_bytes
from tessera_rules.bind.outcome import KernelFailed
from tessera_rules.bind.results import Contract
from tessera_rules.machine.cpu import usable_cores
from tessera_rules.machine.processes import Ended, Process
from tessera_rules.model.request import Request
from tessera_rules.model.values import NativeBinding

GUARD_BYTES = 4096
GUARD = 0xA5
TRIAL_SECONDS = 20.0
_WORKER = Path(__file__).with_name("worker.py")


@frozen(eq=False)
class Trial:
    """What one run in a child came to; nothing but a value.

    ``reason`` says why it did not run, or, where it ran, how it broke its contract (another shape, dtype or number of results).
    ``outputs`` are the results in the op's order, as NumPy, where it ran and kept it. ``changed`` names operands that it wrote to
    and should not have, ``outside`` arrays around which it wrote, ``unwritten`` results with elements that it did not write.
    """

    outcome: Literal["ran", "declined", "failed", "crashed"]
    reason: str = ""
    outputs: tuple[np.ndarray[Any, Any], ...] = ()
    changed: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    unwritten: tuple[str, ...] = ()
    signal: str | None = None

    @property
    def clean(self) -> bool:
        """Whether it ran, gave what the op's results are, wrote every element of them and nothing else."""
        return self.outcome == "ran" and not (self.reason or self.changed or self.outside or self.unwritten)

    @property
    def complaint(self) -> str:
        """What is wrong with it, as one sentence; empty for a clean run."""
        if self.outcome != "ran":
            return f"{self.outcome}: {self.reason}"
        parts = [self.reason] if self.reason else []
        parts += [
            f"{what} {', '.join(names)}"
            for what, names in (("it wrote outside of", self.outside), ("it wrote to", self.changed), ("it did not write all of", self.unwritten))
            if names
        ]
        return "; ".join(parts)


@frozen(eq=False)
class _Region:
    """Where an array lies in the shared memory: ``start`` of its bytes, how many, and the offset of its first element."""

    start: int
    size: int
    offset: int


class Trier:
    """Runs candidates in a child, one after the other; a child that crashed or hung is replaced. Use as a context manager."""

    def __init__(self, *, seconds: float = TRIAL_SECONDS, memory_bytes: int | None = None) -> None:
        self.seconds = seconds
        self.limit = _limit() if memory_bytes is None else memory_bytes
        self.memory_fd: int | None = os.memfd_create("tessera-trial", os.MFD_CLOEXEC)
        self.process: Process | None = None

    def __enter__(self) -> Trier:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close_process(self) -> None:
        """End the child; the next run starts another."""
        if self.process is not None:
            self.process.close()
            self.process = None

    def close(self) -> None:
        """End the child and give the memory back."""
        if self.process is not None:
            self.process.close()
            self.process = None
        if self.memory_fd is not None:
            os.close(self.memory_fd)
            self.memory_fd = None

    def run(self, bound: Bound, arrays: Mapping[str, Any], request: Request, *, threads: int | None = None, poison: int = 0xFF) -> Trial:
        """Run a bound candidate once on copies of arrays. Never raises for what the kernel does.

        Raises: `OperandError` for arrays that are not those of the request, `ValueError` for device memory.
        """
        views = {name: view(arrays[name], name) for name in bound.op.operands if arrays.get(name) is not None}
        plan = bound.plan(request)
        plan.check(views)
        results = plan.results
        check_memory(bound.candidate, views, [result.inout for result in results if result.inout is not None])
        count = threads or request.threads or usable_cores()
        trial = self._once(bound, request, views, results, count, poison)
        if not trial.unwritten:
            return trial
        # A result may hold the poison's own bytes (an i8 of -1): what also equals another poison was not written.
        again = self._once(bound, request, views, results, count, poison ^ 0xA4)
        return again if again.outcome != "ran" else evolve(trial, unwritten=tuple(name for name in trial.unwritten if name in again.unwritten))

    def _once(self, bound: Bound, request: Request, views: Mapping[str, ArrayView], results: tuple[Contract, ...], threads: int, poison: int) -> Trial:
        if self.memory_fd is None:
            raise ValueError("this Trier is closed")
        regions, total = _placed(views, results)
        if total > self.limit // 2:
            return Trial("failed", f"its operands reach over {total:,} bytes, which is more than a trial copies ({self.limit // 2:,})")
        os.ftruncate(self.memory_fd, total)
        memory = mmap.mmap(self.memory_fd, total)
        before = _filled(memory, views, results, regions, poison)
        trial = self._asked(bound, request, views, results, regions, threads)
        return trial if trial.outcome != "ran" or trial.reason else _read(memory, views, results, regions, before, poison)

    def _asked(
        self, bound: Bound, request: Request, views: Mapping[str, ArrayView], results: tuple[Contract, ...], regions: Mapping[str, _Region], threads: int
    ) -> Trial:
        try:
            question = _question(bound, request, views, results, regions, threads)
        except KernelFailed as problem:
            return Trial("failed", problem.reason)
        if self.process is None or not self.process.alive:
            assert self.memory_fd is not None
            self.process = Process(_WORKER, arguments=(str(self.memory_fd), str(self.limit)), fds=(self.memory_fd,))
        answer = self.process.ask({**question, "seconds": self.seconds}, self.seconds)
        if isinstance(answer, Ended):
            self.process.close()
            self.process = None
            return Trial("crashed", answer.reason, signal=answer.signal)
        if answer["outcome"] != "ran":
            return Trial(answer["outcome"], answer["reason"])
        if answer.get("broken"):
            return Trial("ran", str(answer["broken"]))
        binding = bound.candidate.bind
        if isinstance(binding, NativeBinding):
            status = status_of(binding, answer["status"])
            if status == "decline":
                return Trial("declined", f"{binding.symbol} returned its decline status")
            if status != "ok":
                return Trial("failed", f"{binding.symbol} returned status {status}")
            if answer.get("left"):
                self.close_process()
                return Trial("ran", f"it left the floating-point environment changed: {answer['left']}")
        return Trial("ran")


def try_once(
    bound: Bound, arrays: Mapping[str, Any], request: Request, *, seconds: float = TRIAL_SECONDS, threads: int | None = None, poison: int = 0xFF
) -> Trial:
    """Run a bound candidate once in a child of its own. See `Trier.run`."""
    with Trier(seconds=seconds) as trier:
        return trier.run(bound, arrays, request, threads=threads, poison=poison)


def _limit() -> int:
    """Return the bytes of address space that a child may have: most of this machine's memory, so that it ends and not we."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(8 << 30, total * 3 // 4)


def _placed(views: Mapping[str, ArrayView], results: tuple[Contract, ...]) -> tuple[dict[str, _Region], int]:
    """Give each array a place between guards, at the same offset into a page as it has here; outputs at the start of one."""
    regions: dict[str, _Region] = {}
    end = 0
    spans = [(name, *it.extent, it.address) for name, it in views.items()]
    spans += [(each.name, 0, each.size * dtype_of(each.dtype).itemsize, 0) for each in results if each.inout is None]
    for name, low, high, address in spans:
        if name in regions:
            continue
        start = end + GUARD_BYTES + low % GUARD_BYTES
        regions[name] = _Region(start, high - low, start + address - low)
        end = -(-(start + high - low + GUARD_BYTES) // GUARD_BYTES) * GUARD_BYTES
    return regions, max(end, GUARD_BYTES)


def _filled(memory: mmap.mmap, views: Mapping[str, ArrayView], results: tuple[Contract, ...], regions: Mapping[str, _Region], poison: int) -> dict[str, bytes]:
    """Write guards, operands and poison; return the bytes of operands that must stay as they are."""
    whole = np.frombuffer(memory, np.uint8)
    whole.fill(GUARD)
    base = whole.__array_interface__["data"][0]
    written = {each.inout for each in results}
    before: dict[str, bytes] = {}
    for name, it in views.items():
        region = regions[name]
        if not it.on_host:
            raise ValueError(f"operand '{name}' lies on {it.device}, and a trial copies host memory")
        ctypes.memmove(base + region.start, it.extent[0], region.size)
        if name not in written:
            before[name] = whole[region.start : region.start + region.size].tobytes()
    for each in results:
        if each.inout is None:
            region = regions[each.name]
            whole[region.start : region.start + region.size] = poison
    return before


def _question(
    bound: Bound, request: Request, views: Mapping[str, ArrayView], results: tuple[Contract, ...], regions: Mapping[str, _Region], threads: int
) -> dict[str, Any]:
    outs = {each.name: _out_view(each) for each in results if each.inout is None}
    offsets = {name: region.offset for name, region in regions.items()}
    if isinstance(bound, NativeBound):
        binding = bound.candidate.bind
        assert isinstance(binding, NativeBinding)
        call = Call(bound.candidate, request, views, outs, results, threads, bound.device_facts)
        slots = [[ctype, kind, {"hex": value.hex()} if isinstance(value, bytes) else value] for ctype, kind, value in slots_of(call)]
        return {"do": "native", "path": bound.path, "symbol": binding.symbol, "returns": binding.returns, "slots": slots, "arrays": offsets}
    assert isinstance(bound, PythonBound)
    takes = bound.callable
    values: dict[str, Any] = dict.fromkeys(bound.op.operands) | dict(request.attrs) | dict(takes.constants) | {"threads": threads, "stream": None}
    arrays = {
        name: {"offset": offsets[name], "shape": it.shape, "strides": [s * it.item_bytes for s in it.strides], "dtype": it.dtype}
        for name, it in {**views, **outs}.items()
    }
    facts = Call(bound.candidate, request, views, outs, results, threads, bound.device_facts).facts()
    return {
        "do": "python",
        "path": [each or os.getcwd() for each in sys.path],
        "module": takes.path.partition(":")[0],
        "name": takes.path.partition(":")[2],
        "arrays": arrays,
        "operands": {name: name for name in views},
        "values": values,
        "tuples": [name for name in request.attrs if isinstance(request.attrs[name], tuple)],
        "takes": [*takes.operands, *takes.attrs, *takes.extras, *takes.constants],
        "by_position": list(takes.by_position),
        "outs": list(outs),
        "results": [each.inout or each.name for each in results],
        "workspace": workspace_bytes(bound.candidate, facts) if "workspace" in takes.extras else 0,
    }


def _out_view(each: Contract) -> ArrayView:
    item = dtype_of(each.dtype).itemsize
    return ArrayView(GUARD_BYTES, each.shape, dense_strides(each.shape), "f32" if each.dtype == "tf32" else each.dtype, item, False, "cpu", "numpy", None)


def _read(
    memory: mmap.mmap, views: Mapping[str, ArrayView], results: tuple[Contract, ...], regions: Mapping[str, _Region], before: Mapping[str, bytes], poison: int
) -> Trial:
    whole = np.frombuffer(memory, np.uint8)
    changed = tuple(name for name, data in before.items() if whole[regions[name].start : regions[name].start + regions[name].size].tobytes() != data)
    outside = []
    for name, region in regions.items():
        head, tail = whole[region.start - GUARD_BYTES : region.start], whole[region.start + region.size : region.start + region.size + GUARD_BYTES]
        if (head != GUARD).any() or (tail != GUARD).any():
            outside.append(name)
    outputs, unwritten = [], []
    for each in results:
        region = regions[each.inout or each.name]
        if each.inout is not None:
            strides = views[each.inout].strides
        else:
            strides = dense_strides(each.shape)
        dtype = dtype_of(each.dtype)
        there = np.ndarray(each.shape, dtype, memory, region.offset, tuple(s * dtype.itemsize for s in strides))
        found = np.array(there)
        if each.inout is None and found.size:
            raw = found.reshape(-1).view(np.uint8).reshape(found.size, dtype.itemsize)
            if (raw == poison).all(axis=1).any():
                unwritten.append(each.name)
        outputs.append(found)
        del there
    del whole
    return Trial("ran", "", tuple(outputs), changed, tuple(outside), tuple(unwritten))
