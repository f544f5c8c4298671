from __future__ import annotations

import platform
from pathlib import Path

import pytest

from tessera_rules.machine.cpu import Cpu, parse, usable_cores
from tessera_rules.machine.local import LocalMachine
from tessera_rules.model.terms import Version
from tessera_rules.model.values import Target
from tests.bind.rules import rules

GPU = """
target gpu {
  fact arch: one of ["gfx942", "gfx1151"]
  fact units: int
  fact driver: version
  facts python "MODULE:facts"
}
target host { "always" }
"""


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    name = f"facts_{abs(hash(tmp_path)) % 10**9}"
    monkeypatch.syspath_prepend(tmp_path)

    def made(body: str) -> Target:
        (tmp_path / f"{name}.py").write_text(f"def facts():\n    {body}\n")
        return rules(tmp_path, "", op=GPU.replace("MODULE", name)).targets["gpu"]

    return made


def test_P18_two_chips_in_one_host_are_two_devices(target) -> None:  # type: ignore[no-untyped-def]
    machine = LocalMachine()
    found = machine.devices(target('return [{"arch": "gfx942", "units": 304, "driver": "6.10"}, {"arch": "gfx1151", "units": 40, "driver": "6.9"}]'))
    assert [device["arch"] for device in found] == ["gfx942", "gfx1151"]
    assert [device["units"] for device in found] == [304, 40]
    assert found[0]["driver"] > found[1]["driver"]
    assert isinstance(found[0]["driver"], Version)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return None", "finds no device of target gpu"),
        ("return []", "lists no device of target gpu"),
        ("raise OSError('no driver')", "no driver"),
        ("import ctypes; ctypes.string_at(0)", "killed by SIGSEGV"),
        ("return 3", "gave a int where facts by name were expected"),
        ('return {"arch": "gfx942", "units": "many"}', 'units is "many", and an int was expected'),
        ("import time; time.sleep(60)", "timeout"),
    ],
)
def test_a_provider_that_fails_is_no_device_with_its_reason(target, body: str, said: str) -> None:  # type: ignore[no-untyped-def]
    machine = LocalMachine(probe_seconds=1.5)
    each = target(body)
    assert machine.devices(each) == ()
    assert said in machine.why_no_device(each)


def test_an_unlisted_value_is_reported_as_it_is(target) -> None:  # type: ignore[no-untyped-def]
    (device,) = LocalMachine().devices(target('return {"arch": "gfx9999", "more": [1]}'))
    assert device == {"arch": "gfx9999", "more": [1]}


def test_a_provider_is_asked_once(target, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    log = tmp_path / "asked"
    each = target(f"open({str(log)!r}, 'a').write('x'); return {{'units': 1}}")
    machine = LocalMachine()
    for _ in range(3):
        assert machine.devices(each) == ({"units": 1},)
    assert log.read_text() == "x"
    machine.refresh()
    machine.devices(each)
    assert log.read_text() == "xx"


def test_a_provider_of_rules_that_nobody_named_is_not_asked(target, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    log = tmp_path / "asked"
    each = target(f"open({str(log)!r}, 'a').write('x'); return {{'units': 1}}")
    machine = LocalMachine(untrusted=[each.span.source])
    assert machine.devices(each) == ()
    assert "was found, not named" in machine.why_no_device(each)
    assert not log.exists()


def test_a_target_without_facts_is_always_there(tmp_path: Path) -> None:
    assert LocalMachine().devices(rules(tmp_path, "", op=GPU.replace("MODULE", "no_such_module")).targets["host"]) == ({},)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="emulator: this host is no x86-64")
def test_the_facts_of_this_host() -> None:
    from tessera_rules.targets.x86 import facts

    found = facts()
    assert found is not None
    assert found["cores"] == usable_cores() >= 1
    assert 1 <= found["level"] <= 4
    assert found["memory"] > 1 << 28
    assert all(isinstance(value, int | str | bool) for value in found.values())
    text = Path("/proc/cpuinfo").read_text()
    assert found["avx2"] == (" avx2 " in text)


def test_cpu_flags_are_those_that_every_core_has() -> None:
    here = parse("vendor_id\t: V\nmodel name\t: Big\nflags\t\t: avx2 pni avx512_vnni\n\nprocessor: 1\nflags\t\t: pni avx512_vnni\n", {1: 1024})
    assert (here.vendor, here.model, here.has("avx2")) == ("V", "Big", False)
    assert here.has("sse3")
    assert here.has("AVX512VNNI")
    arm = parse("processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n", {})
    assert arm.has("neon")
    assert arm.silicon != Cpu("", "", frozenset(), {}).silicon


def test_the_fingerprint_names_numerics_and_timing_apart() -> None:
    from tessera_rules.machine.fingerprint import fingerprint

    here = Cpu("X", "Y", frozenset({"avx2"}), {1: 32768}, ("6", "1"))
    one, more_cores = fingerprint(here, 2), fingerprint(here, 4)
    assert one.numerics == more_cores.numerics
    assert one.timing != more_cores.timing
    other = fingerprint(Cpu("X", "Y", frozenset({"avx2", "fma"}), {1: 32768}, ("6", "1")), 2)
    assert other.numerics != one.numerics
    renamed = fingerprint(Cpu("another label", "Y", frozenset({"avx2"}), {1: 32768}, ("6", "1")), 2)
    assert renamed.numerics == one.numerics
    assert str(LocalMachine().fingerprint()) == str(LocalMachine().fingerprint())
