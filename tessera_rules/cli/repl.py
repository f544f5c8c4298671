"""``tsr repl [PATH…]``: ask, change and ask again. Piped input works the same, without colours."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from tessera_rules.cli.arguments import Parser, parser_for
from tessera_rules.cli.progress import Progress
from tessera_rules.cli.rules import named_paths, rule_paths
from tessera_rules.cli.streams import Streams

SUMMARY = "an interactive session: requests, why, what if, sweeps, declarations typed in"


def parser() -> Parser:
    """Return what ``tsr repl`` takes."""
    made = parser_for("repl", SUMMARY)
    made.add_argument("words", nargs="*", metavar="PATH", help="rule files or folders; default: as --rules")
    made.add_argument("--machine", metavar="BOX.JSON", help="a stated machine to start with")
    return made


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Answer until the input ends; piped, the exit code is 1 where a line could not be answered."""
    from tessera_rules.repl.console import Console, chunks
    from tessera_rules.session import open_arbiter

    chosen = rule_paths(named_paths(options))
    arbiter = open_arbiter(chosen.paths, machine=options.machine, untrusted=chosen.untrusted)
    streams.tell_findings(finding for finding in arbiter.findings if finding.severity == "warning")
    console = Console(arbiter, options.machine or "this machine")
    if streams.stdin.isatty() and streams.stdout.isatty() and not options.json:
        from tessera_rules.repl.prompt import interact

        streams.say(f"{len(arbiter.ruleset.candidates)} candidates of {len(arbiter.ruleset.ops)} ops; `help` says what can be typed, Tab completes")
        return interact(console, history_file(), streams.stdout, colour=streams.paint(streams.stdout).colour, progress=lambda: Progress(streams))
    failed = 0
    for text in chunks(streams.stdin):
        reply = console.execute(text)
        if reply.text:
            (streams.say if reply.ok else streams.tell)(reply.text)
        failed += not reply.ok
        if reply.done:
            break
    return int(failed > 0)


def history_file() -> Path:
    """Return where the history of inputs is kept: the user's state folder, or below ``TSR_CACHE``."""
    cache = os.environ.get("TSR_CACHE")
    base = Path(cache) if cache else Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "tessera-rules"
    return base / "repl_history"
