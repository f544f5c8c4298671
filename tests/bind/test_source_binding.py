from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from tessera_rules.bind import source
from tessera_rules.bind.bindings import this_machine
from tessera_rules.bind.digest import binding_digest
from tessera_rules.bind.outcome import Unbound
from tessera_rules.model.values import NativeBinding, Ruleset
from tests.bind.rules import MATMUL_ARGUMENTS, MATMUL_C, bound, candidate, operands, rules, try_bind

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="compiler: no cc on PATH")
ROOT = Path(__file__).resolve().parents[2]
WITH_HEADER = '#include "part.h"\n' + MATMUL_C.replace("bias ? bias[j] : 0", "START")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, and a compiler that counts how often it compiles."""
    log = tmp_path / "compiles"
    log.write_text("")
    compiler = tmp_path / "counting-cc"
    compiler.write_text(f'#!/bin/sh\nfor word in "$@"; do [ "$word" = -shared ] && echo x >> {log} && sleep "${{SLOW:-0}}"; done\nexec cc "$@"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    monkeypatch.setenv("TSR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TEST_LOG", str(log))
    source.forget_failures()
    return tmp_path / "cache" / "kernels"


def compiles() -> int:
    return len(Path(os.environ["TEST_LOG"]).read_text().split())


def one(folder: Path, text: str = MATMUL_C, flags: str = '["-O1"]', **files: str) -> Ruleset:
    bind_text = f'bind source "k.c" compiler "cc" flags {flags} symbol "mm" {MATMUL_ARGUMENTS}'
    return rules(folder, candidate("c", bind_text), k_c=text, **files)


def value(ruleset: Ruleset) -> float:
    found = operands(ruleset, np.zeros((1, 1), np.float32), np.zeros((1, 1), np.float32))
    return float(bound(ruleset, "c").call(found.arrays, found.request)[0, 0])


def test_a_source_is_compiled_once_for_its_content(tmp_path: Path) -> None:
    ruleset = one(tmp_path)
    first = bound(ruleset, "c")
    assert compiles() == 1
    (tmp_path / "k.c").touch()
    assert bound(ruleset, "c").digest == first.digest
    assert compiles() == 1, "a new time of change is no new content"


def test_a_second_process_compiles_nothing_and_asks_the_compiler_nothing(tmp_path: Path) -> None:
    bound(one(tmp_path), "c")
    spy = tmp_path / "counting-cc"
    mark = spy.stat()
    program = (
        "import sys; sys.path.insert(0, '.'); from tests.bind.rules import *; import pathlib, subprocess\n"
        "def never(*a, **k): raise AssertionError('a process was started')\n"
        "subprocess.Popen = never\n"
        f"r = load([pathlib.Path({str(tmp_path)!r}) / 'rules.tsr']).ruleset_or_raise(); print(bound(r, 'c').digest)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = done.stdout.strip()
    assert compiles() == 1
    assert said == bound(one(tmp_path), "c").digest
    assert spy.stat().st_mtime_ns == mark.st_mtime_ns


@pytest.mark.parametrize("what", ["source", "header", "flags"])
def test_T27_what_goes_in_is_part_of_what_comes_out(tmp_path: Path, what: str) -> None:
    ruleset = one(tmp_path, WITH_HEADER, part_h='#include "deep.h"\n', deep_h="#define START 1\n")
    before, first = value(ruleset), binding_digest(ruleset.candidates["c"])
    if what == "header":
        (tmp_path / "deep.h").write_text("#define START 5\n")
    else:
        text = WITH_HEADER.replace("START", "(START + 1)") if what == "source" else WITH_HEADER
        ruleset = one(
            tmp_path, text, '["-O1"]' if what == "source" else '["-O1", "-DSTART=7", "-Wno-error"]', part_h="" if what == "flags" else '#include "deep.h"\n'
        )
    assert before == 1
    assert value(ruleset) == {"source": 2, "header": 5, "flags": 7}[what]
    assert binding_digest(ruleset.candidates["c"]) != first
    assert compiles() == 2


def test_T9_a_failed_compile_is_tried_once_and_again_when_its_input_changes(tmp_path: Path) -> None:
    ruleset = one(tmp_path, WITH_HEADER, part_h="#define START oops\n")
    machine = this_machine(ruleset)
    each = ruleset.candidates["c"]
    found = machine.bound(each)
    assert found.value is False
    assert "counting-cc does not compile k.c" in found.found
    assert "error: " in found.found
    assert "oops" in found.found
    for _ in range(5):
        assert machine.bound(each) == found
        assert isinstance(try_bind(ruleset, "c"), Unbound)
    assert compiles() == 1
    machine.refresh()
    assert machine.bound(each).value is False
    assert compiles() == 2, "asked for, it is tried again"
    (tmp_path / "part.h").write_text("#define START 3\n")
    assert machine.bound(each).value is True
    assert compiles() == 3
    assert value(ruleset) == 3


def test_no_compiler_is_a_reason_that_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "/nonexistent")
    ruleset = one(tmp_path)
    machine = this_machine(ruleset)
    found = machine.bound(ruleset.candidates["c"])
    assert found.value is False
    assert found.found == "no compiler: '/nonexistent' is not found (CC=/nonexistent)"
    monkeypatch.setenv("CC", "cc")
    assert machine.bound(ruleset.candidates["c"]).value is True, "CC is one of its inputs"
    monkeypatch.delenv("CC")
    monkeypatch.setenv("PATH", str(tmp_path))
    again = machine.bound(ruleset.candidates["c"])
    assert again.value is False
    assert "'cc' is not found; CC names another" in again.found


def test_CC_may_hold_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "cc -DSTART=11")
    assert value(one(tmp_path, WITH_HEADER, part_h="")) == 11


@pytest.mark.parametrize(
    ("compiler", "said"),
    [
        ("#!/bin/sh\nexit 3\n", "does not answer --version"),
        ("#!/bin/sh\necho 'internal compiler error: x' >&2\n[ \"$1\" = --version ]\n", "internal compiler error"),
    ],
)
def test_a_compiler_that_is_broken_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiler: str, said: str) -> None:
    (tmp_path / "broken").write_text(compiler)
    (tmp_path / "broken").chmod(0o755)
    monkeypatch.setenv("CC", str(tmp_path / "broken"))
    found = try_bind(one(tmp_path), "c")
    assert isinstance(found, Unbound)
    assert said in found.reason


def test_a_compiler_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow").write_text('#!/bin/sh\ncase "$1" in -*[ne]) exit 0;; esac\nsleep 600\n')
    (tmp_path / "slow").chmod(0o755)
    monkeypatch.setenv("CC", str(tmp_path / "slow"))
    monkeypatch.setattr(source, "COMPILE_SECONDS", 0.3)
    found = try_bind(one(tmp_path), "c")
    assert isinstance(found, Unbound)
    assert "took longer than 0.3 s" in found.reason


def test_a_missing_source_and_an_unset_variable_are_reasons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ruleset = one(tmp_path)
    (tmp_path / "k.c").unlink()
    found = try_bind(ruleset, "c")
    assert isinstance(found, Unbound)
    assert f"source k.c is not there (looked for {tmp_path / 'k.c'})" in found.reason
    monkeypatch.delenv("NO_SUCH_FLAG", raising=False)
    found = try_bind(one(tmp_path, flags='["-I$NO_SUCH_FLAG/include"]'), "c")
    assert isinstance(found, Unbound)
    assert "$NO_SUCH_FLAG is not set" in found.reason


def test_the_cache_is_the_users_alone(tmp_path: Path, cache: Path) -> None:
    ruleset = one(tmp_path)
    bound(ruleset, "c")
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    for file in cache.iterdir():
        assert not file.stat().st_mode & 0o022


def test_a_library_that_was_tampered_with_is_not_loaded(tmp_path: Path, cache: Path) -> None:
    ruleset = one(tmp_path)
    bound(ruleset, "c")
    (built,) = cache.glob("*.so")
    data = bytearray(built.read_bytes())
    data[-1] ^= 1
    built.unlink()
    built.write_bytes(bytes(data))
    assert isinstance(ruleset.candidates["c"].bind, NativeBinding)
    found = source.build(ruleset.candidates["c"].bind)
    assert isinstance(found, source.Built)
    assert compiles() == 2
    assert bytes(data) != Path(found.path).read_bytes()


def test_a_cache_that_is_open_to_others_or_a_link_is_not_used(tmp_path: Path, cache: Path) -> None:
    cache.parent.mkdir()
    (tmp_path / "elsewhere").mkdir()
    cache.symlink_to(tmp_path / "elsewhere")
    found = try_bind(one(tmp_path), "c")
    assert isinstance(found, Unbound)
    assert "no folder of its own" in found.reason
    assert compiles() == 0
    cache.unlink()
    cache.mkdir(mode=0o777)
    cache.chmod(0o777)
    bound(one(tmp_path), "c")
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700


def test_notes_that_are_damaged_are_built_anew(tmp_path: Path, cache: Path) -> None:
    ruleset = one(tmp_path)
    bound(ruleset, "c")
    for text in ("", "[]", "{}", '{"inputs": {}, "library": "../x.so", "digest": ""}'):
        for notes in cache.glob("[!c]*.json"):
            notes.write_text(text)
        assert isinstance(source.build(ruleset.candidates["c"].bind), source.Built)  # type: ignore[arg-type]


def test_many_threads_at_once_compile_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOW", "0.3")
    ruleset = one(tmp_path)
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(try_bind(ruleset, "c"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not any(isinstance(each, Unbound) for each in found)
    assert compiles() == 1


def test_many_processes_at_once_compile_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOW", "1.5")
    one(tmp_path)
    program = (
        f"import sys; sys.path.insert(0, '.'); from tests.bind.rules import *; r = load([{str(tmp_path / 'rules.tsr')!r}]).ruleset_or_raise(); bound(r, 'c')"
    )
    processes = [subprocess.Popen([sys.executable, "-c", program], cwd=ROOT) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    assert compiles() == 1


def test_native_flags_are_for_this_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tessera_rules.machine import cpu

    here = cpu.cpu()
    bound(one(tmp_path, flags='["-march=native"]'), "c")
    bound(one(tmp_path, flags='["-march=native"]'), "c")
    assert compiles() == 1
    monkeypatch.setattr(cpu, "cpu", lambda: cpu.Cpu(here.model, here.vendor, here.flags - {"avx2"}, here.caches))
    bound(one(tmp_path, flags='["-march=native"]'), "c")
    assert compiles() == 2


def test_device_sources_say_that_nothing_binds_them_here(tmp_path: Path) -> None:
    text = candidate("c", 'bind source "k.cu" compiler "nvrtc" symbol "mm" (ptr a, ptr b, ptr out, i64 M) launch { grid [M]  block [32] }')
    found = try_bind(rules(tmp_path, text, k_cu=""), "c")
    assert isinstance(found, Unbound)
    assert "compiler 'nvrtc' makes device code" in found.reason


def test_a_full_disk_is_the_reason_and_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = tmp_path / "fullcc"
    said = "/usr/bin/ld: final link failed: No space left on device\\ncollect2: error: ld returned 1 exit status"
    full.write_text(f'#!/bin/sh\ncase "$1" in -shared) [ -e "{tmp_path}/freed" ] || {{ printf "{said}" >&2; exit 1; }};; esac\nexec cc "$@"\n')
    full.chmod(0o755)
    monkeypatch.setenv("CC", str(full))
    binding = one(tmp_path).candidates["c"].bind
    assert isinstance(binding, NativeBinding)
    found = source.build(binding)
    assert isinstance(found, Unbound)
    assert "No space left on device" in found.reason
    (tmp_path / "freed").touch()
    assert isinstance(source.build(binding), source.Built)
