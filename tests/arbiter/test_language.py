"""The arbiter on rules as people write them: from text to decision."""

from __future__ import annotations

import pytest

from tessera_rules.arbiter import Decision, bind_test, bind_words, decide
from tessera_rules.arbiter.holds import holds_for
from tessera_rules.errors import ArbiterError, OperandError
from tessera_rules.machine.stated import StatedMachine, machine_of_test, parse_machine
from tessera_rules.model.load import load
from tessera_rules.model.values import Ruleset
from tests.arbiter.asking import of, words_of

OPS = """tessera 1
op mm {
  operand a: [M, K]
  operand b: [K, N]
  operand w?: [N] one of [f16, i8]
  inout c: [M, N]
  result c
  attr alpha: float = 1.0
  attr tail: list of [bias, relu, gelu] = []
  attr mode: string = "x"
  attr out: dtype = f32
  attr need: int?
  dtype a in [f32, f16, bf16]
  check given(need) or alpha > 0.0 because "alpha is positive"
  reference python "no.such:mm"
}
op fft {
  operand x: [B, n]
  dim n in 1..
  result [B, n]
  dtype x in [c64, c128]
  reference python "no.such:fft"
}
op rfft {
  operand x: [B, n]
  dim n in 1..
  result [B, n // 2 + 1] c64
  dtype x in [f32]
  reference python "no.such:rfft"
}
target gpu {
  fact arch: one of ["g1", "g2"]
  fact mem: int
  fact drv: version
}
target host { }
"""
RULES = """tessera 1
predicate tile(x) = x % 16 == 0
candidate one {
  tier hand_tuned; target gpu; op mm
  available { device.arch in ["g1"]; library("$LIBS/libx.so") because "runtime"; env("OFF") != "1"; python("torch>=2.9"); smoke(M=16, N=16, K=16, dtype=f16) }
  requires {
    dtype == f16
    tile(M) and tile(N) because "whole tiles"
    aligned(a, 16)
    nbytes(a) <= 1Mi
    device.mem >= 1Gi
  }
  computes f16
  honours [alpha]
  guard { amax(a) <= 5.0 because "overflow" } else two
  avoid { M < 32 because "launch" }
  bind python "no.such:one"
  deterministic
}
candidate two { tier emitted; target gpu; op mm; honours [alpha, tail, mode, out, need, w]; bind python "no.such:two" }
candidate nat {
  tier emitted; target gpu; op mm
  bind native "libq.so" symbol "f" (ptr a, ptr b, ptr c, i32 M, i64 N, i64 K, i64 lda = stride(a, 0), f32 alpha) returns i32 { ok 0 }
}
for (s, step) in [(bf16, 8), (tf32, 4)] {
  candidate fam_{s} {
    tier synthesized; target gpu; op mm
    computes s
    requires { dtype == (f32 if s == tf32 else s); K % step == 0; tail like [bias?, (relu | gelu)?] }
    bind python "no.such:fam_{s}"
  }
}
for t in targets with op fft {
  candidate {t}_rfft { tier synthesized; target {t}; op rfft; uses fft(B = B, n = n, dtype = c64); bind python "no.such:rfft" }
}
candidate g_fft { tier emitted; target gpu; op fft; requires { is_pow2(n) }; bind python "no.such:fft" }
candidate h_fft { tier emitted; target host; op fft; requires { n <= 100 }; bind python "no.such:fft" }
rule pin { op mm target gpu when M * N * K <= 32Ki force nat, two }
rule errata { op mm target gpu when device.drv < version("2.9") and K % 64 != 0 deny tier hand_tuned because "errata" }
rule liking { op mm target gpu when M == 64 prefer nat over two }
"""
BOX = {
    "machine": 1,
    "os": "linux",
    "env": {"OFF": "0", "LIBS": "/opt"},
    "python": {"torch": "2.10"},
    "libraries": ["/opt/libx.so"],
    "targets": {"gpu": [{"arch": "g1", "mem": 2**31, "drv": "2.10"}, {"arch": "g2", "mem": 1, "drv": "2.8"}], "host": {}},
    "candidates": {"one": {"probes": {"smoke(M=16, N=16, K=16, dtype=f16)": {"ok": True}}}},
}


@pytest.fixture(scope="module")
def rules() -> Ruleset:
    return load([], texts={"ops.tsr": OPS, "rules.tsr": RULES}).ruleset_or_raise()


def there(**change) -> StatedMachine:
    return parse_machine({**BOX, **change}, "box.json")


def ask(rules: Ruleset, words: str, op: str = "mm", target: str = "gpu", machine: StatedMachine | None = None, **how) -> Decision:
    box = machine or there()
    return decide(rules, bind_words(rules, op, target, dict(word.split("=", 1) for word in words.split()), box), box, **how)


def test_the_whole_gate_of_a_candidate(rules):
    decision = ask(rules, "dtype=f16 M=64 N=64 K=64")
    assert (decision.winner, decision.criterion) == ("one", "tier")
    assert of(decision, "one").extra["otherwise"] == "two"
    assert of(decision, "two").extra == {"by": "nat", "criterion": "rules", "rule": "liking"}


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"libraries": []}, "does not list library /opt/libx.so"),
        ({"env": {"OFF": "0"}}, "$LIBS is not set"),
        ({"env": {"OFF": "1", "LIBS": "/opt"}}, 'OFF is "1"'),
        ({"python": {"torch": "2.8"}}, "torch is 2.8"),
        ({"python": {}}, "does not list the Python package torch"),
        ({"candidates": {}}, "gives no answer for one"),
        ({"candidates": {"one": {"available": False, "reason": "no device"}}}, "no device"),
        ({"targets": {"gpu": {"arch": "g3", "mem": 2**31, "drv": "3"}}}, "device.arch is g3"),
    ],
)
def test_each_probe_says_what_it_found(rules, change, found):
    no = of(ask(rules, "dtype=f16 M=64 N=64 K=64", machine=there(**change)), "one")
    assert no.verdict == "unavailable"
    assert found in no.extra["found"]
    assert no.span is not None
    assert no.span.line == 5


def test_an_unset_variable_in_the_off_switch_is_null(rules):
    assert ask(rules, "dtype=f16 M=64 N=64 K=64", machine=there(env={"LIBS": "/opt"})).winner == "one"


@pytest.mark.parametrize(
    ("words", "name", "verdict", "clause"),
    [
        ("dtype=f16 M=64 N=72 K=64", "one", "refused", "tile(M) and tile(N)"),
        ("dtype=f16 M=64 N=64 K=64 a.align=8", "one", "refused", "aligned(a, 16)"),
        ("dtype=f16 M=64 N=64 K=9000", "one", "refused", "nbytes(a) <= 1Mi"),
        ("dtype=f16 M=64 N=64 K=64 b.strides=1,64", "nat", "refused", "contiguous(b)"),
        ("dtype=f16 M=64 N=64 K=64 a.strides=128,1", "nat", "outranked", None),
        ("dtype=f16 M=2147483648 N=64 K=64", "nat", "refused", "M <= 2147483647"),
        ("dtype=f16 M=64 N=64 K=64 c.strides=1,64", "nat", "refused", "contiguous(c)"),
        ("dtype=bf16 M=64 N=64 K=60", "fam_bf16", "refused", "K % step == 0"),
        ("dtype=f32 M=64 N=64 K=64", "fam_tf32", "refused", "computes tf32"),
        ("dtype=f32 M=64 N=64 K=64 allow=tf32", "fam_tf32", "outranked", None),
        ("dtype=bf16 M=64 N=64 K=64 tail=relu,bias", "fam_bf16", "refused", "tail like [bias?, (relu | gelu)?]"),
        ("dtype=bf16 M=64 N=64 K=64 mode=y", "fam_bf16", "refused", None),
        ("dtype=f16 M=64 N=64 K=65 device=1", "one", "denied", 'device.drv < version("2.9") and K % 64 != 0'),
        ("dtype=f16 M=64 N=64 K=64 device=1", "one", "refused", "device.mem >= 1Gi"),
    ],
)
def test_verdicts(rules, words, name, verdict, clause):
    found = of(ask(rules, words), name)
    assert found.verdict == verdict
    if verdict != "outranked":
        assert found.clause == clause


def test_values_hold_the_loop_names_and_the_names_in_predicates(rules):
    assert of(ask(rules, "dtype=bf16 M=64 N=64 K=60"), "fam_bf16").values == {"K": 60, "step": 8}
    assert of(ask(rules, "dtype=f16 M=64 N=72 K=64"), "one").values == {"M": 64, "N": 72}


def test_a_force_of_several_picks_the_best_and_is_refused_where_none_can(rules):
    decision = ask(rules, "dtype=f16 M=32 N=32 K=32")
    assert (decision.winner, decision.criterion, decision.ranking) == ("two", "declaration", ("two", "nat"))
    assert of(decision, "one").extra == {"by": "two", "criterion": "rules", "rule": "pin"}
    with pytest.raises(ArbiterError, match="rule pin forces nat, two"):
        ask(rules, "dtype=f16 M=16 N=16 K=16", assume_unavailable=frozenset({"nat", "two"}))


def test_uses_follows_the_target(rules):
    assert ask(rules, "dtype=f32 B=2 n=64", "rfft").winner == "gpu_rfft"
    assert ask(rules, "dtype=f32 B=2 n=65", "rfft").criterion == "none"
    assert ask(rules, "dtype=f32 B=2 n=65", "rfft", "host").winner == "host_rfft"
    assert ask(rules, "dtype=f32 B=2", "rfft", "host").tag == "undecided"


def test_checks_and_tests_of_the_language(rules):
    with pytest.raises(OperandError, match="alpha is positive"):
        ask(rules, "alpha=-1.0")
    assert ask(rules, "dtype=f16 M=64 N=64 K=64 alpha=-1.0 need=3").winner == "two"
    text = 'test "t" { request mm on gpu { dtype f16  M 64  N 64  K 64  given [w]  layout w { dtype i8 } }\n device { arch "g1"  mem 4Gi }\n expect two }\n'
    more = load([], texts={"ops.tsr": OPS, "rules.tsr": RULES + text}).ruleset_or_raise()
    (stated,) = more.tests[0].requests
    machine = machine_of_test(stated.target, stated.device)
    decision = decide(more, bind_test(more, stated, machine), machine)
    assert decision.winner == "two"
    assert words_of(decision)["one"] == "denied"  # the fact `drv` is missing, so that the deny of its rule holds
    assert any("device.drv is missing" in note for note in decision.notes)


@pytest.mark.parametrize(
    ("words", "outside"),
    [
        ("dtype=f16 M=64 N=64 K=64", {"M": "31"}),
        ("dtype=f16 M=64 N=64 K=64", {"dtype": "bf16"}),
        ("dtype=f16 M=64 N=64 K=64", {"a.align": "8"}),
        ("dtype=f16 M=64 N=72 K=65", {"M": "65"}),
        ("dtype=f32 M=64 N=80 K=64 tail=bias,relu need=4", {"M": "0"}),
        ("dtype=bf16 M=64 N=80 K=64 a.strides=128,1", {"given": "w", "w.dtype": "i8"}),
    ],
)
def test_where_it_holds_is_an_expression_of_the_language(rules, words, outside):
    box = there()
    pairs = dict(word.split("=", 1) for word in words.split())
    request = bind_words(rules, "mm", "gpu", pairs, box)
    text = holds_for(rules, request, box, decide(rules, request, box))
    head, tail = "candidate inside { tier emitted; target gpu; op mm; honours [alpha, tail, mode, out, need, w]", 'bind python "no.such:x" }'
    again = load([], texts={"ops.tsr": OPS, "more.tsr": f"tessera 1\n{head}; requires {{ {text} }}; {tail}"}).ruleset_or_raise()
    assert decide(again, bind_words(again, "mm", "gpu", pairs, box), box).winner == "inside"
    assert decide(again, bind_words(again, "mm", "gpu", {**pairs, **outside}, box), box).winner is None


def test_an_open_cost_is_no_open_question_where_the_policy_does_not_ask_for_costs() -> None:
    head = "target host; op fft; tier emitted; honours []"
    text = (
        f'candidate a {{ {head}; requires {{ n == 4 }}; cost 1.0 * B; bind python "no.x:a" }}\ncandidate b {{ {head}; cost 2.0 * B; bind python "no.x:b" }}\n'
    )
    conditions = {}
    for order in ("tier", "tier, cost"):
        loaded = load([], texts={"a.tsr": f"{OPS}{text}policy {{ order {order} }}\n"})
        assert loaded.errors == ()
        machine = parse_machine({"machine": 1, "targets": {"host": {}}}, "m.json")
        request = bind_words(loaded.ruleset, "fft", "host", {"dtype": "c64"}, machine)
        decision = decide(loaded.ruleset, request, machine)
        assert decision.tag == "undecided"
        conditions[order] = [each.condition for each in decision.residual]
    assert not any("cost" in each for each in conditions["tier"])
    assert any("cost" in each for each in conditions["tier, cost"])
