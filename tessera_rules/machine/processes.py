"""Child processes that may hang, crash or be killed without harm to this one: spawned, never forked, and always reaped.

A child is a script of the standard library's own Python. It reads JSON lines from its standard input and answers with JSON
lines on a pipe of its own, so that whatever foreign code prints is no answer.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import frozen


@frozen
class Ended:
    """A child that gave no answer: ``reason`` says how it ended; ``signal`` is what killed it, by name; ``timeout`` that we did."""

    reason: str
    signal: str | None = None
    timeout: bool = False


class Process:
    """A running child. Use as a context manager: at its end nothing of the child is left, nor of its own children."""

    def __init__(self, script: Path, *, arguments: Sequence[str] = (), fds: Sequence[int] = (), site: bool = True) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.results: int | None = None
        self.pending = b""
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        reading, writing = os.pipe()
        flags = ["-I"] if site else ["-I", "-S"]
        try:
            self.process = subprocess.Popen(
                [sys.executable, *flags, str(script), str(writing), *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=self.errors,
                pass_fds=(writing, *fds),
                start_new_session=True,
            )
            self.results = reading
        except OSError as problem:
            os.close(reading)
            self.errors.close()
            self.unstarted = f"no child process could be started: {problem.strerror or problem}"
        finally:
            os.close(writing)

    unstarted = "the child process has ended before"
    """What is said to who asks a child that is not there."""

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def alive(self) -> bool:
        """Whether the child can be asked."""
        return self.process is not None

    def ask(self, question: Any, seconds: float) -> Any | Ended:
        """Return the answer to a question, or how the child ended. A child that outlives ``seconds`` is killed."""
        process = self.process
        if process is None or process.stdin is None:
            return Ended(self.unstarted)
        try:
            process.stdin.write(json.dumps(question).encode() + b"\n")
            process.stdin.flush()
        except (BrokenPipeError, OSError):
            return self._ended()
        return self._answer(time.monotonic() + seconds, seconds)

    def _answer(self, deadline: float, seconds: float) -> Any | Ended:
        assert self.results is not None
        while b"\n" not in self.pending:
            left = deadline - time.monotonic()
            ready = select.select([self.results], [], [], max(0.0, left))[0] if left > 0 else []
            if not ready:
                self.close()
                return Ended(f"timeout: it had not ended after {seconds:g} s", None, True)
            data = os.read(self.results, 1 << 16)
            if not data:
                return self._ended()
            self.pending += data
        line, _, self.pending = self.pending.partition(b"\n")
        try:
            return json.loads(line)
        except ValueError:
            self.close()
            return Ended("its answer is no JSON")

    def _ended(self) -> Ended:
        """Return how a child ended that closed its pipe."""
        code = self.close(patience=2.0)
        last = self.last_words
        if code is not None and code < 0:
            name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
            return Ended(f"killed by {name}" + (f" ({last})" if last else ""), name)
        return Ended(f"ended with code {code} and no answer" + (f": {last}" if last else ""))

    last_words = ""
    """The last line that the child wrote to its standard error, set when it has ended."""

    def close(self, patience: float = 0.0) -> int | None:
        """End the child and all that it started, reap it, and return its exit code."""
        process, self.process = self.process, None
        if process is None:
            return None
        with contextlib.suppress(OSError):
            if process.stdin is not None:
                process.stdin.close()
        if patience:
            # Its group is killed before it is reaped: until then nobody else can have its number.
            deadline = time.monotonic() + patience
            while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None and time.monotonic() < deadline:
                time.sleep(0.002)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
        if self.results is not None:
            os.close(self.results)
            self.results = None
        with contextlib.suppress(OSError, ValueError):
            self.errors.seek(max(0, self.errors.seek(0, os.SEEK_END) - 2000))
            lines = [line.strip() for line in self.errors.read().decode(errors="replace").splitlines() if line.strip()]
            self.last_words = lines[-1][:300] if lines else ""
        self.errors.close()
        return code

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()
