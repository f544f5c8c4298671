"""What a run gave, as text and as a document."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from tessera_rules.arbiter.execution import Execution
from tessera_rules.model.request import Request
from tessera_rules.oracle.judge import Judgement
from tessera_rules.report.document import decision_document, plain
from tessera_rules.report.explain import explain
from tessera_rules.report.table import table
from tessera_rules.report.text import Paint


@frozen(eq=False)
class Tried:
    """What trying a request gave: who ran, how far off its result is, how long a call takes (milliseconds, median)."""

    request: Request
    execution: Execution
    judgement: Judgement | None
    time_ms: float
    seed: int | None
    operands: Mapping[str, Any]
    results: tuple[Any, ...]


@frozen(eq=False)
class Timing:
    """The times of one candidate: milliseconds of a call, one sample a round, or why there are none."""

    candidate: str
    samples_ms: tuple[float, ...]
    reason: str | None = None

    @property
    def median_ms(self) -> float:
        """The median of the samples."""
        return statistics.median(self.samples_ms)


def run_document(tried: Tried, timings: Sequence[Timing] = ()) -> dict[str, Any]:
    """Return the answer of ``run --json``: the decision's document, ``execution``, and ``measurements`` where times were taken."""
    execution, judgement = tried.execution, tried.judgement
    document = decision_document(execution.decision)
    document["execution"] = plain(
        {
            "candidate": execution.candidate,
            "tag": execution.tag,
            "proof": execution.proof,
            "max_error": judgement.max_error if judgement else None,
            "budget": judgement.budget if judgement else None,
            "right": judgement.ok if judgement else None,
            "time_ms": tried.time_ms,
            "seed": tried.seed,
            "degraded": [each.to_json() for each in execution.degraded],
        }
    )
    if timings:
        document["measurements"] = plain(
            [
                {
                    "candidate": each.candidate,
                    "samples_ms": each.samples_ms,
                    "median_ms": each.median_ms if each.samples_ms else None,
                    "unmeasured": each.reason,
                }
                for each in timings
            ]
        )
    return document


def render_run(tried: Tried, paint: Paint = Paint()) -> str:
    """Return what a person reads: who ran and how long, error against budget, what degraded, then the decision."""
    execution, judgement = tried.execution, tried.judgement
    inputs = "on the operands given" if tried.seed is None else f"inputs of seed {tried.seed}"
    lines = [f"{paint('strong', execution.tag)} ran: {_ms(tried.time_ms)} a call, {inputs}"]
    if judgement is None:
        lines.append("  no reference to compare with")
    elif judgement.ok:
        lines.append(paint("good", f"  right: error {judgement.max_error:.3g} where {judgement.budget:.3g} is allowed ({execution.proof})"))
    else:
        lines.append(paint("error", f"  WRONG: {judgement.why}"))
    lines += [paint("warning", f"  degraded: {each.candidate} {each.verdict}: {each.reason}") for each in execution.degraded]
    return "\n".join([*lines, explain(execution.decision, paint)])


def render_measurement(found: tuple[Tried, Sequence[Timing]], paint: Paint = Paint()) -> str:
    """Return the times of everybody in the race as a table. No winner is named: that takes a race (docs)."""
    tried, timings = found
    best = min((each.median_ms for each in timings if each.samples_ms), default=1.0)
    rows = [
        (each.candidate, _ms(each.median_ms), f"{_ms(min(each.samples_ms))} to {_ms(max(each.samples_ms))}", f"{each.median_ms / best:.2f}")
        if each.samples_ms
        else (each.candidate, "unmeasured", each.reason or "", "")
        for each in timings
    ]
    return render_run(tried, paint) + "\n" + table(("candidate", "median", "spread", "ratio"), rows, right=(1, 3))


def _ms(value: float) -> str:
    return f"{value * 1e3:.1f} µs" if value < 1 else f"{value:.2f} ms" if value < 1000 else f"{value / 1000:.2f} s"
