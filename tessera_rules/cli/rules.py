"""Which rules a command is about, and the load of them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from tessera_rules.cli.arguments import give_back
from tessera_rules.cli.streams import Streams
from tessera_rules.errors import UsageError
from tessera_rules.model.load import load
from tessera_rules.model.values import Ruleset
from tessera_rules.nearest import nearest
from tessera_rules.resources import rules_folder


@frozen
class RulePaths:
    """Files and folders to load. ``untrusted`` are those that nobody named: the ``./rules`` that lay there."""

    paths: tuple[Path, ...]
    untrusted: tuple[Path, ...] = ()


def rule_paths(named: Sequence[str]) -> RulePaths:
    """Return the rules that a command is about: those named, else ``TSR_RULES``, else those that ship and ``./rules``."""
    listed = list(named) or [name for name in os.environ.get("TSR_RULES", "").split(os.pathsep) if name]
    if listed:
        return RulePaths(tuple(map(Path, listed)))
    shipped, here = rules_folder(), Path("rules")
    if here.is_dir() and here.resolve() != shipped.resolve():
        return RulePaths((shipped, here), () if _trusted(here) else (here,))
    return RulePaths((shipped,))


def load_rules(named: Sequence[str], streams: Streams) -> Ruleset:
    """Load rules to decide with: errors in them end the command, warnings go to standard error.

    Raises: `RuleError` with every finding, `UsageError` for a path that is not there.
    """
    chosen = rule_paths(named)
    loaded = load(chosen.paths, untrusted=chosen.untrusted)
    ruleset = loaded.ruleset_or_raise()
    streams.tell_findings(finding for finding in loaded.findings if finding.severity == "warning")
    return ruleset


def readable(name: str) -> Path:
    """Return a path that is there; another is the caller's mistake, with the nearest name in its folder."""
    path = Path(name)
    try:
        if path.exists():
            return path
        beside = sorted(entry.name for entry in path.parent.iterdir()) if path.parent.is_dir() else []
    except (OSError, ValueError) as error:
        raise UsageError(f"'{name}' cannot be read: {error}") from None
    near = nearest(path.name, beside)
    raise UsageError(f"'{name}' is no file or folder", hint=f"did you mean '{path.with_name(near)}'?" if near else None)


def named_paths(options: argparse.Namespace) -> list[str]:
    """Return the rules that a verb is given as words and with ``--rules``."""
    return [*options.words, *named_rules(options)]


def named_rules(options: argparse.Namespace) -> list[str]:
    """Return the rules that ``--rules`` names, however often it stands."""
    return [name for group in options.rules for name in group]


def asked_rules(options: argparse.Namespace, wanted: int, *lists: list[list[str]]) -> tuple[list[str], list[str]]:
    """Return a verb's own words and the rules that ``--rules`` names, told apart (see `give_back`)."""
    words = give_back(list(options.words), wanted, options.rules, *lists)
    return words, named_rules(options)


def _trusted(folder: Path) -> bool:
    named = [Path(name).resolve() for name in os.environ.get("TSR_TRUST", "").split(os.pathsep) if name]
    return any(folder.resolve() == path or path in folder.resolve().parents for path in named)
