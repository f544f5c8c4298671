"""`tsr fmt`: writes a file whole or not at all, and says what it did."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tessera_rules.cli import fmt
from tests.cli.command import tsr

UNTIDY = "tessera 1\ntarget   box {\nfact   arch:string   # which\n}\n"
BROKEN = "tessera 1\ntarget box {\n"


def tidy() -> str:
    return tsr("fmt", "-", stdin=UNTIDY).out


def test_standard_input_goes_to_standard_output() -> None:
    answer = tsr("fmt", "-", stdin=UNTIDY)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out != UNTIDY
    assert "fact arch: string" in answer.out
    assert "# which" in answer.out
    assert tsr("fmt", "-", stdin=answer.out).out == answer.out


def test_a_file_is_laid_out_in_place(tmp_path: Path) -> None:
    path = tmp_path / "a.tsr"
    path.write_text(UNTIDY, encoding="utf-8")
    os.chmod(path, 0o640)
    answer = tsr("fmt", path)
    assert (answer.code, answer.out) == (0, "")
    assert str(path) in answer.err
    assert path.read_text(encoding="utf-8") == tidy()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.tsr"]


def test_a_file_that_is_tidy_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "a.tsr"
    path.write_text(tidy(), encoding="utf-8")
    os.utime(path, (1, 1))
    assert tsr("fmt", path).code == 0
    assert path.stat().st_mtime == 1


def test_a_folder_has_all_its_files(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("a.tsr", "in/b.tsr", "c.txt"):
        (tmp_path / name).write_text(UNTIDY, encoding="utf-8")
    assert tsr("fmt", tmp_path).code == 0
    assert [(tmp_path / name).read_text(encoding="utf-8") == UNTIDY for name in ("a.tsr", "in/b.tsr", "c.txt")] == [False, False, True]


@pytest.mark.parametrize("option", ["--check", "--diff"])
def test_looking_writes_nothing(option: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tsr"
    path.write_text(UNTIDY, encoding="utf-8")
    answer = tsr("fmt", option, path)
    assert answer.code == 1
    assert str(path) in answer.out + answer.err
    assert path.read_text(encoding="utf-8") == UNTIDY
    path.write_text(tidy(), encoding="utf-8")
    assert tsr("fmt", option, path).code == 0


def test_a_difference_is_one_that_patch_reads(tmp_path: Path) -> None:
    path = tmp_path / "a.tsr"
    path.write_text(UNTIDY.rstrip("\n"), encoding="utf-8")
    lines = tsr("fmt", "--diff", path).out.splitlines()
    assert lines[0] == f"--- {path}"
    assert lines[1] == f"+++ {path}"
    assert "-target   box {" in lines
    assert "\\ No newline at end of file" in lines


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_D1_the_files_own_line_ending_is_kept(ending: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tsr"
    path.write_bytes(UNTIDY.replace("\n", ending).encode())
    assert tsr("fmt", path).code == 0
    assert path.read_bytes() == tidy().replace("\n", ending).encode()
    assert tsr("fmt", "--check", path).code == 0


@pytest.mark.parametrize(("option", "ending"), [("lf", "\n"), ("crlf", "\r\n")])
@pytest.mark.parametrize("before", ["\n", "\r\n"])
def test_a_line_ending_is_chosen(option: str, ending: str, before: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tsr"
    path.write_bytes(UNTIDY.replace("\n", before).encode())
    assert tsr("fmt", "--line-ending", option, path).code == 0
    assert path.read_bytes() == tidy().replace("\n", ending).encode()
    assert tsr("fmt", "--check", path).code == 0


def test_D2_a_byte_order_mark_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "a.tsr"
    path.write_bytes(b"\xef\xbb\xbf" + tidy().encode())
    assert tsr("fmt", "--check", path).code == 1
    assert tsr("fmt", path).code == 0
    assert path.read_bytes() == tidy().encode()


@pytest.mark.parametrize("data", [BROKEN.encode(), b"tessera 1\n\xff\xfe\n", b"\x00\x01\x02", b"tessera 1\ntarget b\xe2\x80\xae {}\n"])
def test_D19_what_does_not_parse_is_left_alone_and_the_others_are_not(data: bytes, tmp_path: Path) -> None:
    bad, good = tmp_path / "bad.tsr", tmp_path / "good.tsr"
    bad.write_bytes(data)
    good.write_text(UNTIDY, encoding="utf-8")
    answer = tsr("fmt", tmp_path)
    assert answer.code == 2
    assert f"{bad}:" in answer.err
    assert "error TSR0" in answer.err
    assert bad.read_bytes() == data
    assert good.read_text(encoding="utf-8") == tidy()


def test_D11_a_layout_that_loses_something_is_never_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.tsr"
    path.write_text(UNTIDY, encoding="utf-8")
    for lossy in ("tessera 1\ntarget box {\n}\n", "tessera 1\ntarget box {\n  fact arch: string\n}\n", "tessera 1\ntarget {\n"):
        monkeypatch.setattr("tessera_rules.syntax.format.Layout.text", lambda _, lossy=lossy: lossy)
        answer = tsr("fmt", path)
        assert answer.code == 2
        assert "left alone" in answer.err
        assert path.read_text(encoding="utf-8") == UNTIDY


def test_an_alias_of_a_dtype_becomes_its_word(tmp_path: Path) -> None:
    path = tmp_path / "a.tsr"
    path.write_text("tessera 1\npredicate half = dtype == float16\n", encoding="utf-8")
    assert tsr("fmt", path).code == 0
    assert "dtype == f16" in path.read_text(encoding="utf-8")


def test_a_write_that_fails_leaves_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.tsr"
    path.write_text(UNTIDY, encoding="utf-8")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(fmt.os, "replace", full)
    answer = tsr("fmt", path)
    assert answer.code == 2
    assert "No space left on device" in answer.err
    assert path.read_text(encoding="utf-8") == UNTIDY
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.tsr"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.txt", tmp_path / "a.tsr"
    real.write_text(UNTIDY, encoding="utf-8")
    link.symlink_to(real)
    assert tsr("fmt", link).code == 0
    assert link.is_symlink()
    assert real.read_text(encoding="utf-8") == tidy()


def test_the_document(tmp_path: Path) -> None:
    (tmp_path / "a.tsr").write_text(UNTIDY, encoding="utf-8")
    (tmp_path / "b.tsr").write_text(BROKEN, encoding="utf-8")
    answer = tsr("fmt", tmp_path, "--json", "--check")
    assert answer.code == 2
    rows = answer.json["error"]["findings"]
    assert rows[0]["file"] == str(tmp_path / "b.tsr")
    (tmp_path / "b.tsr").unlink()
    answer = tsr("fmt", tmp_path, "--json", "--check")
    assert answer.code == 1
    assert answer.json == {"files": [{"file": str(tmp_path / "a.tsr"), "changed": True}], "changed": 1, "written": False}


def test_the_document_of_standard_input_has_the_text() -> None:
    assert tsr("fmt", "-", "--json", stdin=UNTIDY).json["files"] == [{"file": "<stdin>", "changed": True, "text": tidy()}]


def test_without_a_path() -> None:
    assert tsr("fmt").code == 2
