"""The measured corpus of the tessera compiler: read as foreign evidence, with everything that is suspicious about it said.

Its rows hold one latency a lane, no samples and no digests, so that no winner can be worked out from them. They are kept to be
seen and audited, and never decide.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen

from tessera_rules.corpus.record import FOREIGN, Record

CLOSE = 0.03
SOURCE = "tessera compiler corpus"


@frozen
class Suspicion:
    """Something about one row, by its number from 1, that a reader should know: ``kind`` is a stable word."""

    row: int
    kind: str
    text: str


def is_tessera(document: Any) -> bool:
    """Whether a document looks like that corpus: ``version`` and ``records`` with ``bucket`` and ``candidates``."""
    return isinstance(document, Mapping) and isinstance(document.get("records"), list) and "version" in document


def read_tessera(document: Mapping[str, Any], dimensions: Mapping[str, int] | None = None) -> tuple[list[Record], list[Suspicion], list[tuple[int, str]]]:
    """Return the records of its rows, what is suspicious, and number and reason of each row that is none.

    ``dimensions`` says how many dimensions an op has, where that is known; else the most that a row of the op has count.
    """
    rows: dict[int, Mapping[str, Any]] = {}
    bad: list[tuple[int, str]] = []
    for number, row in enumerate(document["records"], 1):
        problem = _problem(row)
        if problem is None:
            rows[number] = row
        else:
            bad.append((number, problem))
    suspicions = sorted(_suspicions(rows, dimensions or {}), key=lambda each: (each.row, each.kind))
    said: dict[int, list[str]] = {}
    for each in suspicions:
        said.setdefault(each.row, []).append(f"{each.kind}: {each.text}")
    return [_record(row, said.get(number, [])) for number, row in rows.items()], suspicions, bad


def _problem(row: Any) -> str | None:
    """Return why a row is none, None where it is one."""
    if not isinstance(row, Mapping):
        return f"a row is an object, and this is {type(row).__name__}"
    for name in ("op", "target", "dtype", "timing", "device", "winner"):
        if not isinstance(row.get(name), str):
            return f"{name} is {row.get(name)!r}, and a word was expected"
    bucket, candidates = row.get("bucket"), row.get("candidates")
    if not isinstance(bucket, list) or not bucket or not all(isinstance(size, int) and not isinstance(size, bool) and size >= 0 for size in bucket):
        return f"bucket is {bucket!r}, and a list of sizes was expected"
    if not isinstance(candidates, Mapping) or not candidates:
        return f"candidates is {candidates!r}, and latencies by name were expected"
    for name, value in candidates.items():
        if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value) or value <= 0:
            return f"the latency of {name} is {value!r}, and no time (T12)"
    if not isinstance(row.get("evidence") or {}, Mapping):
        return "evidence is no object"
    return None


def _record(row: Mapping[str, Any], said: Sequence[str]) -> Record:
    key = {name: row[name] for name in ("op", "target", "dtype", "device")} | {"bucket": list(row["bucket"]), "metric": row["timing"], "how": SOURCE}
    return Record(
        op=row["op"],
        target=row["target"],
        key=key,
        dims={},
        contestants=dict.fromkeys(row["candidates"], ""),
        finalists=(),
        times={},
        unmeasured={},
        default=None,
        outcome="imported",
        winner=row["winner"] if row["winner"] in row["candidates"] else None,
        rules="",
        at=0.0,
        evidence={"source": SOURCE, "latency_ms": dict(row["candidates"]), "suspicions": list(said), "theirs": dict(row.get("evidence") or {})},
        kind=FOREIGN,
    )


def _suspicions(rows: Mapping[int, Mapping[str, Any]], dimensions: Mapping[str, int]) -> Iterator[Suspicion]:
    most: dict[str, int] = {}
    for row in rows.values():
        most[row["op"]] = max(most.get(row["op"], 0), len(row["bucket"]))
    ranks = most | dict(dimensions)
    for number, row in rows.items():
        yield from _of_row(number, row, ranks)
    yield from _between(rows)


def _of_row(number: int, row: Mapping[str, Any], ranks: Mapping[str, int]) -> Iterator[Suspicion]:
    candidates, winner, evidence = row["candidates"], row["winner"], row.get("evidence") or {}
    bucket, shape = row["bucket"], evidence.get("workload_shape")
    if len(candidates) == 1:
        yield Suspicion(number, "one_contestant", f"only {next(iter(candidates))} was timed, and it won over nobody")
    if len(bucket) != ranks[row["op"]]:
        yield Suspicion(number, "dimensions", f"keyed in {len(bucket)} dimensions where {row['op']} has {ranks[row['op']]}: no look-up in those finds it")
    if isinstance(shape, list) and shape != bucket:
        lanes = ", ".join(candidates)
        yield Suspicion(
            number, "ragged", f"timed at {shape} and kept for {bucket}: a lane ({lanes}) that declines ragged sizes has the time of its fallback here"
        )
    if winner not in candidates:
        yield Suspicion(number, "winner_untimed", f"{winner} won, and has no time")
        return
    fastest = min(candidates, key=lambda name: candidates[name])
    if candidates[winner] > candidates[fastest]:
        behind = candidates[winner] / candidates[fastest] - 1
        yield Suspicion(number, "not_fastest", f"{winner} won, and {fastest} was {behind:.1%} faster")
    others = sorted(value for name, value in candidates.items() if name != winner)
    if others and candidates[winner] <= others[0] < candidates[winner] * (1 + CLOSE):
        yield Suspicion(number, "close", f"the runner-up is {others[0] / candidates[winner] - 1:.1%} behind: no separated win")
    runs = evidence.get("run_winners")
    if isinstance(runs, list) and len(set(map(str, runs))) > 1:
        yield Suspicion(number, "runs_differ", f"its runs were won by {', '.join(map(str, runs))}")


def _between(rows: Mapping[int, Mapping[str, Any]]) -> Iterator[Suspicion]:
    """Yield what two rows of one shape, by different timers, say of each other."""
    same: dict[Any, dict[str, int]] = {}
    for number, row in rows.items():
        same.setdefault((row["op"], row["target"], row["device"], row["dtype"], tuple(row["bucket"])), {})[row["timing"]] = number
    for found in same.values():
        if not {"device", "end_to_end"} <= set(found):
            continue
        one, two = rows[found["device"]], rows[found["end_to_end"]]
        if one["winner"] != two["winner"]:
            for number, other in ((found["device"], two), (found["end_to_end"], one)):
                yield Suspicion(number, "timers_disagree", f"by {other['timing']} time {other['winner']} won")
        missing = sorted(set(two["candidates"]) - set(one["candidates"]))
        if missing:
            yield Suspicion(found["device"], "lanes_missing", f"{', '.join(missing)} ran, and had no device timer: no contest (T13)")
