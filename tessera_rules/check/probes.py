"""Probes and paths that hold on one machine only, or never."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tessera_rules.check.registry import Mark, check
from tessera_rules.check.subjects import Where
from tessera_rules.diagnostic import Code
from tessera_rules.source import Span
from tessera_rules.syntax import nodes

ABSOLUTE_PATH = Code(
    "TSR446",
    "a library or program by its absolute path",
    "The path is that of the author's machine. Elsewhere the library lies in another folder, and the candidate is unavailable for no good reason.\n\n"
    'Write the name that the loader looks for, `library("libamdhip64.so")`, or a variable, `"$ROCM_PATH/lib/libx.so"`.',
    severity="note",
)
ODD_VARIABLE = Code(
    "TSR447",
    "a `$` that begins no variable",
    "In a probe's string and in a binding's path `$NAME` is an environment variable. `${NAME}`, `$(NAME)` and `%NAME%` are the spelling of other "
    "tools and are taken as they stand, so that the file is never found.\n\nWrite `$NAME`.",
    severity="warning",
)
BARE_VERSION = Code(
    "TSR448",
    "a Python probe with one `=`, or with blanks for a version",
    'The string of `python("…")` is a requirement: a name, then `==`, `>=`, `<`, `~=` or `!=` and a version. `pkg=1.2` and `pkg 1.2` are none.\n\n'
    "Write `pkg==1.2` or `pkg>=1.2`.",
    severity="warning",
)

_ODD = re.compile(r"\$\{[^}]*\}|\$\([^)]*\)|\$(?![A-Za-z_{(])|%[A-Za-z_][A-Za-z0-9_]*%")
_STRINGS = ("library", "symbol", "executable", "file")
_BAD_REQUIREMENT = re.compile(r"[A-Za-z0-9._-]+(\[[^\]]*\])?\s*(=(?!=)|\s+v?[0-9]|=>|=<)")


@check(ABSOLUTE_PATH, nodes.Call)
def absolute_path(call: nodes.Call, _where: Where) -> Iterator[Mark]:
    """`library` or `executable` of a string that begins with `/` or a drive."""
    first = call.arguments[0] if call.arguments else None
    if call.function in ("library", "executable", "symbol") and isinstance(first, nodes.StrLit) and re.match(r"/|[A-Za-z]:[\\/]|~", first.value):
        name = re.split(r"[\\/]", first.value)[-1]
        yield Mark(first.span, f'"{first.value}" is a path of one machine', hint=f'"{name}" is found wherever it lies')


@check(ODD_VARIABLE, nodes.Call, nodes.BindField)
def odd_variable(node: nodes.Call | nodes.BindField, _where: Where) -> Iterator[Mark]:
    """Another tool's spelling of a variable in a probe's string or a binding's path."""
    if isinstance(node, nodes.Call):
        texts = [each for each in node.arguments if isinstance(each, nodes.StrLit)] if node.function in _STRINGS else []
    else:
        texts = [] if node.language == "python" else [node.path]
    for text in texts:
        for match in _ODD.finditer(text.span.text):
            name = re.sub(r"[^A-Za-z0-9_]", "", match[0])
            span = Span(text.span.source, text.span.start + match.start(), text.span.start + match.end())
            yield Mark(span, f"'{match[0]}' is no variable here", hint=f"write ${name}" if name else "a variable is $NAME")


@check(BARE_VERSION, nodes.Call)
def bare_version(call: nodes.Call, _where: Where) -> Iterator[Mark]:
    """`python("pkg=1.2")` and `python("pkg 1.2")`."""
    first = call.arguments[0] if call.arguments else None
    if call.function == "python" and isinstance(first, nodes.StrLit) and _BAD_REQUIREMENT.match(first.value):
        yield Mark(first.span, f'"{first.value}" is no requirement', hint='such as "pkg>=1.2"')
