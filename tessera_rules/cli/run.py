"""``tsr run OP TARGET k=v…``: makes inputs, decides, runs the winner, compares with the reference, and says who ran."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tessera_rules.cli.arguments import Parser, parser_for
from tessera_rules.cli.progress import Progress
from tessera_rules.cli.requests import read_words
from tessera_rules.cli.rules import asked_rules, rule_paths
from tessera_rules.cli.streams import Streams
from tessera_rules.errors import UsageError

if TYPE_CHECKING:
    from tessera_rules.report.run import Timing

SUMMARY = "make inputs (or take .npy, .npz), decide, run, compare with the reference: who ran, error against budget, time"


def parser() -> Parser:
    """Return what ``tsr run`` takes."""
    made = parser_for("run", SUMMARY, "example: tsr run matmul x86 M=33 N=77 K=129 dtype=f32\n         tsr run matmul x86 a=a.npy b=b.npy")
    made.add_argument("words", nargs="*", metavar="OP TARGET NAME=VALUE", help="as for tsr eval; OPERAND=FILE.npy or FILE.npz instead of dimensions")
    made.add_argument("--measure", action="store_true", help="then time everybody in the race, in interleaved rounds")
    made.add_argument("--seed", type=_seed, default=0, metavar="N", help="the seed of the inputs (0)")
    made.add_argument("--force", metavar="NAME", help="this candidate or an error; replaces TSR_FORCE and the rules' forces")
    made.add_argument("--save", metavar="BUG.ZIP", help="write rules, machine, request, operands and verdicts to one file for `tsr replay`")
    return made


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Run a request; 1 where the result that came is not right, 0 otherwise."""
    from tessera_rules.arbiter.request import find_op
    from tessera_rules.report.run import render_measurement, render_run, run_document
    from tessera_rules.session import open_arbiter
    from tessera_rules.trial import measure_words, run_words

    words, named = asked_rules(options, 2)
    chosen = rule_paths(named)
    progress = Progress(streams)
    arbiter = open_arbiter(chosen.paths, untrusted=chosen.untrusted)
    streams.tell_findings(finding for finding in arbiter.findings if finding.severity == "warning")
    asked = read_words("run", words, arbiter.ruleset)
    files = {name: Path(value) for name, value in asked.words.items() if value.endswith((".npy", ".npz"))}
    plain: dict[str, Any] = {name: value for name, value in asked.words.items() if name not in files}
    operands = _operands(files, find_op(arbiter.ruleset, asked.op).operands) if files else None
    seed = options.seed if operands is None else None
    with progress:
        timings: Sequence[Timing] = ()
        if options.measure:
            tried, timings = measure_words(arbiter, asked.op, asked.target, plain, seed=seed, force=options.force, operands=operands, progress=progress.say)
        else:
            tried = run_words(arbiter, asked.op, asked.target, plain, seed=seed, force=options.force, operands=operands, progress=progress.say)
        if options.save:
            from tessera_rules.replay import save

            save(Path(options.save), arbiter, tried, options.force)
    if options.json:
        streams.give(run_document(tried, timings))
    else:
        paint = streams.paint(streams.stdout)
        streams.say(render_measurement((tried, timings), paint) if timings else render_run(tried, paint))
        if options.save:
            streams.say(f"saved to {options.save}; tsr replay {options.save} repeats it")
    return int(tried.judgement is not None and not tried.judgement.ok)


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is no seed, an integer of 0 or more")
    return int(text)


def _operands(files: dict[str, Path], known: Any) -> dict[str, Any]:
    """Return operands read from files; dimensions beside them would be a second source of the same thing."""
    from tessera_rules.trial import load_arrays

    found = load_arrays(files)
    for name in found:
        if name not in known:
            raise UsageError(f"the op has no operand '{name}'", hint=f"its operands are {', '.join(known)}")
    return found
