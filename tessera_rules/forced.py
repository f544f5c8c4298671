"""``TSR_FORCE``: candidates that the environment forces, by op and target."""

from __future__ import annotations

import os

from tessera_rules.errors import UsageError
from tessera_rules.model.values import Ruleset
from tessera_rules.nearest import did_you_mean


def environment_force(ruleset: Ruleset, op: str, target: str) -> str | None:
    """Return who ``TSR_FORCE=op@target=name,…`` forces for an op on a target, or None.

    Raises `UsageError` for an entry that is not of that form, or whose op or candidate is misspelt.
    """
    found = None
    for entry in filter(None, (part.strip() for part in os.environ.get("TSR_FORCE", "").split(","))):
        where, equals, name = entry.partition("=")
        of, at, on = where.partition("@")
        if not (equals and at and of and on and name):
            raise UsageError(f"TSR_FORCE has '{entry}', which is no op@target=name", hint="such as matmul@x86=x86_generic_matmul_f32")
        if (of, on) == (op, target):
            found = name
        elif of not in ruleset.ops and (near := did_you_mean(of, ruleset.ops, "op")).startswith("did"):
            raise UsageError(f"TSR_FORCE has '{entry}', whose op these rules lack", hint=near)
    if found is not None and found != "reference" and found not in ruleset.candidates:
        known = [each.name for each in ruleset.for_op(op, target)]
        raise UsageError(f"TSR_FORCE names a candidate that these rules lack: '{found}'", hint=did_you_mean(found, known, "candidate"))
    return found
