"""A run in one file: rules, machine, request with layouts, operands, digests and verdicts; written by ``run --save``, repeated by ``replay``."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from attrs import frozen

from tessera_rules.arbiter.explanation import words_of
from tessera_rules.arbiter.request import bind_words
from tessera_rules.bind.arrays import EXTRA, dtype_of, word_of
from tessera_rules.bind.bindings import Bindings
from tessera_rules.bind.inputs import place
from tessera_rules.bind.outcome import Unbound
from tessera_rules.bind.source import inputs_of
from tessera_rules.errors import UsageError
from tessera_rules.forced import environment_force
from tessera_rules.machine.local import LocalMachine
from tessera_rules.model.values import NativeBinding
from tessera_rules.report.document import plain
from tessera_rules.report.run import Tried, run_document
from tessera_rules.resources import rules_folder, rules_folder_at
from tessera_rules.session import Arbiter, open_arbiter
from tessera_rules.trial import run_words

FORMAT = 1
MAX_BYTES = 1 << 30
FIELDS: dict[str, type | tuple[type, ...]] = {
    "op": str, "target": str, "words": list, "force": (str, type(None)), "seed": (int, type(None)), "paths": list, "untrusted": list, "std": str, "texts": dict,
    "dtypes": dict, "versions": dict, "digests": dict, "rules": str, "results": list, "answer": dict,
}  # fmt: skip
TOOLS = ("tessera-rules", "numpy", "ml_dtypes")


@frozen(eq=False)
class Replayed:
    """What a repetition gave: the run, and each thing that differs from what was saved (name, then, now)."""

    tried: Tried
    differences: tuple[tuple[str, Any, Any], ...]


def save(path: Path, arbiter: Arbiter, tried: Tried, force: str | None) -> None:
    """Write a run to one file. Raises `UsageError` where it cannot be written."""
    request = tried.execution.decision.request
    bound = digests(arbiter, request.op.name, request.target)  # before the files: what a source includes is known once it is built
    files = _rule_files(arbiter)
    meta = {
        "format": FORMAT,
        "op": request.op.name,
        "target": request.target,
        "words": [*words_of(request), *([] if request.threads is None else [f"threads={request.threads}"])],
        "force": force or environment_force(arbiter.ruleset, request.op.name, request.target),
        "seed": tried.seed,
        "paths": [str(_inside(each)) for each in arbiter.paths],
        "untrusted": [str(_inside(each)) for each in arbiter.untrusted],
        "std": str(_inside(rules_folder())),
        "texts": dict(arbiter.texts),
        "dtypes": {name: word_of(x.dtype) for name, x in tried.operands.items() if x is not None},
        "versions": versions(arbiter),
        "digests": bound,
        "rules": arbiter.ruleset.digest,
        "results": [_digest(each) for each in tried.results],
        "answer": run_document(tried),
    }
    dense = {name: np.ascontiguousarray(x) for name, x in tried.operands.items() if x is not None}
    # NumPy's files know no dtypes of ml_dtypes: those go as bytes.
    arrays = {name: x.view(np.uint8) if word_of(x.dtype) in EXTRA else x for name, x in dense.items()}
    try:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
            bundle.writestr("replay.json", json.dumps(plain(meta), indent=1))
            for inside, data in files.items():
                bundle.writestr(f"files/{inside}", data)
            for name, array in arrays.items():
                buffer = io.BytesIO()
                np.save(buffer, array, allow_pickle=False)
                bundle.writestr(f"operands/{name}.npy", buffer.getvalue())
                bundle.writestr(f"operands/{name}.shape", json.dumps(list(tried.operands[name].shape)))
    except OSError as problem:
        raise UsageError(f"'{path}' cannot be written: {problem.strerror or problem}") from None


def replay(path: Path, progress: Callable[[str], None] | None = None) -> Replayed:
    """Repeat a saved run on this machine, and compare. Naming the file is trusting the rules in it.

    Raises `UsageError` for a file that is none of ours or damaged.
    """
    with tempfile.TemporaryDirectory(prefix="tsr-replay-") as folder:
        meta, arrays = _unpack(path, Path(folder))
        files = Path(folder) / "files"
        shipped = files / meta["std"]
        # What the saved run took from std/ is in the bundle, and counts there in place of what this installation ships.
        with rules_folder_at(shipped) if shipped.is_dir() else nullcontext():
            arbiter = open_arbiter([files / each for each in meta["paths"]], untrusted=[files / each for each in meta["untrusted"]], texts=meta["texts"])
        words = dict(word.split("=", 1) for word in meta["words"])
        request = bind_words(arbiter.ruleset, meta["op"], meta["target"], words, arbiter.machine)
        operands = {name: place(array, request, name) for name, array in arrays.items()}
        tried = run_words(arbiter, meta["op"], meta["target"], words, seed=meta["seed"], force=meta["force"], operands=operands, progress=progress)
        return Replayed(tried, tuple(_compared(meta, arbiter, tried)))


def versions(arbiter: Arbiter) -> dict[str, str]:
    """Return what a result depends on besides rules and operands."""
    found = {"python": platform.python_version(), "machine": platform.platform()}
    if isinstance(arbiter.machine, LocalMachine):
        found["fingerprint"] = str(arbiter.machine.fingerprint())
    for name in TOOLS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def digests(arbiter: Arbiter, op: str, target: str) -> dict[str, str]:
    """Return the digest of each candidate's binding, or why it has none here."""
    machine = arbiter.machine
    if not isinstance(machine, LocalMachine) or not isinstance(machine.binder, Bindings):
        return {}
    found: dict[str, str] = {}
    for candidate in arbiter.ruleset.for_op(op, target):
        bound = machine.binder.bind(candidate)
        found[candidate.name] = f"unbound: {bound.reason}" if isinstance(bound, Unbound) else bound.digest
    return found


def _inside(path: str | Path) -> PurePosixPath:
    return PurePosixPath(*Path(path).resolve().parts[1:])


def _rule_files(arbiter: Arbiter) -> dict[str, bytes]:
    """Return the rule files of a load and the kernel sources beside them, by their place in the bundle."""
    found: dict[str, bytes] = {}
    for source in arbiter.ruleset.sources:
        if source.path:
            found[str(_inside(source.path))] = Path(source.path).read_bytes()
    for candidate in arbiter.ruleset.candidates.values():
        binding = candidate.bind
        if not isinstance(binding, NativeBinding) or binding.language != "source" or binding.folder is None:
            continue
        for each in map(Path, inputs_of(binding)):
            if each.is_file():
                found[str(_inside(each))] = each.read_bytes()
    return found


def _digest(array: Any) -> str:
    return hashlib.sha256(str((array.dtype, array.shape)).encode() + np.ascontiguousarray(array).tobytes()).hexdigest()


def _unpack(path: Path, folder: Path) -> tuple[Any, dict[str, Any]]:
    try:
        with zipfile.ZipFile(path) as bundle:
            if sum(each.file_size for each in bundle.infolist()) > MAX_BYTES:
                raise UsageError(f"'{path}' unpacks to more than 1 GiB, and a saved run is smaller")
            meta = json.loads(bundle.read("replay.json"))
            if meta.get("format") != FORMAT:
                raise UsageError(f"'{path}' has format {meta.get('format')}, and this tsr reads {FORMAT}")
            for key, kind in FIELDS.items():
                if not isinstance(meta[key], kind):
                    raise TypeError(f"its {key} is {type(meta[key]).__name__}")
            for each in bundle.namelist():
                if each.startswith("files/") and ".." not in PurePosixPath(each).parts:
                    bundle.extract(each, folder)
            arrays: dict[str, Any] = {}
            for name, word in meta["dtypes"].items():
                shape = json.loads(bundle.read(f"operands/{name}.shape"))
                raw = np.load(io.BytesIO(bundle.read(f"operands/{name}.npy")), allow_pickle=False)
                arrays[name] = raw.view(dtype_of(word)).reshape(shape)
    except (OSError, zipfile.BadZipFile, zlib.error, KeyError, ValueError, EOFError, TypeError, AttributeError, RuntimeError, NotImplementedError) as problem:
        raise UsageError(f"'{path}' is no saved run: {problem}", hint="tsr run … --save bug.zip writes one") from None
    return meta, arrays


def _compared(meta: Mapping[str, Any], arbiter: Arbiter, tried: Tried) -> list[tuple[str, Any, Any]]:
    """Return what differs: versions, digests, verdicts, who ran, the result's bytes."""
    now = plain(run_document(tried))
    then, here_versions = meta["answer"], versions(arbiter)
    pairs: list[tuple[str, Any, Any]] = [("rules", meta["rules"], arbiter.ruleset.digest)]
    pairs += [(f"version of {name}", value, here_versions.get(name)) for name, value in meta["versions"].items()]
    here = digests(arbiter, meta["op"], meta["target"])
    pairs += [(f"binding of {name}", value, here.get(name)) for name, value in meta["digests"].items()]
    verdicts = {each["candidate"]: each["verdict"] for each in now["verdicts"]}
    pairs += [(f"verdict of {each['candidate']}", each["verdict"], verdicts.get(each["candidate"])) for each in then["verdicts"]]
    pairs += [(f"execution {name}", then["execution"][name], now["execution"][name]) for name in ("tag", "right")]
    pairs.append(("number of results", len(meta["results"]), len(tried.results)))
    pairs += [(f"result {i}", value, _digest(each)) for i, (value, each) in enumerate(zip(meta["results"], tried.results, strict=False))]
    return [pair for pair in pairs if pair[1] != pair[2]]
