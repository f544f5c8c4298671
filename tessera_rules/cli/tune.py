"""``tsr tune OP TARGET k=v…``: races everybody who can serve each request, and writes what was measured to the corpus."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tessera_rules.cli.arguments import Parser, parser_for
from tessera_rules.cli.progress import Progress
from tessera_rules.cli.requests import read_words
from tessera_rules.cli.rules import asked_rules, readable, rule_paths
from tessera_rules.cli.streams import Streams
from tessera_rules.errors import UsageError

if TYPE_CHECKING:
    from tessera_rules.campaign import Job, Result
    from tessera_rules.corpus.store import Store
    from tessera_rules.session import Arbiter

SUMMARY = "race who can serve each request, and write what was measured to the corpus, which decisions then ask"
EXAMPLE = """example: tsr tune matmul x86 dtype=f32 M=1,64,1024 N=1024 K=1024
         TSR_LOG=seen.jsonl python serve.py; tsr tune --from-log seen.jsonl --seconds 600"""


BUSY = 1.5
"""Processes that want to run for each core, from which on times are those of a busy machine."""


def parser() -> Parser:
    """Return what ``tsr tune`` takes."""
    made = parser_for("tune", SUMMARY, EXAMPLE)
    made.add_argument("words", nargs="*", metavar="OP TARGET NAME=VALUE", help="as for tsr eval; sizes and dtype may be lists by comma: every combination")
    made.add_argument("--file", metavar="FILE", help="requests, one a line, as after tsr eval; # begins a comment")
    made.add_argument("--from-log", metavar="LOG", help="what a dispatch log (TSR_LOG) saw, most frequent first; OP and TARGET then choose from it")
    made.add_argument("--seconds", type=float, metavar="N", help="begin no further race after so many; the same call later goes on")
    made.add_argument("--again", action="store_true", help="race what the corpus knows, too")
    made.add_argument("--thorough", action="store_true", help="up to 40 rounds a race instead of 24")
    made.add_argument("--flushed", action="store_true", help="with caches flushed before each call: kept apart, and not what decisions ask")
    made.add_argument("--shard", metavar="I/N", help="only this part of the requests, such as 1/4")
    made.add_argument("--seed", type=int, default=0, metavar="N", help="the seed of operands and of the order in rounds (0)")
    made.add_argument("--corpus", metavar="PATH", help="the corpus to write; default: TSR_CORPUS, else the user's cache")
    made.add_argument("--suggest-rules", action="store_true", help="print rules that say what the corpus holds, to be read and committed by a person")
    return made


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Race; 1 where a request could not be raced or a record not be kept."""
    from tessera_rules.corpus.store import Store, StoreProblem, default_place
    from tessera_rules.session import open_arbiter
    from tessera_rules.tuning import load

    words, named = asked_rules(options, 2)
    chosen = rule_paths(named)
    arbiter = open_arbiter(chosen.paths, untrusted=chosen.untrusted)
    busy, cores = load(), arbiter.machine.threads
    if busy is not None and busy > BUSY * cores and not (options.suggest_rules and not words):
        streams.tell(f"tsr tune: this machine is busy ({busy:.0f} processes want its {cores} cores): what is measured now is how it is now")
    streams.tell_findings(finding for finding in arbiter.findings if finding.severity == "warning")
    try:
        store = Store(options.corpus or default_place())
        if options.suggest_rules and not words and not options.file and not options.from_log:
            return _suggest(arbiter, store, streams)
        results = _tune(options, arbiter, store, _jobs(options, words, arbiter, streams), streams)
        if options.json:
            streams.give({"store": store.place, "results": [_document(each) for each in results]})
        if options.suggest_rules:
            _suggest(arbiter, store, streams)
    except StoreProblem as problem:
        raise UsageError(str(problem)) from None
    return int(any(each.status == "failed" for each in results))


def _jobs(options: argparse.Namespace, words: Sequence[str], arbiter: Arbiter, streams: Streams) -> list[Job]:
    from tessera_rules.campaign import Job, grid, jobs_of_lines, jobs_of_log, shard

    jobs: list[Job] = []
    if options.from_log:
        plain = [word for word in words if "=" not in word]
        with readable(options.from_log).open(encoding="utf-8", errors="replace") as stream:
            found, bad = jobs_of_log(stream, arbiter.ruleset, *plain[:2])
        jobs += found
        for number in bad:
            streams.tell(f"{options.from_log}:{number}: no line of a dispatch log")
    elif words:
        asked = read_words("tune", words, arbiter.ruleset)
        jobs += grid(arbiter.ruleset, Job(asked.op, asked.target, asked.words))
    if options.file:
        with readable(options.file).open(encoding="utf-8-sig") as stream:
            jobs += [each for job in jobs_of_lines(stream, options.file) for each in grid(arbiter.ruleset, job)]
    if not jobs:
        raise UsageError("there is nothing to tune", hint="tsr tune OP TARGET NAME=VALUE …, --file or --from-log")
    return shard(jobs, options.shard) if options.shard else jobs


def _tune(options: argparse.Namespace, arbiter: Arbiter, store: Store, jobs: Sequence[Job], streams: Streams) -> list[Result]:
    from tessera_rules.campaign import tune

    results: list[Result] = []
    progress = Progress(streams)
    paint = streams.paint(streams.stdout)
    with progress:
        for result in tune(
            arbiter,
            store,
            jobs,
            seconds=options.seconds,
            again=options.again,
            thorough=options.thorough,
            flushed=options.flushed,
            seed=options.seed,
            progress=lambda text: progress.say(f"{len(results) + 1} of {len(jobs)}, {text}"),
        ):
            results.append(result)
            if not options.json and result.status != "left":
                streams.say(f"{paint(_ROLE[result.status], result.status):<9} {result.job}")
                streams.say(f"          {_said(result)}")
                for name, reason in (result.raced.race.unmeasured if result.raced else {}).items():
                    streams.say(f"          unmeasured {name}: {reason}")
                streams.stdout.flush()
    if not options.json:
        counts = {word: sum(each.status == word for each in results) for word in _ROLE}
        streams.say(", ".join(f"{count} {word}" for word, count in counts.items() if count) + f"; corpus {store.place}")
        if counts["left"]:
            streams.say("the time budget is spent; the same call goes on where this one stopped")
    return results


_ROLE = {"measured": "good", "known": "dim", "alone": "dim", "failed": "error", "left": "warning"}


def _said(result: Result) -> str:
    """Return what came of a request in one line."""
    raced, record = result.raced, result.record
    if raced is None or record is None:
        return result.reason or ""
    outcome = raced.race.outcome
    times = ", ".join(f"{name} {_seconds(value)}" for name, value in sorted(outcome.medians.items(), key=lambda each: each[1]))
    if outcome.kind != "separated":
        return f"{outcome.kind} after {outcome.rounds} rounds: {times}"
    gain = outcome.gain_over(raced.default) if raced.default is not None else None
    if record.winner is None:
        return f"separated after {outcome.rounds} rounds, {outcome.winner} gains too little over {raced.default} to replace it: {times}"
    better = f", {gain:.0%} less time than {raced.default} which runs unmeasured" if gain is not None and outcome.winner != raced.default else ""
    return f"{outcome.winner} wins after {outcome.rounds} rounds{better}: {times}"


def _seconds(value: float) -> str:
    return f"{value * 1e6:.1f} µs" if value < 1e-3 else f"{value * 1e3:.2f} ms" if value < 1 else f"{value:.2f} s"


def _document(result: Result) -> dict[str, Any]:
    raced = result.raced
    return {
        "request": str(result.job),
        "count": result.job.count,
        "status": result.status,
        "reason": result.reason,
        "record": result.record.id if result.record is not None else None,
        "outcome": raced.race.outcome.kind if raced is not None else None,
        "winner": result.record.winner if result.record is not None else None,
        "default": raced.default if raced is not None else None,
        "rounds": raced.race.outcome.rounds if raced is not None else None,
        "median_seconds": dict(raced.race.outcome.medians) if raced is not None else {},
        "unmeasured": dict(raced.race.unmeasured) if raced is not None else {},
    }


def _suggest(arbiter: Arbiter, store: Store, streams: Streams) -> int:
    from tessera_rules.corpus.suggest import suggested_rules

    said = suggested_rules(store.read().records, arbiter.ruleset)
    streams.say(said.rstrip("\n") if said else "# nothing was measured that the rules do not say already")
    return 0
