"""What a proof holds for: a candidate as it is declared, the bytes that it runs, the op and its reference, this machine's arithmetic
and this oracle; then a structure (any shape), or a structure at one shape and layout. Nothing is shared between candidates (T1, T27).
"""  # fmt: skip

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from tessera_rules.bind.cache import file_digest
from tessera_rules.machine.local import LocalMachine
from tessera_rules.model.request import DEFAULT_ALIGN, Request
from tessera_rules.model.show import show
from tessera_rules.model.values import Candidate, Clause, Op

ALLOCATED = 16
"""Bytes: the alignment that every allocator gives."""


def request_key(request: Request, candidate: Candidate) -> tuple[Any, ...]:
    """Return what a proof at one shape holds for: op, target, device, dtype, attributes, sizes, who is given, layouts, threads.

    Of an alignment it holds all where a clause reads it, else whether it is less than what allocators give (16 bytes), since an
    address that differs from call to call would mean a proof at every call; operands off by one element are probed anyway.
    """
    reads = {key for clause in (*candidate.requires, *candidate.implied) for key in clause.reads}
    layouts = tuple(
        sorted(
            (name, it.align if f"align:{name}" in reads else min(it.align or DEFAULT_ALIGN, ALLOCATED), it.strides or (), it.dtype or "")
            for name, it in request.layouts.items()
        )
    )
    attrs = tuple(sorted((name, repr(value)) for name, value in request.attrs.items()))
    dims = tuple(sorted(request.dims.items()))
    return request.op.name, request.target, request.device, request.dtype, attrs, dims, tuple(sorted(request.given)), layouts, request.threads


def structure_of(request: Request) -> dict[str, Any]:
    """Return the structure of a request: attributes but for the values of numbers, operands that are given, operands' own dtypes."""
    attrs = {name: _kind(value) for name, value in sorted(request.attrs.items())}
    dtypes = {name: layout.dtype for name, layout in sorted(request.layouts.items()) if layout.dtype is not None}
    return {"attrs": attrs, "given": sorted(request.given), "dtypes": dtypes, "allow": sorted(request.allow)}


def _kind(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return value
    return "number" if isinstance(value, int | float) else list(value) if isinstance(value, tuple) else str(value)


def structure_key(candidate: Candidate, digest: str, request: Request, machine: LocalMachine) -> str:
    """Return the key of a proof for a structure, whatever the shape."""
    return _hash(*_common(candidate, digest, request.op, machine), request.target, str(request.device), str(request.dtype), repr(structure_of(request)))


def shape_key(structure: str, request: Request, candidate: Candidate) -> str:
    """Return the key of a proof for one shape and layout of a structure."""
    return _hash(structure, repr(request_key(request, candidate)))


def about(candidate: Candidate, digest: str, request: Request, *, shaped: bool) -> dict[str, Any]:
    """Return what a record shows of its key."""
    found: dict[str, Any] = {"op": request.op.name, "target": request.target, "dtype": request.dtype, "digest": digest[:16], **structure_of(request)}
    return found | ({"dims": dict(request.dims)} if shaped else {})


def _common(candidate: Candidate, digest: str, op: Op, machine: LocalMachine) -> tuple[str, ...]:
    return candidate.name, digest, declared(candidate), declared_op(op), _reference(op), numerics(machine), oracle_digest()


@lru_cache(maxsize=4096)
def declared(candidate: Candidate) -> str:
    """Return the digest of what a candidate's declaration says that bears on right and wrong."""
    accuracy = candidate.accuracy
    stated = [] if accuracy is None else [show(term) if term is not None else "" for term in (accuracy.atol, accuracy.rtol)]
    parts = [_clauses(candidate.requires), _clauses(candidate.implied), stated, candidate.computes, candidate.honours, sorted(candidate.named)]
    return _hash(repr([*parts, candidate.deterministic, candidate.batch_invariant, sorted(candidate.family.items(), key=str), candidate.op, candidate.target]))


def _clauses(clauses: tuple[Clause, ...]) -> list[Any]:
    return [(clause.text, sorted(clause.loops.items(), key=str), show(clause.term)) for clause in clauses]


@lru_cache(maxsize=1024)
def declared_op(op: Op) -> str:
    """Return the digest of an op's declaration."""
    return _hash(op.span.text)


def _reference(op: Op) -> str:
    """Return the digest of the file of an op's reference; nothing is imported for it."""
    if op.reference is None:
        return "no reference"
    path = module_file(op.reference.module)
    try:
        return f"{op.reference.path} {file_digest(path) if path else 'no file'}"
    except OSError:
        return f"{op.reference.path} absent"


def module_file(module: str) -> str | None:
    """Return the file that a module comes from, or would."""
    loaded = sys.modules.get(module)
    if loaded is not None:
        return getattr(loaded, "__file__", None)
    relative = os.path.join(*module.split("."))
    for folder in sys.path:
        for path in (os.path.join(folder, f"{relative}.py"), os.path.join(folder, relative, "__init__.py")):
            if os.path.isfile(path):
                return path
    return None


SWITCHES = ("OPENBLAS_CORETYPE", "MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS", "NVIDIA_TF32_OVERRIDE")
"""Environment variables that change what math libraries compute."""

_NUMERICS: dict[int, str] = {}


def numerics(machine: LocalMachine) -> str:
    """Return what names a machine's arithmetic, with the settings of math libraries that change it."""
    found = _NUMERICS.get(0)
    if found is None:
        found = _NUMERICS[0] = machine.fingerprint().numerics
    switches = [f"{name}={os.environ[name]}" for name in SWITCHES if name in os.environ]
    return " ".join([found, *switches])


@cache
def oracle_digest() -> str:
    """Return the digest of the oracle itself and of the ops' bounds: another oracle proves something else."""
    here = Path(__file__).parent
    files = sorted([*here.rglob("*.py"), *(here.parent / "ops").glob("*.py")])
    return _hash(*(f"{path.relative_to(here.parent)} {file_digest(path)}" for path in files))


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def shown(about: Mapping[str, Any]) -> str:
    """Return what a record is about as one line."""
    attrs = [f"{name}={value}" for name, value in about.get("attrs", {}).items() if value not in (None, [], False, "number", "none")]
    dims = [f"{name}={size}" for name, size in about.get("dims", {}).items()]
    given = [f"given={name}" for name in about.get("given", [])]
    return " ".join([str(about.get("op")), str(about.get("target")), *dims, f"dtype={about.get('dtype')}", *attrs, *given])
