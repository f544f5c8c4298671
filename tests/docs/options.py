"""The options of each verb as tables, between two comments in docs/cli.md. ``python -m tests.docs.options`` writes them anew."""

from __future__ import annotations

import argparse
import re
from importlib import import_module
from pathlib import Path

from tessera_rules.cli.arguments import parser_for
from tessera_rules.cli.main import verbs

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cli.md"
EVERY = "every verb"
AFTER_VERBS = "## Exit codes\n"
"""The heading that comes after the sections of the verbs."""
MARK = re.compile(r"(?P<open><!-- options of (?P<verb>[\w ]+) -->\n).*?(?P<close><!-- end -->)", re.DOTALL)


def own_actions(verb: str) -> list[argparse.Action]:
    """Return what a verb takes beyond what every verb takes; for `EVERY` what every verb takes."""
    shared = {name for action in parser_for("", "")._actions for name in action.option_strings}
    if verb == EVERY:
        return parser_for("", "")._actions
    parser = import_module(f"tessera_rules.cli.{verb}").parser()
    return [action for action in parser._actions if not set(action.option_strings) & shared]


def table(verb: str) -> str:
    """Return the options of a verb as a Markdown table, and what its help says besides."""
    rows = [f"| `{_cell(_spelled(action))}` | {_cell(action.help or '')} |" for action in own_actions(verb)]
    made = "\n".join(["| | |", "| --- | --- |", *rows]) + "\n" if rows else "It takes nothing of its own.\n"
    more = None if verb == EVERY else import_module(f"tessera_rules.cli.{verb}").parser().epilog
    return f"{made}\n```text\n{more.rstrip()}\n```\n" if more else made


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
    return {match["verb"] for match in MARK.finditer(text)} - {EVERY}


def with_sections(text: str) -> str:
    """Return the page with a section for every verb that has none: its summary and its options, for somebody to write the rest."""
    for verb in verbs():
        if verb not in described(text):
            summary = import_module(f"tessera_rules.cli.{verb}").SUMMARY
            section = f"## tsr {verb}\n\n{summary[0].upper()}{summary[1:]}.\n\n<!-- options of {verb} -->\n<!-- end -->\n\n"
            text = text.replace(AFTER_VERBS, section + AFTER_VERBS)
    return text


if __name__ == "__main__":
    PAGE.write_text(with_tables(with_sections(PAGE.read_text(encoding="utf-8"))), encoding="utf-8")
