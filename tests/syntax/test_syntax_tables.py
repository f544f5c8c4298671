"""The tables are those of the grammar, a start needs no Lark, and Lark's own parser agrees with ours."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from lark import Lark, Token

from tessera_rules.resources import resource
from tessera_rules.source import Source
from tessera_rules.syntax.layout import Roles
from tessera_rules.syntax.parser import Parser
from tessera_rules.syntax.tables import compute, tables
from tests.syntax.texts import EXAMPLES

ROOT = Path(__file__).resolve().parents[2]
GRAMMAR = (resource("grammars") / "tsr.lark").read_text(encoding="utf-8")


def test_the_stored_tables_are_those_of_the_grammar() -> None:
    stored = json.loads((resource("grammars") / "tsr.tables.json").read_text(encoding="utf-8"))
    fresh = json.loads(json.dumps(compute(GRAMMAR)))
    assert stored["digest"] == fresh["digest"], "run: python -m tessera_rules.syntax.tables"
    # Numbers of states may differ from one Lark to the next; what the tables say may not.
    assert len(stored["actions"]) == len(fresh["actions"])
    assert sorted(map(tuple, [[a, b, c or ""] for a, b, c in stored["rules"]])) == sorted(map(tuple, [[a, b, c or ""] for a, b, c in fresh["rules"]]))
    assert stored["patterns"] == fresh["patterns"]


def test_parsing_imports_no_lark() -> None:
    code = (
        "import sys; from tessera_rules.source import Source; from tessera_rules.syntax import parse\n"
        "assert parse(Source('t', 'tessera 1\\npredicate p = a == 1\\n'))[1] == ()\n"
        "heavy = {'lark', 'numpy', 'jsonschema', 'ctypes', 'prompt_toolkit'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_tables_of_another_grammar_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tsr.lark").write_text(
        GRAMMAR.replace('"tier" NAME                            -> name_field', '"rank" NAME                            -> name_field')
    )
    (tmp_path / "tsr.tables.json").write_text((resource("grammars") / "tsr.tables.json").read_text())
    monkeypatch.setattr("tessera_rules.syntax.tables.resource", lambda kind: tmp_path)
    assert "rank" in tables.__wrapped__().literals
    (tmp_path / "tsr.tables.json").write_text("{broken")
    assert "rank" in tables.__wrapped__().literals


def test_every_alternative_has_a_method() -> None:
    missing = [method for _, _, method in tables().rules if method is not None and not callable(getattr(Roles, method, None))]
    assert missing == []
    assert all(length == 1 for _, length, method in tables().rules if method is None)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_larks_own_parser_takes_the_same_tokens(path: Path) -> None:
    lark = Lark(GRAMMAR, parser="lalr", lexer="contextual", start=["file", "expr"])
    names = {terminal.pattern.value: terminal.name for terminal in lark.terminals}
    parser = Parser(Roles(Source(path.name, path.read_text(encoding="utf-8"))))
    parser.taken = []
    parser.run()
    theirs = lark.parse_interactive("", start="file")
    for kind, start, end in parser.taken:
        theirs.feed_token(Token(names.get(kind, kind), parser.builder.source.text[start:end]))
    theirs.feed_eof()
