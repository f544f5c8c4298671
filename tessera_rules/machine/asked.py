"""The child that probes run in. Run by path, standard library only: ``asked.py FD``, one JSON question a line, one answer a line.

``{"do": "library", "name": …}`` loads a shared library; ``symbol`` looks a name up in one; ``call`` imports a module and
calls a name of it with no arguments. Answers are ``{"ok": …, "value": …, "reason": …}``.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
from typing import Any


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """Return what one question gave; never raises."""
    try:
        if question["do"] in ("library", "symbol"):
            import ctypes

            library = ctypes.CDLL(question["name"])
            if question["do"] == "symbol":
                try:
                    library[question["symbol"]]
                except AttributeError:
                    return {"ok": False, "reason": f"{question['name']} has no symbol {question['symbol']}"}
            return {"ok": True}
        return call(question)
    except BaseException as problem:
        text = " ".join(str(problem).split())
        return {"ok": False, "reason": f"{type(problem).__name__}: {text}"[:400] if not isinstance(problem, OSError) else text[:400], "raised": True}


def call(question: dict[str, Any]) -> dict[str, Any]:
    """Import and call ``module:name``; what it returns has to be plain data."""
    sys.path[:] = question["path"]
    found: Any = importlib.import_module(question["module"])
    for part in question["name"].split("."):
        found = getattr(found, part)
    if not callable(found):
        kind = "None" if found is None else f"a {type(found).__name__}"
        return {"ok": False, "reason": f"{question['module']}:{question['name']} is {kind}, which cannot be called", "raised": True}
    value = found()
    return {"ok": True, "value": json.loads(json.dumps(value, default=plain))}


def plain(value: Any) -> Any:
    """Return a value that JSON lacks as one that it has: numbers of NumPy, versions, mappings, sequences."""
    for kind in ("item", "tolist"):
        if hasattr(value, kind):
            return getattr(value, kind)()
    if hasattr(value, "items"):
        return dict(value.items())
    return str(value)


def main() -> None:
    """Answer questions until standard input ends."""
    results = int(sys.argv[1])
    if hasattr(os, "setsid"):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in sys.stdin.buffer:
        question = json.loads(line)
        signal.alarm(int(question.get("seconds", 60)) + 5)  # if whoever asked is gone, nobody else ends this
        os.write(results, json.dumps(answer(question)).encode() + b"\n")
        signal.alarm(0)


if __name__ == "__main__":
    main()
