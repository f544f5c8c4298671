"""``# tsr: ignore[TSR401]``: findings that an author has seen and keeps; one that silences nothing is a finding itself."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from attrs import define, field

from tessera_rules.diagnostic import CODES, Code, Edit, Finding
from tessera_rules.nearest import did_you_mean
from tessera_rules.source import Source, Span
from tessera_rules.syntax import nodes

UNUSED = Code(
    "TSR490",
    "a suppression that silences nothing",
    "A comment `# tsr: ignore[…]` names a code that is not found on its line. What it once silenced is mended, or has moved away, and the next "
    "finding of that kind on this line would be hidden.\n\nDelete the code, or the comment.",
    severity="warning",
)
UNKNOWN = Code(
    "TSR491",
    "a suppression that cannot be read",
    "A comment begins like a suppression and is none: the code does not exist, the list is missing or empty, or the code is one that cannot be "
    "silenced. Syntax findings (`TSR0xx`) cannot be: a text that does not parse means nothing.\n\n"
    "Write `# tsr: ignore[TSR401]`, several codes parted by commas.",
    severity="warning",
)

SOLVER = frozenset({"TSR501", "TSR502", "TSR503", "TSR504", "TSR505", "TSR506", "TSR510", "TSR512", "TSR590"})
"""Codes that only ``tsr check`` finds: to ``tsr lint`` their suppressions are neither unknown nor unused."""
ELSEWHERE = frozenset({"TSR190"})
"""Codes that need more than the files (a team's schema)."""

_SUPPRESSION = re.compile(r"#\s*tsr\s*:\s*(?P<word>[A-Za-z-]+)\s*(?:\[(?P<codes>[^\]]*)(?P<close>\])?)?", re.IGNORECASE)
_CODE = re.compile(r"[^,\s]+")


@define
class Suppression:
    """One code of one comment."""

    code: str
    line: int
    span: Span
    comment: Span
    alone: bool
    used: bool = field(default=False)


def read_suppressions(file: nodes.File) -> tuple[list[Suppression], list[Finding]]:
    """Return the suppressions of a file and what is wrong with them. Reports TSR491."""
    found: list[Suppression] = []
    wrong: list[Finding] = []
    for comment in file.comments:
        match = _SUPPRESSION.search(comment.text)
        if match is None:
            continue
        source, start = comment.span.source, comment.span.start
        span = Span(source, start + match.start(), start + match.end())
        if match["word"].lower() != "ignore" or match["codes"] is None or match["close"] is None or not match["codes"].strip(" ,"):
            wrong.append(UNKNOWN.at(span, f"'{span.text}' silences nothing", hint="write # tsr: ignore[TSR401]"))
            continue
        codes = list(_CODE.finditer(comment.text, match.start("codes"), match.end("codes")))
        for code in codes:
            place = Span(source, start + code.start(), start + code.end())
            if code[0].startswith("TSR0") and code[0] in CODES:
                wrong.append(UNKNOWN.at(place, f"{code[0]} is a syntax finding and cannot be silenced", hint="mend it"))
            elif code[0] in CODES or code[0] in SOLVER:
                found.append(Suppression(code[0], comment.span.line, place, span, len(codes) == 1))
            else:
                wrong.append(UNKNOWN.at(place, f"there is no code '{code[0]}'", hint=did_you_mean(code[0], sorted(CODES), "code")))
    return found, wrong


def silence(findings: Iterable[Finding], files: Sequence[nodes.File], *, not_run: Collection[str]) -> list[Finding]:
    """Return the findings that no suppression silences, and those about suppressions. Reports TSR490.

    ``not_run`` are codes that this run did not look for: their suppressions are not called unused, nor are those of a file
    with an error, where what is damaged was not looked at.
    """
    findings = list(findings)
    in_error = {each.span.source for each in findings if each.severity == "error"}
    by_place: dict[tuple[Source, int, str], list[Suppression]] = {}
    kept: list[Finding] = []
    for file in files:
        found, wrong = read_suppressions(file)
        kept += wrong
        for each in found:
            by_place.setdefault((file.source, each.line, each.code), []).append(each)
    for finding in findings:
        here = by_place.get((finding.span.source, finding.span.line, finding.code)) if by_place else None
        if here is None:
            kept.append(finding)
        else:
            here[0].used = True
    for group in by_place.values():
        for each in group:
            if not each.used and each.code not in not_run and each.span.source not in in_error:
                edits = (_removal(each),) if each.alone else ()
                kept.append(UNUSED.at(each.span, f"no {each.code} is found on this line", hint="delete the suppression", edits=edits))
    return kept


def _removal(each: Suppression) -> Edit:
    """Return the edit that deletes a comment's suppression, and the blanks before it."""
    text = each.comment.source.text
    start, end = each.comment.start, each.comment.end
    rest = text[end : text.find("\n", end) if text.find("\n", end) >= 0 else len(text)]
    if rest.strip():
        return Edit(Span(each.comment.source, start, end + len(rest) - len(rest.lstrip())), "" if rest.lstrip().startswith("#") else "# ")
    line = text.rfind("\n", 0, start) + 1
    if not text[line:start].strip():
        stop = text.find("\n", end)
        return Edit(Span(each.comment.source, line, len(text) if stop < 0 else stop + 1), "")
    while text[start - 1] in " \t":
        start -= 1
    return Edit(Span(each.comment.source, start, end + len(rest.rstrip("\r"))), "")
