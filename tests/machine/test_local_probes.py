from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tessera_rules.machine.base import Answer
from tessera_rules.machine.local import LocalMachine
from tessera_rules.machine.processes import Process
from tessera_rules.model.values import Candidate
from tests.bind.rules import candidate, rules


@pytest.fixture
def ask(tmp_path: Path) -> Callable[[str], Answer]:
    ruleset = rules(tmp_path, candidate("c", 'bind python "json:loads"'))
    machine = LocalMachine(probe_seconds=5)
    each: Candidate = ruleset.candidates["c"]
    return lambda key: machine.probe(key if key == "os" else f"probe:{key}", each)


compiled = pytest.mark.skipif(shutil.which("cc") is None, reason="compiler: no cc on PATH")


def library(folder: Path, text: str, name: str = "libx.so", *flags: str) -> Path:
    (folder / "x.c").write_text(text)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(folder / name), str(folder / "x.c"), *flags], check=True)
    return folder / name


def test_what_is_plainly_there(ask: Callable[[str], Answer], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PROBE_TEST", "some value")
    monkeypatch.delenv("PROBE_ABSENT", raising=False)
    (tmp_path / "here.txt").touch()
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    (tmp_path / "tool").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("PROBE_DIR", str(tmp_path))
    for key, value, said in [
        ("os", "linux", "os is linux"),
        ("env:PROBE_TEST", "some value", 'PROBE_TEST is "some value"'),
        ("env:PROBE_ABSENT", None, "PROBE_ABSENT is not set"),
        ("file:$PROBE_DIR/here.txt", True, "is there"),
        ("file:$PROBE_DIR/gone.txt", False, "is not there"),
        ("file:$PROBE_ABSENT/here.txt", False, "$PROBE_ABSENT is not set"),
        ("library:$PROBE_ABSENT/libx.so", False, "$PROBE_ABSENT is not set"),
        ("executable:tool", True, f"tool is {tmp_path}/tool"),
        ("executable:no-such-tool", False, "no executable 'no-such-tool' on PATH"),
        ("python:attrs>=20", True, "attrs is "),
        ("python:attrs>=9999", False, "and attrs>=9999 is wanted"),
        ("python:no-such-package", False, "no Python package no-such-package is installed"),
        ("python:attrs >= ", False, "is no requirement"),
        ("library:libc.so.6", True, "is there"),
        ("library:libno-such-thing.so.7", False, "the loader does not find it"),
        ("symbol:libc.so.6:malloc", True, "symbol malloc of libc.so.6 is there"),
        ("symbol:libc.so.6:mallocc", False, "has no symbol mallocc"),
        ("symbol:libno-such-thing.so.7:f", False, "the loader does not find it"),
        ("cpu:no_such_flag", False, "has no no_such_flag"),
    ]:
        answer = ask(key)
        assert (key, answer.value) == (key, value)
        assert said in answer.found


def test_a_package_is_never_imported(ask: Callable[[str], Answer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "explosive.py").write_text("raise SystemExit('imported')\n")
    (tmp_path / "explosive-1.5.dist-info").mkdir()
    (tmp_path / "explosive-1.5.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: explosive\nVersion: 1.5\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert ask("python:explosive>=1.2") == Answer(True, "explosive is 1.5")
    assert "explosive" not in sys.modules


@pytest.mark.parametrize(
    ("body", "value", "said"),
    [
        ("return True", True, "says yes"),
        ("return False", False, "says no"),
        ("return False, 'no licence'", False, "says no: no licence"),
        ("return 1", False, "gave 1, and a probe gives true or false"),
        ("return None", False, "gave None"),
        ("raise RuntimeError('no device')", False, "RuntimeError: no device"),
        ("raise SystemExit(3)", False, "SystemExit: 3"),
        ("import ctypes; ctypes.string_at(0)", False, "killed by SIGSEGV"),
        ("import os; os._exit(4)", False, "ended with code 4"),
        ('print(\'{"ok": true, "value": true}\'); return False', False, "says no"),
        ("import os; os.abort()", False, "killed by SIGABRT"),
        ("import sys; sys.stdout.close(); return object()", False, "gave '<object"),
    ],
)
def test_a_probe_of_a_package_cannot_do_harm(
    ask: Callable[[str], Answer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, value: bool, said: str
) -> None:
    name = f"probed_{abs(hash(tmp_path)) % 10**9}"
    (tmp_path / f"{name}.py").write_text(f"def f():\n    {body}\n")
    monkeypatch.syspath_prepend(tmp_path)
    answer = ask(f"call:{name}:f")
    assert answer.value is value
    assert said in answer.found
    assert name not in sys.modules


def test_a_probe_that_outlives_its_limit_is_false(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"slow_{abs(hash(tmp_path)) % 10**9}"
    (tmp_path / f"{name}.py").write_text("import time\ndef f():\n    time.sleep(60)\n    return True\n")
    monkeypatch.syspath_prepend(tmp_path)
    each = rules(tmp_path, candidate("c", 'bind python "json:loads"')).candidates["c"]
    start = time.monotonic()
    answer = LocalMachine(probe_seconds=0.5).probe(f"probe:call:{name}:f", each)
    assert time.monotonic() - start < 5
    assert answer == Answer(False, f"{name}:f: timeout: it had not ended after 0.5 s")


@pytest.mark.parametrize(
    ("path", "said"),
    [("no_such_module:f", "No module named 'no_such_module'"), ("json:no_such", "has no attribute 'no_such'"), ("json:__doc__", "cannot be called")],
)
def test_a_probe_that_is_not_there_is_false_with_its_reason(ask: Callable[[str], Answer], path: str, said: str) -> None:
    answer = ask(f"call:{path}")
    assert answer.value is False
    assert said in answer.found


@compiled
def test_a_library_that_breaks_when_loaded_breaks_a_child(ask: Callable[[str], Answer], tmp_path: Path) -> None:
    crash = library(tmp_path, "__attribute__((constructor)) static void f(void) { *(volatile int *)0 = 1; }", "libcrash.so")
    lacking = library(tmp_path, "extern int not_anywhere(void); int f(void) { return not_anywhere(); }", "liblacking.so", "-Wl,-z,now")
    sound = library(tmp_path, "int f(void) { return 3; }", "libsound.so")
    (tmp_path / "libtext.so").write_text("nothing")
    answers = {path.name: ask(f"library:{path}") for path in (crash, lacking, sound, tmp_path / "libtext.so")}
    assert {name: answer.value for name, answer in answers.items()} == {"libcrash.so": False, "liblacking.so": False, "libsound.so": True, "libtext.so": False}
    assert "killed by SIGSEGV" in answers["libcrash.so"].found
    assert "not_anywhere" in answers["liblacking.so"].found
    assert ask(f"symbol:{sound}:f").value is True
    assert "libsound.so" not in Path("/proc/self/maps").read_text()


def counted(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    asked: list[object] = []
    first = Process.ask

    def ask(self: Process, question: object, seconds: float) -> object:
        asked.append(question)
        return first(self, question, seconds)

    monkeypatch.setattr(Process, "ask", ask)
    return asked


def test_P17_a_negative_answer_is_kept_until_it_is_asked_for_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"absent_{abs(hash(tmp_path)) % 10**9}"
    monkeypatch.syspath_prepend(tmp_path)
    each = rules(tmp_path, candidate("c", 'bind python "json:loads"')).candidates["c"]
    machine, asked = LocalMachine(), counted(monkeypatch)
    key = f"probe:call:{name}:f"
    first = machine.probe(key, each)
    assert (first.value, len(asked)) == (False, 1)
    (tmp_path / f"{name}.py").write_text("def f():\n    return True\n")
    for _ in range(10):
        assert machine.probe(key, each) is first
    assert len(asked) == 1
    machine.refresh()
    assert machine.probe(key, each).value is True
    assert len(asked) == 2


def test_where_things_are_looked_for_is_part_of_the_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: Callable[[str], Answer]) -> None:
    (tmp_path / "late-tool").write_text("#!/bin/sh\n")
    (tmp_path / "late-tool").chmod(0o755)
    assert ask("executable:late-tool").value is False
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert ask("executable:late-tool").value is True


def test_threads_that_ask_at_once_wait_for_one_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    each = rules(tmp_path, candidate("c", 'bind python "json:loads"')).candidates["c"]
    machine, asked = LocalMachine(), counted(monkeypatch)
    found: list[Answer] = []
    threads = [threading.Thread(target=lambda: found.append(machine.probe("probe:call:json:JSONDecoder", each))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(asked) == 1
    assert len(found) == 6
    assert len(set(map(id, found))) == 1
