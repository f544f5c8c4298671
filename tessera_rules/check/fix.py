"""Mending: the edits of findings with one right answer, applied until nothing changes. Nothing here reads or writes files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from attrs import define, field, frozen

from tessera_rules.diagnostic import Edit, Finding

MOST_ROUNDS = 50
"""Rounds before a file is given up: each must lead to a content not seen before, so this ends what grows for ever."""

Lint = Callable[[Mapping[str, str]], Sequence[Finding]]
"""Findings of the load with the given texts (by path) in place of what the files hold."""


@frozen
class Stuck:
    """A file that is left as it was, and why. ``codes`` are the fixes that undid each other, or the one that broke it."""

    path: str
    codes: tuple[str, ...]
    reason: str


@define
class Fixed:
    """What mending led to: new texts by path, how many findings were mended in each, files left alone, findings that remain."""

    texts: dict[str, str] = field(factory=dict)
    mended: dict[str, int] = field(factory=dict)
    stuck: list[Stuck] = field(factory=list)
    findings: tuple[Finding, ...] = ()


@define
class _History:
    """The contents that one file has had, and the codes that led to the last one."""

    original: str
    seen: set[str]
    codes: tuple[str, ...] = ()
    rounds: int = 0


def fix(lint: Lint, paths: Iterable[str]) -> Fixed:
    """Apply edits to the files of ``paths`` until no finding has any.

    A file with a syntax error is never touched. One whose fixes lead back to a content that it had, or to an error that it
    had not, is left as it was before the first of them, and the codes are named.
    """
    done = Fixed()
    files = set(paths)
    history: dict[str, _History] = {}
    findings = lint(done.texts)
    errors_before = _errors(findings)
    while True:
        by_path: dict[str, list[Finding]] = {}
        for finding in findings:
            path = finding.span.source.path
            if path in files and path is not None:
                by_path.setdefault(path, []).append(finding)
        changed: dict[str, tuple[str, tuple[str, ...]]] = {}
        for path, found in sorted(by_path.items()):
            if any(finding.severity == "error" and finding.code.startswith("TSR0") for finding in found):
                if any(finding.edits for finding in found):
                    files.discard(path)
                    done.stuck.append(Stuck(path, (), "it has a syntax error"))
                continue
            text = found[0].span.source.text
            new, applied = apply_edits(text, found)
            if new == text:
                continue
            past = history.setdefault(path, _History(text, {text}))
            past.rounds += 1
            if new in past.seen or past.rounds > MOST_ROUNDS:
                codes = tuple(sorted({*past.codes, *applied}))
                reason = f"the fixes of {' and '.join(codes)} undo each other" if new in past.seen else f"the fixes of {' and '.join(codes)} never end"
                _leave(done, files, path, past, Stuck(path, codes, reason))
                changed[path] = (past.original, ())
                continue
            past.seen.add(new)
            past.codes = applied
            done.texts[path] = new
            done.mended[path] = done.mended.get(path, 0) + len(applied)
            changed[path] = (new, applied)
        if not changed:
            done.findings = tuple(findings)
            return done
        findings = lint(done.texts)
        worse = {path for path, count in _errors(findings).items() if count > errors_before.get(path, 0)}
        if worse:
            for path, (_, applied) in changed.items():
                if path in files:
                    codes = tuple(sorted(set(applied)))
                    _leave(done, files, path, history[path], Stuck(path, codes, f"a fix of {' or '.join(codes)} would make an error"))
            findings = lint(done.texts)


def _leave(done: Fixed, files: set[str], path: str, past: _History, stuck: Stuck) -> None:
    done.texts.pop(path, None)
    done.mended.pop(path, None)
    files.discard(path)
    done.stuck.append(stuck)


def _errors(findings: Iterable[Finding]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for finding in findings:
        if finding.severity == "error":
            path = finding.span.source.path or finding.span.source.name
            counts[path] = counts.get(path, 0) + 1
    return counts


def apply_edits(text: str, findings: Iterable[Finding]) -> tuple[str, tuple[str, ...]]:
    """Return a text with the edits of findings applied, and the codes of those that were.

    All edits of one finding are applied or none; of findings whose edits overlap the first one counts, and the others get
    their turn in the next round.
    """
    chosen: list[Edit] = []
    codes: list[str] = []
    for finding in sorted((each for each in findings if each.edits), key=lambda each: (each.edits[0].span.start, each.edits[0].span.end, each.code)):
        if all(not _meet(edit, other) for edit in finding.edits for other in chosen):
            chosen += finding.edits
            codes.append(finding.code)
    for edit in sorted(chosen, key=lambda each: each.span.start, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text, tuple(codes)


def _meet(one: Edit, other: Edit) -> bool:
    """Whether two edits touch the same text; two that meet at a point do too, since their order would matter."""
    return one.span.start <= other.span.end and other.span.start <= one.span.end
