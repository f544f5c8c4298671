"""Stated machines: every probe answered, what is not listed absent, every mistake in the document named by its place."""

from __future__ import annotations

import pytest

from tessera_rules.errors import UsageError
from tessera_rules.machine.requirement import parse_requirement
from tessera_rules.machine.stated import machine_of_test, parse_machine
from tessera_rules.model.terms import Version
from tests.arbiter.factory import CPU, ROCM, candidate

WHOLE = {
    "machine": 1,
    "os": "linux",
    "cpu": {"flags": ["avx2", "avx512f"], "model": "some CPU"},
    "env": {"TESSERA_ROCM_OFF": "0", "ROCM": "/opt/rocm", "GONE": None},
    "python": {"torch": "2.9.1+cu128", "Ruamel_Yaml": "0.18"},
    "libraries": ["libamdhip64.so", "/opt/rocm/lib/libx.so"],
    "symbols": {"libx.so": ["f"]},
    "executables": ["hipcc"],
    "files": ["/dev/kfd"],
    "targets": {"rocm": {"arch": "gfx1151", "compute_units": 40, "driver": "6.4.1"}, "cpu": {}},
    "candidates": {
        "yes": {"available": True},
        "no": {"available": False, "reason": "smoke: no device"},
        "by_text": {"probes": {"smoke(M=16, given=[bias])": {"ok": True}}},
    },
    "probes": {'probe python "m:f"': {"ok": False, "reason": "m is not here"}},
    "threads": 8,
    "fingerprint": "abc",
}
BOX = parse_machine(WHOLE, "box.json")
X = candidate("x")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("os", "linux"),
        ("probe:library:libamdhip64.so", True),
        ("probe:library:libamdhip.so", False),
        ("probe:library:$ROCM/lib/libx.so", True),
        ("probe:library:$NOWHERE/lib/libx.so", False),
        ("probe:symbol:libx.so:f", True),
        ("probe:symbol:libx.so:g", False),
        ("probe:symbol:liby.so:f", False),
        ("probe:executable:hipcc", True),
        ("probe:executable:nvcc", False),
        ("probe:file:/dev/kfd", True),
        ("probe:file:/dev/nvidia0", False),
        ("probe:env:TESSERA_ROCM_OFF", "0"),
        ("probe:env:UNSET", None),
        ("probe:env:GONE", None),
        ("probe:cpu:avx512f", True),
        ("probe:cpu:amx", False),
        ("probe:python:torch", True),
        ("probe:python:torch>=2.9", True),
        ("probe:python:torch>=2.10", False),
        ("probe:python:torch >= 2.9, < 3", True),
        ("probe:python:ruamel.yaml", True),
        ("probe:python:jax", False),
        ("probe:python:torch>>2", False),
        ("probe:call:other:f", False),
        ("probe:call:m:f", False),
        ("probe:smoke:M=16", False),
    ],
)
def test_probes(key, value):
    answer = BOX.probe(key, X)
    assert answer.value == value
    assert type(answer.value) is type(value)
    assert answer.found


def test_what_was_found_is_said():
    assert "libamdhip64.so" in BOX.probe("probe:library:libamdhip.so", X).found
    assert BOX.probe("probe:library:$NOWHERE/x", X).found == "$NOWHERE is not set"
    assert BOX.probe("probe:python:torch>=3", X).found == "torch is 2.9.1+cu128"
    assert BOX.probe("probe:call:m:f", X).found == "m is not here"
    assert "x" in BOX.probe("probe:smoke:M=16", X).found


def test_candidates_answer_smoke_and_python_probes():
    assert BOX.probe("probe:smoke:M=16", candidate("yes")).value is True
    assert BOX.probe("probe:call:other:f", candidate("yes")).value is True
    no = BOX.probe("probe:smoke:M=16", candidate("no"))
    assert (no.value, no.found) == (False, "smoke: no device")
    assert BOX.probe("probe:smoke:M=16 given=bias", candidate("by_text")).value is True
    assert BOX.probe("probe:smoke:M=32 given=bias", candidate("by_text")).value is False


def test_bindings_count_as_bound_but_for_who_is_stated_to_be_unavailable():
    assert BOX.bound(X).value is True
    assert (BOX.bound(candidate("no")).value, BOX.bound(candidate("no")).found) == (False, "smoke: no device")


def test_devices_are_typed_by_the_target():
    (device,) = BOX.devices(ROCM)
    assert device == {"arch": "gfx1151", "compute_units": 40, "driver": Version("6.4.1")}
    assert BOX.devices(CPU) == ({},)
    two = parse_machine({"machine": 1, "targets": {"rocm": [{"arch": "a"}, {"arch": "b"}]}}, "box.json")
    assert [facts["arch"] for facts in two.devices(ROCM)] == ["a", "b"]
    none = parse_machine({"machine": 1, "targets": {"rocm": []}}, "box.json")
    assert none.devices(ROCM) == ()
    assert "lists no device" in none.why_no_device(ROCM)
    assert "it lists 'rock'" in parse_machine({"machine": 1, "targets": {"rock": {}}}, "box.json").why_no_device(ROCM)


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"compute_units": "40"}, 'targets.rocm.compute_units is "40"'),
        ({"compute_units": True}, "targets.rocm.compute_units is true"),
        ({"compute_units": 1.5}, "an int was expected"),
        ({"arch": 3}, "targets.rocm.arch is 3"),
        ({"driver": 6}, "targets.rocm.driver is 6"),
        ({"arch": None}, "targets.rocm.arch is null"),
    ],
)
def test_facts_of_a_wrong_type_name_their_place(facts, told):
    with pytest.raises(UsageError, match=r"box\.json") as caught:
        parse_machine({"machine": 1, "targets": {"rocm": facts}}, "box.json").devices(ROCM)
    assert told in caught.value.message


def test_the_second_devices_fact_is_told_from_the_firsts():
    machine = parse_machine({"machine": 1, "targets": {"rocm": [{}, {"compute_units": "x"}]}}, "box.json")
    with pytest.raises(UsageError, match=r"targets\.rocm\[1\]\.compute_units"):
        machine.devices(ROCM)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"machine": 2}, '"machine": 1'),
        ({"machine": True}, '"machine": 1'),
        ({"os": 3}, "os is 3; expected: a string"),
        ({"librarys": []}, "did you mean 'libraries'"),
        ({"libraries": "libx.so"}, 'libraries is "libx.so"; expected: an array'),
        ({"libraries": ["a", 4]}, "libraries[1] is 4; expected: a string"),
        ({"cpu": ["avx2"]}, "cpu is an array; expected: an object"),
        ({"cpu": {"flag": []}}, "did you mean 'flags'"),
        ({"cpu": {"flags": {}}}, "cpu.flags is an object"),
        ({"env": {"X": 1}}, "env.X is 1"),
        ({"python": {"torch": 2.9}}, "python.torch is 2.9"),
        ({"symbols": ["f"]}, "symbols is an array"),
        ({"symbols": {"libx.so": "f"}}, 'symbols.libx.so is "f"'),
        ({"targets": ["rocm"]}, "targets is an array"),
        ({"targets": {"rocm": "gfx1151"}}, 'targets.rocm is "gfx1151"'),
        ({"targets": {"rocm": [1]}}, "targets.rocm[0] is 1"),
        ({"targets": {"rocm": {"arch": {}}}}, "targets.rocm.arch is an object"),
        ({"candidates": {"x": {"avalable": True}}}, "did you mean 'available'"),
        ({"candidates": {"x": {"available": "yes"}}}, 'candidates.x.available is "yes"; expected: true or false'),
        ({"candidates": {"x": {"probes": {"smoke": {"reason": "?"}}}}}, 'has "ok"'),
        ({"candidates": {"x": 1}}, "candidates.x is 1"),
        ({"probes": {"t": {"ok": 1}}}, "probes.t.ok is 1"),
        ({"threads": 0}, "threads is 0; expected: an integer from 1 up"),
        ({"threads": True}, "threads is true"),
        ({"fingerprint": 1}, "fingerprint is 1"),
    ],
)
def test_mistakes_in_the_document(change, told):
    with pytest.raises(UsageError, match=r"^box\.json: ") as caught:
        parse_machine({**WHOLE, **change}, "box.json")
    assert told in caught.value.message


@pytest.mark.parametrize("document", [None, [], "linux", 3, {}, {"os": "linux"}])
def test_documents_that_are_no_machine(document):
    with pytest.raises(UsageError, match=r"^box\.json: "):
        parse_machine(document, "box.json")


def test_silence_is_absence():
    empty = parse_machine({"machine": 1}, "box.json")
    assert (empty.threads, empty.os, empty.devices(ROCM)) == (1, "", ())
    assert empty.probe("os", X).value == ""
    assert empty.probe("probe:env:HOME", X).value is None


def test_a_tests_machine_lists_the_target_and_nothing_else():
    machine = machine_of_test("rocm", {"arch": "gfx1151", "driver": "6.4"})
    assert machine.devices(ROCM) == ({"arch": "gfx1151", "driver": Version("6.4")},)
    assert (machine.devices(CPU), machine.threads) == ((), 1)
    assert machine.probe("probe:library:libx.so", X).value is False


@pytest.mark.parametrize(
    ("text", "version", "holds"),
    [
        ("p", "0.1", True),
        ("p==1.2", "1.2.0", True),
        ("p==1.2", "1.2.1", False),
        ("p==1.2.*", "1.2.9", True),
        ("p==1.2.*", "1.20", False),
        ("p!=1.2.*", "1.3", True),
        ("p!=1.2", "1.2", False),
        ("p>1.9", "1.10", True),
        ("p>=1.0", "1.0rc1", False),
        ("p<2", "2.0", False),
        ("p<=2", "2.0", True),
        ("p~=1.4.2", "1.4.9", True),
        ("p~=1.4.2", "1.5", False),
        ("p~=1.4", "1.9", True),
        ("p~=1.4", "2.0", False),
        ("p===1.0", "1.0.0", False),
        ("p[extra,more] >= 1 , < 3", "2.9.1+cu128", True),
        ("p (>=1)", "1", True),
    ],
)
def test_requirements(text, version, holds):
    requirement = parse_requirement(text)
    assert requirement is not None
    assert requirement.met_by(version) is holds


@pytest.mark.parametrize("text", ["", ">=1", "p>=", "p>=1,", "p>=1.*", "p 1", "p>=1; python_version < '3'", "p @ file:///x", "-p"])
def test_what_is_no_requirement(text):
    assert parse_requirement(text) is None
