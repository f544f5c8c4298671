"""What a verb can be given: a parser that raises instead of leaving, and the options that every verb has."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from tessera_rules.errors import UsageError
from tessera_rules.nearest import did_you_mean


class Parser(argparse.ArgumentParser):
    """Parses one verb's words, options anywhere between them; what is wrong is a `UsageError` with a way on."""

    def __init__(self, verb: str, **settings: Any) -> None:
        super().__init__(
            prog=f"tsr {verb}", allow_abbrev=False, add_help=False, formatter_class=argparse.RawDescriptionHelpFormatter, exit_on_error=False, **settings
        )

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would print before it leaves."""
        raise UsageError(message, hint=f"{self.prog} --help")

    def read(self, argv: Sequence[str]) -> argparse.Namespace:
        """Return the options and words of a command line."""
        try:
            options, rest = self.parse_known_intermixed_args(list(argv))
        except argparse.ArgumentError as wrong:
            raise UsageError(str(wrong), hint=f"{self.prog} --help") from None
        for word in rest:
            if word.startswith("-") and word != "-":
                name = word.split("=", 1)[0]
                raise UsageError(f"{self.prog} has no option {name}", hint=did_you_mean(name, self._long_options(), "option"))
        if rest:
            raise UsageError(f"{self.prog} does not take '{rest[0]}'", hint=f"{self.prog} --help")
        return options

    def _long_options(self) -> list[str]:
        return [name for action in self._actions for name in action.option_strings if name.startswith("--")]


def parser_for(verb: str, summary: str, epilog: str | None = None) -> Parser:
    """Return a verb's parser with what all verbs take: ``--json --rules --no-color --help``."""
    parser = Parser(verb, description=summary, epilog=epilog)
    common = parser.add_argument_group("options of every verb")
    common.add_argument("--json", action="store_true", help="one JSON document on standard output")
    common.add_argument(
        "--rules", nargs="+", action="append", default=[], metavar="PATH", help="rule files or folders; default: those that ship, and ./rules if there"
    )
    common.add_argument("--no-color", action="store_true", help="no colours (as NO_COLOR)")
    common.add_argument("-h", "--help", action="store_true", help="this text")
    return parser


def names_of(groups: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the names of an option that is repeatable and takes lists by comma.

    >>> names_of([["a,b"], ["c", "d,"]])
    ('a', 'b', 'c', 'd')
    """
    return tuple(name.strip() for group in groups for word in group for name in word.split(",") if name.strip())


def give_back(words: list[str], wanted: int, *lists: list[list[str]]) -> list[str]:
    """Return a verb's plain words after taking back those that an option with several values had swallowed.

    ``--rules PATH…`` and ``--assume NAME…`` cannot know where the verb's own words begin, so ``--rules r.tsr attention
    rocm M=4`` gives all four to ``--rules``. ``k=v`` words go back wherever they stand; of the others as many as the verb
    still lacks of ``wanted``, from the end; each option keeps its first value. The lists are changed in place.

    >>> rules = [["r.tsr", "attention", "rocm", "M=4"]]
    >>> give_back([], 2, rules), rules
    (['attention', 'rocm', 'M=4'], [['r.tsr']])
    """
    plain = [word for word in words if "=" not in word]
    pairs = [word for word in words if "=" in word]
    groups = [group for groups in lists for group in groups]
    for group in groups:
        pairs += [word for word in group[1:] if "=" in word]
        group[1:] = [word for word in group[1:] if "=" not in word]
    for group in reversed(groups):
        missing = wanted - len(plain)
        taken = max(0, min(missing, len(group) - 1))
        if taken:
            plain += group[-taken:]
            del group[-taken:]
    return plain + pairs
