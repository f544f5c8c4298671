"""The whole order in one place: load, decide, bind, prove, run. Read this first.

`load` makes an `Arbiter` of rule files and a machine. `Arbiter.decide` answers who would run; `Arbiter.run` binds operands to
a request, takes the decision, proves the winner at first use and runs it (`dispatch.py` has that loop).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, field

from tessera_rules.arbiter.decide import decide
from tessera_rules.arbiter.decision import Decision
from tessera_rules.arbiter.execution import Execution
from tessera_rules.arbiter.request import bind_words
from tessera_rules.arbiter.situation import Proved
from tessera_rules.arbiter.words import names_of
from tessera_rules.batch import Decisions, decide_many
from tessera_rules.bind.bindings import this_machine
from tessera_rules.corpus.lookup import Corpus
from tessera_rules.diagnostic import Finding
from tessera_rules.dispatch import Proofs, dispatch
from tessera_rules.forced import environment_force
from tessera_rules.log import Log
from tessera_rules.machine.base import Machine
from tessera_rules.machine.local import LocalMachine
from tessera_rules.machine.stated import parse_machine, read_machine
from tessera_rules.model.load import Loaded
from tessera_rules.model.load import load as load_rules
from tessera_rules.model.values import Ruleset
from tessera_rules.prepare import Prepared, make_prepared
from tessera_rules.remembered import exactly
from tessera_rules.resources import rules_folder

KEPT_READY = 1024
"""Calls, told apart by op, target and attributes, that `Arbiter.run` keeps ready."""


def load(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None, machine: Machine | Mapping[str, Any] | str | os.PathLike[str] | None = None
) -> Arbiter:
    """Return an `Arbiter` over rule files and folders (default: the rules that ship).

    ``machine`` is None for this one, or a stated one: a path to its JSON, or the document itself. Naming rules is trusting
    them: their probes may run. Raises `RuleError` with every diagnostic, `UsageError` for a path that cannot be read.

    >>> load().decide("matmul", target="x86", dtype="f32", M=4, N=4, K=4).tag in load().ruleset.candidates
    True
    """
    if paths is None:
        named: tuple[Path, ...] = (rules_folder(),)
    elif isinstance(paths, str | os.PathLike):
        named = (Path(paths),)
    else:
        named = tuple(Path(path) for path in paths)
    return open_arbiter(named, machine)


def open_arbiter(
    paths: Sequence[Path],
    machine: Machine | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    untrusted: Collection[Path] = (),
    texts: Mapping[str, str] | None = None,
) -> Arbiter:
    """Return an `Arbiter` over paths, some of which may be untrusted: those decide, and never probe or run. See `load`."""
    loaded = load_rules(paths, texts=texts, untrusted=untrusted)
    ruleset = loaded.ruleset_or_raise()
    return Arbiter(ruleset, _machine(machine, ruleset), tuple(paths), texts or {}, findings=loaded.findings, untrusted=untrusted)


def _machine(machine: Machine | Mapping[str, Any] | str | os.PathLike[str] | None, ruleset: Ruleset) -> Machine:
    if machine is None or isinstance(machine, LocalMachine):
        return this_machine(ruleset, machine)
    if isinstance(machine, str | os.PathLike):
        return read_machine(machine)
    return parse_machine(machine, "machine") if isinstance(machine, Mapping) else machine


@define(eq=False)
class Arbiter:
    """Decides, proves and runs over one ruleset on one machine. Safe to use from many threads at once."""

    ruleset: Ruleset
    machine: Machine
    paths: tuple[Path, ...] = ()
    texts: Mapping[str, str] = field(factory=dict)
    replaced: frozenset[str] = frozenset()
    findings: tuple[Finding, ...] = ()
    untrusted: Collection[Path] = ()
    proofs: Proofs = field(factory=Proofs)
    log: Log = field(factory=Log)
    _ready: dict[Any, Prepared] = field(factory=dict, init=False, repr=False)

    def decide(
        self,
        op: str,
        *,
        target: str | None = None,
        force: str | None = None,
        assume: Collection[str] | None = (),
        **words: Any,
    ) -> Decision:
        """Return the decision for a request that words state: dimensions, attributes, ``dtype``, ``given``, ``allow`` ….

        Layouts are words with a dot: ``**{"a.align": 8}``. ``assume`` names candidates whose ``available`` is held for true;
        None means all. Runs no kernel on the request. Raises `OperandError` and `ArbiterError`.
        """
        request = bind_words(self.ruleset, op, target or self.only_target(op), words, self.machine)
        assumed = None if assume is None else frozenset(assume)
        measured = self.corpus.measured(self.ruleset, request, self.machine)
        # On a stated machine nothing has been proved: under `verify ahead` nobody is selected there.
        proofs: dict[str, Proved] | None = {} if self.machine.stated and self.ruleset.policy.verify == "ahead" else None
        named = self._force(force, op, request.target) or self.corpus.pinned(self.ruleset, request)
        return decide(self.ruleset, request, self.machine, force=named, assume_available=assumed, proofs=proofs, measured=measured)

    @property
    def corpus(self) -> Corpus:
        """What was measured before. `Corpus.refresh` reads it anew."""
        return self.proofs.corpus

    def decide_many(
        self,
        op: str,
        target: str | None = None,
        *,
        dims: Mapping[str, Any],
        force: str | None = None,
        assume: Collection[str] | None = (),
        **words: Any,
    ) -> Decisions:
        """Return the decisions on every request of some sizes: ``dims`` has integers or arrays of them that broadcast together.

        The rest is as in `decide`, and so is each answer; see `Decisions` for how they are told.

        >>> import numpy as np
        >>> many = load().decide_many("matmul", "x86", dims={"M": np.arange(3), "N": 4, "K": 4}, dtype="f32", force="reference")
        >>> many.winners.tolist()
        [-1, -1, -1]
        """
        where = target or self.only_target(op)
        assumed = None if assume is None else frozenset(assume)
        return decide_many(self.ruleset, self.machine, op, where, dims, words, self._force(force, op, where), assumed, self.corpus)

    def run(self, op: str, *operands: Any, target: str | None = None, **named: Any) -> Any:
        """Return the result of an op: an array of the kind that came in, or a tuple of them.

        Operands go by position or name, attributes by name; ``force=``, ``allow=``, ``require=``, ``threads=``, ``verify=``,
        ``out=`` as `run_traced` has them.
        """
        try:
            ready = self._ready.get((op, target) if not named else (op, target, tuple(named.items()), tuple(map(type, named.values()))))
        except TypeError:  # a list of words, an array: told apart the careful way
            ready = None
        return ready(*operands) if ready is not None else self.run_traced(op, *operands, target=target, **named)[0]

    def run_traced(
        self,
        op: str,
        *operands: Any,
        target: str | None = None,
        force: str | None = None,
        allow: Collection[str] = (),
        require: Collection[str] = (),
        threads: int | None = None,
        device: int = 0,
        verify: str | None = None,
        out: Any = None,
        progress: Callable[[str], None] | None = None,
        **named: Any,
    ) -> tuple[Any, Execution]:
        """Return the result and who made it: `Execution` has ``.tag``, ``.candidate``, ``.decision``, ``.degraded``.

        ``verify`` overrides the policy (``first_use``, ``always``, ``never``); ``progress`` hears what takes its time.
        Raises `OperandError` for operands that are none of the op, `ArbiterError` for a force that is refused, wrong or fails.
        """
        is_dtype = isinstance(out, str | type | np.dtype) or type(out).__name__ == "dtype"  # of torch
        if is_dtype and op in self.ruleset.ops and "out" in self.ruleset.ops[op].attrs:
            named, out = {**named, "out": out}, None  # an attribute of that name; an array is where the result goes
        allow, require = (names_of(each) if isinstance(each, str) else tuple(each) for each in (allow, require))
        if progress is None:
            found = self._ready_for(op, target, named, (force, verify, threads, device, allow, require))
            if found is not None:
                return found[0].traced(*operands, out=out, **found[1])
        where = target or self.only_target(op)
        result, execution = dispatch(
            self.ruleset,
            self.machine,
            self.proofs,
            op,
            where,
            operands,
            named,
            force=self._force(force, op, where),
            allow=allow,
            require=require,
            threads=threads,
            device=device,
            verify=verify,
            out=out,
            progress=progress,
        )
        self.log.record(execution.decision.request, execution)
        return result, execution

    def prepare(
        self,
        op: str,
        *,
        target: str | None = None,
        force: str | None = None,
        verify: str | None = None,
        assume: Collection[str] | None = (),
        constant: Mapping[str, Any] | None = None,
        **words: Any,
    ) -> Prepared:
        """Return an op with its structure fixed, for loops: called on operands it runs, `Prepared.decide` answers for sizes.

        ``constant`` are operands that are the same at every call, such as ``{"b": weights}``, and are not passed then. A
        candidate that ``packs`` one packs it once; it is held and must not change (see `tessera_rules.bind.packed`).
        ``words`` are the request's but for its dimensions: ``dtype``, attributes, ``given``, ``threads``, ``allow`` …. Raises
        `OperandError` and `UsageError` where they do not fit.

        >>> ready = load().prepare("matmul", target="x86", dtype="f32")
        >>> ready.decide(33, 77, 129).tag == ready.decide(M=33, N=77, K=129).decision.tag
        True
        """
        assumed = None if assume is None else frozenset(assume)
        where = target or self.only_target(op)
        made = make_prepared(
            self.ruleset, self.machine, self.proofs, self.log, op, where, words, force=force, verify=verify, assume=assumed, constants=constant
        )
        made.request  # noqa: B018  the caller's mistakes are said here
        return made

    def _ready_for(self, op: str, target: str | None, named: Mapping[str, Any], rest: tuple[Any, ...]) -> tuple[Prepared, Mapping[str, Any]] | None:
        """Return what runs an op with these attributes, from before where there is one, and the operands that are named.

        None where the op is not known, or an attribute's value cannot be told from another.
        """
        attrs: Mapping[str, Any] = {}
        given: Mapping[str, Any] = named
        try:
            if named:
                operands = self.ruleset.ops[op].operands
                attrs = {name: value for name, value in named.items() if name not in operands}
                if any(name not in self.ruleset.ops[op].attrs for name in attrs):
                    return None
                given = {name: value for name, value in named.items() if name in operands}
                key: Any = (op, target, rest, tuple([(name, exactly(value)) for name, value in attrs.items()]))
            else:
                key = (op, target, rest)
            found = self._ready.get(key)
        except (TypeError, KeyError):
            return None
        if found is None:
            if op not in self.ruleset.ops:
                return None
            force, verify, threads, device, allow, require = rest
            words = {**attrs, "threads": threads, "device": device, "allow": allow, "require": require}
            where = target or self.only_target(op)
            found = make_prepared(self.ruleset, self.machine, self.proofs, self.log, op, where, words, force=force, verify=verify)
            if len(self._ready) >= KEPT_READY:
                self._ready.clear()
            self._ready[key] = found
            self._also_as(found, op, target, attrs, rest)
        return found, given

    def _also_as(self, ready: Prepared, op: str, target: str | None, attrs: Mapping[str, Any], rest: tuple[Any, ...]) -> None:
        """Keep a call under what `run` is given as it is, where that says all: no zero whose sign would be lost, nothing in lists."""
        force, *others = rest
        if others != [None, None, 0, (), ()] or any(isinstance(value, list | tuple | float) and not value for value in attrs.values()):
            return
        named = {**({} if force is None else {"force": force}), **attrs}
        with suppress(TypeError):
            key = (op, target) if not named else (op, target, tuple(named.items()), tuple(map(type, named.values())))
            if not any(isinstance(value, list | tuple) for value in named.values()):
                self._ready[key] = ready

    def declare(self, text: str, replace: bool = False, name: str | None = None) -> Arbiter:
        """Return a new `Arbiter` with more rules. With ``replace`` a declaration of a known name takes its place.

        Raises `RuleError` with every diagnostic; this arbiter stays as it is.
        """
        label = name or f"<declared {len(self.texts) + 1}>"
        texts = {**self.texts, label: text}
        replaced = self.replaced | ({label} if replace else frozenset())
        loaded = load_rules(self.paths, texts=texts, replace=replaced, untrusted=self.untrusted)
        return self._over(loaded, texts, replaced)

    def reload(self) -> Arbiter:
        """Return a new `Arbiter` over the same files as they are now, with what was declared since; what was measured is read anew."""
        self.corpus.refresh()
        loaded = load_rules(self.paths, texts=self.texts, replace=self.replaced, untrusted=self.untrusted)
        return self._over(loaded, self.texts, self.replaced)

    def _over(self, loaded: Loaded, texts: Mapping[str, str], replaced: frozenset[str]) -> Arbiter:
        ruleset = loaded.ruleset_or_raise()
        machine = this_machine(ruleset, self.machine) if isinstance(self.machine, LocalMachine) else self.machine
        return Arbiter(ruleset, machine, self.paths, texts, replaced, loaded.findings, self.untrusted, self.proofs, self.log)

    def on(self, machine: Machine | Mapping[str, Any] | str | os.PathLike[str] | None) -> Arbiter:
        """Return this arbiter on another machine; None is this one."""
        return Arbiter(
            self.ruleset, _machine(machine, self.ruleset), self.paths, self.texts, self.replaced, self.findings, self.untrusted, self.proofs, self.log
        )

    def only_target(self, op: str) -> str | None:
        """Return the host's target where the arrays are: x86, or the only target that the op has a candidate on."""
        targets = list(dict.fromkeys(target for name, target in self.ruleset.registered if name == op))
        return "x86" if "x86" in targets else targets[0] if len(targets) == 1 else None

    def _force(self, force: str | None, op: str, target: str | None) -> str | None:
        return force if force is not None or target is None else environment_force(self.ruleset, op, target)
