"""Rules that say what was measured: to be read, judged and committed by a person, with the evidence in their ``because``."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tessera_rules.corpus.record import RACE, Record, digest_of
from tessera_rules.measure.contest import judged
from tessera_rules.measure.race import chosen
from tessera_rules.model.values import Ruleset


def suggested_rules(records: Iterable[Record], ruleset: Ruleset) -> str:
    """Return ``prefer`` rules for shapes where somebody was measured faster than who runs unmeasured; empty where nobody was.

    One rule for each pair and structure, over no more than the shapes that were measured: each size within what was seen,
    and, where another shape in between had another winner, the very shapes.
    """
    groups: dict[str, list[Record]] = {}
    for record in records:
        if record.kind == RACE and record.op in ruleset.ops:
            groups.setdefault(digest_of({**record.key, "machine": ""}), []).append(record)
    rules: list[str] = []
    for group in groups.values():
        winners = [(record, _winner(record)) for record in group]
        pairs = dict.fromkeys((winner, record.default) for record, winner in winners if winner and record.default and winner != record.default)
        for winner, default in pairs:
            won = [record for record, found in winners if found == winner and record.default == default]
            others = [record for record, found in winners if found != winner]
            rules.append(_rule(str(winner), str(default), won, others, ruleset, len(rules) + 1))
    return "\n".join(rules)


def _winner(record: Record) -> str | None:
    return chosen(judged(record.rounds, record.finalists), record.default)


def _rule(winner: str, default: str, won: Sequence[Record], others: Sequence[Record], ruleset: Ruleset, number: int) -> str:
    first = won[0]
    gains = [1 - statistics.median(_times(record, winner)) / statistics.median(_times(record, default)) for record in won]
    machine = str(first.key.get("machine", ""))
    many = "one shape" if len(won) == 1 else f"{len(won)} shapes"
    because = f"measured on {machine}: {statistics.median(gains):.0%} less time at {many}, separated"
    name = re.sub(r"\W", "_", f"measured_{first.op}_{first.target}_{number}")
    conditions = [*_structure(first.key, ruleset, first.op), _sizes(won, others)]
    return (
        f"rule {name} {{\n  op {first.op}  target {first.target}\n  when {' and '.join(each for each in conditions if each)}\n"
        f'  prefer {winner} over {default}\n  because "{because}"\n}}\n'
    )


def _times(record: Record, name: str) -> list[float]:
    return [value for value in record.times[name] if value is not None]


def _structure(key: Mapping[str, Any], ruleset: Ruleset, op: str) -> list[str]:
    """Return conditions on what a key says besides sizes, where it differs from the default."""
    found = [f"dtype == {key['dtype']}"] if key.get("dtype") else []
    for name, value in key.get("attrs", {}).items():
        default = ruleset.ops[op].attrs[name].default if name in ruleset.ops[op].attrs else None
        if value != default and isinstance(value, bool):
            found.append(name if value else f"not {name}")
        elif value != default and isinstance(value, str | int):
            found.append(f"{name} == {value}")
    return found


def _sizes(won: Sequence[Record], others: Sequence[Record]) -> str:
    names = list(won[0].dims)
    low = {name: min(record.dims[name] for record in won) for name in names}
    high = {name: max(record.dims[name] for record in won) for name in names}
    if any(all(low[name] <= record.dims[name] <= high[name] for name in names) for record in others):
        shapes = [" and ".join(f"{name} == {record.dims[name]}" for name in names) for record in won]
        return shapes[0] if len(shapes) == 1 else "(" + " or ".join(f"({each})" for each in dict.fromkeys(shapes)) + ")"
    bounds = [f"{name} == {low[name]}" if low[name] == high[name] else f"{low[name]} <= {name} <= {high[name]}" for name in names]
    return " and ".join(bounds)
