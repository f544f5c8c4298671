"""Candidates of a ruleset on this machine: bound once, smoked, kept, and not touched where nobody named their rules."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tessera_rules.arbiter.decide import decide
from tessera_rules.arbiter.request import bind_words
from tessera_rules.bind.bindings import this_machine
from tessera_rules.bind.bound import Bound
from tessera_rules.bind.outcome import Unbound
from tessera_rules.machine.stated import parse_machine
from tessera_rules.machine.survey import document, survey
from tessera_rules.model.load import load
from tessera_rules.model.values import Ruleset
from tests.bind.rules import MATMUL_ARGUMENTS, MATMUL_C, OP, candidate, rules

compiled = pytest.mark.skipif(shutil.which("cc") is None, reason="compiler: no cc on PATH")
SMOKE = "available { smoke(M=3, N=5, K=7, dtype=f32) }"


def module(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> str:
    name = f"bindings_{abs(hash(folder)) % 10**9}"
    (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(folder)
    return name


def decided(ruleset: Ruleset, **words: object):  # type: ignore[no-untyped-def]
    machine = this_machine(ruleset)
    request = bind_words(ruleset, "mm", "x86", {"dtype": "f32", "M": 4, "N": 4, "K": 4, **words}, machine)
    return {verdict.candidate: verdict for verdict in decide(ruleset, request, machine).verdicts}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return a @ b", None),
        ("raise OSError('libcuda.so.1: no such file')", "failed: OSError: libcuda.so.1: no such file"),
        ("from tessera_rules.declined import Declined; return Declined('no device')", "declined: no device"),
        ("import os; os.abort()", "crashed: killed by SIGABRT"),
        ("return (a @ b)[:1]", "it returned [1, 5] float32 where [3, 5] float32 was expected"),
    ],
)
def test_P15_a_smoke_probe_runs_what_will_be_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, said: str | None) -> None:
    name = module(tmp_path, monkeypatch, f"def mm(a, b):\n    {body}\n")
    ruleset = rules(tmp_path, candidate("c", f'bind python "{name}:mm"', SMOKE))
    machine = this_machine(ruleset)
    answer = machine.probe("probe:smoke:M=3 N=5 K=7 dtype=f32", ruleset.candidates["c"])
    assert answer.value is (said is None)
    assert (said or "smoke(M=3, N=5, K=7, dtype=f32) runs") in answer.found


def test_P15_a_kernel_whose_launch_fails_is_unavailable_and_the_other_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = module(tmp_path, monkeypatch, "def good(a, b):\n    return a @ b\n\ndef bad(a, b):\n    raise OSError('launch failed')\n")
    verdicts = decided(rules(tmp_path, candidate("good", f'bind python "{name}:good"', SMOKE) + candidate("bad", f'bind python "{name}:bad"', SMOKE)))
    assert verdicts["good"].verdict == "selected"
    assert verdicts["bad"].verdict == "unavailable"
    assert "launch failed" in verdicts["bad"].reason


@compiled
def test_P17_a_smoke_that_failed_is_kept_until_its_source_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tessera_rules.bind import bindings

    runs: list[object] = []
    first = bindings.try_once
    monkeypatch.setattr(bindings, "try_once", lambda *a, **k: runs.append(1) or first(*a, **k))
    ruleset = rules(tmp_path, candidate("c", f'bind source "k.c" compiler "cc" symbol "mm" {MATMUL_ARGUMENTS}', SMOKE), k_c="int mm(void) { return 3; }")
    machine = this_machine(ruleset)
    each = ruleset.candidates["c"]
    for _ in range(5):
        answer = machine.probe("probe:smoke:M=3 N=5 K=7 dtype=f32", each)
        assert answer.value is False
        assert "returned status no_memory" in answer.found
    assert len(runs) == 1
    (tmp_path / "k.c").write_text(MATMUL_C)
    assert machine.probe("probe:smoke:M=3 N=5 K=7 dtype=f32", each).value is True
    assert len(runs) == 2


def test_T4_unbound_is_unavailable_whatever_its_probes_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YES", "1")
    name = module(tmp_path, monkeypatch, "mm = None\n")
    ruleset = rules(
        tmp_path,
        candidate("none", f'bind python "{name}:mm"', 'available { env("YES") == "1" }')
        + candidate("symbol", f'bind native "libc.so.6" symbol "no_such_symbol_here" {MATMUL_ARGUMENTS}', 'available { library("libc.so.6") }')
        + candidate("takes", 'bind python "textwrap:dedent"', 'available { python("numpy") }'),
    )
    verdicts = decided(ruleset)
    assert {name: verdict.verdict for name, verdict in verdicts.items()} == dict.fromkeys(("none", "symbol", "takes"), "unavailable")
    assert "is None" in verdicts["none"].reason
    assert "has no symbol 'no_such_symbol_here'" in verdicts["symbol"].reason
    assert "does not take operand 'a'" in verdicts["takes"].reason


def test_a_smoke_without_a_dtype_takes_the_only_one_that_is_admitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = module(tmp_path, monkeypatch, "def mm(a, b):\n    assert a.dtype == 'float64'\n    return a @ b\n")
    ruleset = rules(tmp_path, candidate("c", f'bind python "{name}:mm"', "requires { dtype == f64 }\n  available { smoke(M=3, N=5, K=7) }"))
    assert this_machine(ruleset).probe("probe:smoke:M=3 N=5 K=7", ruleset.candidates["c"]).value is True


def test_a_candidate_is_bound_once_and_again_when_its_rules_say_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = module(tmp_path, monkeypatch, "def one(a, b):\n    return a @ b\n\ndef two(a, b):\n    return 2 * (a @ b)\n")
    first = rules(tmp_path, candidate("c", f'bind python "{name}:one"'))
    machine = this_machine(first)
    binder = machine.binder
    found = binder.bind(first.candidates["c"])  # type: ignore[union-attr, attr-defined]
    assert isinstance(found, Bound)
    assert binder.bind(first.candidates["c"]) is found  # type: ignore[union-attr, attr-defined]
    reloaded = load([tmp_path / "rules.tsr"], texts={"<declared>": candidate("c", f'bind python "{name}:two"')}, replace=["<declared>"]).ruleset_or_raise()
    other = this_machine(reloaded, like=machine)
    assert other.bound(reloaded.candidates["c"]).value is True
    again = other.binder.bind(reloaded.candidates["c"])  # type: ignore[union-attr, attr-defined]
    assert again.digest != found.digest


def untrusted_rules(folder: Path, name: str) -> Ruleset:
    target = f'target gpu {{ fact units: int; facts python "{name}:facts" }}\n'
    text = candidate("c", f'bind python "{name}:mm"', f'available {{ probe python "{name}:probe" }}')
    other = 'candidate g { tier emitted; target gpu; op mm; requires { device.units > 1 }; bind python "no_such_module_here:f" }\n'
    (folder / "rules.tsr").write_text("tessera 1\n" + OP + target + text + other)
    return load([folder / "rules.tsr"], untrusted=[folder]).ruleset_or_raise()


def test_rules_that_nobody_named_are_never_imported_probed_or_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    text = f"open({str(log)!r}, 'a').write('ran')\ndef mm(a, b): pass\ndef probe(): return True\ndef facts(): return {{'units': 2}}\n"
    ruleset = untrusted_rules(tmp_path, module(tmp_path, monkeypatch, text))
    verdicts = decided(ruleset)
    assert (verdicts["c"].verdict, verdicts["c"].code) == ("unavailable", "untrusted")
    assert "--rules" in verdicts["c"].reason
    machine = this_machine(ruleset)
    assert machine.devices(ruleset.targets["gpu"]) == ()
    found = machine.binder.bind(ruleset.candidates["c"])  # type: ignore[union-attr, attr-defined]
    assert isinstance(found, Unbound)
    asked = survey(machine, ruleset)
    assert asked.probes == ()
    assert set(asked.untrusted) == {"c", "g"}
    assert not log.exists()


def test_what_was_found_here_decides_the_same_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBE_DIR", str(tmp_path))
    name = module(tmp_path, monkeypatch, "def mm(a, b):\n    return a @ b\n\ndef bad(a, b):\n    raise ValueError('no')\n\ndef yes():\n    return True\n")
    good = [
        'env("PROBE_DIR") != "x"', 'file("$PROBE_DIR/rules.tsr")', 'library("libc.so.6")', 'symbol("libc.so.6", "malloc")', 'python("numpy>=1")',
        'executable("sh")', "os in [linux]", f'probe python "{name}:yes"', "smoke(M=3, N=5, K=7, dtype=f32)",
    ]  # fmt: skip
    bad = ['env("PROBE_DIR") == "x"', 'file("$PROBE_DIR/gone")', 'library("libgone.so")', 'python("numpy>=999")', 'cpu("no_such")', f'probe python "{name}:mm"']
    text = "".join(candidate(f"good{i}", f'bind python "{name}:mm"', f"available {{ {clause} }}") for i, clause in enumerate(good))
    text += "".join(candidate(f"bad{i}", f'bind python "{name}:mm"', f"available {{ {clause} }}") for i, clause in enumerate(bad))
    text += candidate("unbound", f'bind python "{name}:bad"', "honours [causal]") + candidate("smokes", f'bind python "{name}:bad"', SMOKE)
    ruleset = rules(tmp_path, text)
    here = this_machine(ruleset)
    heard: list[str] = []
    asked = survey(here, ruleset, heard.append)
    assert len(heard) == len(ruleset.candidates) + len(ruleset.targets)
    stated = parse_machine(json.loads(json.dumps(document(asked))), "box.json")

    def verdicts(machine):  # type: ignore[no-untyped-def]
        request = bind_words(ruleset, "mm", "x86", {"dtype": "f32", "M": 4, "N": 4, "K": 4}, machine)
        return {each.candidate: each.verdict == "unavailable" for each in decide(ruleset, request, machine).verdicts}

    local, elsewhere = verdicts(here), verdicts(stated)
    assert elsewhere == local
    assert {name for name, refused in local.items() if refused} == {*(f"bad{i}" for i in range(len(bad))), "unbound", "smokes"}
    assert "HOME" not in document(asked)["env"]


def test_a_smoke_settles_dtypes_that_the_op_leaves_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    op = (
        'op mixed { operand x: [M, N]; operand w: [N] one of [f16, i8]; operand table?: [M] i32; result [M, N]; dtype x in [f32] }\ntarget x86 { "the host" }\n'
    )
    name = module(
        tmp_path,
        monkeypatch,
        "def f(x, w, table=None):\n    assert w.dtype == 'float16' and 0 <= table.min() and table.max() < 3\n    return x * w.astype('f4')\n",
    )
    text = f'candidate c {{ tier emitted; target x86; op mixed; honours [table]; bind python "{name}:f" }}'
    ruleset = rules(tmp_path, text, op=op)
    answer = this_machine(ruleset).probe("probe:smoke:M=3 N=5 given=table", ruleset.candidates["c"])
    assert answer.value is True, answer.found
