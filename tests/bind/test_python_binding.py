from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tessera_rules.bind.digest import binding_digest
from tessera_rules.bind.outcome import KernelFailed, Unbound
from tessera_rules.declined import Declined
from tessera_rules.model.values import Ruleset
from tests.bind.rules import bound, candidate, operands, rules, try_bind

KERNELS = """
import numpy as np
from tessera_rules.declined import Declined

gone = None
number = 3
seen = {}

class Holder:
    @staticmethod
    def mm(a, b, bias=None):
        return a @ b

def plain(a, b):
    return a @ b

def with_bias(a, b, bias=None, causal=False, epilogue=()):
    seen.update(bias=bias, causal=causal, epilogue=epilogue, types=(type(a), type(b)))
    return a @ b + (0 if bias is None else bias)

def with_out(a, b, out, threads, workspace):
    seen.update(out=out, threads=threads, workspace=workspace)
    np.matmul(a, b, out=out)

def constants(a, b, mt, nt=1):
    seen.update(mt=mt, nt=nt)
    return a @ b

def anything(**values):
    seen.clear()
    seen.update(values)
    return values["a"] @ values["b"]

def positional(a, b, /, *, causal=False):
    return a @ b

def stranger(a, b, alpha):
    return a @ b

def without_b(a):
    return a

def declines(a, b):
    return Declined("K is odd")

def raises_declined(a, b):
    raise Declined("M is odd")

def declines_bare(a, b):
    return Declined

def fails(a, b):
    return a @ b.T @ a

def exits(a, b):
    raise SystemExit(3)

def nothing(a, b):
    return None

def scalar(a, b):
    return 3.0

def wrong_shape(a, b):
    return (a @ b)[None]

def wrong_dtype(a, b):
    return (a @ b).astype("f8")

def text(a, b):
    return "text"
"""
ROOT = Path(__file__).resolve().parents[2]
a = np.arange(6, dtype=np.float32).reshape(2, 3)
b = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    name = f"kernels_{tmp_path.name}_{abs(hash(tmp_path)) % 10**9}"
    (tmp_path / f"{name}.py").write_text(KERNELS)
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    sys.modules.pop(name, None)


def one(folder: Path, module: str, name: str, fields: str = "", constants: str = "") -> Ruleset:
    text = candidate("c", f'bind python "{module}:{name}" {constants}', fields)
    source = folder / f"{module}.py"
    if name in ("missing",):  # lint would say so; that is another test's matter
        source.write_text(KERNELS + "\ndef __getattr__(name):\n    raise AttributeError(name)\n")
    return rules(folder, text)


def call(ruleset: Ruleset, *arrays: Any, **named: Any) -> Any:
    found = operands(ruleset, *(arrays or (a, b)), **named)
    return bound(ruleset, "c").call(found.arrays, found.request)


@pytest.mark.parametrize("name", ["plain", "with_bias", "anything", "positional", "Holder.mm", "with_out"])
def test_a_callable_is_called_with_what_it_takes(tmp_path: Path, module: str, name: str) -> None:
    np.testing.assert_array_equal(call(one(tmp_path, module, name)), a @ b)


def test_operands_and_attributes_go_by_name(tmp_path: Path, module: str) -> None:
    ruleset = one(tmp_path, module, "with_bias", "honours [bias, causal, epilogue]")
    bias = np.ones(4, np.float32)
    np.testing.assert_array_equal(call(ruleset, bias=bias, causal=True, epilogue=["bias", "relu"]), a @ b + 1)
    seen = sys.modules[module].seen
    assert seen["bias"] is bias
    assert (seen["causal"], seen["epilogue"]) == (True, ("bias", "relu"))


def test_out_threads_and_workspace_where_taken(tmp_path: Path, module: str) -> None:
    ruleset = one(tmp_path, module, "with_out", "workspace 4 * M * N + 8")
    found = operands(ruleset, a, b)
    mine = np.zeros((2, 4), np.float32)
    assert bound(ruleset, "c").call(found.arrays, found.request, out=mine, threads=3) is mine
    seen = sys.modules[module].seen
    assert (seen["out"] is mine, seen["threads"], len(seen["workspace"])) == (True, 3, 40)
    assert seen["workspace"].ctypes.data % 64 == 0


def test_an_output_that_the_callable_does_not_take_is_filled(tmp_path: Path, module: str) -> None:
    ruleset = one(tmp_path, module, "plain")
    found = operands(ruleset, a, b)
    mine = np.zeros((2, 4), np.float32)
    assert bound(ruleset, "c").call(found.arrays, found.request, out=mine) is mine
    np.testing.assert_array_equal(mine, a @ b)


def test_constants_of_a_family_member(tmp_path: Path, module: str) -> None:
    call(one(tmp_path, module, "constants", constants="with (mt = 2, nt = 4)"))
    seen = sys.modules[module].seen
    assert (seen["mt"], seen["nt"]) == (2, 4)


@pytest.mark.parametrize(
    ("name", "fields", "constants", "parts"),
    [
        ("gone", "", "", ["gone is None: the module imports"]),
        ("number", "", "", ["is int, which cannot be called"]),
        ("stranger", "", "", ["needs 'alpha'"]),
        ("without_b", "", "", ["does not take operand 'b'"]),
        ("plain", "honours [causal]", "", ["does not take attribute 'causal'", "honours"]),
        ("plain", "honours [bias]", "", ["does not take operand 'bias'"]),
        ("plain", "", "with (mt = 2)", ["does not take 'mt' of `with`"]),
        ("missing", "", "", ["has no 'missing'"]),
    ],
)
def test_P16_the_callable_is_probed_not_the_module(tmp_path: Path, module: str, name: str, fields: str, constants: str, parts: list[str]) -> None:
    found = try_bind(one(tmp_path, module, name, fields, constants), "c")
    assert isinstance(found, Unbound)
    for part in parts:
        assert part in found.reason


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import no_such_module_at_all", "does not import: ModuleNotFoundError: No module named 'no_such_module_at_all'"),
        ("raise SystemExit(3)", "does not import: SystemExit: 3"),
        ("def f(:", "does not import: SyntaxError"),
    ],
)
def test_a_module_that_does_not_import_is_a_reason(tmp_path: Path, module: str, text: str, said: str) -> None:
    (tmp_path / f"{module}.py").write_text(f"{text}\ndef mm(a, b): pass\n")
    found = try_bind(rules(tmp_path, candidate("c", f'bind python "{module}:mm"')), "c")
    assert isinstance(found, Unbound)
    assert said in found.reason


def test_a_module_that_is_not_found_says_where_it_was_looked_for(tmp_path: Path) -> None:
    found = try_bind(rules(tmp_path, candidate("c", 'bind python "no_such_module_at_all.part:mm"')), "c")
    assert isinstance(found, Unbound)
    assert "PYTHONPATH" in found.reason


@pytest.mark.parametrize(("name", "reason"), [("declines", "K is odd"), ("raises_declined", "M is odd"), ("declines_bare", "no reason given")])
def test_declined_is_returned_or_raised(tmp_path: Path, module: str, name: str, reason: str) -> None:
    with pytest.raises(Declined) as caught:
        call(one(tmp_path, module, name))
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("fails", "fails raised ValueError"),
        ("exits", "exits raised SystemExit: 3"),
        ("nothing", "returned nothing"),
        ("scalar", "returned no array"),
        ("wrong_shape", r"returned shape \[1, 2, 4\] where 'out' has \[2, 4\]"),
        ("wrong_dtype", "returned f64 where 'out' is f32"),
        ("text", "returned no array"),
    ],
)
def test_what_is_no_result_is_a_failure(tmp_path: Path, module: str, name: str, said: str) -> None:
    with pytest.raises(KernelFailed, match=said):
        call(one(tmp_path, module, name))


def test_results_are_of_the_kind_that_came_in(tmp_path: Path, module: str) -> None:
    torch = pytest.importorskip("torch", reason="torch: it is not installed")
    ruleset = one(tmp_path, module, "with_out")
    result = call(ruleset, torch.from_numpy(a), torch.from_numpy(b))
    assert isinstance(result, torch.Tensor)
    np.testing.assert_array_equal(result.numpy(), a @ b)
    assert isinstance(call(one(tmp_path, module, "with_bias"), torch.from_numpy(a), torch.from_numpy(b)), torch.Tensor)
    assert sys.modules[module].seen["types"] == (np.ndarray, np.ndarray)


def test_inout_operands_are_written_in_place(tmp_path: Path, module: str) -> None:
    op = """
op add { inout c: [N]; operand x: [N]; result c; attr beta: float = 1.0 }
target x86 { "the host" }
"""
    (tmp_path / f"{module}.py").write_text("def place(c, x, beta):\n    c *= beta\n    c += x\n\ndef fresh(c, x, beta):\n    return c * beta + x\n")
    for name in ("place", "fresh"):
        text = f'candidate c {{ tier emitted; target x86; op add; honours [beta]; bind python "{module}:{name}" }}'
        ruleset = rules(tmp_path, text, op=op)
        c = np.ones(3)
        found = operands(ruleset, c, np.full(3, 5.0), op="add", beta=2)
        assert bound(ruleset, "c").call(found.arrays, found.request) is c
        assert c.tolist() == [7, 7, 7]


def test_several_results_are_a_tuple(tmp_path: Path, module: str) -> None:
    op = 'op two { operand x: [M, N]; result [M]; result index: [M] i64 }\ntarget x86 { "the host" }\n'
    (tmp_path / f"{module}.py").write_text(
        "def f(x):\n    return x.max(1), x.argmax(1)\n\n"
        "def g(x, out):\n    out[0][...] = x.max(1)\n    out[1][...] = x.argmax(1)\n\ndef h(x):\n    return x.max(1)\n"
    )
    for name in "fg":
        ruleset = rules(tmp_path, f'candidate c {{ tier emitted; target x86; op two; bind python "{module}:{name}" }}', op=op)
        found = operands(ruleset, b, op="two")
        values, places = bound(ruleset, "c").call(found.arrays, found.request)
        assert (values.tolist(), places.tolist()) == ([3, 7, 11], [3, 3, 3])
    ruleset = rules(tmp_path, f'candidate c {{ tier emitted; target x86; op two; bind python "{module}:h" }}', op=op)
    with pytest.raises(KernelFailed):
        bound(ruleset, "c").call(found.arrays, found.request)


def test_the_digest_covers_constants_and_the_modules_own_text(tmp_path: Path, module: str) -> None:
    plain, with_two, with_three = (
        binding_digest(one(tmp_path, module, name, "", constants).candidates["c"])
        for name, constants in (("plain", ""), ("constants", "with (mt = 2)"), ("constants", "with (mt = 3)"))
    )
    assert len({plain, with_two, with_three}) == 3
    again = binding_digest(one(tmp_path, module, "plain").candidates["c"])
    assert again == plain


def test_T27_the_digest_covers_the_modules_that_a_kernel_reaches(tmp_path: Path) -> None:
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "kernel.py").write_text("from .inner import scale\n\ndef mm(a, b):\n    return scale(a @ b)\n")
    (package / "unrelated.py").write_text("x = 1\n")
    program = "from tessera_rules.bind.digest import module_digest; print(module_digest('pack.kernel'))"

    def digest(factor: int, unrelated: int = 1) -> str:
        (package / "inner.py").write_text(f"def scale(x):\n    return x * {factor}\n")
        (package / "unrelated.py").write_text(f"x = {unrelated}\n")
        environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, env=environment).stdout

    first = digest(1)
    assert digest(2) != first
    assert digest(1, unrelated=2) == first
