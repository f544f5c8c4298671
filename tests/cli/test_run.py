"""`tsr run`: operands of files and of a seed, words beside them, what it says of who ran."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.cli.command import tsr

CALL = ["run", "matmul", "x86"]
SIZES = ["M=33", "N=77", "K=129", "dtype=f32"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The caller's folder, with arrays in it."""
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((5, 7)).astype("f4"), rng.standard_normal((7, 3)).astype("f4")
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    np.savez(tmp_path / "both.npz", a=a, b=b)
    np.savez(tmp_path / "other.npz", x=a)
    np.save(tmp_path / "bias.npy", np.ones(3, "f4"))
    np.save(tmp_path / "fortran.npy", np.asfortranarray(a))
    np.save(tmp_path / "bf16.npy", a.astype(ml_dtypes.bfloat16))
    np.save(tmp_path / "objects.npy", np.array([{}], object), allow_pickle=True)
    np.save(tmp_path / "swapped.npy", a.astype(">f4"))
    np.save(tmp_path / "words.npy", np.array(["a"]))
    (tmp_path / "text.npy").write_text("hello")
    (tmp_path / "cut.npy").write_bytes((tmp_path / "a.npy").read_bytes()[:90])
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04 no archive")
    whole = (tmp_path / "both.npz").read_bytes()
    (tmp_path / "damaged.npz").write_bytes(whole[:60] + bytes(20) + whole[80:])
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("lane", ["x86_numpy_matmul", "x86_generic_matmul_f32"])
def test_each_lane_is_right_inside_its_bound(lane: str) -> None:
    answer = tsr(*CALL, *SIZES, "--force", lane, "--json")
    assert answer.code == 0
    execution = answer.json["execution"]
    assert (execution["tag"], execution["proof"], execution["right"]) == (lane, "verified", True)
    assert 0 < execution["max_error"] <= execution["budget"]
    assert execution["degraded"] == []


@pytest.mark.parametrize(
    "words",
    [
        ["a=a.npy", "b=b.npy"],
        ["both=both.npz"],
        ["a=fortran.npy", "b=b.npy"],
        ["a=a.npy", "b=b.npy", "M=5", "dtype=f32", "threads=1", "allow=tf32"],
        ["a=a.npy", "b=b.npy", "a.strides=1,5", "a.align=4"],
    ],
    ids=" ".join,
)
def test_operands_of_files(folder: Path, words: list[str]) -> None:
    answer = tsr(*CALL, *words, "--json")
    assert answer.code == 0, answer.err
    assert answer.json["execution"]["right"] is True
    assert answer.json["execution"]["seed"] is None
    assert answer.json["request"]["dims"] == {"M": 5, "N": 3, "K": 7}


def test_layouts_are_those_that_are_stated(folder: Path) -> None:
    assert "a.strides=1,5" in tsr(*CALL, "a=a.npy", "b=b.npy", "a.strides=1,5").out
    assert "a.strides=1,5" in tsr(*CALL, "a=fortran.npy", "b=b.npy").out
    assert "operands given" in tsr(*CALL, "a=a.npy", "b=b.npy").out


def test_a_dtype_says_what_bare_bytes_are(folder: Path) -> None:
    answer = tsr("run", "softmax", "x86", "x=bf16.npy", "dtype=bf16", "--json")
    assert (answer.code, answer.json["request"]["dtype"]) == (0, "bf16")


def test_optional_operands_and_attributes_beside_files(folder: Path) -> None:
    assert tsr("run", "fused_matmul", "x86", "a=a.npy", "b=b.npy", "bias=bias.npy", "epilogue=bias,relu", "--json").json["execution"]["right"] is True
    answer = tsr("run", "fused_matmul", "x86", "a=a.npy", "b=b.npy", "given=bias", "epilogue=bias")
    assert (answer.code, "'bias' is not here" in answer.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a=objects.npy", "b=b.npy"], "nothing is unpickled"),
        (["a=text.npy", "b=b.npy"], "nothing is unpickled"),
        (["a=cut.npy", "b=b.npy"], "cut.npy"),
        (["a=bad.npz", "b=b.npy"], "bad.npz"),
        (["both=damaged.npz"], "damaged.npz"),
        (["a=gone.npy", "b=b.npy"], "gone.npy"),
        (["a=other.npz", "b=b.npy"], "no operand 'x'"),
        (["a=swapped.npy", "b=b.npy"], "other order"),
        (["a=words.npy", "b=b.npy"], "no word for"),
        (["a=bf16.npy", "b=b.npy"], "2 bytes"),
        (["a=a.npy"], "'b'"),
        (["a=a.npy", "b=a.npy"], "K"),
        (["a=a.npy", "b=b.npy", "M=9"], "M=9"),
        (["a=a.npy", "b=b.npy", "dtype=f64"], "dtype=f64"),
        (["a=a.npy", "b=b.npy", "nosuch=1"], "nosuch"),
        (["a=a.npy", "b=b.npy", "threads=x"], "threads"),
        (["a=a.npy", "b=b.npy", "device=5"], "device=5"),
        (["a=a.npy", "b=b.npy", "a.strides=1"], "a.strides"),
        (["M=99999999", "N=99999999", "K=99999999", "dtype=f32"], "memory"),
        (["M=3", "N=3", "K=3", "dtype=f32", "a.strides=99999999999999,1"], "memory"),
        (["M=3", "N=3", "K=3", "dtype=f32", "--seed", "-1"], "'-1' is no seed"),
        (["M=3", "N=3", "K=3", "dtype=f32", "--save", "gone/x.zip"], "gone/x.zip"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_what_cannot_be_run_is_said_in_a_sentence(folder: Path, words: list[str], said: str) -> None:
    answer = tsr(*CALL, *words)
    assert answer.code == 2
    assert said in answer.err
    assert "internal" not in answer.err


@pytest.mark.parametrize("words", [SIZES, ["a=a.npy", "b=b.npy"]], ids=" ".join)
def test_everybody_in_the_race_is_timed(folder: Path, words: list[str]) -> None:
    answer = tsr(*CALL, *words, "--measure", "--json")
    rows = {each["candidate"]: each for each in answer.json["measurements"]}
    assert set(rows) == {"x86_numpy_matmul", "x86_generic_matmul_f32"}
    assert all(each["median_ms"] > 0 for each in rows.values())


def test_measuring_honours_a_force(folder: Path) -> None:
    answer = tsr(*CALL, *SIZES, "--measure", "--force", "x86_generic_matmul_f32", "--json")
    assert answer.json["execution"]["tag"] == "x86_generic_matmul_f32"


def test_a_run_is_saved_and_replayed(folder: Path) -> None:
    assert tsr("run", "gemm", "x86", *SIZES, "beta=0.5", "c.strides=1,40", "--save", "bug.zip").code == 0
    answer = tsr("replay", "bug.zip", "--json")
    assert (answer.code, answer.json["differences"]) == (0, [])
    assert tsr("replay", "a.npy").code == 2
