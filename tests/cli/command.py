"""Runs `tsr` in process, and the rules that most command tests use."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from attrs import frozen

from tessera_rules.cli import main

RULES = """tessera 1
op matmul {
  "a·b."
  operand a: [M, K]
  operand b: [K, N]
  operand bias?: [N]
  result [M, N]
  attr act: one of [none, relu, gelu] = none
  attr epilogue: list of [bias, relu] = []
  attr scale: float?
  dtype a in [f32, f16]
  check M <= 4096 because "rows fit one launch"
  reference python "no.such:matmul"
}
target box {
  fact arch: one of ["v1", "v2"]
}
candidate tiled {
  "Tiles of 16."
  tier hand_tuned
  target box
  op matmul
  available { device.arch == "v2" because "needs the matrix unit" }
  requires {
    K % 16 == 0 because "one tile"
    M >= 2
  }
  honours [act]
  accuracy { atol 1e-3 }
  bind python "no.such:tiled"
}
candidate plain {
  tier synthesized
  target box
  op matmul
  honours [act, bias, epilogue, scale]
  bind python "no.such:plain"
}
rule ragged {
  op matmul
  when N == 7
  deny tiled
  because "seven columns"
}
test "aligned" {
  request matmul on box { dtype f32  M 16  N 16  K 16 }
  device { arch "v2" }
  expect tiled
}
"""
MACHINE = {"machine": 1, "os": "linux", "targets": {"box": {"arch": "v2"}}}


@frozen
class Answer:
    """What a command gave."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as the one JSON document that it is."""
        return json.loads(self.out)


def tsr(*words: str | Path, stdin: str = "") -> Answer:
    """Run a command in process."""
    out, err = io.StringIO(), io.StringIO()
    code = main([str(word) for word in words], out, err, io.StringIO(stdin))
    assert "Traceback" not in out.getvalue() + err.getvalue()
    return Answer(code, out.getvalue(), err.getvalue())


def write_rules(folder: Path, text: str = RULES) -> Path:
    """Write rules and the machine; return the rule file."""
    (folder / "box.json").write_text(json.dumps(MACHINE), encoding="utf-8")
    path = folder / "r.tsr"
    path.write_text(text, encoding="utf-8")
    return path


def decided(folder: Path, *words: str, machine: bool = True) -> Answer:
    """Run ``eval --json`` on the rules of a folder."""
    stated = ["--machine", folder / "box.json"] if machine else []
    return tsr("eval", *words, "--rules", folder / "r.tsr", *stated, "--json")
