"""This machine: facts of its devices and answers of probes, each asked once and kept, the negative ones too (P17).

What may hang or crash (loading a library, calling a probe of somebody's package, asking a driver) happens in a child process
with a time limit. A library counts as there where the loader loads it and all that it needs; a Python package by its
metadata, never by import.
"""

from __future__ import annotations

import os
import platform
import shutil
import threading
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Protocol

from attrs import define, field

from tessera_rules.compile.operators import ClauseError, typed
from tessera_rules.machine.asking import PROBE_SECONDS, call, cpu_flag, distribution, isolated
from tessera_rules.machine.base import Answer
from tessera_rules.machine.cpu import cpu, usable_cores
from tessera_rules.machine.epoch import EPOCH
from tessera_rules.machine.fingerprint import Fingerprint, fingerprint
from tessera_rules.machine.probe_text import ProbeKey, UnsetVariable, expanded, split_key
from tessera_rules.machine.shared_objects import find_library, forget_loader_cache
from tessera_rules.model.values import Candidate, PythonBinding, Target
from tessera_rules.source import Source

SMOKE_SECONDS = 60.0
"""Time limit of a smoke probe, which may have to import a large package first."""
READ_ONLY = ("tessera_rules.targets.x86:facts", "tessera_rules.targets.rocm:facts")
"""Providers of facts that only read files of the kernel's: asked in this process."""
_SEARCHED = {"executable": "PATH", "library": "LD_LIBRARY_PATH", "symbol": "LD_LIBRARY_PATH"}
"""The environment variable that says where a kind of thing is looked for: what was found is kept for its value."""


class Binder(Protocol):
    """What binds and runs candidates here; the room `bind` gives it."""

    def bound(self, candidate: Candidate, device_facts: Mapping[str, Any]) -> Answer:
        """Whether the candidate's binding can be bound."""

    def smoke(self, candidate: Candidate, request: str, device_facts: Mapping[str, Any], seconds: float) -> Answer:
        """Whether the candidate's binding runs on a request of words such as ``M=16 N=16``."""

    def changed(self, candidate: Candidate) -> Any:
        """Return what is compared to tell whether the candidate's inputs have changed since it was bound; cheap."""

    def forget(self) -> None:
        """Try again what failed."""


@define(eq=False)
class LocalMachine:
    """Answers for this machine. ``binder`` binds candidates; without one, bindings count as bound and no smoke probe holds.

    ``untrusted`` holds sources whose targets are not asked for facts. One lock a question: two threads
    that ask the same wait for one answer.
    """

    binder: Binder | None = None
    untrusted: Collection[Source] = ()
    probe_seconds: float = PROBE_SECONDS
    smoke_seconds: float = SMOKE_SECONDS
    stated: bool = False
    _answers: dict[Any, Answer] = field(factory=dict, init=False, repr=False)
    _marks: dict[Any, Any] = field(factory=dict, init=False, repr=False)
    _devices: dict[str, tuple[tuple[Mapping[str, Any], ...], str]] = field(factory=dict, init=False, repr=False)
    _locks: dict[Any, threading.RLock] = field(factory=dict, init=False, repr=False)
    _lock: threading.RLock = field(factory=threading.RLock, init=False, repr=False)

    @property
    def threads(self) -> int:
        """The cores that this process may use."""
        return usable_cores()

    def refresh(self) -> None:
        """Forget every answer, so that each is asked anew: a driver was installed, an environment variable set."""
        with self._lock:
            self._answers.clear()
            self._marks.clear()
            self._devices.clear()
            cpu.cache_clear()
            forget_loader_cache()
            if self.binder is not None:
                self.binder.forget()
            EPOCH.advance()

    def with_binder(self, binder: Binder, untrusted: Collection[Source] = ()) -> LocalMachine:
        """Return this machine with another binder, such as that of reloaded rules. Answers are shared; those about a candidate
        are asked anew where its binding differs.
        """  # fmt: skip
        other = LocalMachine(binder, untrusted, self.probe_seconds, self.smoke_seconds)
        other._answers, other._marks, other._devices, other._locks, other._lock = self._answers, self._marks, self._devices, self._locks, self._lock
        return other

    def fingerprint(self) -> Fingerprint:
        """Return what names this machine's arithmetic and its speed."""
        return fingerprint(cpu(), self.threads)

    # ---- devices -----------------------------------------------------------------------------------------------------

    def devices(self, target: Target) -> tuple[Mapping[str, Any], ...]:
        """Return the facts of each device of a target, as its provider gives them; each device is decided for by itself (P18)."""
        return self._asked_devices(target)[0]

    def why_no_device(self, target: Target) -> str:
        """Say why a target has no device here."""
        return self._asked_devices(target)[1]

    def _asked_devices(self, target: Target) -> tuple[tuple[Mapping[str, Any], ...], str]:
        provider = target.provider
        if provider is None:
            return ({},), f"target {target.name} is always there"
        if target.span.source in self.untrusted:
            return (), f"{target.span.source.name} was found, not named, so that {provider.path} is not asked"
        key = f"{target.name} {provider.path}"
        found = self._devices.get(key)
        if found is None:
            with self._lock_of(key):
                found = self._devices.get(key)
                if found is None:
                    found = self._devices[key] = self._ask_provider(target, provider)
        return found

    def _lock_of(self, key: Any) -> threading.RLock:
        with self._lock:
            return self._locks.setdefault(key, threading.RLock())

    def _ask_provider(self, target: Target, provider: PythonBinding) -> tuple[tuple[Mapping[str, Any], ...], str]:
        value: Any
        if provider.path in READ_ONLY:
            from importlib import import_module

            value = getattr(import_module(provider.module), provider.name)()
        else:
            answer = call(provider.module, provider.name, self.probe_seconds)
            if isinstance(answer, str):
                return (), f"{provider.path}: {answer}"
            value = answer["value"]
        if value is None:
            return (), f"{provider.path} finds no device of target {target.name}"
        listed = value if isinstance(value, list | tuple) else [value]
        if not listed:
            return (), f"{provider.path} lists no device of target {target.name}"
        devices = []
        for facts in listed:
            if not isinstance(facts, Mapping):
                return (), f"{provider.path} gave a {type(facts).__name__} where facts by name were expected"
            try:
                devices.append({str(name): _fact(target, str(name), fact) for name, fact in facts.items()})
            except ClauseError as problem:
                return (), f"{provider.path}: {problem.message}"
        return tuple(devices), ""

    # ---- probes ------------------------------------------------------------------------------------------------------

    def probe(self, key: str, candidate: Candidate) -> Answer:
        """Answer a probe by its key, from what was found before where nothing that it depends on has changed."""
        if key == "os":
            name = platform.system().lower()
            return Answer(name, f"os is {name}")
        asked = split_key(key)
        try:
            text = asked.text if asked.kind == "smoke" else expanded(asked.text, os.environ)
        except UnsetVariable as unset:
            return Answer(None if asked.kind == "env" else False, str(unset))
        if asked.kind == "env":
            value = os.environ.get(text)
            return Answer(value, f"{text} is not set" if value is None else f'{text} is "{value}"')
        if asked.kind == "file":
            there = Path(text).expanduser().exists()
            return Answer(there, f"{text} is {'there' if there else 'not there'}")
        if asked.kind == "smoke":
            return self._smoke(text, candidate)
        where = os.environ.get(_SEARCHED.get(asked.kind, ""))
        return self._once((asked.kind, text, where), lambda: self._ask(ProbeKey(asked.kind, text)))

    def _once(self, key: Any, ask: Callable[[], Answer]) -> Answer:
        """Return the kept answer to a question, asked if it was not yet."""
        answer = self._answers.get(key)
        if answer is None:
            with self._lock_of(key):
                answer = self._answers.get(key)
                if answer is None:
                    answer = self._answers[key] = ask()
        return answer

    def _ask(self, asked: ProbeKey) -> Answer:
        text = asked.text
        match asked.kind:
            case "library":
                return self._load(text)
            case "symbol":
                return self._symbol(*asked.symbol)
            case "executable":
                path = shutil.which(text)
                return Answer(path is not None, f"{text} is {path}" if path else f"no executable '{text}' on PATH")
            case "cpu":
                return cpu_flag(text)
            case "python":
                return distribution(text)
            case "call":
                return self._call(text)
        return Answer(False, f"this machine has no answer to {asked.kind}")

    def _library(self, name: str) -> Answer:
        return self._once(("library", name, os.environ.get("LD_LIBRARY_PATH")), lambda: self._load(name))

    def _symbol(self, library: str, name: str) -> Answer:
        there = self._library(library)
        path = find_library(library)
        if not there.value or path is None:
            return there
        return isolated({"do": "symbol", "name": path, "symbol": name}, f"symbol {name} of {library}", self.probe_seconds)

    def _load(self, name: str) -> Answer:
        path = find_library(name)
        if path is None:
            return Answer(False, f"library {name} is not there: the loader does not find it")
        return isolated({"do": "library", "name": path}, f"library {name} ({path})", self.probe_seconds)

    def _call(self, path: str) -> Answer:
        module, _, name = path.partition(":")
        answer = call(module, name, self.probe_seconds)
        if isinstance(answer, str):
            return Answer(False, f"{path}: {answer}")
        value: Any = answer["value"]
        reason = ""
        if isinstance(value, list) and len(value) == 2 and isinstance(value[0], bool):
            value, reason = value[0], f": {value[1]}"
        if not isinstance(value, bool):
            return Answer(False, f"{path} gave {value!r:.80}, and a probe gives true or false")
        return Answer(value, f"{path} says {'yes' if value else 'no'}{reason}")

    # ---- candidates --------------------------------------------------------------------------------------------------

    def bound(self, candidate: Candidate) -> Answer:
        """Whether the candidate's binding can be bound here. A failure is kept until one of its inputs changes (T9)."""
        if self.binder is None:
            return Answer(True, "nothing here binds candidates, so that they count as bound")
        binder = self.binder
        return self._kept(("bound", candidate.name), candidate, lambda: binder.bound(candidate, self._facts_of(candidate)))

    def _smoke(self, text: str, candidate: Candidate) -> Answer:
        if self.binder is None:
            return Answer(False, "nothing here runs candidates")
        binder = self.binder
        there = self.bound(candidate)
        if there.value is not True:
            return Answer(False, f"smoke: its binding is not there: {there.found}")
        run = lambda: binder.smoke(candidate, text, self._facts_of(candidate), self.smoke_seconds)  # noqa: E731
        return self._kept(("smoke", candidate.name, text), candidate, run)

    def _kept(self, key: Any, candidate: Candidate, ask: Callable[[], Answer]) -> Answer:
        """Return the kept answer about a candidate, asked anew where what it depends on has changed."""
        assert self.binder is not None
        with self._lock_of(key):
            answer = self._answers.get(key)
            if answer is None or self._marks.get(key) != self.binder.changed(candidate):
                answer = self._answers[key] = ask()
                self._marks[key] = self.binder.changed(candidate)
            return answer

    def _facts_of(self, candidate: Candidate) -> Mapping[str, Any]:
        for key, (devices, _) in self._devices.items():
            if key.startswith(f"{candidate.target} ") and devices:
                return devices[0]
        return {}


def _fact(target: Target, name: str, value: Any) -> Any:
    kind = target.facts.get(name)
    return value if kind is None else typed(value, kind, name)
