"""The candidates of one ruleset bound on this machine, each once; what `LocalMachine` asks of them."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping
from typing import Any

from attrs import define, field

from tessera_rules.arbiter.facts import RequestFacts
from tessera_rules.arbiter.request import bind_words
from tessera_rules.bind import source
from tessera_rules.bind.bound import Bound, NativeBound, bind
from tessera_rules.bind.child import try_once
from tessera_rules.bind.digest import interface
from tessera_rules.bind.inputs import make_operands
from tessera_rules.bind.library import changed_marks
from tessera_rules.bind.operands import bind_operands
from tessera_rules.bind.outcome import Unbound
from tessera_rules.compile.evaluate import truth
from tessera_rules.dtypes import DTYPES
from tessera_rules.errors import TesseraError
from tessera_rules.machine.base import Answer
from tessera_rules.machine.cpu import usable_cores
from tessera_rules.machine.local import LocalMachine
from tessera_rules.machine.stated import StatedMachine
from tessera_rules.model.request import Request
from tessera_rules.model.terms import reads
from tessera_rules.model.values import Candidate, PythonBinding, Ruleset


def this_machine(ruleset: Ruleset, like: LocalMachine | None = None) -> LocalMachine:
    """Return this machine for the candidates of a ruleset. With ``like`` what that one found out is kept where it still holds."""
    bindings, untrusted = Bindings(ruleset), ruleset.untrusted_sources
    return LocalMachine(bindings, untrusted) if like is None else like.with_binder(bindings, untrusted)


@define(eq=False)
class Bindings:
    """Binds candidates of a ruleset at first use, and again when what one depends on has changed."""

    ruleset: Ruleset
    _bound: dict[Any, tuple[Any, Bound | Unbound]] = field(factory=dict, init=False, repr=False)
    _texts: dict[str, tuple[Candidate, tuple[bool, Any]]] = field(factory=dict, init=False, repr=False)
    _locks: dict[str, threading.RLock] = field(factory=dict, init=False, repr=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False, repr=False)

    def bind(self, candidate: Candidate, device_facts: Mapping[str, Any] | None = None) -> Bound | Unbound:
        """Return a candidate bound, from before where nothing has changed; or why it cannot be."""
        key = (candidate.name, repr(device_facts) if device_facts and self._said(candidate)[0] else "")
        with self._lock:
            lock = self._locks.setdefault(candidate.name, threading.RLock())
        with lock:
            mark = self.changed(candidate)
            known = self._bound.get(key)
            if known is None or known[0] != mark:
                found = self._bind(candidate, device_facts or {})
                known = self._bound[key] = (self.changed(candidate), found)
            return known[1]

    def _bind(self, candidate: Candidate, device_facts: Mapping[str, Any]) -> Bound | Unbound:
        if candidate.name in self.ruleset.untrusted:
            return Unbound(f"untrusted: {candidate.span.source.name} was found, not named; name it with --rules, or list its folder in TSR_TRUST")
        return bind(candidate, self.ruleset.ops[candidate.op], device_facts)

    def bound(self, candidate: Candidate, device_facts: Mapping[str, Any]) -> Answer:
        """Whether a candidate can be bound here."""
        found = self.bind(candidate, device_facts)
        return Answer(False, found.reason) if isinstance(found, Unbound) else Answer(True, "its binding is there")

    def changed(self, candidate: Candidate) -> Any:
        """Return a mark of what a binding depends on: its text, its files as they are now, the environment that it reads."""
        binding, (_, said) = candidate.bind, self._said(candidate)
        if not isinstance(binding, PythonBinding):
            return said, changed_marks(binding)
        return said, binding.module in sys.modules or _module_mark(binding.module)

    def _said(self, candidate: Candidate) -> tuple[bool, Any]:
        """Return whether a binding reads facts of the device, and what its text says; worked out once."""
        known = self._texts.get(candidate.name)
        if known is None or known[0] is not candidate:
            binding, op = candidate.bind, self.ruleset.ops[candidate.op]
            here: Any = (candidate.op, tuple(op.operands), tuple(op.attrs), candidate.honours)
            if isinstance(binding, PythonBinding):
                found: tuple[bool, Any] = (False, (*here, binding.path, repr(binding.constants)))
            else:
                terms = [argument.value for argument in binding.arguments if argument.value is not None]
                found = (any(key.startswith("device:") for term in terms for key in reads(term)), (*here, interface(binding)))
            known = self._texts[candidate.name] = (candidate, found)
        return known[1]

    def forget(self) -> None:
        """Try again what failed."""
        source.forget_failures()
        with self._lock:
            self._bound.clear()

    # ---- smoke -----------------------------------------------------------------------------------------------------------

    def smoke(self, candidate: Candidate, request: str, device_facts: Mapping[str, Any], seconds: float) -> Answer:
        """Run a candidate's binding once, in a child, on a request of words: it has to run and write all of its result (P15)."""
        bound = self.bind(candidate, device_facts)
        if isinstance(bound, Unbound):
            return Answer(False, f"smoke: {bound.reason}")
        words: dict[str, Any] = dict(word.split("=", 1) for word in request.split())
        try:
            asked = self._smoke_request(candidate, words)
            arrays = make_operands(asked)
            asked = bind_operands(asked.op, (), arrays, asked.attrs, asked.target, threads=asked.threads, allow=asked.allow).request
        except TesseraError as problem:
            return Answer(False, f"smoke({request.replace(' ', ', ')}): {problem.message}")
        said = f"smoke({request.replace(' ', ', ')})"
        try:
            trial = try_once(bound, arrays, asked, seconds=seconds)
        except (TesseraError, ValueError) as problem:
            return Answer(False, f"{said}: {problem}")
        return Answer(True, f"{said} runs") if trial.clean else Answer(False, f"{said}: {trial.complaint}")

    def _smoke_request(self, candidate: Candidate, words: dict[str, Any]) -> Request:
        """Return the request; a dtype that is not stated is the only one that `requires` admits."""
        machine = StatedMachine(threads=usable_cores())
        if "dtype" in words or self.ruleset.ops[candidate.op].dtype_operand is None:
            return bind_words(self.ruleset, candidate.op, candidate.target, words, machine)
        for dtype in self.ruleset.ops[candidate.op].dtypes or DTYPES:
            request = bind_words(self.ruleset, candidate.op, candidate.target, {**words, "dtype": dtype}, machine)
            lookup = RequestFacts(request)
            if all(truth(clause, lookup) is True for clause in candidate.requires if not any(key.startswith("device:") for key in clause.reads)):
                return request
        return bind_words(self.ruleset, candidate.op, candidate.target, words, machine)


def _module_mark(module: str) -> Any:
    """Return a mark of the file that a module would come from, None where there is none."""
    relative = os.path.join(*module.split("."))
    for folder in sys.path:
        for path in (os.path.join(folder, f"{relative}.py"), os.path.join(folder, relative, "__init__.py")):
            try:
                found = os.stat(path)
            except OSError:
                continue
            return path, found.st_mtime_ns, found.st_size
    return None


def is_native(bound: Bound) -> bool:
    """Whether a bound candidate enters native code of its own, which is proved in a child first."""
    return isinstance(bound, NativeBound)
