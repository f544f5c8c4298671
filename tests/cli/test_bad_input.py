"""Whatever stands in a file, a command ends with an exit code and a message of its own: never a traceback, never our mistake."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from tests.cli.command import RULES, tsr, write_rules
from tests.report.loaded_rules import TEXT

CHARACTERS = '\x00\x07\r"\\{};#\u202e\u200b\ufeff\U0001f600'
REQUEST = ["matmul", "box", "M=16", "N=16", "K=16", "dtype=f32"]


def damaged(text: str, draw: random.Random) -> str:
    """Return a text with one thing wrong: cut off, a token lost, changed or doubled, a character that does not belong."""
    tokens = re.split(r"(\s+|\w+|[^\w\s])", text)
    places = [place for place, token in enumerate(tokens) if token.strip()]
    place, other = draw.choice(places), draw.choice(places)
    match draw.randrange(6):
        case 0:
            return text[: draw.randrange(len(text))]
        case 1:
            tokens[place] = ""
        case 2:
            tokens[place] = tokens[other]
        case 3:
            tokens[place] += " " + tokens[other]
        case 4:
            tokens[place], tokens[other] = tokens[other], tokens[place]
        case _:
            at = draw.randrange(len(text))
            return text[:at] + draw.choice(CHARACTERS) + text[at:]
    return "".join(tokens)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", ["small", "whole"])
def test_a_damaged_file_never_ends_in_a_mistake_of_ours(name: str, seed: int, tmp_path: Path) -> None:
    draw = random.Random(f"{name} {seed}")
    path = write_rules(tmp_path, damaged({"small": RULES, "whole": TEXT}[name], draw))
    before = path.read_bytes()
    for words in (
        ["lint", path],
        ["eval", *REQUEST, "--rules", path, "--machine", tmp_path / "box.json"],
        ["test", path],
        ["compile", path],
        ["fmt", "--check", path],
    ):
        answer = tsr(*words)
        assert answer.code in (0, 1, 2)
        assert "internal error" not in answer.out + answer.err
        assert "left alone" not in answer.err
        assert answer.out + answer.err
    assert path.read_bytes() == before


LIMITS = {
    "nothing": b"",
    "binary": bytes(range(256)) * 16,
    "utf-16": "tessera 1\n".encode("utf-16"),
    "parentheses": b"tessera 1\npredicate p = " + b"(" * 5000 + b"1" + b")" * 5000,
    "terms": b"tessera 1\npredicate p = " + b" +\n".join([b"1"] * 50_000),
    "line": b"tessera 1\n# " + b"x" * (2 << 20),
    "missing": b'tessera 1\nuse "nowhere.tsr"\n',
    "cycle": b'tessera 1\nuse "r.tsr"\n',
    "bidi": "tessera 1\n# \u202e\n".encode(),
    "number": b"tessera 1\npredicate p = " + b"9" * 5000,
    "blocks": b"tessera 1\n" + b"for a in [1] {\n" * 300 + b"}\n" * 300,
    "rounds": b"tessera 1\nfor a in 0..1000000000 { target t{a} {} }\n",
    "cut": RULES.encode()[:400],
}


@pytest.mark.parametrize("name", LIMITS)
def test_bad_input_has_its_own_message_and_place(name: str, tmp_path: Path) -> None:
    path = write_rules(tmp_path)
    path.write_bytes(LIMITS[name])
    answer = tsr("lint", path, "--json")
    assert answer.code == 1
    errors = [row for row in answer.json["findings"] if row["severity"] == "error"]
    first = errors[0]
    assert first["file"] == str(path)
    assert len({row["message"] for row in errors}) == len(errors) <= 2, "one cause, one finding"
    decided = tsr("eval", *REQUEST, "--rules", path, "--json")
    assert (decided.code, decided.json["error"]["kind"], decided.json["error"]["line"]) == (2, "rules", first["line"])
    assert len(answer.out) < 200_000


def test_each_bad_input_is_told_apart(tmp_path: Path) -> None:
    path = write_rules(tmp_path)
    codes = {}
    for name, data in LIMITS.items():
        path.write_bytes(data)
        row = tsr("lint", path, "--json").json["findings"][0]
        codes[name] = (row["code"], row["message"])
    assert len(set(codes.values())) == len(codes), codes
