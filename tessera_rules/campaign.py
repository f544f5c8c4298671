"""Many races: which requests, in which order, what is known already, and when to stop."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from attrs import frozen

from tessera_rules.arbiter.decide import decide
from tessera_rules.corpus.key import HOW, facts_read
from tessera_rules.corpus.lookup import Corpus
from tessera_rules.corpus.record import Record
from tessera_rules.corpus.store import Store
from tessera_rules.errors import TesseraError, UsageError
from tessera_rules.measure.stopwatch import elapsed
from tessera_rules.model.values import Ruleset
from tessera_rules.session import Arbiter
from tessera_rules.tuning import FLUSHED, Raced, race_operands, record_of, request_of

MAX_JOBS = 100_000
Status = Literal["measured", "known", "alone", "failed", "left"]


@frozen
class Job:
    """One request to race, as words, and how often it was seen."""

    op: str
    target: str | None
    words: Mapping[str, str]
    count: int = 1

    def __str__(self) -> str:
        return " ".join([self.op, *([self.target] if self.target else []), *(f"{name}={value}" for name, value in self.words.items())])


@frozen(eq=False)
class Result:
    """What became of a job: ``measured`` (``record`` and ``raced``), ``known`` from before, ``alone`` (nobody to race with), ``failed``,
    ``left`` for the next time because the time budget was spent."""  # fmt: skip

    job: Job
    status: Status
    reason: str | None = None
    record: Record | None = None
    raced: Raced | None = None


def grid(ruleset: Ruleset, job: Job) -> Iterator[Job]:
    """Yield the jobs of a grid: sizes and ``dtype`` may be lists by comma, and every combination is one.

    Raises `UsageError` for a grid of more than `MAX_JOBS`.
    """
    op = ruleset.ops.get(job.op)
    listed = {*(op.dims if op is not None else ()), "dtype", "threads"}
    choices = [value.split(",") if name in listed else [value] for name, value in job.words.items()]
    count = 1
    for each in choices:
        count *= len(each)
    if count > MAX_JOBS:
        raise UsageError(f"a grid of {count} requests is too large to race", hint=f"at most {MAX_JOBS}")
    for values in itertools.product(*choices):
        yield Job(job.op, job.target, dict(zip(job.words, values, strict=True)), job.count)


def jobs_of_lines(lines: Iterable[str], name: str) -> list[Job]:
    """Return the jobs of a file: ``OP TARGET k=v …`` a line, as after ``tsr eval``; ``#`` begins a comment. Raises `UsageError`."""
    found: list[Job] = []
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if words[:2] == ["tsr", "eval"]:
            words = words[2:]
        if words:
            found.append(_job(words, f"{name}:{number}"))
    return found


def jobs_of_log(lines: Iterable[str], ruleset: Ruleset, op: str | None = None, target: str | None = None) -> tuple[list[Job], list[int]]:
    """Return what a dispatch log (``TSR_LOG``) saw, most frequent first, and the numbers of the lines that are none of it.

    Addresses differ from call to call: requests that differ in an alignment that no clause reads are one.
    """
    seen: Counter[str] = Counter()
    bad: list[int] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            if (op is None or row["op"] == op) and (target is None or row["target"] == target):
                words = str(row["replay"]).split()
                read = facts_read(ruleset, str(row["op"]), str(row["target"]))
                seen[" ".join(word for word in words if ".align=" not in word or f"align:{word.partition('.')[0]}" in read)] += 1
        except (ValueError, KeyError, TypeError, RecursionError):
            bad.append(number)
    jobs = [_job(said.split()[2:], "log") for said in seen if said.startswith("tsr eval ")]
    counted = [Job(job.op, job.target, job.words, count) for job, count in zip(jobs, seen.values(), strict=True)]
    return sorted(counted, key=lambda job: -job.count), bad


def _job(words: Sequence[str], place: str) -> Job:
    plain = [word for word in words if "=" not in word]
    if not 1 <= len(plain) <= 2:
        raise UsageError(f"{place}: '{' '.join(words)}' is no request", hint="OP TARGET NAME=VALUE …, as after tsr eval")
    return Job(plain[0], plain[1] if len(plain) == 2 else None, dict(word.split("=", 1) for word in words if "=" in word))


def shard(jobs: Sequence[Job], part: str) -> list[Job]:
    """Return the part ``i/n`` of jobs, i from 1: the parts are disjoint and together all. Raises `UsageError`.

    >>> [len(shard([Job("f", None, {})] * 7, f"{i}/3")) for i in (1, 2, 3)]
    [3, 2, 2]
    """
    number, _, count = part.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise UsageError(f"'{part}' is no part", hint="1/4 is the first of four")
    return list(jobs[int(number) - 1 :: int(count)])


def tune(
    arbiter: Arbiter,
    store: Store,
    jobs: Iterable[Job],
    *,
    seconds: float | None = None,
    again: bool = False,
    thorough: bool = False,
    flushed: bool = False,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Iterator[Result]:
    """Race each job and add its record to the store before the next begins, so that a kill loses one race at most.

    What the store has evidence of today's contestants for is ``known``, and raced only ``again``: the same call goes on where
    one before was stopped. After ``seconds`` no further race begins. Raises `StoreProblem` where a record cannot be added.
    """
    say, end = progress or (lambda _: None), None if seconds is None else elapsed() + seconds
    corpus = Corpus(store.place)
    for job in jobs:
        if end is not None and elapsed() >= end:
            yield Result(job, "left", "the time budget is spent")
            continue
        try:
            fitted = request_of(arbiter, job.op, job.target, job.words, seed)
            decision = decide(arbiter.ruleset, fitted.request, arbiter.machine)
            if len(decision.ranking) < 2:
                yield Result(job, "alone", f"{decision.tag} is the only one in the race")
                continue
            known = None if again else corpus.measured(arbiter.ruleset, fitted.request, arbiter.machine, FLUSHED if flushed else HOW)
            if known is not None and known.covers(frozenset(decision.ranking)):
                yield Result(job, "known", "raced before, by the same contestants")
                continue
            raced = race_operands(
                arbiter,
                fitted,
                seed=seed,
                thorough=thorough,
                flushed=flushed,
                progress=lambda what, job=job: say(f"{job}: {what}"),  # type: ignore[misc]
            )
            record = record_of(arbiter, raced)
        except TesseraError as problem:
            yield Result(job, "failed", problem.message)
            continue
        store.add([record])
        yield Result(job, "measured", None, record, raced)
    arbiter.corpus.refresh()
