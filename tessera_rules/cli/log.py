"""``tsr log [FILE]``: who won, degraded, delegated, and where nobody could, by op and target."""

from __future__ import annotations

import argparse
import os

from tessera_rules.cli.arguments import Parser, parser_for
from tessera_rules.cli.rules import readable
from tessera_rules.cli.streams import Streams
from tessera_rules.errors import UsageError

SUMMARY = "who won, degraded, was missing, by op and target, from a file that TSR_LOG wrote"


def parser() -> Parser:
    """Return what ``tsr log`` takes."""
    made = parser_for("log", SUMMARY, "example: TSR_LOG=run.jsonl python serve.py; tsr log run.jsonl")
    made.add_argument("words", nargs="*", metavar="FILE", help="the stream; default: the one that TSR_LOG names")
    return made


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Show the totals; 1 where a line of the file is none of ours."""
    from tessera_rules.log import WORDS, read_totals
    from tessera_rules.report.table import table

    if len(options.words) > 1:
        raise UsageError("tsr log takes one file")
    name = options.words[0] if options.words else os.environ.get("TSR_LOG")
    if not name:
        raise UsageError("there is no log to read", hint="tsr log FILE, or set TSR_LOG")
    with readable(name).open(encoding="utf-8", errors="replace") as stream:
        counts, bad = read_totals(stream)
    rows: dict[tuple[str, str, str], dict[str, int]] = {}
    for (op, target, tag, word), count in sorted(counts.items()):
        rows.setdefault((op, target, tag), dict.fromkeys(WORDS, 0))[word] = count
    if options.json:
        streams.give({"totals": [{"op": op, "target": target, "tag": tag, **found} for (op, target, tag), found in rows.items()], "bad_lines": bad})
    else:
        shown = [(*key, *(str(found[word]) for word in WORDS)) for key, found in rows.items()]
        streams.say(table(("op", "target", "tag", *WORDS), shown, right=(3, 4, 5, 6)) if shown else "nothing was dispatched")
    for number in bad:
        streams.tell(f"{name}:{number}: no line of a dispatch log")
    return int(bool(bad))
