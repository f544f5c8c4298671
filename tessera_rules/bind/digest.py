"""What names the bytes that a candidate runs: the key of every proof and measurement (T1, T27)."""

from __future__ import annotations

import hashlib
import importlib
import sys
from types import ModuleType
from typing import Any

from tessera_rules.bind.cache import file_digest
from tessera_rules.bind.outcome import Unbound
from tessera_rules.model.values import Candidate, NativeBinding, PythonBinding

_MODULES: dict[str, str] = {}


def binding_digest(candidate: Candidate) -> str:
    """Return the digest of a candidate's binding: what it says, and the bytes that it runs.

    For Python the module's file and those of its own package's modules that it reaches, as they were when this process first
    imported them: edited files count in the next process, since this one runs what it imported. For a library its bytes; for
    a source the library that it is built into. A binding that cannot be bound has a digest that says why.
    """
    binding = candidate.bind
    if isinstance(binding, PythonBinding):
        return _digest("python", binding.path, repr(sorted(binding.constants.items())), module_digest(binding.module))
    from tessera_rules.bind.library import locate

    found = locate(binding)
    content = f"unbound: {found.reason}" if isinstance(found, Unbound) else found.digest
    return _digest(binding.language, binding.symbol, interface(binding), content)


def library_digest(binding: NativeBinding, content: str) -> str:
    """Return the digest of a native or source binding over a library with this content."""
    return _digest(binding.language, binding.symbol, interface(binding), content)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def interface(binding: NativeBinding) -> str:
    """Return what is passed and returned, as text: a changed argument list is another kernel."""
    from tessera_rules.model.show import show

    arguments = [(each.ctype, each.nullable, each.kind, each.name, None if each.value is None else show(each.value)) for each in binding.arguments]
    launch = "" if binding.launch is None else repr([[show(term) for term in part] for part in (binding.launch.grid, binding.launch.block)])
    return repr((arguments, binding.returns, sorted(binding.statuses.items()), launch))


def module_digest(name: str) -> str:
    """Return the digest of a module and of what it reaches in its own package; for one that does not import, of that."""
    known = _MODULES.get(name)
    if known is None:
        try:
            module = importlib.import_module(name)
        except (Exception, SystemExit) as problem:
            return _digest("no module", name, repr(problem))
        known = _MODULES[name] = _digest(*(f"{key}={_file_digest(each)}" for key, each in sorted(_reached(module).items())))
    return known


def _reached(start: ModuleType) -> dict[str, ModuleType]:
    """Return a module and the modules of its own folder and below that its names come from, however indirectly."""
    package = start.__package__ or start.__name__
    found: dict[str, ModuleType] = {}
    stack = [start]
    while stack:
        module = stack.pop()
        if module.__name__ in found:
            continue
        found[module.__name__] = module
        for value in list(vars(module).values()):
            near = value if isinstance(value, ModuleType) else sys.modules.get(str(getattr(value, "__module__", "")))
            if near is not None and (near.__name__ == package or near.__name__.startswith(f"{package}.")):
                stack.append(near)
    return found


def _file_digest(module: Any) -> str:
    path = getattr(module, "__file__", None)
    if not path:
        return "built in"
    try:
        return file_digest(path)
    except OSError:
        return "absent"
