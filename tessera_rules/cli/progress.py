"""One line that says what takes its time, on a terminal, after a second."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import AbstractContextManager

from attrs import define, field

from tessera_rules.cli.streams import Streams
from tessera_rules.machine.telling import heard_by

PATIENCE_SECONDS = 1.0


@define
class Progress:
    """Shows the last thing said once it has taken longer than a second, and wipes it away at the end. Only where standard error is a terminal."""

    streams: Streams
    _text: str = ""
    _since: float = 0.0
    _shown: bool = False
    _done: threading.Event = field(factory=threading.Event)
    _thread: threading.Thread | None = None
    _hearing: AbstractContextManager[None] | None = None

    def say(self, text: str) -> None:
        """Note what is going on now."""
        self._text, self._since = text, time.monotonic()

    def __enter__(self) -> Progress:
        self.say("working")
        self._hearing = heard_by(self.say)
        self._hearing.__enter__()
        if self.streams.stderr.isatty() and self.streams.stderr is sys.stderr:
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._hearing is not None:
            self._hearing.__exit__(None, None, None)
        self._done.set()
        if self._thread is not None:
            self._thread.join()
            if self._shown:
                self.streams.stderr.write("\r\x1b[K")
                self.streams.stderr.flush()

    def _watch(self) -> None:
        while not self._done.wait(0.2):
            elapsed = time.monotonic() - self._since
            if elapsed >= PATIENCE_SECONDS:
                self.streams.stderr.write(f"\r\x1b[K{self._text} … {elapsed:.0f} s")
                self.streams.stderr.flush()
                self._shown = True
