from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tessera_rules.bind.bound import NativeBound
from tessera_rules.bind.outcome import KernelFailed, Unbound
from tessera_rules.declined import Declined
from tessera_rules.dtypes import DTYPES
from tessera_rules.errors import OperandError
from tessera_rules.model.values import Ruleset
from tests.bind.rules import MATMUL_ARGUMENTS, MATMUL_C, bound, candidate, operands, rules, try_bind

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="compiler: no cc on PATH")
f32 = np.float32

ECHO_C = """
#include <stdint.h>
#include <stddef.h>
/* Everything that was passed, written to out as floats, so that a test can read it. */
int echo(const float *bias, float *out, int64_t M, int8_t act, const int32_t *epilogue, const int64_t *axes, const double *scales,
         const float *scale, const int64_t *window, _Bool causal, int32_t to, int64_t lda, char order, const char *name, float alpha,
         double half, int32_t threads, char *scratch, int64_t scratch_bytes, void *stream, int32_t device, int16_t kind) {
  int n = 0;
  out[n++] = bias ? 1 : 0;
  out[n++] = M;
  out[n++] = act;
  out[n++] = epilogue[0];
  for (int i = 0; i < epilogue[0]; i++) out[n++] = epilogue[1 + i];
  out[n++] = axes[0];
  for (int i = 0; i < axes[0]; i++) out[n++] = axes[1 + i];
  out[n++] = scales[0];
  for (int i = 0; i < scales[0]; i++) out[n++] = scales[1 + i];
  out[n++] = scale ? *scale : -1;
  out[n++] = window ? *window : -1;
  out[n++] = causal;
  out[n++] = to;
  out[n++] = lda;
  out[n++] = order;
  out[n++] = name[0] == 'x' && name[1] == 'y' && name[2] == 0;
  out[n++] = alpha;
  out[n++] = half;
  out[n++] = threads;
  out[n++] = scratch_bytes;
  out[n++] = ((size_t)scratch % 64) == 0 && scratch;
  for (int64_t i = 0; i < scratch_bytes; i++) scratch[i] = 1;
  out[n++] = stream == NULL;
  out[n++] = device;
  out[n++] = kind;
  return 0;
}
"""
ECHO = """bind source "echo.c" compiler "cc" symbol "echo" (
  ptr? bias, ptr out, i64 M, i8 act, ptr epilogue, ptr axes, ptr scales, f32? scale, i64? window, bool causal, i32 to,
  i64 lda = stride(a, 0), char order = "r", ptr name = "xy", f32 alpha = 0.5 + 1, f64 half = K / 2,
  i32 threads, ptr workspace, i64 workspace_bytes, ptr stream, i32 device, i16 kind = dtype
) returns i32 { ok 0 }"""


def array(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=f32).reshape(shape)


def test_every_convention_reaches_C_as_it_is_documented(tmp_path: Path) -> None:
    ruleset = rules(tmp_path, candidate("c", ECHO, "workspace 100 * K"), echo_c=ECHO_C)
    base = array(4, 32)
    found = operands(
        ruleset, base[:4, :3], array(3, 30), act="gelu", epilogue=["relu", "bias"], axes=[7, -2, 5], scales=[0.25], scale=2.5, window=-9, causal=True, to="bf16"
    )
    out = bound(ruleset, "c").call(found.arrays, found.request, threads=3).reshape(-1)
    expected = [0, 4, 2, 2, 1, 0, 3, 7, -2, 5, 1, 0.25, 2.5, -9, 1, DTYPES.index("bf16"), 32, ord("r"), 1, 1.5, 1.5, 3, 300, 1, 1, 0, DTYPES.index("f32")]
    assert out[: len(expected)].tolist() == expected


def test_nulls_are_where_nothing_was_given(tmp_path: Path) -> None:
    ruleset = rules(tmp_path, candidate("c", ECHO), echo_c=ECHO_C)
    found = operands(ruleset, array(2, 3), array(3, 30), bias=array(30))
    out = bound(ruleset, "c").call(found.arrays, found.request, threads=1).reshape(-1)
    assert out[:9].tolist() == [1, 2, 0, 0, 0, 0, -1, -1, 0]
    assert out[16:18].tolist() == [0, 0], "no workspace: zero bytes and a null"


@pytest.fixture
def matmul(tmp_path: Path) -> Ruleset:
    text = candidate("c", f'bind source "k.c" compiler "cc" flags ["-O1"] symbol "mm" {MATMUL_ARGUMENTS}')
    return rules(tmp_path, text, k_c=MATMUL_C)


@pytest.mark.parametrize("layout", ["dense", "rows", "offset"])
def test_strides_are_those_of_the_arrays(matmul: Ruleset, layout: str) -> None:
    base = np.random.default_rng(1).standard_normal((40, 40)).astype(f32)
    a, b = {"dense": (base[:5].copy()[:, :7].copy(), base[:7].copy()), "rows": (base[::3, :7], base[:14:2, :9]), "offset": (base[1:6, 3:10], base[2:9, 1:4])}[
        layout
    ]
    bias = np.ones(b.shape[1], f32)
    found = operands(matmul, a, b, bias)
    np.testing.assert_allclose(bound(matmul, "c").call(found.arrays, found.request), a @ b + 1, rtol=1e-5, atol=1e-5)


def test_a_layout_that_the_binding_cannot_take_never_enters(matmul: Ruleset) -> None:
    a, b = array(5, 7), array(9, 7).T
    found = operands(matmul, a, b)
    with pytest.raises(KernelFailed, match=r"not entered: `stride\(b, 1\) == 1`"):
        bound(matmul, "c").call(found.arrays, found.request)


def test_K_of_zero_is_a_sum_of_nothing(matmul: Ruleset) -> None:
    found = operands(matmul, array(2, 0), array(0, 3))
    assert bound(matmul, "c").call(found.arrays, found.request).tolist() == [[0, 0, 0], [0, 0, 0]]


NULLS_C = """
#include <stdint.h>
int nulls(const float *a, const float *b, float *out, int64_t M, int64_t N) {
  for (int64_t i = 0; i < M * N; i++) out[i] = (a == 0) + (b == 0);
  return 0;
}
"""


def test_tensors_without_elements_are_no_null_in_C(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="torch: it is not installed")
    bind_text = 'bind source "n.c" compiler "cc" symbol "nulls" (ptr a, ptr b, ptr out, i64 M, i64 N) returns i32 { ok 0 }'
    ruleset = rules(tmp_path, candidate("c", bind_text), n_c=NULLS_C)
    found = operands(ruleset, torch.zeros(2, 0), torch.zeros(0, 3))
    assert found.views["a"].address == 0
    result = bound(ruleset, "c").call(found.arrays, found.request)
    assert isinstance(result, torch.Tensor)
    assert result.tolist() == [[0, 0, 0], [0, 0, 0]]


def test_T26_operands_other_than_the_request_never_enter(matmul: Ruleset) -> None:
    kernel = bound(matmul, "c")
    asked = operands(matmul, array(4, 8), array(8, 3))
    for arrays, said in [
        ({"a": array(4, 8)}, r"'b' of mm is missing"),
        ({"a": array(4, 8), "b": None}, r"'b' of mm is missing"),
        ({"a": array(4, 8), "b": array(7, 3)}, r"'b' of mm has shape \[7, 3\], and the request says \[8, 3\]"),
        ({"a": array(8), "b": array(8, 3)}, r"'a' of mm has shape \[8\]"),
        ({"a": array(4, 8).astype("f8"), "b": array(8, 3)}, r"'a' of mm is f64, and the request says f32"),
        ({"a": array(4, 8), "b": array(8, 3), "bias": array(3)}, r"'bias' of mm is here, and not given"),
        ({"a": array(4, 8), "b": array(8, 3), "bias": 0}, r"'bias' is an int"),
    ]:
        with pytest.raises(OperandError, match=said):
            kernel.call(arrays, asked.request)
    given = operands(matmul, array(4, 8), array(8, 3), array(3))
    with pytest.raises(OperandError, match=r"'bias' of mm is given in the request, and is not here"):
        kernel.call({"a": array(4, 8), "b": array(8, 3)}, given.request)


def test_T26_a_view_past_its_buffer_never_enters(matmul: Ruleset) -> None:
    short = np.lib.stride_tricks.as_strided(np.zeros(10, f32), (4, 8), (32, 4))
    found = operands(matmul, array(4, 8), array(8, 3))
    with pytest.raises(OperandError, match=r"'a' reaches 88 bytes outside of its buffer"):
        bound(matmul, "c").call({**found.arrays, "a": short}, found.request)
    with pytest.raises(OperandError, match=r"'a' reaches 88 bytes outside of its buffer"):
        operands(matmul, short, array(8, 3))


@pytest.mark.parametrize(
    ("out", "said"),
    [
        (np.zeros((4, 2), f32), r"output 'out' is \[4, 2\] f32, and the result is \[4, 3\] f32"),
        (np.zeros((4, 3), np.float64), "f64"),
        (np.broadcast_to(np.zeros(3, f32), (4, 3)), "read-only"),
        (np.lib.stride_tricks.as_strided(np.zeros(3, f32), (4, 3), (0, 4)), "stride of 0"),
        (np.zeros((4, 6), f32)[:, ::2], "not entered"),
    ],
)
def test_outputs_are_checked_before_entry(tmp_path: Path, out: np.ndarray, said: str) -> None:
    ruleset = rules(tmp_path, candidate("c", f'bind source "k.c" compiler "cc" symbol "mm" {MATMUL_ARGUMENTS}'), k_c=MATMUL_C)
    found = operands(ruleset, array(4, 8), array(8, 3))
    with pytest.raises((OperandError, KernelFailed), match=said):
        bound(ruleset, "c").call(found.arrays, found.request, out=out)


STRIDED_C = """
#include <stdint.h>
int mm(const float *a, float *out, int64_t M, int64_t N, int64_t ldo) {
  for (int64_t i = 0; i < M; i++)
    for (int64_t j = 0; j < N; j++) out[i * ldo + j] = a[0] + i * 10 + j;
  return 0;
}
"""


def test_an_output_whose_strides_are_passed_may_have_them(tmp_path: Path) -> None:
    text = 'bind source "k.c" compiler "cc" symbol "mm" (ptr a, ptr out, i64 M, i64 N, i64 ldo = stride(out, 0)) returns i32 { ok 0 }'
    ruleset = rules(tmp_path, candidate("c", text), k_c=STRIDED_C)
    found = operands(ruleset, array(2, 8), array(8, 3))
    base = np.full((4, 6), -1, f32)
    bound(ruleset, "c").call(found.arrays, found.request, out=base[::2, :3])
    assert base.tolist() == [[0, 1, 2, -1, -1, -1], [-1] * 6, [10, 11, 12, -1, -1, -1], [-1] * 6]
    with pytest.raises(KernelFailed, match="stride 2 at axis 1"):
        bound(ruleset, "c").call(found.arrays, found.request, out=base[:2, ::2])


def test_an_output_over_an_operand_never_enters(matmul: Ruleset) -> None:
    memory = np.zeros(200, f32)
    a, out = memory[:16].reshape(4, 4), memory[12:28].reshape(4, 4)
    found = operands(matmul, a, array(4, 4))
    with pytest.raises(OperandError, match="output 'out' lies over operand 'a'"):
        bound(matmul, "c").call(found.arrays, found.request, out=out)
    apart = memory[16:32].reshape(4, 4)
    assert bound(matmul, "c").call(found.arrays, found.request, out=apart) is apart


STATUS_C = """
#include <stdint.h>
int status(float *out, int64_t N) { for (int i = 0; i < N; i++) out[i] = 1; return N; }
void quiet(float *out, int64_t N) { for (int i = 0; i < N; i++) out[i] = 2; }
"""


def status_rules(folder: Path, returns: str, symbol: str = "status") -> Ruleset:
    text = candidate("c", f'bind source "s.c" compiler "cc" symbol "{symbol}" (ptr out, i64 N) {returns}', "requires { M == 1 }")
    return rules(folder, text, s_c=STATUS_C)


def test_statuses_are_ok_declined_or_a_failure_by_name(tmp_path: Path) -> None:
    ruleset = status_rules(tmp_path, "returns i32 { ok 3  decline 4  no_memory 5 }")
    kernel = bound(ruleset, "c")

    def run(n: int) -> np.ndarray:
        found = operands(ruleset, array(1, 2), array(2, n))
        return kernel.call(found.arrays, found.request)

    assert run(3).tolist() == [[1, 1, 1]]
    with pytest.raises(Declined, match="decline status"):
        run(4)
    with pytest.raises(KernelFailed, match="returned status no_memory") as caught:
        run(5)
    assert caught.value.status == "no_memory"
    with pytest.raises(KernelFailed, match="returned status 6"):
        run(6)


def test_a_function_that_returns_nothing_always_succeeds(tmp_path: Path) -> None:
    void = status_rules(tmp_path, "", "quiet")
    found = operands(void, array(1, 2), array(2, 3))
    assert bound(void, "c").call(found.arrays, found.request).tolist() == [[2, 2, 2]]


NARROW_C = "int narrow(float *out, signed char n, unsigned char u, short s, float f) { out[0] = n + u + s; return 0; }"


@pytest.mark.parametrize(
    ("arguments", "n", "said"),
    [
        ("i8 n = N, u8 u = 0, i16 s = 0, f32 f = 0", 128, "N <= 127|<= 127"),
        ("i8 n = 0, u8 u = N, i16 s = 0, f32 f = 0", 256, "255"),
        ("i8 n = 0, u8 u = 0, i16 s = N * 1000, f32 f = 0", 40, "32767"),
        ("i8 n = 0, u8 u = N - 41, i16 s = 0, f32 f = 0", 40, "0 <="),
        ("i8 n = 0, u8 u = 0, i16 s = 0, f32 f = N * 1.0e38", 4, "does not fit f32"),
        ("i64 n = N * 9223372036854775807, u8 u = 0, i16 s = 0, f32 f = 0", 4, "does not fit i64"),
        ("u64 n = N - 41, u8 u = 0, i16 s = 0, f32 f = 0", 40, "does not fit u64"),
        ("i8 n = 300, u8 u = 0, i16 s = 0, f32 f = 0", 40, "does not fit i8"),
    ],
)
def test_numbers_that_do_not_fit_their_type_never_enter(tmp_path: Path, arguments: str, n: int, said: str) -> None:
    text = candidate("c", f'bind source "n.c" compiler "cc" symbol "narrow" (ptr out, {arguments}) returns i32 {{ ok 0 }}')
    ruleset = rules(tmp_path, text, n_c=NARROW_C)
    found = operands(ruleset, array(1, 2), array(2, n))
    with pytest.raises(KernelFailed, match=said) as caught:
        bound(ruleset, "c").call(found.arrays, found.request)
    assert caught.value.reason.startswith("not entered")


def library(folder: Path, text: str = MATMUL_C, name: str = "libmine.so") -> Path:
    (folder / "lib.c").write_text(text)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(folder / name), str(folder / "lib.c")], check=True)
    return folder / name


def native(path: str, symbol: str = "mm") -> str:
    return candidate("c", f'bind native "{path}" symbol "{symbol}" {MATMUL_ARGUMENTS}')


def test_a_library_beside_the_rules_or_by_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library(tmp_path)
    found = operands(rules(tmp_path, native("libmine.so")), array(2, 3), array(3, 4))
    for path in ("libmine.so", "./libmine.so", "$MINE/libmine.so", str(tmp_path / "libmine.so")):
        monkeypatch.setenv("MINE", str(tmp_path))
        kernel = bound(rules(tmp_path, native(path)), "c")
        np.testing.assert_array_equal(kernel.call(found.arrays, found.request), array(2, 3) @ array(3, 4))


def test_T4_an_unbound_binding_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library(tmp_path)
    (tmp_path / "text.so").write_text("no library at all, but long enough to have a header of sixty-four bytes")
    (tmp_path / "cut.so").write_bytes((tmp_path / "libmine.so").read_bytes()[:3000])
    other = bytearray((tmp_path / "libmine.so").read_bytes())
    other[18:20] = (8).to_bytes(2, "little")
    (tmp_path / "mips.so").write_bytes(bytes(other))
    monkeypatch.delenv("UNSET_THING", raising=False)
    for path, symbol, said in [
        ("libmine.so", "mmm", "has no symbol 'mmm'; did you mean 'mm'?"),
        ("libabsent.so", "mm", "library libabsent.so is not here"),
        ("sub/libabsent.so", "mm", "looked for"),
        ("$UNSET_THING/libmine.so", "mm", "$UNSET_THING is not set"),
        ("text.so", "mm", "it is no ELF file"),
        ("cut.so", "mm", "cut short"),
        ("mips.so", "mm", "for another machine"),
    ]:
        found = try_bind(rules(tmp_path, native(path, symbol)), "c")
        assert isinstance(found, Unbound), path
        assert said in found.reason


def test_a_library_that_crashes_as_it_loads_is_unbound_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TSR_CACHE", str(tmp_path / "cache"))
    library(tmp_path, MATMUL_C + "__attribute__((constructor)) static void f(void) { *(volatile int *)0 = 1; }")
    ruleset = rules(tmp_path, native("libmine.so"))
    for _ in range(2):
        found = try_bind(ruleset, "c")
        assert isinstance(found, Unbound)
        assert "killed by SIGSEGV" in found.reason


def test_a_sound_library_is_tried_in_a_child_once_for_its_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tessera_rules.bind import library as room

    monkeypatch.setenv("TSR_CACHE", str(tmp_path / "cache"))
    tried: list[str] = []
    first = room.load_elsewhere
    monkeypatch.setattr(room, "load_elsewhere", lambda path: tried.append(path) or first(path))
    library(tmp_path)
    for name in ("libmine.so", "libother.so", "libmine.so"):
        if name == "libother.so":
            shutil.copy(tmp_path / "libmine.so", tmp_path / name)
        bound(rules(tmp_path, native(name)), "c")
    assert len(tried) == 1


def test_T27_a_rebuilt_library_has_another_digest_and_is_what_runs(tmp_path: Path) -> None:
    path = library(tmp_path)
    ruleset = rules(tmp_path, native("libmine.so"))
    first = bound(ruleset, "c")
    path.unlink()
    library(tmp_path, MATMUL_C.replace("bias ? bias[j] : 0", "100"))
    second = bound(ruleset, "c")
    assert isinstance(second, NativeBound)
    assert second.digest != first.digest
    found = operands(ruleset, array(2, 3), array(3, 4))
    np.testing.assert_array_equal(second.call(found.arrays, found.request), array(2, 3) @ array(3, 4) + 100)


def test_two_bindings_of_one_symbol_keep_their_own_types(tmp_path: Path) -> None:
    text = status_bind("c", "returns i32 { ok 3 }") + status_bind("d", "returns i8 { ok 3 }")
    ruleset = rules(tmp_path, text, s_c=STATUS_C)
    c, d = bound(ruleset, "c"), bound(ruleset, "d")
    found = operands(ruleset, array(1, 2), array(2, 3))
    assert c.call(found.arrays, found.request).tolist() == d.call(found.arrays, found.request).tolist()
    assert c.digest != d.digest


def status_bind(name: str, returns: str) -> str:
    return candidate(name, f'bind source "s.c" compiler "cc" symbol "status" (ptr out, i64 N) {returns}', "requires { M == 1 }")
