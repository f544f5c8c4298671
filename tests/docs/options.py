"""The options of each verb as tables, between two comments in docs/cli.md. ``python tests/docs/options.py`` writes them anew."""

from __future__ import annotations

import argparse
import re
import sys
from importlib import import_module
from pathlib import Path

from tessera_rules.cli.arguments import parser_for
from tessera_rules.cli.main import verbs

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cli.md"
MARK = re.compile(r"(?P<open><!-- options of (?P<verb>[\w ]+) -->\n).*?(?P<close><!-- end -->)", re.DOTALL)


def own_actions(verb: str) -> list[argparse.Action]:
    """Return what a verb takes beyond what every verb takes; with ``every`` what every verb takes."""
    shared = {name for action in parser_for("", "")._actions for name in action.option_strings}
    if verb == "every verb":
        return parser_for("", "")._actions
    parser = import_module(f"tessera_rules.cli.{verb}").parser()
    return [action for action in parser._actions if not set(action.option_strings) & shared]


def table(verb: str) -> str:
    """Return the options of a verb as a Markdown table."""
    rows = [f"| `{_spelled(action)}` | {_cell(action.help or '')} |" for action in own_actions(verb)]
    return "\n".join(["| | |", "| --- | --- |", *rows]) + "\n" if rows else "It takes nothing of its own.\n"


def _spelled(action: argparse.Action) -> str:
    value = action.metavar if isinstance(action.metavar, str) else " ".join(action.metavar or ()) or (action.dest.upper() if action.nargs != 0 else "")
    if not action.option_strings:
        return f"{value}…"
    several = "…" if action.nargs in ("+", "*") else ""
    return ", ".join(action.option_strings) + (f" {value}{several}" if action.nargs != 0 else "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def with_tables(text: str) -> str:
    """Return the page with every table as the parsers have it now."""
    return MARK.sub(lambda match: f"{match['open']}{table(match['verb'])}{match['close']}", text)


def described(text: str) -> set[str]:
    """Return the verbs of which the page has a table."""
    return {match["verb"] for match in MARK.finditer(text)} - {"every verb"}


if __name__ == "__main__":
    before = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(with_tables(before), encoding="utf-8")
    lacking = sorted(set(verbs()) - described(before))
    if lacking:
        sys.exit(f"docs/cli.md has no section for {', '.join(lacking)}")
