"""``tsr fmt PATH…``: one canonical layout. A file is written whole or not at all."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path

from attrs import frozen

from tessera_rules.cli.arguments import Parser, parser_for
from tessera_rules.cli.rules import named_paths, readable
from tessera_rules.cli.streams import Streams
from tessera_rules.diagnostic import Finding
from tessera_rules.errors import RuleError, UsageError
from tessera_rules.model.load import rule_files
from tessera_rules.syntax import read_source
from tessera_rules.syntax.format import format_text

SUMMARY = "one canonical layout; comments kept, meaning unchanged"
ENDINGS = {"lf": "\n", "crlf": "\r\n"}


def parser() -> Parser:
    """Return what ``tsr fmt`` takes."""
    made = parser_for("fmt", SUMMARY, "PATH may be - for standard input; the result then goes to standard output")
    made.add_argument("words", nargs="*", metavar="PATH", help="files, or folders with all their *.tsr")
    made.add_argument("--check", action="store_true", help="write nothing; exit 1 where a file would change")
    made.add_argument("--diff", action="store_true", help="write nothing; show what would change, exit 1 where something would")
    made.add_argument("--line-ending", choices=["keep", *ENDINGS], default="keep", metavar="{keep,lf,crlf}", help="default: each file keeps its own")
    return made


@frozen
class Laid:
    """One text and its layout; ``findings`` are syntax errors, and then there is no layout."""

    name: str
    path: Path | None
    before: str
    after: str | None
    findings: tuple[Finding, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether the layout differs from what the file has now, its byte order mark included."""
        return self.after is not None and self.after != self.before


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Lay out every file that parses; the others are left alone and end the command with 2."""
    names = named_paths(options)
    if not names:
        raise UsageError("tsr fmt needs a file, a folder or -", hint="tsr fmt rules/")
    laid = [_lay_out(name, path, streams, options.line_ending) for name, path in _files(names)]
    writes = not (options.check or options.diff)
    for each in laid:
        if writes and each.changed and each.path is not None:
            assert each.after is not None
            write_whole(each.path, each.after)
        if each.path is None and writes and each.after is not None and not options.json:
            streams.stdout.write(each.after)
    findings = [finding for each in laid for finding in each.findings]
    if not (findings and options.json):
        _show(laid, options, streams)
    if findings:
        raise RuleError(findings)
    return int(not writes and any(each.changed for each in laid))


def write_whole(path: Path, text: str) -> None:
    """Replace a file's content at once, keeping its mode; a link stays a link. What was there stays there on any error."""
    real = path.resolve()
    mode = real.stat().st_mode
    handle, temporary = tempfile.mkstemp(dir=real.parent, prefix=f".{real.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, mode & 0o7777)
        os.replace(temporary, real)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _files(names: list[str]) -> Iterator[tuple[str, Path | None]]:
    seen: set[Path] = set()
    for name in names:
        if name == "-":
            yield "<stdin>", None
            continue
        for path in rule_files(readable(name)):
            if path.resolve() not in seen:
                seen.add(path.resolve())
                yield str(path), path


def _lay_out(name: str, path: Path | None, streams: Streams, ending: str) -> Laid:
    data = path.read_bytes() if path is not None else _standard_input(streams)
    source, found = read_source(name, data, None if path is None else str(path))
    before = data.decode("utf-8", "replace")
    errors = tuple(finding for finding in found if finding.severity == "error")
    if errors:
        return Laid(name, path, before, None, errors)
    try:
        return Laid(name, path, before, format_text(source, ending=ENDINGS.get(ending)))
    except RuleError as broken:
        return Laid(name, path, before, None, broken.findings)


def _standard_input(streams: Streams) -> bytes:
    binary = getattr(streams.stdin, "buffer", None)
    return binary.read() if binary is not None else streams.stdin.read().encode("utf-8", "surrogatepass")


def _show(laid: list[Laid], options: argparse.Namespace, streams: Streams) -> None:
    if options.json:
        rows = [{"file": each.name, "changed": each.changed, **({"text": each.after} if each.path is None else {})} for each in laid]
        streams.give({"files": rows, "changed": sum(each.changed for each in laid), "written": not (options.check or options.diff)})
        return
    for each in laid:
        if not each.changed:
            continue
        if options.diff:
            streams.stdout.write(_difference(each))
        elif each.path is not None:
            streams.tell(f"{'would lay out' if options.check else 'laid out'} {each.name}")
    if any(each.path is not None for each in laid):
        changed = sum(each.changed for each in laid)
        streams.tell(f"{changed} of {len(laid)} file{'s' if len(laid) != 1 else ''} {'would change' if options.check or options.diff else 'changed'}")


def _difference(each: Laid) -> str:
    after = each.after or ""
    lines = list(unified_diff(each.before.splitlines(keepends=True), after.splitlines(keepends=True), each.name, each.name))
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
