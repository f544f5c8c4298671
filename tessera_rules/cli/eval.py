"""``tsr eval OP TARGET k=v…``: who would run, and why not the others. No kernel is run on the request."""

from __future__ import annotations

import argparse

from attrs import evolve

from tessera_rules.cli.arguments import Parser, parser_for
from tessera_rules.cli.progress import Progress
from tessera_rules.cli.requests import assumed, evidence_for, forced, machine_of, override_notes, pinned, read_words
from tessera_rules.cli.rules import asked_rules, load_rules
from tessera_rules.cli.streams import Streams

SUMMARY = "the decision for a request: the winner, every verdict with its reason, what is open"


def parser() -> Parser:
    """Return what ``tsr eval`` takes."""
    made = parser_for("eval", SUMMARY, "example: tsr eval attention rocm dtype=f16 B=1 Hq=8 Hkv=8 Sq=128 Skv=128 head_dim=72 Dv=72 --machine box.json")
    made.add_argument(
        "words", nargs="*", metavar="OP TARGET NAME=VALUE", help="dimensions, attributes, dtype=, given=, allow=, require=, threads=, device=, layouts"
    )
    made.add_argument("--machine", metavar="BOX.JSON", help="a stated machine; default: this one, whose probes are then run")
    made.add_argument("--assume", nargs="+", action="append", default=[], metavar="NAME", help="candidates whose `available` is held for true, or all")
    made.add_argument("--force", metavar="NAME", help="this candidate or an error; replaces TSR_FORCE and the rules' forces")
    return made


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Decide, and show the decision with the condition under which it stays the same."""
    from tessera_rules.arbiter.decide import decide
    from tessera_rules.arbiter.holds import holds_for
    from tessera_rules.arbiter.request import bind_words
    from tessera_rules.arbiter.situation import Proved

    words, named = asked_rules(options, 2, options.assume)
    ruleset = load_rules(named, streams)
    asked = read_words("eval", words, ruleset)
    machine = machine_of(options.machine, ruleset)
    request = bind_words(ruleset, asked.op, asked.target, asked.words, machine)
    if options.machine is None:
        streams.tell("tsr eval asks this machine: probes run, and a smoke probe is a call of a kernel (--machine states a machine instead)")
    force, assume = forced(options.force, request, ruleset) or pinned(ruleset, request), assumed(options.assume)
    measured = evidence_for(ruleset, request, machine)
    # On a stated machine nothing has been proved: under `verify ahead` nobody is selected there.
    proofs: dict[str, Proved] | None = {} if machine.stated and ruleset.policy.verify == "ahead" else None
    with Progress(streams):
        decision = decide(ruleset, request, machine, force=force, assume_available=assume, proofs=proofs, measured=measured)
    condition = None if measured is not None or proofs is not None else holds_for(ruleset, request, machine, decision, force=force, assume_available=assume)
    pin = (f"TSR_DECISIONS: {force} is pinned",) if force is not None and force != forced(options.force, request, ruleset) else ()
    decision = evolve(decision, notes=(*pin, *override_notes(options.force, assume, request, ruleset), *decision.notes))
    if options.json:
        from tessera_rules.report.document import decision_document

        streams.give(decision_document(decision, condition))
        return 0
    from tessera_rules.report.explain import explain

    streams.say(explain(decision, streams.paint(streams.stdout), holds_for=condition))
    return 0
