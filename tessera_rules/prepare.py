"""Requests made ready: structure once, then a look-up for each decision and each call.

`Prepared.decide` answers for sizes, `Prepared.decide_on` and calling it for operands. What it remembers it remembers by
exactly what tells requests of its structure apart: sizes; of operands type, shape, strides, dtype and, where it matters, how
far their addresses are aligned. All of it holds for one epoch (`tessera_rules.machine.epoch`) and the environment that it
hung on. Whatever was not met before goes the long way, through `dispatch`, and so does whatever that says may not be repeated.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from attrs import define, evolve, field

from tessera_rules.arbiter.decide import decide
from tessera_rules.arbiter.decision import Decision
from tessera_rules.arbiter.execution import Execution
from tessera_rules.arbiter.facts import RequestFacts
from tessera_rules.arbiter.request import bind_words, find_op
from tessera_rules.arbiter.situation import Proved, Situation
from tessera_rules.arbiter.structure import Structure, of_dims, of_operands, settle, typed_values
from tessera_rules.arbiter.words import names_of
from tessera_rules.bind.address import address_of
from tessera_rules.bind.bound import Bound
from tessera_rules.bind.operands import bind_operands
from tessera_rules.bind.outcome import KernelFailed, Unbound
from tessera_rules.bind.packed import PackedBound, with_constants
from tessera_rules.bind.ready import Ready, make_ready
from tessera_rules.declined import Declined
from tessera_rules.dispatch import Proofs, Served, dispatch
from tessera_rules.errors import OperandError
from tessera_rules.forced import environment_force
from tessera_rules.log import Log
from tessera_rules.machine.base import Machine
from tessera_rules.machine.epoch import EPOCH, LOG, environment, unchanged, variable, variables
from tessera_rules.model.request import MAX_ALIGN, Request
from tessera_rules.model.values import Op, Ruleset
from tessera_rules.nearest import did_you_mean
from tessera_rules.remembered import CACHE_LINE, LEVELS, SIGHT, Entry, State, finder, hangs_on


@define(eq=False)
class Choice:
    """Who runs: a candidate's name, or the reference. Everything that explains it is worked out when it is asked for."""

    winner: str | None
    tag: str
    _prepared: Prepared = field(repr=False)
    _asked: Any = field(repr=False)

    @property
    def decision(self) -> Decision:
        """The whole decision, with a verdict for everybody, as the rules and the machine say it now."""
        return self._prepared.ask(self._asked)

    def explain(self) -> str:
        """Return who runs and why, and of each of the others why not, as text."""
        return self.decision.explain()


@define(eq=False)
class Prepared:
    """An op on a target with its structure fixed. Safe to use from many threads at once.

    ``words`` is the request but for its dimensions; ``attrs`` is what operands are called with. Made by `Arbiter.prepare`.
    """

    ruleset: Ruleset
    machine: Machine
    proofs: Proofs
    log: Log
    op: Op
    target: str | None
    words: Mapping[str, Any]
    force: str | None = None
    verify: str | None = None
    assume: frozenset[str] | None = frozenset()
    constants: Mapping[str, Any] = field(factory=dict, repr=False)
    _dressed: dict[int, tuple[Bound, Bound | Unbound]] = field(factory=dict, init=False, repr=False)
    _state: State = field(init=False, repr=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._state = self._new_state()

    # ---- decisions ---------------------------------------------------------------------------------------------------

    def decide(self, *sizes: int, **named: int) -> Choice:
        """Return who runs for sizes, in the order of the op's dimensions or by name.

        Raises `OperandError` for sizes that the op does not take, `ArbiterError` as `Arbiter.decide` does; with sizes that
        are not given it answers where they do not matter, with the tag ``undecided`` else.
        """
        state = self._state
        if state.mark is EPOCH.mark and environment() == state.environment and (not state.watched or unchanged(state.watched)):
            found = state.choices.get(sizes if not named else None if sizes else tuple(named.items()))
            if found is not None:
                return found
        return self._decided(sizes, named)

    def _decided(self, sizes: tuple[int, ...], named: Mapping[str, int]) -> Choice:
        state, dims = self._fresh(), self.op.dims
        if named:
            by_name = {**dict(zip(dims, sizes, strict=False)), **named}
            if len(by_name) != len(sizes) + len(named):
                twice = next(name for name in named if name in tuple(dims)[: len(sizes)])
                raise OperandError(f"dimension '{twice}' of {self.op.name} is given by position and by name")
            if len(by_name) < len(dims) or any(name not in dims for name in by_name):
                return self._asked(by_name)
            choice = self._decided(tuple([by_name[name] for name in dims]), {})
            if len(named) == len(dims):
                state.choices[tuple(named.items())] = choice
            return choice
        if len(sizes) != len(dims):
            if len(sizes) > len(dims):
                raise OperandError(f"{self.op.name} has {len(dims)} dimensions, and {len(sizes)} sizes are given", hint=f"they are {', '.join(dims)}")
            return self._asked(dict(zip(dims, sizes, strict=False)))
        tag = self._structure(state).winner(*sizes) if state.force is None and not self._is_measured(dict(zip(dims, sizes, strict=True))) else None
        if tag is None:
            choice = self._asked(dict(zip(dims, sizes, strict=True)))
        else:
            choice = Choice(None if tag == "reference" else tag, tag, self, sizes)
        state.room(state.choices)
        state.choices[sizes] = choice
        return choice

    def _asked(self, asked: Any) -> Choice:
        decision = self.ask(asked)
        return Choice(decision.winner, decision.tag, self, asked)

    def ask(self, asked: Mapping[str, int] | Sequence[int] | Request) -> Decision:
        """Return the whole decision of the arbiter for sizes, by name or in order, or for a request."""
        if isinstance(asked, Request):
            request = asked
        else:
            sizes = asked if isinstance(asked, Mapping) else dict(zip(self.op.dims, asked, strict=True))
            request = bind_words(self.ruleset, self.op.name, self.target, {**self.words, **sizes}, self.machine)
        measured = self.proofs.corpus.measured(self.ruleset, request, self.machine)
        force = self._forced() or self.proofs.corpus.pinned(self.ruleset, request)
        return decide(self.ruleset, request, self.machine, force=force, assume_available=self.assume, proofs=self._unproved, measured=measured)

    def decide_on(self, *operands: Any) -> Choice:
        """Return who runs for operands, in the op's order. Nothing runs, and no guard is asked."""
        if self.constants:
            operands = self._filled(operands, {})[0]
        state = self._state
        if state.holds:
            try:
                key: Any = tuple(map(SIGHT, operands))
                if state.mask != CACHE_LINE - 1:
                    key = (key, *self._levels(state, operands))
                found = state.sights.get(key)
            except (AttributeError, TypeError):
                found = None
            if found is not None:
                return found
        return self._sighted(operands)

    def _levels(self, state: State, operands: Sequence[Any]) -> tuple[int, ...]:
        """Return the alignments of arrays. Raises `TypeError` for what is no plain array."""
        mask, levels = state.mask, LEVELS[state.mask]
        if any(type(x) is not np.ndarray for x in operands):
            raise TypeError
        return tuple([levels[address_of(x) & mask] for x in operands])

    def _sighted(self, operands: Sequence[Any]) -> Choice:
        state, words = self._fresh(), self.words
        promised = {name: words[name] for name in ("allow", "require") if name in words}
        request = bind_operands(
            self.op, operands, None, self.attrs, self.target, threads=words.get("threads"), device=words.get("device", 0), **promised
        ).request
        self._same_dtype(request)
        request = evolve(request, threads=request.threads or self.machine.threads)
        tag = None
        if state.force is None and not self._is_measured(request.dims):
            structure = self._operand_structure(state, request)
            values = typed_values(structure, RequestFacts(request))
            tag = None if values is None else structure.winner(*values)
        choice = self._asked(request) if tag is None else Choice(None if tag == "reference" else tag, tag, self, request)
        if all(type(x) is np.ndarray for x in operands):
            key: Any = tuple(map(SIGHT, operands))
            state.room(state.sights)
            state.sights[key if state.mask == CACHE_LINE - 1 else (key, *self._levels(state, operands))] = choice
        return choice

    def _is_measured(self, dims: Mapping[str, int]) -> bool:
        """Whether records may speak of sizes: then the arbiter is asked, with what they say."""
        target = self.target or self.request.target
        box = self.proofs.corpus.box(self.ruleset, self.op.name, target)
        return box is not None and all(low <= dims[name] <= high for name, (low, high) in box.items() if name in dims)

    def _structure(self, state: State) -> Structure:
        found = state.by_sizes
        if found is None:
            request = self.request
            found = state.by_sizes = settle(Situation(self.ruleset, request, self.machine, self.assume, proofs=self._unproved), of_dims)
        return found

    def _operand_structure(self, state: State, request: Request) -> Structure:
        """Return the structure of operands; their own dtypes, where the op leaves a choice, are part of it."""
        own = {name: evolve(layout, align=None, strides=None) for name, layout in request.layouts.items() if layout.dtype is not None}
        key = (request.dtype, request.given, request.target, request.device, tuple(sorted((name, layout.dtype or "") for name, layout in own.items())))
        found = state.by_operands.get(key)
        if found is None:
            bare = evolve(request, dims={}, layouts=own)
            found = state.by_operands[key] = settle(Situation(self.ruleset, bare, self.machine, self.assume, proofs=self._unproved), of_operands)
        return found

    @property
    def request(self) -> Request:
        """The request but for its dimensions. Raises `UsageError` and `OperandError` for words that do not fit."""
        return bind_words(self.ruleset, self.op.name, self.target, self.words, self.machine)

    @property
    def _unproved(self) -> dict[str, Proved] | None:
        """What is known of proofs: nothing on a stated machine, where nobody is selected under `verify ahead`; else not asked."""
        return {} if self.machine.stated and self.ruleset.policy.verify == "ahead" else None

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes among the words."""
        return {name: value for name, value in self.words.items() if name in self.op.attrs}

    def _same_dtype(self, request: Request) -> None:
        stated = self.words.get("dtype")
        if stated is not None and request.dtype != self.request.dtype:
            raise OperandError(f"the operands of {self.op.name} are {request.dtype}, and it is prepared for {self.request.dtype}")

    # ---- calls -------------------------------------------------------------------------------------------------------

    def __call__(self, *operands: Any, out: Any = None, **named: Any) -> Any:
        """Return the result of the op over operands, as `Arbiter.run` does."""
        state = self._state
        if self.constants:
            return self.traced(*operands, out=out, **named)[0]
        if out is None and not named and state.mark is EPOCH.mark and environment() == state.environment and (not state.watched or unchanged(state.watched)):
            try:
                find = state.calls.get(tuple(map(SIGHT, operands)))
            except (AttributeError, TypeError):
                find = None
            if find is not None:
                entry, addresses = find(*operands)
                if entry is not None:
                    try:
                        result = entry.call(operands, addresses)
                    except (Declined, KernelFailed, OperandError) as problem:
                        return self._again(operands, entry, problem)[0]
                    if variable(LOG) is None:
                        entry.count()
                        entry.append(entry.noted)
                    else:
                        self.log.record(entry.served.fitted.request, entry.served.execution)
                    return result
        return self.traced(*operands, out=out, **named)[0]

    def traced(self, *operands: Any, out: Any = None, **named: Any) -> tuple[Any, Execution]:
        """Return the result and who made it, as `Arbiter.run_traced` does. Optional operands go by position or name."""
        state = self._state
        if self.constants:
            operands, named = self._filled(operands, named)
        elif named:
            operands, named = self._in_order(operands, named)
        if out is None and not named and state.holds:
            try:
                find = state.calls.get(tuple(map(SIGHT, operands)))
            except (AttributeError, TypeError):
                find = None
            entry, addresses = (None, ()) if find is None else find(*operands)
            if entry is not None:
                try:
                    result = entry.call(operands, addresses)
                except (Declined, KernelFailed, OperandError) as problem:
                    return self._again(operands, entry, problem)
                if variable(LOG) is None:
                    entry.count()
                    entry.append(entry.noted)
                else:
                    self.log.record(entry.served.fitted.request, entry.served.execution)
                return result, entry.served.execution
        return self._dispatched(operands, named, out)

    def _again(self, operands: tuple[Any, ...], entry: Entry, problem: Declined | KernelFailed | OperandError) -> tuple[Any, Execution]:
        """Go the long way after all: a kernel did not deliver this time, or an operand is none of its."""
        self._state.calls.clear()
        return self._dispatched(operands, {}, None, None if isinstance(problem, OperandError) else (entry.served, problem))

    def _in_order(self, operands: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return operands by position where those by name just go on, or None stands for nothing."""
        rest = dict(named)
        for name in tuple(self.op.operands)[len(operands) :]:
            if name not in rest:
                break
            operands = (*operands, rest.pop(name))
        return (operands, {}) if not rest else (operands, rest)

    def _filled(self, operands: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return all operands by position, constants in their places; None stands for one that is not given."""
        names = tuple(self.op.operands)
        free = [name for name in names if name not in self.constants]
        if len(operands) > len(free):
            raise OperandError(f"{self.op.name} takes {len(free)} operands besides its constants, and {len(operands)} are given", hint=", ".join(free))
        twice = next((name for name in named if name in self.constants or name in free[: len(operands)]), None)
        if twice is not None:
            raise OperandError(f"operand '{twice}' of {self.op.name} is given already, as a constant or by position")
        given = {**self.constants, **dict(zip(free, operands, strict=False)), **{name: named[name] for name in named if name in names}}
        last = max(index for index, name in enumerate(names) if given.get(name) is not None)
        return tuple([given.get(name) for name in names[: last + 1]]), {name: value for name, value in named.items() if name not in names}

    def _dress(self, bound: Bound) -> Bound | Unbound:
        """Return a bound candidate as it is for these constants, made once."""
        with self._lock:
            known = self._dressed.get(id(bound))
            if known is None or known[0] is not bound:
                known = self._dressed[id(bound)] = (bound, with_constants(bound, self.constants))
            return known[1]

    def _dispatched(
        self, operands: tuple[Any, ...], named: Mapping[str, Any], out: Any, failed: tuple[Served, Declined | KernelFailed] | None = None
    ) -> tuple[Any, Execution]:
        """Go the long way, and remember what may be repeated."""
        state, words = self._fresh(), self.words
        arrays = tuple(each for each in operands)
        for _, bound in tuple(self._dressed.values()):
            if isinstance(bound, PackedBound):
                bound.check()
        if words.get("dtype") is not None:
            self._same_dtype(bind_operands(self.op, operands, named, self.attrs, self.target).request)

        def served(it: Served) -> None:
            if not named and all(type(x) is np.ndarray for x in arrays):
                self._remember(state, arrays, it)

        result, execution = dispatch(
            self.ruleset,
            self.machine,
            self.proofs,
            self.op.name,
            self.target,
            operands,
            {**self.attrs, **named},
            force=state.force,
            allow=words.get("allow", ()),
            require=words.get("require", ()),
            threads=words.get("threads"),
            device=words.get("device", 0),
            verify=self.verify,
            out=out,
            served=served if out is None else None,
            failed=failed,
            dress=self._dress if self.constants else None,
        )
        self.log.record(execution.decision.request, execution)
        return result, execution

    def _remember(self, state: State, operands: tuple[Any, ...], it: Served) -> None:
        names = tuple(self.op.operands)[: len(operands)]
        request = it.fitted.request
        assert request.threads is not None
        ready = make_ready(it.bound, request, it.fitted.arrays, names, request.threads)
        if ready is None and any(operand.inout for operand in self.op.operands.values()):
            return  # who fails half way has to leave operands as they were: the long way sees to that
        if ready is None:
            ready = lambda given, _: it.bound.call(dict(zip(names, given, strict=True)), request)  # noqa: E731
        if isinstance(it.bound, PackedBound):
            ready = _checked(it.bound, ready)
        tally = self.log.tally(self.op.name, request.target, it.execution.tag)
        entry = Entry(ready, it, tally.count, tally.append, self.log.noted(request, it.execution))
        key = tuple(map(SIGHT, operands))
        with self._lock:
            state.room(state.calls)
            entries = {**state.entries.get(key, {}), self._levels(state, operands): entry}
            state.entries[key] = entries
            state.calls[key] = finder(len(operands), state.mask, entries)

    # ---- what it hangs on ----------------------------------------------------------------------------------------------

    def _fresh(self) -> State:
        """Return the state of this epoch."""
        state = self._state
        if not state.holds:
            with self._lock:
                if not self._state.holds:
                    if environment()[1:] != self._state.environment[1:]:
                        self.proofs.corpus.refresh()
                    self._state = self._new_state()
                state = self._state
        return state

    def _new_state(self) -> State:
        mark, there = EPOCH.mark, environment()
        names, aligned = hangs_on(self.ruleset, self.op.name, self.target)
        return State(mark, there, variables(names), self._forced(), (MAX_ALIGN if aligned else CACHE_LINE) - 1)

    def _forced(self) -> str | None:
        if self.force is not None or self.target is None:
            return self.force
        return environment_force(self.ruleset, self.op.name, self.target)


def _checked(bound: PackedBound, ready: Ready) -> Ready:
    """Return a call before which packed constants are looked at."""

    def call(operands: Sequence[Any], addresses: Sequence[int]) -> Any:
        bound.check()
        return ready(operands, addresses)

    return call


def make_prepared(
    ruleset: Ruleset,
    machine: Machine,
    proofs: Proofs,
    log: Log,
    op: str,
    target: str | None,
    words: Mapping[str, Any],
    *,
    force: str | None = None,
    verify: str | None = None,
    assume: frozenset[str] | None = frozenset(),
    constants: Mapping[str, Any] | None = None,
) -> Prepared:
    """Return a prepared request. Raises `UsageError` for an op that is not declared, `OperandError` for constants that it has not."""
    found, known, held = find_op(ruleset, op), dict(words), dict(constants or {})
    for name in held:
        if name not in found.operands:
            raise OperandError(f"op {op} has no operand '{name}' to be constant", hint=did_you_mean(name, found.operands, "operand"))
    optional = [name for name in held if found.operands[name].optional]
    if optional:
        known["given"] = tuple(dict.fromkeys((*names_of(known.get("given", ())), *optional)))
    return Prepared(ruleset, machine, proofs, log, found, target, known, force, verify, assume, held)
