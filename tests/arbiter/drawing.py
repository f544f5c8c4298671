"""Small rulesets drawn at random, and every request of a small box, for laws that are tried by brute force."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from hypothesis import strategies as st

from tessera_rules.model.values import Candidate, Policy, Rule, Ruleset
from tests.arbiter.factory import candidate, rule, ruleset

CONDITIONS = [
    "M % 2 == 0",
    "M <= 2",
    "M >= 2 and N >= 1",
    "N == 1 or K == 2",
    "K % N == 0",
    "dtype == f32",
    "dtype in [f16, bf16]",
    "not given(bias)",
    "act == relu",
    "M * N * K <= 4",
    "contiguous(a)",
    "threads == 1",
    "M < N",
]
NAMES = ("a", "b", "c", "d")
TIERS = ("hand_tuned", "emitted", "synthesized")
SIZES = (0, 1, 2, 3)


@st.composite
def candidates(draw: st.DrawFn, name: str) -> Candidate:
    return candidate(
        name,
        draw(st.sampled_from(TIERS)),
        requires=draw(st.lists(st.sampled_from(CONDITIONS), max_size=2, unique=True)),
        available=draw(st.sampled_from([[], [], [], ["device.cores >= 2"], ["library('no')"]])),
        avoid=draw(st.sampled_from([[], [], ["M <= 1"], ["K % N == 0"], ["N >= 2", "K >= 2"]])),
        honours=draw(st.sampled_from([[], ["bias"], ["act", "bias"], ["act", "bias", "epilogue", "transpose_b"]])),
        computes=draw(st.sampled_from([None, None, "f32", "bf16"])),
        cost=draw(st.sampled_from([None, None, "1.0 * M", "2.0", "1.0 / (N - 1)"])),
    )


@st.composite
def rules(draw: st.DrawFn, name: str) -> Rule:
    left, right = draw(st.permutations(NAMES))[:2]
    kind = draw(st.sampled_from(["deny", "avoid", "prefer", "prefer", "force"]))
    when = draw(st.sampled_from([None, *CONDITIONS]))
    return rule(name, f"{kind} {left}" + (f" over {right}" if kind == "prefer" else ""), when=when)


@st.composite
def rulesets(draw: st.DrawFn) -> Ruleset:
    count = draw(st.integers(2, 4))
    found = [draw(candidates(name)) for name in NAMES[:count]]
    ruled = [draw(rules(f"r{index}")) for index in range(draw(st.integers(0, 3)))]
    order = draw(st.sampled_from([None, ("tier", "rules", "declaration"), ("avoid", "cost", "declaration"), ("rules", "cost", "declaration")]))
    policy = Policy(order=order) if order else Policy()
    return ruleset(*found, rules=ruled, policy=policy)


def requests() -> Iterator[str]:
    """Yield the words of every request of the box."""
    for m, n, k in itertools.product(SIZES, repeat=3):
        for rest in ("dtype=f32", "dtype=f16 given=bias", "dtype=f32 act=relu threads=2", "dtype=bf16 a.strides=9,1"):
            yield f"M={m} N={n} K={k} {rest}"


some_requests = st.sampled_from(list(requests()))
