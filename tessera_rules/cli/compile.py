"""``tsr compile``: a load as one document that other programs read, or a decision as a C header."""

from __future__ import annotations

import argparse

from tessera_rules.cli.arguments import Parser, parser_for
from tessera_rules.cli.rules import asked_rules, load_rules, named_paths
from tessera_rules.cli.streams import Streams
from tessera_rules.errors import UsageError

SUMMARY = "the canonical JSON of a load, or a C header that decides the same"


def parser() -> Parser:
    """Return what ``tsr compile`` takes."""
    made = parser_for("compile", SUMMARY, "example: tsr compile --emit c matmul nvidia dtype=f16 --machine box.json > tsr_matmul_nvidia_f16.h")
    words = "--emit json: rule files or folders (default: as --rules); --emit c: OP TARGET NAME=VALUE, as tsr eval takes them but for the dimensions"
    made.add_argument("words", nargs="*", metavar="PATH | OP TARGET NAME=VALUE", help=words)
    made.add_argument("--emit", choices=["json", "c"], default="json", metavar="{json,c}", help="what to write")
    of_c = made.add_argument_group("options of --emit c")
    of_c.add_argument("--machine", metavar="BOX.JSON", help="a stated machine; default: this one, whose probes are then run")
    of_c.add_argument("--assume", nargs="+", action="append", default=[], metavar="NAME", help="candidates whose `available` is held for true, or all")
    of_c.add_argument("--force", metavar="NAME", help="this candidate or an error; replaces TSR_FORCE and the rules' forces")
    of_c.add_argument("--name", metavar="NAME", help="what every name in the header begins with; default: tsr_OP_TARGET_DTYPE")
    return made


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Write the canonical JSON (which ``--json`` asks for too), or the header."""
    if options.emit == "c":
        return _header(options, streams)
    for option in ("machine", "assume", "force", "name"):
        if getattr(options, option):
            raise UsageError(f"--{option} is for --emit c", hint="tsr compile --help")
    from tessera_rules.report.canonical import canonical

    ruleset = load_rules(named_paths(options), streams)
    streams.give(canonical(ruleset).document, sort_keys=True)
    return 0


def _header(options: argparse.Namespace, streams: Streams) -> int:
    """Write the decision on an op and a target; what it does not know is said on standard error."""
    from tessera_rules.cli.requests import assumed, machine_of, read_words
    from tessera_rules.forced import environment_force
    from tessera_rules.header import header

    words, named = asked_rules(options, 2, options.assume)
    ruleset = load_rules(named, streams)
    asked = read_words("compile --emit c", words, ruleset)
    machine = machine_of(options.machine, ruleset)
    force = options.force or (environment_force(ruleset, asked.op, asked.target) if asked.target else None)
    stated = " ".join([*(f"{name}={value}" for name, value in asked.words.items()), *(f"--assume {','.join(each)}" for each in options.assume)])
    about = (f"asked: {asked.op} {asked.target or ''} {stated}", f"machine: {options.machine or 'this one'}", *((f"force: {force}",) if force else ()))
    made = header(
        ruleset, machine, asked.op, asked.target, asked.words, name=options.name, force=force, assumed=assumed(options.assume), about=about
    )  # fmt: skip
    for said in made.open:
        streams.tell(f"not known in the header, which answers UNDECIDED where it is met: {said}")
    if options.json:
        streams.give({"header": made.text, "open": list(made.open)})
        return 0
    streams.say(made.text.rstrip("\n"))
    return 0
