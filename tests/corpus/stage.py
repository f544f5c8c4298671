"""Small rules on a stated machine, and records of races on them as a tuner would write them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import evolve

from tessera_rules.arbiter.request import bind_words
from tessera_rules.corpus.key import key_of, rules_digest
from tessera_rules.corpus.record import Record
from tessera_rules.machine.base import Machine
from tessera_rules.machine.stated import parse_machine
from tessera_rules.measure.contest import judged
from tessera_rules.measure.race import chosen
from tessera_rules.measure.stopwatch import now
from tessera_rules.model.load import load
from tessera_rules.model.values import Ruleset

OP = """
tessera 1
op f {
  operand a: [M, K]
  operand b: [K, N]
  result [M, N]
  attr causal: bool = false
  dtype a in [f32, f16]
  reference python "tests.corpus.kernels:reference"
}
target x86 { fact cores: int; fact arch: version }
"""


def candidate(name: str, fields: str = "", tier: str = "emitted", kernel: str = "right") -> str:
    return f'candidate {name} {{\n  tier {tier}\n  target x86\n  op f\n  {fields}\n  bind python "tests.corpus.kernels:{kernel}"\n  honours [causal]\n}}\n'


TWO = OP + candidate("old", tier="hand_tuned") + candidate("new")
THREE = TWO + candidate("other", tier="synthesized")


def rules(folder: Path, text: str = TWO) -> Ruleset:
    path = folder / "rules.tsr"
    path.write_text(text, encoding="utf-8")
    return load([path]).ruleset_or_raise()


def machine(fingerprint: str | None = "box", **facts: Any) -> Machine:
    stated: dict[str, Any] = {"machine": 1, "targets": {"x86": {"cores": 2, "arch": "9.0", **facts}}}
    return parse_machine(stated if fingerprint is None else {**stated, "fingerprint": fingerprint}, "box")


def record(
    ruleset: Ruleset,
    on: Machine,
    medians: Mapping[str, float],
    words: Mapping[str, Any] | None = None,
    *,
    rounds: int = 10,
    default: str | None = "old",
    age: float = 0.0,
    jitter: float = 0.001,
    **changes: Any,
) -> Record:
    """Return the record of a race in which each took about its median; equal medians are a tie by turns."""
    said = {"M": 64, "N": 64, "K": 64, "dtype": "f32", **(words or {})}
    request = bind_words(ruleset, "f", "x86", said, on)
    key = key_of(ruleset, request, on)
    assert key is not None
    names = sorted(medians)
    times = {
        name: tuple(medians[name] * (1 + jitter * ((index + 3 * place) % (len(names) + 1))) for index in range(rounds)) for place, name in enumerate(names)
    }
    made = Record(
        op="f",
        target="x86",
        key=key,
        dims=dict(request.dims),
        contestants=dict.fromkeys(names, "digest"),
        finalists=tuple(names),
        times=times,
        unmeasured={},
        default=default,
        outcome="",
        winner=None,
        rules=rules_digest(ruleset, "f", "x86"),
        at=round(now() - age, 3),
        evidence={},
    )
    outcome = judged(made.rounds, names)
    return evolve(made, outcome=outcome.kind, winner=chosen(outcome, default), **changes)
