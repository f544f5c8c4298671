"""Progress: what takes longer than a second is told on a terminal, by name, and wiped away."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

SLOW = """tessera 1
op twice { operand x: [N]; result [N]; dtype x in [f32]; reference python "operator:add" }
target host { }
candidate one { tier emitted; target host; op twice; bind source "k.c" compiler "cc" symbol "f" (ptr x, ptr out, i64 N) returns i32 { ok 0 } }
"""


@pytest.mark.parametrize("words", [["eval"], ["run"], ["probe"]])
def test_a_slow_compile_is_told_on_a_terminal(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "r.tsr").write_text(SLOW)
    (tmp_path / "k.c").write_text("int f(const float *x, float *out, long n) { return 0; }")
    compiler = tmp_path / "slowcc"
    compiler.write_text('#!/bin/sh\ncase "$1" in -shared) sleep 2;; esac\nexec cc "$@"\n')
    compiler.chmod(0o755)
    ours, theirs = pty.openpty()
    call = [*words, *([] if words == ["probe"] else ["twice", "host", "N=4", "dtype=f32"]), "--rules", "r.tsr"]
    environment = {**os.environ, "CC": str(compiler), "TSR_CACHE": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-m", "tessera_rules.cli", *call], stdout=subprocess.PIPE, stderr=theirs, cwd=tmp_path, env=environment, timeout=120)
    os.close(theirs)
    said = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert "compiling k.c … 1 s" in said
    assert said.endswith("\r\x1b[K") or "\r\x1b[K" in said.rpartition("…")[2], "it is wiped away"
    assert "compiling" not in done.stdout.decode()
