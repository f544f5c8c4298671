"""A saved run repeats itself elsewhere, or says what differs; a file that is none is a sentence."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera_rules as tsr
from tessera_rules.replay import Replayed, replay, save
from tessera_rules.session import open_arbiter
from tessera_rules.trial import run_words

OPS = """tessera 1
op both {
  operand x: [M, N]
  operand w?: [N]
  inout c: [M, N]
  result c
  result [N] f64
  attr label: one of [plain, odd] = plain
  dtype x in [f32, bf16, f8e5m2, i8]
  reference python "tests.session.replayed:reference"
}
target cpu { }
candidate kernel { tier emitted; target cpu; op both; honours [w, label]; bind python "tests.session.replayed:kernel" }
"""


@pytest.fixture(scope="module", autouse=True)
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TSR_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def saved(folder: Path, words: dict[str, Any], *, op: str = "both", target: str = "cpu", text: str = OPS, **more: Any) -> Path:
    rules = folder / "r.tsr"
    rules.write_text(text)
    arbiter = open_arbiter([rules])
    tried = run_words(arbiter, op, target, words, seed=5, **more)
    assert tried.judgement is not None
    assert tried.judgement.ok
    assert tried.execution.tag != "reference" or "TSR_FORCE" in os.environ
    save(folder / "bug.zip", arbiter, tried, more.get("force"))
    return folder / "bug.zip"


def differences(found: Replayed) -> dict[str, tuple[Any, Any]]:
    return {what: (then, now) for what, then, now in found.differences}


LAYOUTS: list[dict[str, str]] = [{}, {"x.strides": "-9,1", "x.align": "8"}, {"x.strides": "1,0"}, {"x.strides": "0,1"}, {"c.strides": "1,4"}]


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f8e5m2", "i8"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_written_in_place_and_every_dtype_and_layout_repeat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dtype: str, layout: dict[str, str]
) -> None:
    words = {"M": "4", "N": "6", "dtype": dtype, "given": "w", "label": "odd", "threads": "1", **layout}
    path = saved(tmp_path, words)
    (tmp_path / "r.tsr").unlink()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    found = replay(path)
    assert differences(found) == {}
    assert found.tried.request.threads == 1
    assert found.tried.request.attrs["label"] == "odd"
    for name, said in layout.items():
        if name.endswith("strides"):
            assert found.tried.request.layouts[name[0]].strides == tuple(map(int, said.split(",")))


def test_what_a_run_tells_is_of_the_first_call_and_of_the_worst_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.session.replayed.SUMS", 1 + 2.0**-20)
    (tmp_path / "r.tsr").write_text(OPS)
    tried = run_words(open_arbiter([tmp_path / "r.tsr"]), "both", "cpu", {"M": "4", "N": "6", "dtype": "f32"}, seed=5)
    assert tried.execution.tag == "kernel"
    x, c = tried.operands["x"], tried.operands["c"]
    np.testing.assert_allclose(tried.results[0], (c.astype("f8") + x) / 2, rtol=1e-5)
    assert tried.judgement is not None
    assert tried.judgement.place is not None
    assert len(tried.judgement.place) == 1, "the sums of the second result are further off than the elements of the first"


C_RULES = """tessera 1
op twice { operand x: [N]; result [N]; dtype x in [f32]; reference python "tests.session.replayed:doubled" }
target cpu { }
candidate one {
  tier emitted; target cpu; op twice
  bind source "src/twice.c" compiler "cc" flags ["-O1"] symbol "twice" (ptr x, ptr out, i64 N) returns i32 { ok 0 }
}
"""


TWICE = """
#include <stdint.h>
#include "deep/two.inc"
int twice(const float *x, float *out, int64_t n) { for (int64_t i = 0; i < n; i++) out[i] = TWO * x[i]; return 0; }
"""
THEIRS = """tessera 1
use "std/ops.tsr"
target x86 { }
candidate theirs { tier hand_tuned; target x86; op softmax; bind python "tests.session.replayed:kernel" }
"""


def test_sources_and_their_headers_come_along(tmp_path: Path) -> None:
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "src" / "twice.c").write_text(TWICE)
    (tmp_path / "src" / "deep" / "two.inc").write_text("#define TWO 2\n")
    path = saved(tmp_path, {"N": "9", "dtype": "f32"}, op="twice", text=C_RULES)
    for each in sorted(tmp_path.rglob("*"), reverse=True):
        if each.is_file() and each != path:
            each.unlink()
    found = replay(path)
    assert found.tried.execution.tag == "one"
    assert differences(found) == {}


def test_what_has_changed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path, {"M": "4", "N": "6", "dtype": "f32"})
    monkeypatch.setattr("tests.session.replayed.FACTOR", 1 + 2.0**-21)
    assert set(differences(replay(path))) >= {"result 0", "result 1"}


def test_the_force_of_the_environment_is_part_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TSR_FORCE", "both@cpu=reference")
    path = saved(tmp_path, {"M": "4", "N": "6", "dtype": "f32"})
    monkeypatch.delenv("TSR_FORCE")
    found = replay(path)
    assert found.tried.execution.tag == "reference"
    assert differences(found) == {}


def test_what_nobody_named_is_not_named_by_saving_it(tmp_path: Path) -> None:
    other = tmp_path / "rules"
    other.mkdir()
    (other / "o.tsr").write_text(THEIRS)
    (tmp_path / "mine.tsr").write_text('tessera 1\nuse "std/ops.tsr"\n')
    arbiter = open_arbiter([tmp_path / "mine.tsr", other], untrusted=[other])
    tried = run_words(arbiter, "softmax", "x86", {"M": "2", "N": "3", "dtype": "f32"})
    save(tmp_path / "bug.zip", arbiter, tried, None)
    found = replay(tmp_path / "bug.zip")
    assert set(differences(found)) <= {"binding of theirs"}  # its reason names the file
    assert [each.code for each in found.tried.execution.decision.verdicts] == ["untrusted"]


def rewritten(path: Path, change: Any) -> None:
    with zipfile.ZipFile(path) as bundle:
        parts = {name: bundle.read(name) for name in bundle.namelist()}
    change(parts)
    with zipfile.ZipFile(path, "w") as bundle:
        for name, data in parts.items():
            bundle.writestr(name, data)


def meta(parts: dict[str, bytes], **changes: Any) -> None:
    document = json.loads(parts["replay.json"])
    for key, value in changes.items():
        document.pop(key) if value is None else document.update({key: value})
    parts["replay.json"] = json.dumps(document).encode()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda parts: parts.pop("replay.json"), "no saved run"),
        (lambda parts: parts.update({"replay.json": b"[1]"}), "no saved run"),
        (lambda parts: parts.update({"replay.json": b"{"}), "no saved run"),
        (lambda parts: meta(parts, format=99), "format 99"),
        (lambda parts: meta(parts, paths=None), "paths"),
        (lambda parts: meta(parts, words="M=4"), "words"),
        (lambda parts: meta(parts, dtypes={"x": "f32", "y": "f32"}), "no saved run"),
        (lambda parts: meta(parts, dtypes={"x": "nope"}), "no saved run"),
        (lambda parts: parts.update({"operands/x.npy": b"\x93NUMPY garbage"}), "no saved run"),
        (lambda parts: parts.update({"operands/x.shape": b"[7, 7]"}), "no saved run"),
    ],
)
def test_a_damaged_file_is_a_sentence(tmp_path: Path, change: Any, said: str) -> None:
    path = saved(tmp_path, {"M": "4", "N": "6", "dtype": "f32"})
    rewritten(path, change)
    with pytest.raises(tsr.UsageError, match=said):
        replay(path)


def test_a_file_with_any_byte_lost_never_ends_in_a_traceback(tmp_path: Path) -> None:
    path = saved(tmp_path, {"M": "4", "N": "6", "dtype": "f32"})
    whole = path.read_bytes()
    rng = np.random.default_rng(3)
    for _ in range(40):
        at = int(rng.integers(0, len(whole) - 8))
        path.write_bytes(whole[:at] + bytes(8 * [0xFF]) + whole[at + 8 :])
        try:
            replay(path)
        except tsr.TesseraError:
            continue


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(tsr.UsageError, match=r"gone\.zip"):
        replay(tmp_path / "gone.zip")
