"""Where a command reads and writes: its streams and how it is to be shown."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, TextIO

from attrs import define

from tessera_rules.diagnostic import Finding
from tessera_rules.report.text import Paint, render_finding


@define
class Streams:
    """The three streams of one command. Nothing below `tessera_rules.cli` writes to any of them.

    ``colour`` is False where the caller, ``NO_COLOR`` or a stream that is no terminal says so.
    """

    stdout: TextIO
    stderr: TextIO
    stdin: TextIO
    colour: bool = True

    def paint(self, stream: TextIO) -> Paint:
        """Return how colours are put on a stream."""
        return Paint(self.colour and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and stream.isatty())

    def say(self, text: str = "") -> None:
        """Write a line of the answer."""
        self.stdout.write(text + "\n")

    def tell(self, text: str) -> None:
        """Write a line beside the answer, to standard error."""
        self.stderr.write(text + "\n")

    def give(self, document: Mapping[str, Any], *, sort_keys: bool = False) -> None:
        """Write the answer as one JSON document."""
        from tessera_rules.report.document import dumps

        encoding = (getattr(self.stdout, "encoding", None) or "utf-8").lower().replace("-", "").replace("_", "")
        self.say(dumps(document, ascii_only=encoding != "utf8", sort_keys=sort_keys))

    def tell_findings(self, findings: Iterable[Finding]) -> None:
        """Write findings to standard error."""
        paint = self.paint(self.stderr)
        for finding in findings:
            self.tell(render_finding(finding, paint))
