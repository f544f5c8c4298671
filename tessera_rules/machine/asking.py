"""Questions to this machine, each asked afresh: the CPU's flags, installed packages, and what a child has to find out."""

from __future__ import annotations

import os
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from tessera_rules.machine.base import Answer
from tessera_rules.machine.cpu import ALIASES, cpu
from tessera_rules.machine.processes import Ended, Process
from tessera_rules.machine.requirement import parse_requirement
from tessera_rules.nearest import nearest

PROBE_SECONDS = 5.0
"""Time limit of a probe."""
_ASKED = Path(__file__).with_name("asked.py")


def cpu_flag(text: str) -> Answer:
    """Whether every core has a flag, by Linux's name or an alias."""
    here = cpu()
    if here.has(text):
        return Answer(True, f"the CPU has {text}")
    near = nearest(text, [*here.flags, *ALIASES]) if text.lower() not in ALIASES else None
    return Answer(False, f"the CPU ({here.model}) has no {text}" + (f"; it has '{near}'" if near in here.flags else ""))


def installed_version(name: str) -> str | None:
    """Return the version of a distribution by its metadata; nothing is imported.

    >>> installed_version("no-such-distribution") is None
    True
    """
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def distribution(text: str) -> Answer:
    """Whether a Python package is installed in a version that a requirement admits; nothing is imported."""
    wanted = parse_requirement(text)
    if wanted is None:
        return Answer(False, f'"{text}" is no requirement, such as "torch>=2.9"')
    version = installed_version(wanted.name)
    if version is None:
        return Answer(False, f"no Python package {wanted.name} is installed")
    met = wanted.met_by(version)
    return Answer(met, f"{wanted.name} is {version}" + ("" if met else f", and {text} is wanted"))


def isolated(question: dict[str, Any], what: str, seconds: float) -> Answer:
    """Ask a child that may crash."""
    with Process(_ASKED, site=False) as child:
        answer = child.ask({**question, "seconds": seconds}, seconds)
    if isinstance(answer, Ended):
        return Answer(False, f"{what} does not load: {answer.reason}")
    return (
        Answer(True, f"{what} is there")
        if answer["ok"]
        else Answer(False, f"{what} does not load: {answer['reason']}" if "raised" in answer else answer["reason"])
    )


def load_elsewhere(path: str, seconds: float = PROBE_SECONDS) -> str | None:
    """Say why a library does not load, tried in a child process, or None where it does."""
    with Process(_ASKED, site=False) as child:
        answer = child.ask({"do": "library", "name": path, "seconds": seconds}, seconds)
    if isinstance(answer, Ended):
        return answer.reason
    return None if answer["ok"] else str(answer["reason"])


def call(module: str, name: str, seconds: float) -> dict[str, Any] | str:
    """Return the answer of a callable, asked in a child, or why there is none."""
    with Process(_ASKED) as child:
        question = {"do": "call", "module": module, "name": name, "path": [each or os.getcwd() for each in sys.path], "seconds": seconds}
        answer = child.ask(question, seconds)
    if isinstance(answer, Ended):
        return answer.reason
    return answer if answer["ok"] else str(answer["reason"])
