"""Declare kernels in ``.tsr`` files; arbitrate, prove, rank, bind and run one; always say why.

>>> import tessera_rules as tsr
>>> arbiter = tsr.load()
>>> decision = arbiter.decide("matmul", target="x86", dtype="f32", M=33, N=77, K=129)
>>> decision.winner in arbiter.ruleset.candidates
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tessera_rules.declined import Declined
from tessera_rules.errors import ArbiterError, MissingExtraError, OperandError, RuleError, TesseraError, UsageError

if TYPE_CHECKING:
    from tessera_rules.arbiter.decision import Decision, Residual, Verdict
    from tessera_rules.arbiter.execution import Execution
    from tessera_rules.session import Arbiter, load

__version__ = "0.1.0"
__all__ = [
    "Arbiter", "ArbiterError", "Decision", "Declined", "Execution", "MissingExtraError", "OperandError", "Residual", "RuleError", "TesseraError",
    "UsageError", "Verdict", "decide", "load", "run", "run_traced",
]  # fmt: skip

# What needs NumPy is imported when it is asked for: `tsr lint` never does.
_LAZY = {
    "load": "session",
    "Arbiter": "session",
    "Execution": "arbiter.execution",
    "Decision": "arbiter.decision",
    "Verdict": "arbiter.decision",
    "Residual": "arbiter.decision",
}
_DEFAULT: list[Any] = []


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(f"tessera_rules.{_LAZY[name]}"), name)
    raise AttributeError(f"module 'tessera_rules' has no attribute '{name}'")


def _default() -> Arbiter:
    """Return the arbiter over the rules that ship, made once."""
    if not _DEFAULT:
        from tessera_rules.session import load

        _DEFAULT.append(load())
    arbiter: Arbiter = _DEFAULT[0]
    return arbiter


def decide(op: str, **words: Any) -> Decision:
    """Return the decision of the rules that ship; see `Arbiter.decide`.

    >>> [verdict.code for verdict in decide("matmul", target="x86", dtype="f64", M=4, N=4, K=4).verdicts if verdict.candidate == "x86_generic_matmul_f32"]
    ['requires']
    """
    return _default().decide(op, **words)


def run(op: str, *operands: Any, **named: Any) -> Any:
    """Return the result of an op by the rules that ship; see `Arbiter.run`.

    >>> import numpy as np
    >>> run("matmul", np.eye(3, dtype=np.float32), np.full((3, 2), 2, np.float32), target="x86")[0]
    array([2., 2.], dtype=float32)
    """
    return _default().run(op, *operands, **named)


def run_traced(op: str, *operands: Any, **named: Any) -> tuple[Any, Execution]:
    """Return the result of an op by the rules that ship, and who made it; see `Arbiter.run_traced`.

    >>> import numpy as np
    >>> out, execution = run_traced("softmax", np.zeros((1, 4), np.float32), target="x86")
    >>> out[0, 0], execution.tag != "reference", execution.proof
    (np.float32(0.25), True, 'verified')
    """
    return _default().run_traced(op, *operands, **named)
