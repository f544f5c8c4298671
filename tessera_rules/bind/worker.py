"""The child that a candidate runs in before anyone trusts it. Run by path: ``worker.py FD MEMORY_FD LIMIT_BYTES``.

Standard library only for native kernels (`ccall` is loaded from beside this file); NumPy and the package come in for Python
ones. Arrays lie in a memory file that both processes map; a question names offsets into it.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import mmap
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any


def neighbour(name: str) -> Any:
    """Load a module that lies beside this file, without the package around it."""
    spec = importlib.util.spec_from_file_location(f"_worker_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class Worker:
    """Answers questions over one memory file, mapped anew when it has grown."""

    def __init__(self, memory_fd: int) -> None:
        self.memory_fd = memory_fd
        self.memory: mmap.mmap | None = None
        self.functions: dict[Any, Any] = {}

    def mapped(self) -> mmap.mmap:
        """Return the memory file as it is now."""
        size = os.fstat(self.memory_fd).st_size
        if self.memory is None or len(self.memory) != size:
            self.memory = mmap.mmap(self.memory_fd, size)
        return self.memory

    def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        """Return what a call came to; exceptions are answers."""
        try:
            return self.native(question) if question["do"] == "native" else self.python(question)
        except BaseException as problem:
            text = " ".join(str(problem).split())[:400]
            return {"outcome": "failed", "reason": f"{type(problem).__name__}: {text}" if text else type(problem).__name__}

    def native(self, question: dict[str, Any]) -> dict[str, Any]:
        """Call a C function; the parent reads the status."""
        import ctypes

        ccall = neighbour("ccall") if "_worker_ccall" not in sys.modules else sys.modules["_worker_ccall"]
        key = (question["path"], question["symbol"], question["returns"])
        function = self.functions.get(key)
        if function is None:
            function = self.functions[key] = ccall.load(*key)
        slots = [(ctype, kind, bytes.fromhex(value["hex"]) if isinstance(value, dict) else value) for ctype, kind, value in question["slots"]]
        base = ctypes.addressof(ctypes.c_char.from_buffer(self.mapped()))
        found = ccall.Prepared(function, slots, question["returns"])({name: base + offset for name, offset in question["arrays"].items()})
        floating = neighbour("floating") if "_worker_floating" not in sys.modules else sys.modules["_worker_floating"]
        return {"outcome": "ran", "status": found[0] if isinstance(found, bytes) else found, "left": floating.disturbed()}

    def python(self, question: dict[str, Any]) -> dict[str, Any]:
        """Call a Python kernel; a result that it returns is written to its place if it fits there."""
        sys.path[:] = question["path"]
        import numpy as np

        from tessera_rules.bind.arrays import dtype_of
        from tessera_rules.bind.python import resolve
        from tessera_rules.declined import Declined

        memory = self.mapped()
        arrays = {
            name: np.ndarray(each["shape"], dtype_of(each["dtype"]), memory, each["offset"], each["strides"]) for name, each in question["arrays"].items()
        }
        values = {name: tuple(value) if name in question["tuples"] else value for name, value in question["values"].items()}
        values.update({name: arrays[place] for name, place in question["operands"].items()})
        outs = tuple(arrays[name] for name in question["outs"])
        if "out" in question["takes"]:
            values["out"] = outs[0] if len(outs) == 1 else outs
        if "workspace" in question["takes"]:
            values["workspace"] = np.empty(question["workspace"], np.uint8)
        function: Any = resolve(question["module"], question["name"])
        if not callable(function):
            return {"outcome": "failed", "reason": function.reason}
        first = question["by_position"]
        try:
            found = function(*[values[name] for name in first], **{name: values[name] for name in question["takes"] if name not in first})
        except Declined as declined:
            return {"outcome": "declined", "reason": declined.reason}
        if isinstance(found, Declined):
            return {"outcome": "declined", "reason": found.reason}
        results = question["results"]
        several = (found,) if len(results) == 1 else found if isinstance(found, tuple) else (None,) * len(results) if found is None else (found,)
        if len(several) != len(results):
            return {"outcome": "ran", "broken": f"it returned {len(several)} results where {len(results)} were expected"}
        for name, x in zip(results, several, strict=True):
            place = arrays[name]
            if x is None:
                if "out" not in question["takes"] and name not in question["operands"].values():
                    return {"outcome": "ran", "broken": "it returned nothing"}
                continue
            x = np.asarray(x)
            if x.shape != place.shape or x.dtype != place.dtype:
                said = f"it returned {list(x.shape)} {x.dtype} where {list(place.shape)} {place.dtype} was expected"
                return {"outcome": "ran", "broken": said}
            if x is not place:
                place[...] = x
        return {"outcome": "ran", "status": None}


def main() -> None:
    """Answer questions until standard input ends."""
    results, memory_fd, limit = (int(word) for word in sys.argv[1:4])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if limit:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    worker = Worker(memory_fd)
    for line in sys.stdin.buffer:
        question = json.loads(line)
        signal.alarm(int(question["seconds"]) + 5)  # if whoever asked is gone, nobody else ends this
        os.write(results, json.dumps(worker.answer(question)).encode() + b"\n")
        signal.alarm(0)


if __name__ == "__main__":
    main()
