"""The REPL on a real terminal, driven in tmux: completion, input over several lines, paste, history across starts."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

RULES = """tessera 1
use "std/ops.tsr"
target gpu { }
candidate slow { tier synthesized; target gpu; op attention; honours [causal, softcap]; bind python "no.such:slow" }
"""
MACHINE = '{"machine": 1, "targets": {"gpu": {}}}'


class Terminal:
    """One tmux server of its own with `tsr repl` in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = str(folder / "tmux")

    def tmux(self, *words: str, text: str | None = None) -> str:
        return subprocess.run(["tmux", "-S", self.socket, *words], capture_output=True, text=True, input=text, check=True).stdout

    def start(self) -> None:
        command = f"cd {self.folder} && TSR_CACHE={self.folder}/cache {sys.executable} -m tessera_rules.cli repl a.tsr --machine box.json"
        self.tmux("-f", "/dev/null", "new-session", "-d", "-s", "t", "-x", "120", "-y", "40", command)
        self.wait("tsr>")

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p", "-t", "t")

    def wait(self, text: str, seconds: float = 30.0) -> str:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = self.screen()
            if text in found:
                return found
            time.sleep(0.05)
        raise AssertionError(f"'{text}' did not appear:\n{self.screen()}")

    def ended(self) -> None:
        """Wait until the session is over; its server goes with it."""
        end = time.monotonic() + 10
        while time.monotonic() < end:
            if subprocess.run(["tmux", "-S", self.socket, "has-session"], capture_output=True, check=False).returncode:
                return
            time.sleep(0.05)
        raise AssertionError("the session did not end")

    def type(self, *keys: str) -> None:
        self.tmux("send-keys", "-t", "t", *keys)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux: it is not installed")
    (tmp_path / "a.tsr").write_text(RULES)
    (tmp_path / "box.json").write_text(MACHINE)
    made = Terminal(tmp_path)
    yield made
    subprocess.run(["tmux", "-S", made.socket, "kill-server"], capture_output=True, check=False)


def test_D21_history_multi_line_and_paste(terminal: Terminal) -> None:
    terminal.start()
    terminal.type("atten", "Tab")
    terminal.wait("attention")
    terminal.type(" gpu dtype=f16 head_dim=72", "Enter")
    terminal.wait("slow runs")
    terminal.type("candidate typed {", "Enter", "tier hand_tuned; target gpu; op attention", "Enter", 'bind python "no.such:f"', "Enter", "}", "Enter")
    terminal.wait("declared candidate typed")
    terminal.tmux("load-buffer", "-", text='candidate pasted {\n  tier hand_tuned\n  target gpu\n  op attention\n  bind python "no.such:g"\n}')
    terminal.tmux("paste-buffer", "-p", "-t", "t")
    terminal.wait("no.such:g")
    terminal.type("Enter")
    terminal.wait("declared candidate pasted")
    terminal.type("why typed", "Enter")
    terminal.wait("typed (hand_tuned)")
    terminal.type("C-d")
    terminal.ended()
    terminal.start()
    terminal.type("Up")
    terminal.wait("why typed")
