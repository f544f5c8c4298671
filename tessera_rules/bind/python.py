"""Python bindings: a module's callable, resolved and asked what it takes."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from attrs import frozen

from tessera_rules.bind.outcome import KernelFailed, Unbound
from tessera_rules.declined import Declined
from tessera_rules.model.values import Candidate, Op, PythonBinding
from tessera_rules.nearest import nearest

EXTRAS = ("out", "stream", "threads", "workspace")
"""What a callable may take besides operands and attributes."""


def resolve(module: str, name: str) -> Callable[..., Any] | Unbound:
    """Return ``module:name``, imported, or why it is none: no import, no such name, None (P16), not callable.

    >>> resolve("math", "sqrtt")
    Unbound(reason="module 'math' has no 'sqrtt'; did you mean 'sqrt'?")
    """
    try:
        found: Any = importlib.import_module(module)
    except (Exception, SystemExit) as problem:
        # The folder of the rules is no place to import from, which is what a newcomer expects.
        absent = isinstance(problem, ModuleNotFoundError) and problem.name == module.partition(".")[0]
        way = "; it is looked for among installed packages and on PYTHONPATH" if absent else ""
        return Unbound(f"module '{module}' does not import: {described(problem)}{way}")
    path = module
    for part in name.split("."):
        if not hasattr(found, part):
            near = nearest(part, dir(found))
            return Unbound(f"{'module' if path == module else 'object'} '{path}' has no '{part}'" + (f"; did you mean '{near}'?" if near else ""))
        found = getattr(found, part)
        path = f"{path}.{part}"
    if found is None:
        return Unbound(f"{module}:{name} is None: the module imports, and what it should bind is not there")
    if not callable(found):
        return Unbound(f"{module}:{name} is {type(found).__name__}, which cannot be called")
    return found  # type: ignore[no-any-return]


def described(problem: BaseException) -> str:
    """Return an exception as one line.

    >>> described(ValueError("no"))
    'ValueError: no'
    """
    text = " ".join(str(problem).split())
    return f"{type(problem).__name__}: {text[:300]}" if text else type(problem).__name__


@frozen(eq=False)
class PythonCallable:
    """A callable with the names that it is passed, asked once at bind."""

    function: Callable[..., Any]
    path: str
    operands: tuple[str, ...]
    attrs: tuple[str, ...]
    extras: frozenset[str]
    constants: Mapping[str, Any]
    by_position: tuple[str, ...]

    def __call__(self, values: Mapping[str, Any]) -> Any:
        """Call with what it takes of ``values``. Raises `Declined` or `KernelFailed`; returns what it returned."""
        if self.by_position:
            rest = {name: values[name] for name in (*self.operands, *self.attrs, *self.extras) if name not in self.by_position}
            arguments = [values[name] if name in values else self.constants[name] for name in self.by_position]
            rest |= {name: value for name, value in self.constants.items() if name not in self.by_position}
        else:
            arguments = []
            rest = {name: values[name] for name in (*self.operands, *self.attrs, *self.extras)}
            rest.update(self.constants)
        try:
            result = self.function(*arguments, **rest)
        except Declined:
            raise
        except (Exception, SystemExit) as problem:
            raise KernelFailed(f"{self.path} raised {described(problem)}") from problem
        if isinstance(result, Declined):
            raise result
        if result is Declined:
            raise Declined
        return result


def bind_python(candidate: Candidate, op: Op) -> PythonCallable | Unbound:
    """Return the candidate's callable, or why it is none that can serve: what it is honoured to take, it takes."""
    binding = candidate.bind
    assert isinstance(binding, PythonBinding)
    found = resolve(binding.module, binding.name)
    return found if isinstance(found, Unbound) else adapt(found, binding, op, candidate.honours)


def adapt(function: Callable[..., Any], binding: PythonBinding, op: Op, honours: tuple[str, ...] = ()) -> PythonCallable | Unbound:
    """Return a callable with the names that it takes of an op, or why it does not fit."""
    path = binding.path
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return Unbound(f"{path} does not say what it takes: it has no signature that can be read")
    parameters = signature.parameters.values()
    anything = any(p.kind is p.VAR_KEYWORD for p in parameters)
    plain = [p for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    names = {p.name for p in plain}

    def taken(name: str) -> bool:
        return anything or name in names

    for name in op.operands:
        if not op.operands[name].optional and not taken(name):
            return Unbound(f"{path} does not take operand '{name}' of {op.name}: it takes {_listed(names)}")
    for name in honours:
        if not taken(name):
            what = "attribute" if name in op.attrs else "operand"
            return Unbound(f"{path} does not take {what} '{name}', which its candidate honours: it takes {_listed(names)}")
    for name in binding.constants:
        if not taken(name):
            return Unbound(f"{path} does not take '{name}' of `with`: it takes {_listed(names)}")
    known = {*op.operands, *op.attrs, *EXTRAS, *binding.constants}
    for p in plain:
        if p.name not in known and p.default is p.empty:
            near = nearest(p.name, known)
            return Unbound(f"{path} needs '{p.name}', which {op.name} has not" + (f"; did you mean '{near}'?" if near else ""))
    return PythonCallable(
        function=function,
        path=path,
        operands=tuple(name for name in op.operands if taken(name)),
        attrs=tuple(name for name in op.attrs if taken(name) and name not in binding.constants),
        extras=frozenset(name for name in EXTRAS if name in names and name not in op.attrs),
        constants=dict(binding.constants),
        by_position=tuple(p.name for p in plain if p.kind is p.POSITIONAL_ONLY and p.name in known),
    )


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"


def workspace_array(size: int) -> np.ndarray[Any, Any]:
    """Return scratch memory: ``size`` bytes at a 64-byte-aligned address, not initialised."""
    raw = np.empty(size + 64, np.uint8)
    start = -raw.__array_interface__["data"][0] % 64
    return raw[start : start + size]
