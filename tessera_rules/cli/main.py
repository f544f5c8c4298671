"""``tsr VERB …``: finds the verb, runs it, and turns what ends a call into one message and an exit code."""

from __future__ import annotations

import os
import pkgutil
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, TextIO

from tessera_rules.cli.streams import Streams
from tessera_rules.errors import RuleError, TesseraError, UsageError
from tessera_rules.nearest import did_you_mean

NOT_VERBS = frozenset({"main", "arguments", "streams", "rules", "requests", "progress", "__main__"})
"""Modules of this folder that are no verbs. Every other one is: it has ``SUMMARY``, ``parser()`` and ``run(options, streams)``."""

FINE, FINDINGS, UNANSWERED, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: fine; findings or a failed expectation; the call cannot be answered as asked; stopped by the keyboard."""


def main(argv: Sequence[str] | None = None, stdout: TextIO | None = None, stderr: TextIO | None = None, stdin: TextIO | None = None) -> int:
    """Run one command and return its exit code; the streams default to those of the process.

    >>> import io
    >>> out, err = io.StringIO(), io.StringIO()
    >>> main(["evla"], out, err), err.getvalue()
    (2, "tsr: error: 'evla' is no verb of tsr (did you mean 'eval'?)\\n")
    """
    words = list(sys.argv[1:] if argv is None else argv)
    streams = Streams(stdout or sys.stdout, stderr or sys.stderr, stdin or sys.stdin, colour="--no-color" not in words)
    for stream in (streams.stdout, streams.stderr):
        if hasattr(stream, "reconfigure"):  # a character that the terminal cannot show is written out, never an exception
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _dispatch(words, streams)
        streams.stdout.flush()
    except TesseraError as error:
        return _report(error, streams, json="--json" in words)
    except BrokenPipeError:
        _silence(streams.stdout)
        return FINDINGS
    except KeyboardInterrupt:
        streams.tell("tsr: stopped")
        return INTERRUPTED
    except OSError as error:
        if error.filename is None:
            return _internal(error, streams, json="--json" in words)
        return _report(UsageError(f"{os.fspath(error.filename)}: {error.strerror or error}"), streams, json="--json" in words)
    except Exception as exception:
        return _internal(exception, streams, json="--json" in words)
    return code


def verbs() -> list[str]:
    """Return every verb that there is, by name."""
    import tessera_rules.cli as package

    return sorted(module.name for module in pkgutil.iter_modules(package.__path__) if module.name not in NOT_VERBS and not module.name.startswith("_"))


def _dispatch(words: list[str], streams: Streams) -> int:
    at = _verb_place(words)
    verb = None if at is None else words[at]
    if "--version" in words and verb is None:
        from importlib.metadata import version

        streams.say(f"tsr {version('tessera-rules')}")
        return FINE
    if verb is None or verb == "help":
        asked = words[words.index("help") + 1 :] if verb == "help" else []
        if asked and not asked[0].startswith("-"):
            return _dispatch([asked[0], "--help"], streams)
        if verb is None and words and not {"-h", "--help", "--json", "--no-color"} >= set(words):
            raise UsageError(f"tsr has no option {words[0]} before a verb", hint="tsr --help")
        if verb is None and not words:
            streams.stderr.write(_overview())
            return UNANSWERED
        streams.stdout.write(_overview())
        return FINE
    if verb not in verbs():
        raise UsageError(f"'{verb}' is no verb of tsr", hint=did_you_mean(verb, verbs(), "verb"))
    module: Any = import_module(f"tessera_rules.cli.{verb}")
    parser = module.parser()
    rest = [word for place, word in enumerate(words) if place != at]
    if {"-h", "--help"} & set(rest):
        streams.stdout.write(parser.format_help())
        return FINE
    code: int = module.run(parser.read(rest), streams)
    return code


def _verb_place(words: list[str]) -> int | None:
    """Return where the verb stands: in front, or after options the first word that is one, else the first word of all."""
    plain = [place for place, word in enumerate(words) if not word.startswith("-")]
    if plain and plain[0] > 0:
        known = set(verbs())
        return next((place for place in plain if words[place] in known), plain[0])
    return plain[0] if plain else None


def _overview() -> str:
    lines = ["tsr VERB …: declare kernels in .tsr files, decide which one runs, and say why", "", "verbs (tsr help VERB says more):"]
    lines += [f"  {verb:<9}{import_module(f'tessera_rules.cli.{verb}').SUMMARY}" for verb in verbs()]
    lines += ["", "exit codes: 0 fine, 1 findings or a failed expectation, 2 the call cannot be answered as asked"]
    return "\n".join(lines) + "\n"


def _report(error: TesseraError, streams: Streams, *, json: bool) -> int:
    if json:
        from tessera_rules.report.document import error_document

        streams.give(error_document(error))
        return UNANSWERED
    paint = streams.paint(streams.stderr)
    if isinstance(error, RuleError):
        streams.tell_findings(error.findings)
        streams.tell(f"tsr: {paint('error', 'error')}: rules with errors decide nothing (tsr lint shows the same findings)")
        return UNANSWERED
    from tessera_rules.report.text import place, visible

    where = place(error.span) if error.span else "tsr"
    message = "\n".join(visible(line) for line in error.message.split("\n"))
    streams.tell(f"{paint('strong', where + ':')} {paint('error', 'error')}: {message}")
    return UNANSWERED


def _internal(exception: Exception, streams: Streams, *, json: bool) -> int:
    """Say that this is our mistake (but for memory that ran out). The traceback is for those who ask for it."""
    if isinstance(exception, MemoryError):
        return _report(UsageError(f"this takes more memory than there is: {exception or 'out of memory'}"), streams, json=json)
    said = f"internal error, please report it: {type(exception).__name__}: {exception}"
    if os.environ.get("TSR_DEBUG") == "1":
        import traceback

        streams.stderr.write("".join(traceback.format_exception(exception)))
    error = TesseraError(said, hint="TSR_DEBUG=1 shows where")
    error.kind = "internal"
    return _report(error, streams, json=json)


def _silence(stdout: TextIO) -> None:
    """Keep the interpreter from writing to the closed pipe once more as it ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())
    except (OSError, ValueError):
        return
