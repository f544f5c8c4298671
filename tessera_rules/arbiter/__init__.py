"""The arbiter: from a request and a machine to a decision, with one verdict for everybody. No I/O, no clock, no NumPy."""

from tessera_rules.arbiter.decide import decide
from tessera_rules.arbiter.decision import Decision, Residual, Verdict
from tessera_rules.arbiter.request import bind_test, bind_words
from tessera_rules.arbiter.situation import Measured, Proved

__all__ = ["Decision", "Measured", "Proved", "Residual", "Verdict", "bind_test", "bind_words", "decide"]
