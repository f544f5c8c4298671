"""Source bindings: compiled at first use, kept by the content of everything that goes in.

What goes in: the source and the headers that it includes (as the compiler lists them), the flags, the compiler (its path,
version and target) and, under ``-march=native`` and its like, the CPU. A library is believed only with the digest that was
noted when it was built. A compile that failed is remembered with the compiler's first error line and tried again when one
of its inputs changes, or on `forget_failures`.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from tessera_rules.bind.cache import CacheError, file_digest, own_file, own_folder
from tessera_rules.bind.outcome import Unbound
from tessera_rules.bind.paths import PathError, expanded, source_path
from tessera_rules.machine.telling import tell
from tessera_rules.model.values import NativeBinding

COMPILE_SECONDS = 300.0
"""A compile that takes longer is ended; optimising compilers have been seen to loop."""
VARIABLES = {"cc": "CC", "c++": "CXX"}
"""The environment variable that says which compiler a name stands for."""
DEVICE_COMPILERS = ("nvrtc", "hip", "hiprtc", "hipcc", "nvcc")
_FAILURES: dict[str, tuple[Mapping[str, Any], str]] = {}
_LOCKS: dict[str, threading.Lock] = {}
_INPUTS: dict[str, tuple[str, ...]] = {}
"""The files that went into the last build of each source."""
_GUARD = threading.Lock()


@frozen
class Built:
    """A compiled library: where it lies, and the digest of its bytes."""

    path: str
    digest: str


@frozen
class Compiler:
    """A compiler: the command, and what names it (real path, size and time of change, version, target)."""

    command: tuple[str, ...]
    identity: Mapping[str, Any]


def build(binding: NativeBinding) -> Built | Unbound:
    """Return the library of a source binding, compiled where it has to be, or why there is none."""
    name = binding.compiler or "cc"
    if name in DEVICE_COMPILERS:
        return Unbound(f"compiler '{name}' makes device code, which is not bound on this machine")
    try:
        source = source_path(binding)
        flags = tuple(expanded(flag) for flag in binding.flags)
        compiler = find_compiler(name)
        if isinstance(compiler, Unbound):
            return compiler
        if not source.is_file():
            return Unbound(f"source {binding.path} is not there (looked for {source})")
        return _built(source, compiler, flags)
    except (PathError, CacheError) as problem:
        return Unbound(str(problem))
    except OSError as problem:
        return Unbound(f"compiling {binding.path}: {problem.strerror or problem}" + (f" ({problem.filename})" if problem.filename else ""))


def mark(path: str) -> Any:
    """Return what tells whether a file has changed, without reading it; None where it is not there."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def changed_marks(binding: NativeBinding) -> Any:
    """Return a mark of what a source's library depends on: files as they are now, compiler, environment."""
    name = binding.compiler or "cc"
    try:
        path = str(source_path(binding))
        flags = tuple(expanded(flag) for flag in binding.flags)
    except PathError as problem:
        return str(problem)
    environment = tuple(os.environ.get(each) for each in (VARIABLES.get(name, "CC"), "PATH", "TSR_CACHE"))
    return (flags, environment, tuple((each, mark(each)) for each in _INPUTS.get(path, (path,))))


def inputs_of(binding: NativeBinding) -> tuple[str, ...]:
    """Return the files that a source binding is built of: the source, and once it is built the headers that it includes."""
    try:
        path = str(source_path(binding))
    except PathError:
        return ()
    return _INPUTS.get(path, (path,))


def find_compiler(name: str) -> Compiler | Unbound:
    """Return the compiler that a name means: ``cc`` is what ``CC`` says, ``c++`` what ``CXX`` says, others are commands."""
    variable = VARIABLES.get(name)
    stated = os.environ.get(variable) if variable else None
    try:
        words = shlex.split(stated) if stated else [expanded(name)]
    except ValueError as problem:
        return Unbound(f"{variable}={stated} is no command: {problem}")
    said = f" ({variable}={stated})" if stated else ""
    if not words:
        return Unbound(f"no compiler '{name}'{said}")
    found = shutil.which(words[0])
    if found is None:
        way = f"; {variable} names another" if variable and not stated else ""
        return Unbound(f"no compiler: '{words[0]}' is not found{said}{way}")
    return _identified((found, *words[1:]))


def _identified(command: tuple[str, ...]) -> Compiler | Unbound:
    """Return a compiler with its version and target, asked once for a file that has not changed since."""
    real = os.path.realpath(command[0])
    found = os.stat(real)
    mark = [real, found.st_size, found.st_mtime_ns, *command[1:]]
    notes = own_folder("kernels") / f"compiler-{hashlib.sha256(json.dumps(mark).encode()).hexdigest()[:24]}.json"
    known = _read_notes(notes)
    if known is None:
        said = _run([*command, "--version"], 30.0)
        if said.code != 0:
            return Unbound(f"compiler {shlex.join(command)} does not answer --version: {said.reason}")
        target = _run([*command, "-dumpmachine"], 30.0)
        known = {"version": said.output.strip(), "target": target.output.strip() if target.code == 0 else ""}
        _write(notes, json.dumps(known).encode())
    return Compiler(command, {"mark": mark, **known})


def _built(source: Path, compiler: Compiler, flags: tuple[str, ...]) -> Built | Unbound:
    folder = own_folder("kernels")
    fixed = {"source": os.path.realpath(source), "flags": list(flags), "compiler": dict(compiler.identity), "cpu": _cpu(flags)}
    name = hashlib.sha256(json.dumps(fixed, sort_keys=True).encode()).hexdigest()[:32]
    failed = _FAILURES.get(f"{folder}/{name}")
    if failed is not None and failed[0] == _contents(source, failed[0]):
        return Unbound(failed[1])
    with _lock(folder, name):
        notes = folder / f"{name}.json"
        known = _read_notes(notes)
        if known is not None:
            there = _checked(folder, known, source)
            if there is not None:
                return there
        return _compile(source, compiler, flags, folder, name, fixed)


def _checked(folder: Path, known: Mapping[str, Any], source: Path) -> Built | None:
    """Return the library that notes speak of, where its inputs are what they were and its bytes are what was built."""
    inputs, library, digest = known.get("inputs"), known.get("library"), known.get("digest")
    if not isinstance(inputs, dict) or not isinstance(library, str) or not isinstance(digest, str) or "/" in library:
        return None
    path = folder / library
    _INPUTS[str(source)] = tuple(inputs)
    if inputs != _contents(source, inputs) or not own_file(path):
        return None
    try:
        return Built(str(path), digest) if file_digest(path) == digest else None
    except OSError:
        return None


def _compile(source: Path, compiler: Compiler, flags: tuple[str, ...], folder: Path, name: str, fixed: Mapping[str, Any]) -> Built | Unbound:
    before = [flag for flag in flags if not flag.startswith("-l")]
    after = [flag for flag in flags if flag.startswith("-l")]
    with tempfile.TemporaryDirectory(dir=folder, prefix="build-") as work:
        library, listing = Path(work) / "kernel.so", Path(work) / "kernel.d"
        start = _contents(source, {str(source): ""})
        tell(f"compiling {source.name}")
        said = _run([*compiler.command, "-shared", "-fPIC", *before, "-MMD", "-MF", str(listing), str(source), "-o", str(library), *after], COMPILE_SECONDS)
        inputs = _contents(source, dict.fromkeys(_listed(listing, source), ""))
        _INPUTS[str(source)] = tuple(inputs)
        if said.code != 0 or not library.is_file():
            reason = f"{Path(compiler.command[0]).name} does not compile {source.name}: {said.reason}"
            if not said.transient:
                _FAILURES[f"{folder}/{name}"] = (inputs, reason)
            return Unbound(reason)
        if start[str(source)] != inputs[str(source)]:
            return Unbound(f"{source} changed while it was compiled; the next call compiles it again")
        digest = file_digest(library)
        final = folder / f"{name}-{digest[:16]}.so"
        library.chmod(0o600)
        os.replace(library, final)
        notes = {"inputs": inputs, "library": final.name, "digest": digest, **fixed}
        _write(folder / f"{name}.json", json.dumps(notes, indent=1).encode())
        _FAILURES.pop(f"{folder}/{name}", None)
        return Built(str(final), digest)


def forget_failures() -> None:
    """Let compiles that failed be tried again."""
    _FAILURES.clear()


def _contents(source: Path, paths: Mapping[str, Any]) -> dict[str, str]:
    """Return the digest of each file; of one that cannot be read, a word that no digest equals."""
    found: dict[str, str] = {}
    for path in {str(source), *paths}:
        try:
            found[path] = file_digest(path)
        except OSError:
            found[path] = "absent"
    return found


def _listed(listing: Path, source: Path) -> list[str]:
    """Return the files of a make rule that the compiler wrote: the source and its headers, but for the system's."""
    try:
        text = listing.read_text(errors="surrogateescape").replace("\\\n", " ")
    except OSError:
        return [str(source)]
    words = shlex.split(text.partition(":")[2].replace("\n", " "), posix=True)
    return [str(source), *(word for word in words if os.path.realpath(word) != os.path.realpath(source))]


def _cpu(flags: Sequence[str]) -> list[str]:
    """Return what names the CPU where the flags compile for the one that is here."""
    if not any(flag.endswith("=native") for flag in flags):
        return []
    from tessera_rules.machine.cpu import cpu

    here = cpu()
    return [here.model, *sorted(here.flags)]


# ---- running a compiler ---------------------------------------------------------------------------------------------


@frozen
class _Said:
    """What a command came to. ``reason`` is its first error line; ``transient`` marks an end that says nothing of the source."""

    code: int
    output: str
    reason: str
    transient: bool = False


def _run(command: Sequence[str], seconds: float) -> _Said:
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, start_new_session=True
        )  # fmt: skip
    except OSError as problem:
        return _Said(127, "", f"it does not start: {problem.strerror or problem}", True)
    try:
        output, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return _Said(-9, "", f"it took longer than {seconds:g} s", True)
    text = errors.decode(errors="replace")
    killed = process.returncode < 0 or "No space left" in text
    return _Said(process.returncode, output.decode(errors="replace"), _first_error(text) or f"it ended with code {process.returncode}", killed)


def _first_error(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = ("No space left", "error:", "undefined reference")  # collect2's own "error:" says only that the linker failed
    found = next((line for word in telling for line in lines if word in line), lines[0] if lines else "")
    return found[:400]


# ---- files ------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _lock(folder: Path, name: str) -> Iterator[None]:
    """Hold one build at a time among threads and processes."""
    with _GUARD:
        here = _LOCKS.setdefault(f"{folder}/{name}", threading.Lock())
    with here, open(folder / f"{name}.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _read_notes(path: Path) -> dict[str, Any] | None:
    if not own_file(path):
        return None
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _write(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".write-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
