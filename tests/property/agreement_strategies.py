"""Whole rule files drawn at random, with every operator and the integers at which machine arithmetic breaks, and requests for them."""

from __future__ import annotations

import random

from attrs import frozen
from hypothesis import strategies as st

EDGES = [base + by for base in (2**31, 2**32, 2**63) for by in (-2, -1, 0, 1, 2)]
"""Within 2 of where 32-bit, unsigned 32-bit and 64-bit integers end."""
SMALL = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 32, 64, 100, 128, 255, 256]
NAMES = ("c0", "c1", "c2", "c3", "c4")
MACHINE = {"machine": 1, "os": "linux", "env": {"OFF": "1"}, "targets": {"t": {"cores": 2, "arch": "x9", "driver": "12.10"}}}
COMPARE = ("==", "!=", "<", "<=", ">", ">=")
ORDERS = ("rules, measured, avoid, tier, cost", "tier, rules", "avoid, cost", "cost, tier, rules", "rules, cost", "avoid, tier", "tier")

TARGET = """target t {
  fact cores: int
  fact gone: int
  fact arch: string
  fact driver: version
}
"""
INNER = """op g {
  operand x: [P]
  result [P]
  dim P in 1..4096
  dtype x in [f32, f16]
  check P % 3 != 1
  reference python "no_such_package:g"
}
candidate g0 { tier emitted; target t; op g; requires { P % 2 == 0 }; bind python "no_such_package:g0" }
candidate g1 { tier synthesized; target t; op g; requires { P * 70000 <= 2147483647 }; bind python "no_such_package:g1" }
"""


@frozen
class Asked:
    """A rule file, the words that state a structure, and requests: sizes by name."""

    text: str
    words: dict[str, str]
    requests: tuple[dict[str, int], ...]


def numbers() -> st.SearchStrategy[int]:
    return st.one_of(st.sampled_from(SMALL), st.sampled_from(SMALL), st.sampled_from(EDGES))


@st.composite
def integers(draw: st.DrawFn, depth: int = 2) -> str:
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        leaf = draw(st.integers(0, 9))
        return str(draw(numbers())) if leaf < 3 else "MNK"[leaf % 3] if leaf < 9 else draw(st.sampled_from(LEAVES))
    a = draw(integers(depth - 1))
    form = draw(st.sampled_from(FORMS))
    if form in ("-", "abs", "log2"):
        return f"(-{a})" if form == "-" else f"{form}({a})"
    if form in ("//", "%", "ceil_div", "align_up"):
        b = draw(st.one_of(st.sampled_from([1, 2, 3, 8, 16, 2**31, 2**32, 2**63]).map(str), st.sampled_from(["M", "N", "K", "(N - 2)", "device.cores"])))
        return f"({a} {form} {b})" if form in ("//", "%") else f"{form}({a}, {b})"
    b = draw(integers(depth - 1))
    if form == "if":
        return f"({a} if {draw(conditions(0))} else {b})"
    return f"({a} {form} {b})" if form in "+-*" else f"{form}({a}, {b})"


LEAVES = ["threads", "device.cores", "device.gone", "bytes(dtype)", "bits(dtype)", "stride(a, 0)", "max_offset(b)", "nbytes(a)", "rank(a)"]
FORMS = ["+", "-", "*", "*", "//", "%", "%", "abs", "log2", "min", "max", "gcd", "ceil_div", "align_up", "if"]
WORDS = [
    "dtype == f32", "dtype in [f16, bf16]", "causal", "act == relu", "act in [none, gelu]", "ep like [bias?, (relu | gelu)?]", "relu in ep", "ep == []",
    "ep[0] == relu", "given(bias)", "not given(bias)", "contiguous(a)", "aligned(a, 16)", "scale == null", 'device.arch == "x9"', "not broadcast(a)",
    'device.driver < version("12.9")', "device.gone == 1", "true", "false", "ep like [*, gelu]",
    "relu in ep", "gelu in ep", "ep[0] == relu", "ep[0] == bias", "ep like [bias, *]",
]  # fmt: skip


@st.composite
def conditions(draw: st.DrawFn, depth: int = 2) -> str:
    form = draw(st.sampled_from(["compare"] * 6 + ["word"] * 3 + ["in", "range", "pow2"] + (["and", "or", "not", "if"] if depth else [])))
    inner = integers(min(depth, 2))
    match form:
        case "compare":
            return f"{draw(inner)} {draw(st.sampled_from(COMPARE))} {draw(inner)}"
        case "word":
            return draw(st.sampled_from(WORDS))
        case "in":
            return f"{draw(inner)} {draw(st.sampled_from(['in', 'not in']))} [{', '.join(draw(st.lists(integers(1), min_size=1, max_size=3)))}]"
        case "range":
            low = draw(numbers())
            step = draw(st.sampled_from(["", " step 2", " step 3", " step 16"]))
            return f"{draw(inner)} in {low}..{low + draw(st.sampled_from([0, 7, 100, 2**31]))}{step}"
        case "pow2":
            return f"is_pow2({draw(inner)})"
        case "not":
            return f"not ({draw(conditions(depth - 1))})"
        case "if":
            return f"({draw(conditions(depth - 1))}) if {draw(conditions(0))} else ({draw(conditions(depth - 1))})"
    return "(" + f") {form} (".join(draw(st.lists(conditions(depth - 1), min_size=2, max_size=3))) + ")"


@st.composite
def costs(draw: st.DrawFn) -> str:
    return draw(
        st.one_of(
            st.sampled_from(
                ["2.0 * M", "3", "M * N / 4.0e3", "sqrt(M - 2)", "1.0 / (N - 1)", "1.5 if M > 8 else 0.5 * K", "min(2.0, 0.5 * N)", "1.0e300 * M * 1.0e300"]
            ),
            integers(1),
        )
    )


@st.composite
def candidates(draw: st.DrawFn, name: str) -> str:
    def block(word: str, most: int) -> str:
        found = draw(st.lists(conditions(), max_size=most))
        return f"  {word} {{ {'; '.join(found)} }}\n" if found else ""

    lines = [f"candidate {name} {{\n  tier {draw(st.sampled_from(['hand_tuned', 'emitted', 'emitted', 'synthesized']))}\n  target t\n  op f\n"]
    available = draw(st.sampled_from([None] * 4 + ["device.cores >= 2", "device.gone == 1", 'library("no")', 'env("OFF") == "1"']))
    lines += [f"  available {{ {available} }}\n"] if available else []
    lines += [block("requires", 3), block("avoid", 2) if draw(st.booleans()) else ""]
    lines.append(f"  honours [{draw(st.sampled_from(['bias, act, causal, ep, scale', 'bias, act, causal, ep, scale', 'bias', 'act, causal']))}]\n")
    lines += [f"  computes {draw(st.sampled_from(['f32', 'bf16']))}\n"] if draw(st.integers(0, 5)) == 0 else []
    lines += [f"  cost {draw(costs())}\n"] if draw(st.booleans()) else []
    lines += [f"  workspace {draw(integers(1))}\n"] if draw(st.integers(0, 4)) == 0 else []
    lines += [f"  uses g(P = {draw(integers(1))}, dtype = {draw(st.sampled_from(['f32', 'f16', 'dtype']))})\n"] if draw(st.integers(0, 4)) == 0 else []
    lines += ["  deterministic\n"] if draw(st.booleans()) else []
    return "".join(lines) + f'  bind python "no_such_package:{name}"\n}}\n'


@st.composite
def rules(draw: st.DrawFn, number: int, names: tuple[str, ...]) -> str:
    left, right = draw(st.permutations(names))[:2]
    kind = draw(st.sampled_from(["deny", "avoid", "prefer", "prefer", "force"]))
    when = f"  when {draw(conditions())}\n" if draw(st.integers(0, 3)) else ""
    return f"rule r{number} {{\n  op f  target t\n{when}  {kind} {left}{f' over {right}' if kind == 'prefer' else ''}\n}}\n"


def op(dim: str, result: str, check: str) -> str:
    """Return the op of every file."""
    return f"""op f {{
  operand a: [M, K]
  operand b: [K, N]
  operand bias?: [N]
  result {result}
{dim}  attr act: one of [none, relu, gelu] = none
  attr causal: bool = false
  attr scale: float?
  attr ep: list of [bias, relu, gelu] = []
  dtype a in [f32, f16, bf16]
{check}  reference python "no_such_package:f"
}}
"""


@st.composite
def files(draw: st.DrawFn) -> str:
    names = NAMES[: draw(st.integers(2, 5))]
    dim = draw(st.sampled_from(["", "  dim K in 1..\n", "  dim M in 1..4294967295\n", "  dim N in 0..1024\n  dim K in 1..\n"]))
    result = draw(st.sampled_from(["[M, N]", "[M, N // 2 + 1]", "[M, K - 2]"]))
    check = draw(st.sampled_from(["", "", "", "", "  check M % 3 != 2\n", "  check N >= K % 4\n", "  check M % N == 0 or N == 0\n"]))
    parts = ["tessera 1\n", TARGET, op(dim, result, check), INNER, *(draw(candidates(name)) for name in names)]
    parts += [draw(rules(number, names)) for number in range(draw(st.integers(0, 3)))]
    policy = [f"  order {draw(st.sampled_from(ORDERS))}, declaration\n"] if draw(st.integers(0, 2)) == 0 else []
    policy += ["  on_none error\n"] if draw(st.integers(0, 5)) == 0 else []
    policy += ["  workspace 1Mi\n"] if draw(st.integers(0, 2)) == 0 else []
    policy += ["  require [deterministic]\n"] if draw(st.integers(0, 7)) == 0 else []
    return "".join(parts) + (f"policy {{\n{''.join(policy)}}}\n" if policy else "")


STRUCTURES: list[dict[str, str]] = [
    {"dtype": "f32"}, {"dtype": "f16"}, {"dtype": "f32", "act": "relu"}, {"dtype": "bf16", "causal": "true", "scale": "0.5"},
    {"dtype": "f16", "given": "bias", "ep": "bias,relu"}, {"dtype": "f32", "a.align": "8", "threads": "3"}, {"dtype": "f32", "a.strides": "0,1"},
    {"dtype": "f32", "a.strides": "128,1"}, {"dtype": "f32", "allow": "bf16"}, {"dtype": "f32", "require": "deterministic"}, {},
]  # fmt: skip


def sizes() -> st.SearchStrategy[int]:
    small = st.sampled_from(SMALL)
    return st.one_of(small, small, small, st.integers(0, 5000), small, st.sampled_from(EDGES))


def more_requests(seed: int, count: int) -> tuple[dict[str, int], ...]:
    """Return requests of the same kind, quicker than drawing them: an eighth of the sizes lies at an edge."""
    draw = random.Random(seed)

    def size() -> int:
        form = draw.randrange(8)
        return draw.choice(EDGES) if form == 0 else draw.randrange(5001) if form < 3 else draw.choice(SMALL)

    return tuple({name: size() for name in "MNK"} for _ in range(count))


def asked(count: int) -> st.SearchStrategy[Asked]:
    """Draw a rule file with a structure and this many requests."""
    request = st.fixed_dictionaries({name: sizes() for name in "MNK"})
    requests = st.lists(request, min_size=count, max_size=count).map(tuple)
    return st.builds(Asked, files(), st.sampled_from(STRUCTURES), requests)
