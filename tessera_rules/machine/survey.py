"""All that a ruleset asks of this machine, asked: what `tsr probe` shows, and the document that states this machine elsewhere."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

from attrs import field, frozen

from tessera_rules.compile.operators import plain
from tessera_rules.machine.asking import installed_version
from tessera_rules.machine.base import Answer
from tessera_rules.machine.cpu import cpu
from tessera_rules.machine.local import LocalMachine
from tessera_rules.machine.probe_text import UnsetVariable, expanded, split_key
from tessera_rules.machine.requirement import parse_requirement
from tessera_rules.model.terms import facts
from tessera_rules.model.values import Candidate, Ruleset


@frozen(eq=False)
class Asked:
    """One probe of one candidate (``key`` of `model/terms.py`, ``shown`` as its author wrote it) and its answer."""

    candidate: str
    key: str
    shown: str
    answer: Answer


@frozen(eq=False)
class Survey:
    """What was asked. ``devices`` maps each target to the facts of its devices, or to the sentence why there is none."""

    devices: dict[str, tuple[dict[str, Any], ...] | str]
    probes: tuple[Asked, ...]
    bindings: dict[str, Answer]
    untrusted: tuple[str, ...] = ()
    fingerprint: str = ""
    threads: int = 1
    os: str = ""
    flags: tuple[str, ...] = field(factory=tuple)


def survey(machine: LocalMachine, ruleset: Ruleset, progress: Callable[[str], None] | None = None) -> Survey:
    """Ask every fact, probe and binding of a ruleset here. What is not trusted is not asked. ``progress`` hears what is next."""
    tell = progress or (lambda _: None)
    devices: dict[str, tuple[dict[str, Any], ...] | str] = {}
    for name, target in ruleset.targets.items():
        tell(f"target {name}")
        found = machine.devices(target)
        devices[name] = tuple({key: plain(value) for key, value in each.items()} for each in found) if found else machine.why_no_device(target)
    probes: list[Asked] = []
    bindings: dict[str, Answer] = {}
    for name, candidate in ruleset.candidates.items():
        if name in ruleset.untrusted or isinstance(devices.get(candidate.target), str):
            continue
        tell(f"candidate {name}")
        bindings[name] = machine.bound(candidate)
        probes += [Asked(name, key, shown, machine.probe(key, candidate)) for key, shown in probes_of(candidate)]
    return Survey(
        devices=devices,
        probes=tuple(probes),
        bindings=bindings,
        untrusted=tuple(name for name in ruleset.candidates if name in ruleset.untrusted),
        fingerprint=str(machine.fingerprint()),
        threads=machine.threads,
        os=str(machine.probe("os", next(iter(ruleset.candidates.values()))).value) if ruleset.candidates else "",
        flags=tuple(sorted(cpu().flags)),
    )


def probes_of(candidate: Candidate) -> list[tuple[str, str]]:
    """Return key and text of each probe of a candidate, once each."""
    found: dict[str, str] = {}
    for clause in candidate.available:
        for fact in facts(clause.term):
            if fact.key.startswith("probe:"):
                found.setdefault(fact.key, fact.shown)
    return list(found.items())


def document(asked: Survey) -> dict[str, Any]:
    """Return the machine document of ``interface.md``: with ``--machine`` it decides elsewhere as this machine does here.

    Of the environment it holds only the variables that a probe asked for.
    """
    lists: dict[str, set[str]] = {"library": set(), "executable": set(), "file": set()}
    symbols: dict[str, set[str]] = {}
    flags = set(asked.flags)
    environment: dict[str, str] = {}
    packages: dict[str, str] = {}
    candidates: dict[str, dict[str, Any]] = {}
    for each in asked.probes:
        probe = split_key(each.key)
        for name in re.findall(r"\$([A-Za-z_][A-Za-z0-9_]*)", probe.text):
            if name in os.environ:
                environment[name] = os.environ[name]
        try:
            text = expanded(probe.text, os.environ)
        except UnsetVariable:
            continue
        answer = each.answer
        match probe.kind:
            case "env" if answer.value is not None:
                environment[text] = str(answer.value)
            case "library" | "executable" | "file" if answer.value:
                lists[probe.kind].add(text)
            case "cpu" if answer.value:
                flags.add(text)  # what its author called it, which may be an alias
            case "symbol" if answer.value:
                library, _, symbol = text.rpartition(":")
                symbols.setdefault(library, set()).add(symbol)
            case "python":
                wanted = parse_requirement(text)
                version = installed_version(wanted.name) if wanted is not None else None
                if wanted is not None and version is not None:
                    packages[wanted.name] = version
            case "smoke" | "call":
                said = candidates.setdefault(each.candidate, {}).setdefault("probes", {})
                said[each.shown] = {"ok": answer.value is True, "reason": answer.found}
    for name, bound in asked.bindings.items():
        if bound.value is not True:
            candidates[name] = {"available": False, "reason": bound.found}
    for name in asked.untrusted:
        candidates[name] = {"available": False, "reason": "untrusted: its rules were found, not named, so that it was not asked"}
    targets: dict[str, Any] = {}
    for name, devices in asked.devices.items():
        if not isinstance(devices, str):
            targets[name] = devices[0] if len(devices) == 1 else list(devices)
    return {
        "machine": 1,
        "os": asked.os,
        "threads": asked.threads,
        "cpu": {"flags": sorted(flags), "model": cpu().model},
        "env": dict(sorted(environment.items())),
        "python": dict(sorted(packages.items())),
        "libraries": sorted(lists["library"]),
        "symbols": {library: sorted(names) for library, names in sorted(symbols.items())},
        "executables": sorted(lists["executable"]),
        "files": sorted(lists["file"]),
        "targets": targets,
        "candidates": candidates,
        "fingerprint": asked.fingerprint,
    }
