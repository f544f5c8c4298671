"""What holds for every verb: exit codes, errors with a way on, options anywhere, streams."""

from __future__ import annotations

import importlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tessera_rules.cli.main import main, verbs
from tests.cli.command import RULES, decided, tsr, write_rules

VERBS = ["compile", "eval", "fmt", "test"]


def test_no_words_is_a_usage_error_with_the_verbs() -> None:
    answer = tsr()
    assert answer.code == 2
    assert answer.out == ""
    assert all(verb in answer.err for verb in VERBS)


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["help"]])
def test_help_lists_every_verb(words: list[str]) -> None:
    answer = tsr(*words)
    assert answer.code == 0
    assert all(f"\n  {verb} " in answer.out for verb in verbs())


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("form", ["verb --help", "help verb", "--help verb"])
def test_help_of_a_verb(verb: str, form: str) -> None:
    answer = tsr(*form.replace("verb", verb).split())
    assert answer.code == 0
    assert f"tsr {verb}" in answer.out
    assert "--json" in answer.out


def test_every_verb_is_one() -> None:
    """A module of `cli` is a verb, with what a verb has, or it is listed as none."""
    for verb in verbs():
        module = importlib.import_module(f"tessera_rules.cli.{verb}")
        assert isinstance(module.SUMMARY, str)
        assert module.parser().prog == f"tsr {verb}"
        assert callable(module.run)


def test_version() -> None:
    answer = tsr("--version")
    assert answer.code == 0
    assert answer.out.startswith("tsr 0.")


@pytest.mark.parametrize(("typed", "meant"), [("evla", "eval"), ("EVAL", "eval"), ("tset", "test"), ("fmtt", "fmt")])
def test_a_misspelt_verb_gets_the_nearest(typed: str, meant: str) -> None:
    answer = tsr(typed)
    assert answer.code == 2
    assert f"'{typed}'" in answer.err
    assert f"did you mean '{meant}'?" in answer.err


@pytest.mark.parametrize("support", ["main", "arguments", "streams", "rules", "requests", "__main__", "__init__"])
def test_a_module_that_is_no_verb_is_none(support: str) -> None:
    assert tsr(support).code == 2


@pytest.mark.parametrize(
    ("words", "meant"),
    [(["eval", "--machin", "x"], "--machine"), (["fmt", "--chekc", "x"], "--check"), (["test", "--jsn"], "--json"), (["eval", "--asume=all", "x"], "--assume")],
)
def test_a_misspelt_option_gets_the_nearest(words: list[str], meant: str) -> None:
    answer = tsr(*words)
    assert answer.code == 2
    assert words[1].split("=")[0] in answer.err
    assert f"did you mean '{meant}'?" in answer.err


def test_no_option_is_abbreviated() -> None:
    assert tsr("fmt", "--che", "x").code == 2


def test_a_usage_error_with_json_is_a_document() -> None:
    answer = tsr("eval", "--nonsense", "--json")
    assert answer.code == 2
    assert set(answer.json["error"]) == {"kind", "message", "candidate", "clause", "values", "file", "line"}
    assert answer.json["error"]["kind"] == "usage"


def test_options_stand_anywhere(tmp_path: Path) -> None:
    rules, box = write_rules(tmp_path), str(tmp_path / "box.json")
    words = ["matmul", "box", "M=16", "N=16", "K=16", "dtype=f32"]
    forms = [
        ["eval", *words, "--rules", str(rules), "--machine", box, "--json"],
        ["eval", "--json", "--rules", str(rules), "--machine", box, *words],
        ["eval", "--rules", str(rules), *words, "--json", "--machine", box],
        ["--json", "eval", "matmul", "--machine", box, "box", "M=16", "--rules", str(rules), "N=16", "K=16", "dtype=f32"],
        ["eval", "matmul", "--rules", str(rules), "box", "--machine", box, "K=16", "--json", "M=16", "N=16", "dtype=f32"],
        ["--rules", str(rules), "--machine", box, "eval", *words, "--json"],
        ["eval", "--machine", box, "M=16", "matmul", "N=16", "box", "--json", "K=16", "dtype=f32", f"--rules={rules}"],
    ]
    answers = [tsr(*form) for form in forms]
    assert [answer.code for answer in answers] == [0] * len(forms)
    assert len({answer.out for answer in answers}) == 1
    assert answers[0].json["winner"] == "tiled"


def test_rules_is_repeatable_and_takes_several(tmp_path: Path) -> None:
    write_rules(tmp_path)
    text = (tmp_path / "r.tsr").read_text(encoding="utf-8")
    cut = text.index("candidate tiled")
    (tmp_path / "a.tsr").write_text(text[:cut], encoding="utf-8")
    (tmp_path / "b.tsr").write_text("tessera 1\n" + text[cut:], encoding="utf-8")
    request = ["matmul", "box", "M=16", "N=16", "K=16", "dtype=f32", "--machine", tmp_path / "box.json", "--json"]
    once = tsr("eval", *request, "--rules", tmp_path / "a.tsr", tmp_path / "b.tsr")
    twice = tsr("eval", "--rules", tmp_path / "a.tsr", *request, "--rules", tmp_path / "b.tsr")
    assert once.code == twice.code == 0
    assert once.out == twice.out


@pytest.mark.parametrize("verb", ["eval matmul box", "test", "compile", "fmt"])
def test_a_path_that_is_not_there(verb: str, tmp_path: Path) -> None:
    write_rules(tmp_path)
    wrong = tmp_path / "r.trs"
    words = [*verb.split(), "--rules", str(wrong)] if verb.startswith("eval") else [verb, str(wrong)]
    answer = tsr(*words)
    assert answer.code == 2
    assert "r.trs" in answer.err
    assert "r.tsr" in answer.err


@pytest.mark.parametrize("verb", ["eval matmul box", "test", "compile"])
def test_rules_with_an_error_decide_nothing(verb: str, tmp_path: Path) -> None:
    write_rules(tmp_path)
    path = tmp_path / "r.tsr"
    path.write_text(path.read_text(encoding="utf-8").replace("K % 16", "KK % 16"), encoding="utf-8")
    words = [*verb.split(), "--rules", str(path)]
    answer = tsr(*words)
    assert answer.code == 2
    assert answer.out == ""
    line = next(number for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if "KK" in text)
    assert f"{path}:{line}:5: error TSR2" in answer.err
    assert "'KK'" in answer.err
    document = tsr(*words, "--json").json["error"]
    assert document["kind"] == "rules"
    assert document["line"] == line
    assert [row["line"] for row in document["findings"] if row["severity"] == "error"] == [line]


def test_an_internal_error_is_no_traceback(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import tessera_rules.cli.compile as verb

    def broken(*_: object) -> int:
        raise ZeroDivisionError("a mistake of ours")

    monkeypatch.setattr(verb, "run", broken)
    answer = tsr("compile")
    assert answer.code == 2
    assert "internal error, please report it: ZeroDivisionError: a mistake of ours" in answer.err
    assert tsr("compile", "--json").json["error"]["kind"] == "internal"
    monkeypatch.setenv("TSR_DEBUG", "1")
    out, err = io.StringIO(), io.StringIO()
    assert main(["compile"], out, err, io.StringIO()) == 2
    assert "Traceback" in err.getvalue()


def test_ctrl_c_is_said_in_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    import tessera_rules.cli.compile as verb

    def stopped(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(verb, "run", stopped)
    answer = tsr("compile")
    assert (answer.code, answer.err) == (130, "tsr: stopped\n")


def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    path = write_rules(tmp_path)
    command = f'"{sys.executable}" -m tessera_rules.cli compile "{path}" | "{sys.executable}" -c "import sys; sys.stdin.read(1); sys.stdin.close()"'
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""


def test_an_output_that_cannot_show_a_character_still_gets_json(tmp_path: Path) -> None:
    path = write_rules(tmp_path)
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run([sys.executable, "-m", "tessera_rules.cli", "compile", str(path)], capture_output=True, timeout=60, env=environment)
    assert done.returncode == 0
    document = json.loads(done.stdout.decode("ascii"))
    assert document["ops"][0]["doc"] == "a·b."


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("option", "variable", "coloured"), [((), None, True), (("--no-color",), None, False), ((), "1", False), ((), "", True)])
def test_colours(option: tuple[str, ...], variable: str | None, coloured: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    if variable is not None:
        monkeypatch.setenv("NO_COLOR", variable)
    out, err = io.StringIO(), Terminal()
    assert main(["eval", "nothing", "--rules", str(write_rules(tmp_path)), *option], out, err, io.StringIO()) == 2
    assert ("\x1b[" in err.getvalue()) is coloured


def test_tsr_rules_names_the_rules(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TSR_RULES", str(write_rules(tmp_path)))
    answer = tsr("eval", "matmul", "box", "M=16", "N=16", "K=16", "dtype=f32", "--machine", tmp_path / "box.json", "--json")
    assert answer.json["winner"] == "tiled"


def test_rules_beside_the_caller_come_to_the_shipped_ones(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    text = 'tessera 1\nuse "std/ops.tsr"\ntarget mine {}\ncandidate mine_mm {\n  tier emitted\n  target mine\n  op matmul\n  bind python "no.such:mm"\n}\n'
    (tmp_path / "rules" / "mine.tsr").write_text(text, encoding="utf-8")
    (tmp_path / "box.json").write_text('{"machine": 1, "targets": {"mine": {}}}', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    answer = tsr("eval", "matmul", "mine", "M=16", "N=16", "K=16", "dtype=f32", "--machine", "box.json", "--json")
    assert answer.code == 0, answer.out
    assert [row["candidate"] for row in answer.json["verdicts"]] == ["mine_mm"]


def test_warnings_go_to_standard_error(tmp_path: Path) -> None:
    write_rules(tmp_path, RULES.replace('fact arch: one of ["v1", "v2"]', 'fact arch: one of ["v1", "v2"]\n  fact sm: int').replace("M >= 2", "device.sm >= 9"))
    (tmp_path / "box.json").write_text('{"machine": 1, "targets": {"box": {"arch": "v2", "sm": 9}}}', encoding="utf-8")
    answer = decided(tmp_path, "matmul", "box", "M=16", "N=16", "K=16", "dtype=f32")
    assert answer.code == 0
    assert answer.json["winner"] == "tiled"
    assert "warning TSR511" in answer.err
