"""A machine that is stated rather than asked: what it does not list is absent, and nothing is run."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import field, frozen

from tessera_rules.compile.kinds import typed
from tessera_rules.errors import UsageError
from tessera_rules.machine.base import Answer
from tessera_rules.machine.probe_text import ProbeKey, UnsetVariable, expanded, plain_probe, split_key
from tessera_rules.machine.requirement import normal_name, parse_requirement
from tessera_rules.machine.stated_json import Reader
from tessera_rules.model.values import Candidate, Target
from tessera_rules.nearest import nearest


@frozen
class StatedCandidate:
    """What a machine says of one candidate: a bit, its reason, and answers by the text of a probe."""

    available: bool | None = None
    reason: str | None = None
    probes: Mapping[str, Answer] = field(factory=dict)


@frozen(eq=False)
class StatedMachine:
    """The machine of ``--machine box.json`` and of a test. ``targets`` holds the facts of each device as they were stated."""

    name: str = "the stated machine"
    os: str = ""
    cpu_flags: frozenset[str] = frozenset()
    env: Mapping[str, str | None] = field(factory=dict)
    python: Mapping[str, str] = field(factory=dict)
    libraries: frozenset[str] = frozenset()
    symbols: Mapping[str, frozenset[str]] = field(factory=dict)
    executables: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()
    targets: Mapping[str, tuple[Mapping[str, Any], ...]] = field(factory=dict)
    candidates: Mapping[str, StatedCandidate] = field(factory=dict)
    probes: Mapping[str, Answer] = field(factory=dict)
    threads: int = 1
    fingerprint: str | None = None
    stated: bool = True

    def devices(self, target: Target) -> tuple[Mapping[str, Any], ...]:
        """Return the facts of each device, typed as the target declares them. Raises `UsageError` for one of a wrong type."""
        found = self.targets.get(target.name, ())
        return tuple(self._typed(facts, target, index, len(found)) for index, facts in enumerate(found))

    def _typed(self, facts: Mapping[str, Any], target: Target, index: int, count: int) -> dict[str, Any]:
        known: dict[str, Any] = {}
        for name, value in facts.items():
            kind = target.facts.get(name)
            if kind is None:
                known[name] = value  # the fact of another edition of the rules: nothing here reads it
                continue
            try:
                known[name] = typed(value, kind, name)
            except Exception as problem:
                place = f"targets.{target.name}" + (f"[{index}]" if count > 1 else "")
                raise UsageError(f"{self.name}: {place}.{getattr(problem, 'message', problem)}") from None
        return known

    def why_no_device(self, target: Target) -> str:
        """Say that the target is not listed, or that its list is empty."""
        if target.name in self.targets:
            return f"{self.name} lists no device of target {target.name}"
        near = nearest(target.name, self.targets)
        return f"{self.name} does not list target {target.name}" + (f" (it lists '{near}')" if near else "")

    def probe(self, key: str, candidate: Candidate) -> Answer:
        """Return what the machine states of a probe; what it does not list is absent."""
        if key == "os":
            return Answer(self.os, f"os is {self.os}" if self.os else f"{self.name} does not say which os it runs")
        asked = split_key(key)
        if asked.kind == "smoke":
            return self._of_candidate(asked, candidate)
        try:
            text = expanded(asked.text, self.env)
        except UnsetVariable as unset:
            return Answer(None if asked.kind == "env" else False, str(unset))
        return self._answer(ProbeKey(asked.kind, text), candidate)

    def _answer(self, asked: ProbeKey, candidate: Candidate) -> Answer:
        text = asked.text
        match asked.kind:
            case "library":
                return self._listed(text in self.libraries, f"library {text}", self.libraries)
            case "executable":
                return self._listed(text in self.executables, f"executable {text}", self.executables)
            case "file":
                return self._listed(text in self.files, f"file {text}", self.files)
            case "cpu":
                return self._listed(text in self.cpu_flags, f"the CPU flag {text}", self.cpu_flags)
            case "symbol":
                library, name = asked.symbol
                return self._listed(name in self.symbols.get(library, ()), f"symbol {name} of {library}", self.symbols.get(library, ()))
            case "env":
                value = self.env.get(text)
                return Answer(value, f"{text} is not set" if value is None else f'{text} is "{value}"')
            case "python":
                return self._distribution(text)
        return self._of_candidate(asked, candidate)

    def _listed(self, found: bool, what: str, listed: Any) -> Answer:
        if found:
            return Answer(True, f"{what} is there")
        near = nearest(what.rpartition(" ")[2], listed)
        return Answer(False, f"{self.name} does not list {what}" + (f" (it lists '{near}')" if near else ""))

    def _distribution(self, text: str) -> Answer:
        wanted = parse_requirement(text)
        if wanted is None:
            return Answer(False, f'"{text}" is no requirement, such as "torch>=2.9"')
        version = self.python.get(wanted.name)
        if version is None:
            return Answer(False, f"{self.name} does not list the Python package {wanted.name}")
        return Answer(wanted.met_by(version), f"{wanted.name} is {version}")

    def _of_candidate(self, asked: ProbeKey, candidate: Candidate) -> Answer:
        said = self.candidates.get(candidate.name, StatedCandidate())
        text = plain_probe(asked.text)
        answer = said.probes.get(text) or self.probes.get(text)
        if answer is not None:
            return answer
        if said.available is None:
            return Answer(False, f"{self.name} gives no answer for {candidate.name}")
        return Answer(said.available, said.reason or f"{self.name} says {'it does' if said.available else 'it does not'}")

    def bound(self, candidate: Candidate) -> Answer:
        """Bindings count as bound, but for a candidate that is stated to be unavailable."""
        said = self.candidates.get(candidate.name)
        if said is not None and said.available is False:
            return Answer(False, said.reason or f"{self.name} says that it is not available")
        return Answer(True, "a stated machine counts bindings as bound")


def parse_machine(document: Any, name: str) -> StatedMachine:
    """Return the machine that a JSON document states; ``name`` is what messages call it, such as ``box.json``.

    Raises `UsageError` that names the place in the document, what was expected and the nearest name.

    >>> parse_machine({"machine": 1, "os": "linux", "targets": {"cpu": {}}}, "box.json").os
    'linux'
    """
    return _machine(Reader(document, name))


def read_machine(path: str | os.PathLike[str]) -> StatedMachine:
    """Return the machine that a file states. Raises `UsageError` for a file that cannot be read or states none."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as problem:
        raise UsageError(f"machine '{os.fspath(path)}' cannot be read: {problem}", hint="tsr probe --json > box.json writes one") from None
    return parse_machine(document, os.fspath(path))


def _machine(reader: Reader) -> StatedMachine:
    top = reader.mapping(
        ("machine", "os", "cpu", "env", "python", "libraries", "symbols", "executables", "files", "targets", "candidates", "probes", "threads", "fingerprint")
    )
    edition = top.get("machine")
    if edition is None or edition.value != 1 or isinstance(edition.value, bool):
        said = "is not there" if edition is None else f"is {edition.value!r:.60}"
        raise UsageError(f'{reader.name}: "machine" {said}; expected: "machine": 1, the edition of the format')
    flags = top["cpu"].open_mapping().get("flags") if "cpu" in top else None
    if "cpu" in top:
        top["cpu"].near_misses(("flags",))
    return StatedMachine(
        name=reader.name,
        os=top["os"].string() if "os" in top else "",
        cpu_flags=frozenset(flags.strings()) if flags is not None else frozenset(),
        env={key: None if item.value is None else item.string() for key, item in top["env"].open_mapping().items()} if "env" in top else {},
        python={normal_name(key): item.string() for key, item in top["python"].open_mapping().items()} if "python" in top else {},
        libraries=_strings(top, "libraries"),
        symbols={key: frozenset(item.strings()) for key, item in top["symbols"].open_mapping().items()} if "symbols" in top else {},
        executables=_strings(top, "executables"),
        files=_strings(top, "files"),
        targets={key: _devices(item) for key, item in top["targets"].open_mapping().items()} if "targets" in top else {},
        candidates={key: _candidate(item) for key, item in top["candidates"].open_mapping().items()} if "candidates" in top else {},
        probes=_probes(top["probes"]) if "probes" in top else {},
        threads=top["threads"].positive() if "threads" in top else 1,
        fingerprint=top["fingerprint"].string() if "fingerprint" in top else None,
    )


def _strings(top: Mapping[str, Reader], key: str) -> frozenset[str]:
    return frozenset(top[key].strings()) if key in top else frozenset()


def _devices(reader: Reader) -> tuple[Mapping[str, Any], ...]:
    if isinstance(reader.value, list):
        return tuple(item.facts() for item in reader.items())
    return (reader.facts(),)


def _candidate(reader: Reader) -> StatedCandidate:
    if isinstance(reader.value, bool):
        return StatedCandidate(reader.value)
    said = reader.mapping(("available", "reason", "probes"))
    return StatedCandidate(
        said["available"].boolean() if "available" in said else None,
        said["reason"].string() if "reason" in said and said["reason"].value is not None else None,
        _probes(said["probes"]) if "probes" in said else {},
    )


def _probes(reader: Reader) -> dict[str, Answer]:
    found: dict[str, Answer] = {}
    for text, item in reader.open_mapping().items():
        if isinstance(item.value, bool):
            found[plain_probe(text)] = Answer(item.value, f"{reader.name} says {'it does' if item.value else 'it does not'}")
            continue
        said = item.mapping(("ok", "reason"))
        if "ok" not in said:
            raise item.wrong('an answer has "ok"')
        ok = said["ok"].boolean()
        reason = said["reason"].string() if "reason" in said and said["reason"].value is not None else None
        found[plain_probe(text)] = Answer(ok, reason or f"{reader.name} says {'it does' if ok else 'it does not'}")
    return found


def machine_of_test(target: str, facts: Mapping[str, Any]) -> StatedMachine:
    """Return a test's machine: the request's target with the facts of its ``device``, nothing else.

    >>> machine_of_test("rocm", {"arch": "gfx1151"}).threads
    1
    """
    return StatedMachine(name="the test's machine", targets={target: (dict(facts),)})
