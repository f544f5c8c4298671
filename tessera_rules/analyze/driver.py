"""The whole analysis: every question asked of a ruleset, in a fixed order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from tessera_rules.analyze.ask import Asker
from tessera_rules.analyze.clauses import ClauseQuestions
from tessera_rules.analyze.cliffs import cliffs
from tessera_rules.analyze.deciding_tests import Passes, undecisive_tests
from tessera_rules.analyze.gaps import gaps
from tessera_rules.analyze.rules import RuleQuestions
from tessera_rules.analyze.space import has_values, spaces
from tessera_rules.analyze.winners import never_wins, ties
from tessera_rules.diagnostic import Finding
from tessera_rules.machine.base import Machine
from tessera_rules.model.values import Ruleset
from tessera_rules.source import Source


def analyse(
    ruleset: Ruleset,
    machine: Machine | None = None,
    *,
    sources: Collection[Source] | None = None,
    asker: Asker | None = None,
    passes: Passes | None = None,
) -> list[Finding]:
    """Return what can be proved or shown of a ruleset; a machine fixes the devices and the answers of probes.

    ``sources`` are the files whose findings are wanted (None: all). ``passes`` runs one round of a test; without it tests are not
    looked at.
    """
    asker = asker or Asker()
    return [finding for finding in _findings(ruleset, machine, asker, passes) if sources is None or finding.span.source in sources]


def _findings(ruleset: Ruleset, machine: Machine | None, asker: Asker, passes: Passes | None) -> Iterator[Finding]:
    proofs = [space for space in spaces(ruleset, machine, plain=False) if has_values(space)]
    shows = [space for space in spaces(ruleset, machine, plain=True) if has_values(space)]
    clauses = ClauseQuestions(asker)
    for space in proofs:
        clauses.look(space)
    yield from clauses.findings(Counter(clause.span for each in ruleset.candidates.values() for clause in (*each.requires, *each.available, *each.avoid)))
    rules = RuleQuestions(asker)
    for space in proofs:
        yield from never_wins(space, asker, clauses.dead | clauses.doubtful)
        rules.look(space)
    yield from rules.findings(ruleset)
    for space in shows:
        yield from gaps(space, asker)
        yield from ties(space, asker, clauses.dead)
        yield from rules.cycles(space)
        yield from cliffs(space, asker, clauses.dead)
    if passes is not None:
        yield from undecisive_tests(ruleset, passes)
