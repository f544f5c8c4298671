from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tessera_rules.bind.child import Trial, Trier, try_once
from tessera_rules.errors import OperandError
from tessera_rules.model.values import Ruleset
from tests.bind.rules import bound, candidate, operands, rules

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="compiler: no cc on PATH")
f32 = np.float32

# N says what the kernel does.
BAD_C = """
#include <stdint.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int bad(float *a, const float *bias, float *out, int64_t M, int64_t N) {
  switch (N) {
    case 1: *(volatile int *)0 = 1; break;
    case 2: for (;;) ;
    case 3: raise(SIGILL); break;
    case 4: abort();
    case 5: exit(7);
    case 6: out[M * N] = 1; break;
    case 7: out[-1] = 1; break;
    case 8: a[0] = 99; break;
    case 9: for (int64_t i = 0; i + 1 < M * N; i++) out[i] = i; return 0;
    case 10: return 2;
    case 11: return 9;
    case 12: printf("{\\"outcome\\": \\"ran\\"}\\n"); fflush(stdout); fprintf(stderr, "oh no\\n"); exit(0);
    case 13: if (fork() == 0) { sleep(60); _exit(0); } sleep(60); break;
    case 14: { char *x = malloc((size_t)1 << 45); if (!x) { fprintf(stderr, "no memory\\n"); abort(); } break; }
    case 15: out[0] = bias[0]; break;
  }
  for (int64_t i = 0; i < M * N; i++) out[i] = i;
  return 0;
}
"""
BAD = candidate(
    "c", 'bind source "bad.c" compiler "cc" flags ["-O0"] symbol "bad" (ptr a, ptr? bias, ptr out, i64 M, i64 N) returns i32 { ok 0  decline 2  busy 9 }'
)


@pytest.fixture(scope="module")
def ruleset(tmp_path_factory: pytest.TempPathFactory) -> Ruleset:
    return rules(tmp_path_factory.mktemp("bad"), BAD, bad_c=BAD_C)


@pytest.fixture(scope="module")
def trier() -> Iterator[Trier]:
    with Trier(seconds=20) as made:
        yield made


def trial(ruleset: Ruleset, n: int, trier: Trier | None = None, seconds: float = 20) -> Trial:
    found = operands(ruleset, np.zeros((3, 2), f32), np.zeros((2, n), f32))
    each = bound(ruleset, "c")
    return trier.run(each, found.arrays, found.request) if trier is not None else try_once(each, found.arrays, found.request, seconds=seconds)


def test_a_sound_kernel_runs_as_it_does_here(ruleset: Ruleset, trier: Trier) -> None:
    found = trial(ruleset, 20, trier)
    assert (found.outcome, found.clean, found.complaint) == ("ran", True, "")
    np.testing.assert_array_equal(found.outputs[0], np.arange(60, dtype=f32).reshape(3, 20))


@pytest.mark.parametrize(
    ("n", "signal", "said"),
    [
        (1, "SIGSEGV", "killed by SIGSEGV"),
        (3, "SIGILL", "killed by SIGILL"),
        (4, "SIGABRT", "killed by SIGABRT"),
        (5, None, "ended with code 7"),
        (12, None, "ended with code 0 and no answer: oh no"),
        (14, "SIGABRT", "no memory"),
        (15, "SIGSEGV", "SIGSEGV"),
    ],
)
def test_T26_a_crash_is_a_value_here(ruleset: Ruleset, trier: Trier, n: int, signal: str | None, said: str) -> None:
    found = trial(ruleset, n, trier)
    assert (found.outcome, found.signal) == ("crashed", signal)
    assert said in found.reason
    assert trial(ruleset, 20, trier).clean, "the next one has a child of its own"


@pytest.mark.parametrize("n", [2, 13])
def test_a_hang_ends_at_its_time_limit_with_all_that_it_started(ruleset: Ruleset, n: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MARK_OF_THIS_TEST", str(tmp_path))
    start = time.monotonic()
    found = trial(ruleset, n, seconds=1.0)
    assert time.monotonic() - start < 8
    assert (found.outcome, found.reason) == ("crashed", "timeout: it had not ended after 1 s")
    assert gone(str(tmp_path))


def gone(mark: str) -> bool:
    """Whether every process with a mark is gone. SIGKILL was sent to all; a busy kernel takes a moment to take an orphan away."""
    end = time.monotonic() + 5
    while marked(mark):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def marked(mark: str) -> list[str]:
    """Return the processes that were started with a mark in their environment, whoever's children they are by now."""
    found = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in environment.read_bytes():
                found.append(environment.parent.name)
        except OSError:
            continue
    return found


@pytest.mark.parametrize(
    ("n", "complaint"),
    [
        (6, "it wrote outside of out"),
        (7, "it wrote outside of out"),
        (8, "it wrote to a"),
        (9, "it did not write all of out"),
        (10, "declined: bad returned its decline status"),
        (11, "failed: bad returned status busy"),
    ],
)
def test_what_it_did_wrong_is_told(ruleset: Ruleset, trier: Trier, n: int, complaint: str) -> None:
    found = trial(ruleset, n, trier)
    assert not found.clean
    assert found.complaint == complaint


def test_the_callers_arrays_stay_as_they_are(ruleset: Ruleset, trier: Trier) -> None:
    a, b = np.full((3, 2), 5, f32), np.zeros((2, 8), f32)
    found = operands(ruleset, a, b)
    trier.run(bound(ruleset, "c"), found.arrays, found.request)
    assert (a == 5).all()


def children() -> list[str]:
    """Return what this process has started and not reaped, zombies too."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid():
            found.append(status.parent.name)
    return found


def test_twenty_crashes_leave_nothing_behind(ruleset: Ruleset) -> None:
    with Trier(seconds=20) as trier:
        trial(ruleset, 1, trier)
        before = set(children())
        files, shared = set(os.listdir("/proc/self/fd")), set(os.listdir("/dev/shm"))
        for _ in range(20):
            assert trial(ruleset, 1, trier).signal == "SIGSEGV"
        assert set(os.listdir("/proc/self/fd")) == files
        assert set(os.listdir("/dev/shm")) <= shared
        assert set(children()) == before


def test_alignment_and_strides_are_those_of_the_call(tmp_path: Path, trier: Trier) -> None:
    text = """
#include <stdint.h>
int where(const float *a, float *out, int64_t lda) { out[0] = (uintptr_t)a % 4096; out[1] = a[lda]; return 0; }
"""
    each = candidate("c", 'bind source "w.c" compiler "cc" symbol "where" (ptr a, ptr out, i64 lda = stride(a, 0), i64 s = stride(a, 1)) returns i32 { ok 0 }')
    ruleset = rules(tmp_path, each, w_c=text)
    base = np.arange(4096, dtype=f32).reshape(64, 64)
    for a in (base[1:3, 5:7], base[::-1][:2, ::-2][:, :2]):
        found = operands(ruleset, a, np.zeros((2, 1), f32))
        ran = trier.run(bound(ruleset, "c"), found.arrays, found.request)
        assert ran.outputs[0].reshape(-1).tolist() == [a.ctypes.data % 4096, a[1, 0]]


def test_an_integer_result_may_hold_the_bytes_of_the_poison(tmp_path: Path, trier: Trier) -> None:
    text = """
#include <stdint.h>
int ones(int8_t *out, int64_t N) { for (int i = 0; i < N; i++) out[i] = -1; return 0; }
int half(int8_t *out, int64_t N) { out[0] = -1; return 0; }
"""
    each = "".join(candidate(name, f'bind source "o.c" compiler "cc" symbol "{name}" (ptr out, i64 N) returns i32 {{ ok 0 }}') for name in ("ones", "half"))
    ruleset = rules(tmp_path, each, o_c=text)
    found = operands(ruleset, np.zeros((1, 2), np.int8), np.zeros((2, 9), np.int8))
    assert trier.run(bound(ruleset, "ones"), found.arrays, found.request).clean
    assert trier.run(bound(ruleset, "half"), found.arrays, found.request).unwritten == ("out",)


def test_python_kernels_run_in_a_child_too(tmp_path: Path, trier: Trier, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"childkernels_{abs(hash(tmp_path)) % 10**9}"
    (tmp_path / f"{name}.py").write_text(
        "import os, signal\nfrom tessera_rules.declined import Declined\n"
        "def good(a, b, bias=None, causal=False, epilogue=()):\n    assert isinstance(epilogue, tuple)\n    return a @ b + (0 if bias is None else bias)\n"
        "def out(a, b, out):\n    out[...] = a @ b\n"
        "def partly(a, b, out):\n    out[0] = 1\n"
        "def greedy(a, b):\n    a[0, 0] = 7\n    return a @ b\n"
        "def declines(a, b):\n    return Declined('not today')\n"
        "def raises(a, b):\n    raise ValueError('no')\n"
        "def leaves(a, b):\n    os._exit(9)\n"
        "def shape(a, b):\n    return (a @ b).reshape(-1)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    names = ("good", "out", "partly", "greedy", "declines", "raises", "leaves", "shape")
    fields = {"good": "honours [bias, causal, epilogue]"}
    ruleset = rules(tmp_path, "".join(candidate(each, f'bind python "{name}:{each}"', fields.get(each, "")) for each in names))
    a, b = np.arange(6, dtype=f32).reshape(2, 3), np.ones((3, 4), f32)
    found = operands(ruleset, a, b)
    complaints = {each: trier.run(bound(ruleset, each), found.arrays, found.request).complaint for each in names}
    assert complaints == {
        "good": "",
        "out": "",
        "partly": "it did not write all of out",
        "greedy": "it wrote to a",
        "declines": "declined: not today",
        "raises": "failed: ValueError: no",
        "leaves": "crashed: ended with code 9 and no answer",
        "shape": "it returned [8] float32 where [2, 4] float32 was expected",
    }
    given = operands(ruleset, a, b, np.ones(4, f32), epilogue=["bias"])
    np.testing.assert_array_equal(trier.run(bound(ruleset, "good"), given.arrays, given.request).outputs[0], a @ b + 1)
    sys.modules.pop(name, None)


def test_inout_operands_come_back_and_the_callers_stay(tmp_path: Path, trier: Trier) -> None:
    op = 'op add { inout c: [M, N]; operand x: [M, N]; result c }\ntarget x86 { "the host" }\n'
    text = """
#include <stdint.h>
int add(float *c, const float *x, int64_t M, int64_t N, int64_t ldc) {
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) c[i * ldc + j] += x[i * N + j];
  return 0;
}
"""
    arguments = "(ptr c, ptr x, i64 M, i64 N, i64 ldc = stride(c, 0)) returns i32 { ok 0 }"
    each = f'candidate c {{ tier emitted; target x86; op add; bind source "a.c" compiler "cc" symbol "add" {arguments} }}'
    ruleset = rules(tmp_path, each, op=op, a_c=text)
    c = np.ones((2, 6), f32)[:, :3]
    found = operands(ruleset, c, np.full((2, 3), 4, f32), op="add")
    ran = trier.run(bound(ruleset, "c"), found.arrays, found.request)
    assert ran.clean
    assert ran.outputs[0].tolist() == [[5] * 3] * 2
    assert (c == 1).all()


def test_T26_a_trial_copies_nothing_from_outside_of_a_buffer(ruleset: Ruleset, trier: Trier) -> None:
    short = np.lib.stride_tricks.as_strided(np.zeros(4, f32), (3, 2), (1 << 40, 4))
    found = operands(ruleset, np.zeros((3, 2), f32), np.zeros((2, 20), f32))
    with pytest.raises(OperandError, match="outside of its buffer"):
        trier.run(bound(ruleset, "c"), {**found.arrays, "a": short}, found.request)
    with pytest.raises(OperandError, match=r"'a' of mm has shape"):
        trier.run(bound(ruleset, "c"), {**found.arrays, "a": np.zeros((9, 9), f32)}, found.request)


def test_a_child_that_cannot_be_started_is_a_reason(ruleset: Ruleset, monkeypatch: pytest.MonkeyPatch) -> None:
    files = set(os.listdir("/proc/self/fd"))
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    found = trial(ruleset, 20)
    assert (found.outcome, found.reason) == ("crashed", "no child process could be started: No such file or directory")
    assert set(os.listdir("/proc/self/fd")) == files


def test_operands_too_large_to_copy_are_not_tried(ruleset: Ruleset) -> None:
    found = operands(ruleset, np.zeros((3, 2), f32), np.zeros((2, 20), f32))
    with Trier(memory_bytes=1 << 14) as small:
        tried = small.run(bound(ruleset, "c"), found.arrays, found.request)
    assert tried.outcome == "failed"
    assert "more than a trial copies (8,192)" in tried.reason
