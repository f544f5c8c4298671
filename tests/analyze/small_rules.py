"""Small rulesets whose whole universe can be walked: the text is drawn, the answers are found by deciding every request."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from attrs import frozen
from hypothesis import strategies as st

from tessera_rules.arbiter.decide import decide
from tessera_rules.arbiter.request import bind_words
from tessera_rules.errors import ArbiterError, OperandError
from tessera_rules.machine.stated import StatedMachine
from tessera_rules.model.load import load
from tessera_rules.model.values import Ruleset

HEAD = """tessera 1
op product {
  operand a: [M, K]
  operand bias?: [M]
  dim M in 0..3
  dim K in 1..4
  result [M, K]
  attr act: one of [none, relu] = none
  attr tail: list of [x, y] = []
  dtype a in [f32, f16]
  check not (act == relu and K == 3)
  reference python "no.such.module:f"
}
target chip { fact arch: one of ["old", "new"] }
"""
DIMS = {"M": range(4), "K": range(1, 5)}
ACTS = ("none", "relu")
TAILS = tuple(words for length in range(3) for words in product(("x", "y"), repeat=length))
DTYPES = ("f32", "f16")
ARCHS = ("old", "new", "another")

sizes = st.sampled_from(["M", "K"])
CONDITIONS = st.one_of(
    st.builds("{} % {} == {}".format, sizes, st.sampled_from([2, 3, 4]), st.integers(0, 2)),
    st.builds("{} {} {}".format, sizes, st.sampled_from(["<=", "<", ">=", ">", "==", "!="]), st.integers(0, 7)),
    st.builds("{} in {}..{}".format, sizes, st.integers(0, 2), st.integers(2, 7)),
    st.builds("M * K <= {}".format, st.integers(2, 20)),
    st.builds("M + K != {}".format, st.integers(2, 9)),
    st.sampled_from(
        [
            "dtype == f32",
            "dtype in [f16]",
            "act == relu",
            "act != relu or M > 2",
            "given(bias)",
            "not given(bias)",
            "tail like [x?, y?]",
            "tail like [(x | y)*]",
            "tail == []",
            "x in tail",
            "M <= 2 or K % 2 == 0",
            "K <= (4 if dtype == f32 else 2)",
        ]
    ),
)
ARCH_CONDITIONS = st.sampled_from(['device.arch == "new"', 'device.arch in ["old", "new"]', 'device.arch != "old"'])
TIERS = st.sampled_from(["hand_tuned", "emitted", "synthesized"])


@st.composite
def candidates(draw: st.DrawFn, name: str) -> str:
    """Draw the text of one candidate."""
    lines = [f"candidate {name} {{", f"  tier {draw(TIERS)}", "  target chip", "  op product"]
    if draw(st.integers(0, 4)) == 0:
        lines.append(f"  available {{ {draw(ARCH_CONDITIONS)} }}")
    wanted = draw(st.lists(CONDITIONS, max_size=3, unique=True))
    if wanted:
        lines += ["  requires {", *(f"    {each}" for each in wanted), "  }"]
    lines.append(f"  honours [{', '.join(draw(st.lists(st.sampled_from(['act', 'tail', 'bias']), min_size=2, max_size=3, unique=True)))}]")
    if draw(st.integers(0, 4)) == 0:
        lines.append(f"  avoid {{ {draw(CONDITIONS)} }}")
    if draw(st.integers(0, 4)) == 0:
        lines.append(f"  cost {draw(st.sampled_from(['1.0', '2.0', '1.0 * M', '2.0 * M', '1.0 * K * M']))}")
    return "\n".join([*lines, '  bind python "no.such.module:f"', "}"])


@st.composite
def rulesets(draw: st.DrawFn) -> str:
    """Draw the text of a ruleset: two to four candidates, up to two rules."""
    names = ["a", "b", "c", "d"][: draw(st.integers(2, 4))]
    parts = [HEAD, *(draw(candidates(name)) for name in names)]
    for number in range(draw(st.integers(0, 2))):
        when = f"  when {draw(st.one_of(CONDITIONS, ARCH_CONDITIONS))}" if draw(st.integers(0, 4)) else ""
        one, other = draw(st.permutations(names))[:2]
        action = draw(st.sampled_from([f"deny {one}", f"avoid {one}", f"prefer {one} over {other}", f"prefer {one} over {other}", f"force {one}"]))
        parts.append(f"rule r{number} {{\n  op product\n  target chip\n{when}\n  {action}\n}}")
    return "\n".join(parts) + "\n"


def built(text: str) -> Ruleset:
    """Return the ruleset of a text."""
    return load([], texts={"small.tsr": text}).ruleset_or_raise()


@frozen
class Request:
    """One request of the universe, as words, and the device that it is asked of."""

    words: dict[str, Any]
    arch: str

    @property
    def machine(self) -> StatedMachine:
        """The machine with that device alone."""
        return StatedMachine(targets={"chip": ({"arch": self.arch},)})


def universe() -> Iterator[Request]:
    """Yield every request with a result that is not empty, on every device."""
    for m, k, act, tail, dtype, bias, arch in product(DIMS["M"], DIMS["K"], ACTS, TAILS, DTYPES, (False, True), ARCHS):
        if m > 0 and k > 0:
            yield Request({"M": m, "K": k, "act": act, "tail": tail, "dtype": dtype, "given": ("bias",) if bias else ()}, arch)


@frozen
class Answer:
    """What came of a request: ``tag`` (None: an error of the rules), ``criterion``, and each candidate's verdict with its criterion."""

    tag: str | None
    criterion: str
    verdicts: dict[str, tuple[str, Any]]


def answers(ruleset: Ruleset) -> dict[int, Answer]:
    """Decide every legal request, by its place in the universe."""
    found: dict[int, Answer] = {}
    for place, asked in enumerate(universe()):
        try:
            request = bind_words(ruleset, "product", "chip", asked.words, asked.machine)
        except OperandError:
            continue
        try:
            decision = decide(ruleset, request, asked.machine)
        except ArbiterError:
            found[place] = Answer(None, "error", {})
            continue
        verdicts = {each.candidate: (each.verdict, each.extra.get("criterion")) for each in decision.verdicts}
        found[place] = Answer(decision.tag, decision.criterion, verdicts)
    return found
