"""Sessions of pages carried out: ``$ command`` lines with the output that a page shows, in one folder a page."""

from __future__ import annotations

import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from attrs import frozen

from tessera_rules.cli import main

SHELL_ONLY = re.compile(r"[|&<`*?]|\$\(|\$\{|;")
STATUS = '; echo "exit $?"'


@frozen
class Step:
    """One command of a session and the lines that the page shows of its output."""

    command: str
    shown: tuple[str, ...]


def steps(text: str) -> Iterator[Step]:
    """Yield the commands of a session. A command goes on while its line ends with a backslash."""
    command, shown = "", list[str]()
    for line in text.splitlines():
        if command.endswith("\\") and not shown:
            command = command[:-1] + line.strip()
        elif line.startswith("$ "):
            if command:
                yield Step(command, tuple(shown))
            command, shown = line[2:], []
        elif not command:
            raise AssertionError(f"a session begins with `$ command`, and this is: {line}")
        elif line.strip():
            shown.append(line)
    if command:
        yield Step(command, tuple(shown))


def loose(line: str) -> str:
    """Return a line without what differs from machine to machine: blanks, decimals, numbers of threads, times.

    >>> loose("  x ran: 177.2 µs a call, M=4 threads=2"), loose("error 1e-07")
    ('x ran: # # a call, M=4', 'error #')
    """
    line = re.sub(r"\s*\bthreads=\d+", "", line)
    line = re.sub(r"\b\d+(\.\d+)?(e[+-]?\d+)\b|\b\d+\.\d+\b", "#", line)
    line = re.sub(r"(#|\b\d+) (ns|µs|ms|s)\b", "# #", line)
    return " ".join(line.split())


def missing(shown: tuple[str, ...], output: str) -> str | None:
    """Return the first shown line that the output does not have, in order; ``…`` stands for anything.

    >>> missing(("a", "…", "c … e"), "a\\nb\\nc d e\\n"), missing(("c", "a"), "a\\nc\\n")
    (None, 'a')
    """
    lines = iter([loose(line) for line in output.splitlines()])
    for wanted in shown:
        if wanted.strip() == "…":
            continue
        pattern = ".*".join(re.escape(part) for part in loose(wanted).split("…"))
        if not any(re.fullmatch(pattern, line) for line in lines):
            return wanted
    return None


def carry_out(command: str, folder: Path, environment: Mapping[str, str]) -> tuple[int, str]:
    """Return the exit code and the output (both streams) of a command. ``tsr`` alone runs in this process, which is quicker."""
    plain = command.removesuffix(STATUS)
    if plain.startswith("tsr ") and not SHELL_ONLY.search(plain) and ">" not in plain:
        forget_modules(folder)
        stream = io.StringIO()
        code = main(shlex.split(plain)[1:], stream, stream, io.StringIO())
        output = stream.getvalue()
        return (0, f"{output}exit {code}\n") if plain != command else (code, output)
    path = f"{Path(sys.executable).parent}:{environment['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env={**environment, "PATH": path}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return done.returncode, done.stdout


def forget_modules(folder: Path) -> None:
    """Drop the modules that were imported from a folder: its files may have changed."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file is not None and Path(file).is_relative_to(folder):
            del sys.modules[name]
