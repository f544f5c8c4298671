"""The REPL without a terminal: what each line gives."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tessera_rules.cli.main import main
from tessera_rules.repl.complete import completions
from tessera_rules.repl.console import Console, chunks, is_complete
from tessera_rules.repl.highlight import fragments
from tessera_rules.session import open_arbiter

RULES = """tessera 1
use "std/ops.tsr"
target gpu { fact arch: one of ["g1", "g2"] }
candidate fast { "the fast one"
  tier hand_tuned; target gpu; op attention
  available { device.arch == "g1" }
  requires { head_dim % 16 == 0 because "whole tiles" }
  honours [causal]
  bind python "no.such:fast"
}
candidate slow { tier synthesized; target gpu; op attention; honours [causal, softcap]; bind python "no.such:slow" }
"""
ASK = "attention gpu dtype=f16 B=1 Hq=8 Hkv=8 Sq=8 Skv=8 Dv=8 head_dim="
MACHINE = {"machine": 1, "os": "linux", "targets": {"gpu": {"arch": "g1"}}}


@pytest.fixture
def console(tmp_path: Path) -> Console:
    (tmp_path / "a.tsr").write_text(RULES)
    return Console(open_arbiter([tmp_path / "a.tsr"], MACHINE), "box")


def say(console: Console, line: str) -> str:
    reply = console.execute(line)
    assert reply.ok, reply.text
    return reply.text


def test_a_request_and_why(console: Console) -> None:
    assert "slow runs" in say(console, ASK + "72")
    assert "head_dim % 16 == 0" in say(console, "why fast")
    assert "whole tiles" in say(console, "why not")
    assert "slow runs" in say(console, "why")


def test_what_if_changes_one_thing_and_forgets_it_again(console: Console) -> None:
    say(console, ASK + "72")
    assert say(console, "what if head_dim=80").startswith("with head_dim=80: fast instead of slow")
    assert "slow runs" in say(console, "why")


def test_a_sweep_is_a_table(console: Console) -> None:
    say(console, ASK + "72")
    lines = say(console, "sweep head_dim=16..32 step 8").splitlines()
    assert lines[0].split()[:2] == ["head_dim", "winner"]
    assert [line.split()[:2] for line in lines[1:]] == [["16", "fast"], ["24", "slow"], ["32", "fast"]]
    assert "none" in say(console, "sweep causal=true,false") or "fast" in say(console, "sweep causal=true,false")


def test_a_declaration_counts_and_a_later_one_replaces_it(console: Console) -> None:
    text = 'candidate mine {{\n  tier hand_tuned; target gpu; op attention\n  requires {{ head_dim == {0} }}\n  bind python "no.such:f"\n}}'
    say(console, ASK + "72")
    assert "mine" in say(console, text.format(72))
    assert "mine runs" in say(console, "why")
    say(console, text.format(73))
    assert "slow runs" in say(console, "why")


def test_machine_and_assume(console: Console, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps({**MACHINE, "targets": {"gpu": {"arch": "g2"}}}))
    say(console, ASK + "64")
    assert str(other) in say(console, f"machine {other}")
    assert "slow runs" in say(console, "why")
    assert "fast" in say(console, "assume fast")
    assert "fast runs" in say(console, "why")
    assert "none" in say(console, "assume none")
    assert "slow runs" in say(console, "why")


def test_show_gives_a_declaration_as_written(console: Console) -> None:
    assert '"the fast one"' in say(console, "show fast")
    assert "candidates of attention on gpu: fast, slow" in say(console, "show")


def test_reload_reads_the_files_again_and_keeps_what_was_typed(console: Console, tmp_path: Path) -> None:
    say(console, "rule r { op attention  deny slow }")
    (tmp_path / "a.tsr").write_text(RULES.replace("head_dim % 16 == 0", "head_dim % 8 == 0"))
    assert "2 candidates" in say(console, "reload")
    text = say(console, ASK + "72")
    assert "fast runs" in text
    assert "denied" in text


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("whyy", "why"),
        ("why fast", "no request yet"),
        ("atention gpu M=1", "attention"),
        ("attention gpu hed_dim=3", "head_dim"),
        ("attention gpu head_dim=x", "int"),
        ("sweep head_dim", "sweep head_dim=16..256"),
        ("sweep head_dim=9..1", "holds nothing"),
        ("machine nowhere.json", "nowhere.json"),
        ("assume nobody", "nobody"),
        ("show nobody", "nobody"),
        ("candidate x { teir emitted }", "tier"),
        ('candidate "', ""),
        ("what now", "if"),
        ("attention gpu 'open", "words"),
    ],
)
def test_a_bad_line_is_answered_and_the_session_goes_on(console: Console, line: str, expected: str) -> None:
    reply = console.execute(line)
    assert not reply.ok
    assert expected in reply.text
    assert "Traceback" not in reply.text
    assert "slow runs" in say(console, ASK + "72")


def test_run_makes_inputs_and_compares(tmp_path: Path) -> None:
    console = Console(open_arbiter([Path("rules")] if Path("rules/x86.tsr").is_file() else []))
    text = say(console, "run softmax x86 M=3 N=5 dtype=f32")
    assert "x86_numpy_softmax ran" in text
    assert "right: error" in text
    assert "median" in say(console, "measure softmax x86 M=3 N=5 dtype=f32")


def test_D21_piped_input_answers_every_line_and_says_by_its_exit_code_whether_one_failed(tmp_path: Path) -> None:
    (tmp_path / "a.tsr").write_text(RULES)
    (tmp_path / "box.json").write_text(json.dumps(MACHINE))
    text = f'{ASK}72\n# a comment\ncandidate mine {{\n  tier hand_tuned; target gpu; op attention\n  bind python "no.such:f"\n}}\nwhy mine\n'
    outs = [io.StringIO(), io.StringIO()]
    words = ["repl", str(tmp_path / "a.tsr"), "--machine", str(tmp_path / "box.json")]
    assert main(words, *outs, io.StringIO(text)) == 0
    assert "slow runs" in outs[0].getvalue()
    assert "declared candidate mine" in outs[0].getvalue()
    assert "mine" in outs[0].getvalue().splitlines()[-2]
    assert "\x1b[" not in outs[0].getvalue()
    outs = [io.StringIO(), io.StringIO()]
    assert main(words, *outs, io.StringIO("nonsense\n" + text)) == 1
    assert "nonsense" in outs[1].getvalue()
    assert "slow runs" in outs[0].getvalue()


def test_an_input_goes_on_until_its_brackets_close() -> None:
    assert list(chunks(["why\n", "candidate x {\n", "  # } not here\n", '  "}"\n', "}\n", "why not"])) == [
        "why\n",
        'candidate x {\n  # } not here\n  "}"\n}\n',
        "why not\n",
    ]
    assert is_complete("predicate p = M == 1")
    assert not is_complete("predicate p =")


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("atte", "attention"),
        ("why f", "fast"),
        ("attention ", "gpu"),
        ("attention gpu he", "head_dim="),
        ("attention gpu cau", "causal="),
        ("attention gpu causal=t", "true"),
        ("attention gpu dtype=bf", "bf16"),
        ("fused_matmul gpu epilogue=bias,ge", "gelu"),
        ("attention gpu given=", "mask"),
        ("show sl", "slow"),
        ("what ", "if"),
        ("sweep head", "head_dim="),
        ("cand", "candidate"),
    ],
)
def test_completion_knows_what_fits(console: Console, before: str, expected: str) -> None:
    assert expected in [found.text for found in completions(console.arbiter.ruleset, before)]


def test_colours_leave_the_text_as_it_is(console: Console) -> None:
    line = 'candidate fast { requires { head_dim % 16 == 0 because "x" } } # why'
    pieces = fragments(line, console.arbiter.ruleset)
    assert "".join(text for _, text in pieces) == line
    assert ("keyword", "candidate") in pieces
    assert ("name", "fast") in pieces
    assert ("string", '"x"') in pieces
    assert ("comment", "# why") in pieces
