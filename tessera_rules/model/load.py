"""Loading: which files, in which order, parsed once each, built into one ruleset."""

from __future__ import annotations

import gc
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from attrs import define, field, frozen

from tessera_rules.diagnostic import Finding, Related
from tessera_rules.errors import RuleError, UsageError
from tessera_rules.model import codes
from tessera_rules.model.build import build
from tessera_rules.model.report import Findings
from tessera_rules.model.values import Ruleset
from tessera_rules.nearest import did_you_mean, nearest
from tessera_rules.resources import rules_folder
from tessera_rules.source import Source
from tessera_rules.syntax import nodes, parse, parse_items, read_source

ENTRY_POINTS = "tessera_rules.rules"


@frozen(eq=False)
class Loaded:
    """A load: the ruleset (holding what could be built), every finding, and the parsed files in load order."""

    ruleset: Ruleset
    findings: tuple[Finding, ...]
    files: tuple[nodes.File, ...]

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that are errors."""
        return tuple(finding for finding in self.findings if finding.severity == "error")

    def ruleset_or_raise(self) -> Ruleset:
        """Return the ruleset. Raises `RuleError` with every finding where one is an error."""
        if self.errors:
            raise RuleError(self.findings)
        return self.ruleset


@define
class Loader:
    """Reads files depth first: a used file comes before its user, each once however often it is named."""

    findings: Findings = field(factory=Findings)
    files: list[nodes.File] = field(factory=list)
    done: set[str] = field(factory=set)
    sources: dict[str, Source] = field(factory=dict)
    edges: dict[str, set[str]] = field(factory=dict)
    """By file: the files that it uses."""
    instead: Mapping[str, str] = field(factory=dict)
    """Texts in place of what files hold, by path as the load names it: what `--fix` would write."""

    def add(self, path: Path, shown: str) -> None:
        """Load one file and what it uses."""
        open_files: list[tuple[str, nodes.File, Iterator[nodes.Use]]] = []
        chain: list[tuple[str, nodes.Use | None]] = []
        first = self._parse(path, shown)
        if first is None:
            return
        key = os.path.realpath(path)
        open_files.append((key, first, iter(first.uses)))
        chain.append((key, None))
        while open_files:
            key, file, uses = open_files[-1]
            use = next(uses, None)
            if use is None:
                open_files.pop()
                chain.pop()
                self.done.add(key)
                self.files.append(file)
                continue
            found = self._resolve(use, file)
            if found is None:
                continue
            there, there_shown = found
            real = os.path.realpath(there)
            self.edges.setdefault(key, set()).add(real)
            if any(real == each for each, _ in chain):
                self._cycle(chain, real, use)
            elif real not in self.done:
                used = self._parse(there, there_shown, use)
                if used is not None:
                    open_files.append((real, used, iter(used.uses)))
                    chain.append((real, use))

    def reached(self, roots: Collection[str]) -> set[str]:
        """Return files and all that they use, however indirectly."""
        found: set[str] = set()
        stack = list(roots)
        while stack:
            here = stack.pop()
            if here not in found:
                found.add(here)
                stack += self.edges.get(here, ())
        return found

    def _parse(self, path: Path, shown: str, use: nodes.Use | None = None) -> nodes.File | None:
        real = os.path.realpath(path)
        if real in self.done:
            return None
        try:
            data = self.instead[str(path)].encode() if str(path) in self.instead else path.read_bytes()
        except OSError as problem:
            reason = problem.strerror or "cannot be read"
            if use is None:
                raise UsageError(f"{shown}: {reason}") from problem
            self.findings.add(codes.NO_SUCH_FILE.at(use.path.span, f'"{use.path.value}" cannot be read: {reason}'))
            self.findings.incomplete = True
            self.done.add(real)
            return None
        source, found = read_source(shown, data, str(path))
        for finding in found:
            self.findings.add(finding)
        self.sources[real] = source
        file, problems = parse(source)
        if any(finding.severity == "error" for finding in found):
            self.findings.incomplete = True
        else:
            # A text that is no text (binary, not UTF-8) has said so: what the parser makes of the rest is the same cause.
            for finding in problems:
                self.findings.add(finding)
        return file

    def _resolve(self, use: nodes.Use, file: nodes.File) -> tuple[Path, str] | None:
        """Return the path that a `use` means. Reports TSR302."""
        found = self._located(use, file)
        self.findings.incomplete |= found is None
        return found

    def _located(self, use: nodes.Use, file: nodes.File) -> tuple[Path, str] | None:
        text = use.path.value
        if text.startswith("std/"):
            base, shown_base, rest = rules_folder(), "std", text[4:]
        elif text.startswith("pkg:"):
            name, _, rest = text[4:].partition("/")
            folder = self._package(name, use)
            if folder is None:
                return None
            base, shown_base = folder, f"pkg:{name}"
        else:
            here = file.source.path
            base, shown_base, rest = Path(here).parent if here else Path.cwd(), os.path.dirname(file.source.name), text
        path = base / rest
        if path.is_file():
            shown = os.path.normpath(os.path.join(shown_base, rest)) if not shown_base.startswith("pkg:") else f"{shown_base}/{rest}"
            return path, shown
        try:
            around = sorted(each.name for each in path.parent.glob("*.tsr"))
        except (OSError, ValueError):
            around = []
        stem = nearest(os.path.basename(rest).removesuffix(".tsr"), [each.removesuffix(".tsr") for each in around])
        near = f"{stem}.tsr" if stem else None
        prefix = text[: len(text) - len(os.path.basename(rest))]
        hint = f"did you mean '{prefix}{near}'?" if near else f"looked for {path}"
        self.findings.add(codes.NO_SUCH_FILE.at(use.path.span, f'there is no file "{text}"', hint=hint))
        return None

    def _package(self, name: str, use: nodes.Use) -> Path | None:
        """Return the folder that an installed package registers for its rules; nothing of the package is imported."""
        from importlib.metadata import entry_points

        points = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
        point = points.get(name)
        if point is None:
            hint = did_you_mean(name, points, "package") if points else f"no installed package has an entry point in the group {ENTRY_POINTS}"
            self.findings.add(codes.NO_SUCH_FILE.at(use.path.span, f"no installed package registers rules as '{name}'", hint=hint))
            return None
        relative = Path(*point.value.partition(":")[0].split("."))
        located = point.dist.locate_file(relative) if point.dist is not None else None
        folders = [] if located is None else [Path(str(located))]
        import sys

        folders += [Path(folder) / relative for folder in sys.path if folder]
        for folder in folders:
            if folder.is_dir():
                return folder
        self.findings.add(codes.NO_SUCH_FILE.at(use.path.span, f"package '{name}' registers the folder {relative}, which is not there"))
        return None

    def _cycle(self, chain: list[tuple[str, nodes.Use | None]], real: str, use: nodes.Use) -> None:
        start = next(i for i, (each, _) in enumerate(chain) if each == real)
        links = [each for _, each in chain[start + 1 :] if each is not None]
        names = [self.sources[each].name for each, _ in chain[start:]] + [self.sources[real].name]
        related = tuple(Related(link.path.span, f'uses "{link.path.value}"') for link in links)
        self.findings.add(
            codes.USE_CYCLE.at(use.path.span, f"these files use each other: {' → '.join(names)}", related=related, hint="move what both need into a third file")
        )


def rule_files(path: Path) -> Iterator[Path]:
    """Yield the rule files of a path: itself, or a folder's ``*.tsr`` in name order and then its sub-folders'."""
    if not path.is_dir():
        yield path
        return
    try:
        entries = sorted(path.iterdir(), key=lambda each: each.name)
    except OSError as problem:
        raise UsageError(f"{path}: {problem.strerror or 'cannot be read'}") from problem
    yield from (each for each in entries if each.suffix == ".tsr" and each.is_file())
    for each in entries:
        if each.is_dir() and not each.is_symlink() and not each.name.startswith("."):
            yield from rule_files(each)


def load(
    paths: Sequence[str | Path],
    *,
    texts: Mapping[str, str] | None = None,
    replace: Collection[str] = (),
    untrusted: Collection[str | Path] = (),
    instead: Mapping[str, str] | None = None,
) -> Loaded:
    """Return the ruleset of files and folders, with every finding; never raises for what stands in a file.

    ``texts`` adds sources by name, after the files (no edition line needed); declarations of those named in ``replace``
    take the place of earlier ones. Files of ``untrusted`` paths, and files that only those use, are marked as not trusted.
    ``instead`` holds texts by path (as `Source.path` has it) that count in place of what those files hold.
    Raises `UsageError` for a path that cannot be read.
    """
    with _collector_paused():
        return _load(paths, texts or {}, replace, untrusted, instead or {})


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Keep the cycle collector from going through a growing load again and again; nothing of a load is garbage before its end."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _load(
    paths: Sequence[str | Path], texts: Mapping[str, str], replace: Collection[str], untrusted: Collection[str | Path], instead: Mapping[str, str]
) -> Loaded:
    loader = Loader(instead=instead)
    distrusted = [os.path.realpath(path) for path in untrusted]
    trusted: set[str] = set()
    for path in paths:
        given = Path(path)
        if not given.exists():
            folder = given.parent if given.parent.is_dir() else Path()
            near = nearest(given.name, [each.name for each in folder.iterdir()])
            raise UsageError(f"{path}: no such file or folder", hint=f"did you mean '{folder / near}'?" if near else None)
        believed = not any(_within(os.path.realpath(given), each) for each in distrusted)
        for file in rule_files(given):
            loader.add(file, str(file))
            if believed and not any(_within(os.path.realpath(file), each) for each in distrusted):
                trusted.add(os.path.realpath(file))
    replacing: list[Source] = []
    for name, text in texts.items():
        source = Source(name, text)
        parsed, problems = parse_items(source)
        for finding in problems:
            loader.findings.add(finding)
        for use in parsed.uses:
            found = loader._resolve(use, parsed)
            if found is not None:
                loader.add(*found)
                trusted.add(os.path.realpath(found[0]))
        loader.files.append(parsed)
        if name in replace:
            replacing.append(source)
    sources: list[Source] = []
    if distrusted:
        # The rules that ship are this program's own, whoever uses them.
        shipped = os.path.realpath(rules_folder())
        believable = loader.reached(trusted)
        sources = [source for real, source in loader.sources.items() if real not in believable and not _within(real, shipped)]
    ruleset = build(loader.files, loader.findings, replacing, sources)
    return Loaded(ruleset, loader.findings.sorted(), tuple(loader.files))


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
