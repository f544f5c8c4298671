"""``tsr replay BUG.ZIP``: repeats a saved run, or says what differs."""

from __future__ import annotations

import argparse
from pathlib import Path

from tessera_rules.cli.arguments import Parser, parser_for
from tessera_rules.cli.progress import Progress
from tessera_rules.cli.streams import Streams
from tessera_rules.errors import UsageError

SUMMARY = "repeat a run that `tsr run … --save` wrote, or say what differs"


def parser() -> Parser:
    """Return what ``tsr replay`` takes."""
    made = parser_for("replay", SUMMARY)
    made.add_argument("words", nargs="*", metavar="BUG.ZIP", help="the saved run; naming it is trusting the rules in it")
    return made


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Repeat a run; 1 where something differs."""
    from tessera_rules.replay import replay
    from tessera_rules.report.document import plain
    from tessera_rules.report.run import render_run, run_document

    if len(options.words) != 1:
        raise UsageError("tsr replay takes one saved run", hint="tsr replay bug.zip")
    progress = Progress(streams)
    with progress:
        found = replay(Path(options.words[0]), progress.say)
    if options.json:
        document = run_document(found.tried)
        document["differences"] = [{"what": what, "then": plain(then), "now": plain(now)} for what, then, now in found.differences]
        streams.give(document)
    else:
        paint = streams.paint(streams.stdout)
        streams.say(render_run(found.tried, paint))
        if not found.differences:
            streams.say(paint("good", "repeats: the same verdicts, the same result bit for bit"))
        for what, then, now in found.differences:
            streams.say(f"{paint('warning', 'differs')}  {what}: then {then}, now {now}")
    return int(bool(found.differences))
