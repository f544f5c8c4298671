"""D24: every analysis is held against deciding every request of small universes: nothing false is found, and nothing is missed."""

from __future__ import annotations

import os

from attrs import evolve
from hypothesis import HealthCheck, given, seed, settings

from tessera_rules.analyze.ask import Asker
from tessera_rules.analyze.driver import analyse
from tessera_rules.analyze.solver import solver
from tessera_rules.diagnostic import Finding
from tessera_rules.model.show import show
from tessera_rules.model.values import Ruleset
from tests.analyze.small_rules import Answer, answers, built, rulesets, universe

EXAMPLES = 150 if os.environ.get("TSR_DEEP") else 3
REQUESTS = list(universe())


def named(findings: list[Finding], code: str) -> set[str]:
    """Return the candidates or rules whose names findings of a code stand at."""
    return {finding.span.text for finding in findings if finding.code == code}


def never_served(ruleset: Ruleset) -> set[str]:
    """Return candidates that race nowhere, rules apart."""
    found = answers(evolve(ruleset, rules=()))
    racing = {name for answer in found.values() for name, (verdict, _) in answer.verdicts.items() if verdict in ("selected", "outranked")}
    return set(ruleset.candidates) - racing


def dead_rules(ruleset: Ruleset, found: dict[int, Answer]) -> set[str]:
    """Return rules without which every request has the same winner."""
    dead = set()
    for rule in ruleset.rules:
        other = answers(evolve(ruleset, rules=tuple(each for each in ruleset.rules if each is not rule)))
        if all(other[place].tag == answer.tag for place, answer in found.items()):
            dead.add(rule.name)
    return dead


def tied(ruleset: Ruleset, found: dict[int, Answer]) -> set[str]:
    """Return candidates that only declaration puts behind one declared before, costs being stated alike."""
    late = set()
    for answer in found.values():
        if answer.criterion != "declaration" or answer.tag is None:
            continue
        winner = ruleset.candidates[answer.tag]
        for name, (verdict, criterion) in answer.verdicts.items():
            if verdict == "outranked" and criterion == "declaration" and _cost(ruleset, name) == _cost(ruleset, winner.name):
                late.add(name)
    return late


def _cost(ruleset: Ruleset, name: str) -> str | None:
    cost = ruleset.candidates[name].cost
    return None if cost is None else show(cost)


def held(text: str, asker: Asker) -> None:
    """Compare what is found with what deciding everything gives."""
    ruleset = built(text)
    findings = analyse(ruleset, asker=asker)
    found = answers(ruleset)
    open_questions = {finding.span.text for finding in findings if finding.code == "TSR590"}
    never = never_served(ruleset)
    whole = named(findings, "TSR501") & set(ruleset.candidates)
    assert whole <= never
    # a clause that is never true by itself has its finding there; its candidate never serves either
    by_clause = {
        name for name, each in ruleset.candidates.items() for clause in (*each.requires, *each.available) if _at(findings, "TSR501", clause.span.start)
    }
    assert by_clause <= never
    assert never - whole - by_clause <= open_questions
    winners = {answer.tag for answer in found.values()}
    loses = set(ruleset.candidates) - winners - never
    assert named(findings, "TSR503") <= loses, "a candidate that wins somewhere"
    assert loses - named(findings, "TSR503") <= open_questions
    dead = dead_rules(ruleset, found)
    assert named(findings, "TSR504") <= dead, "a rule that changes something"
    assert dead - named(findings, "TSR504") <= open_questions
    holes = {place for place, answer in found.items() if answer.criterion == "none"}
    gaps = [finding for finding in findings if finding.code == "TSR505"]
    assert bool(gaps) == bool(holes) or open_questions
    for finding in gaps:
        assert _place(finding) in holes
    late = tied(ruleset, found)
    ties = [finding for finding in findings if finding.code == "TSR506"]
    assert {finding.span.text for finding in ties} <= late
    assert late - {finding.span.text for finding in ties} <= open_questions
    for finding in ties:
        assert found[_place(finding)].criterion == "declaration"
    for finding in findings:
        if finding.code == "TSR510":
            assert finding.witness is not None
            tag = found[_place(finding)].tag
            assert tag is not None
            tiers = {each.tier for each in ruleset.candidates.values()}
            assert ruleset.candidates[tag].tier == next(tier for tier in ("synthesized", "emitted", "hand_tuned") if tier in tiers)


def _at(findings: list[Finding], code: str, start: int) -> bool:
    return any(finding.code == code and finding.span.start == start for finding in findings)


def _place(finding: Finding) -> int:
    """Return the place of a witness in the universe; a device that is left out may be any."""
    shown = finding.witness
    assert shown is not None
    words = {**shown["dims"], "act": "none", "tail": (), **shown["attrs"], "dtype": shown["dtype"], "given": tuple(shown["given"])}
    arch = shown["device"].get("arch", "old")
    return next(place for place, asked in enumerate(REQUESTS) if asked.words == words and asked.arch == arch)


@seed(11)
@settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(rulesets())
def test_D24_the_search_alone_agrees_with_brute_force(text: str) -> None:
    held(text, Asker())


@seed(24)
@settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(rulesets())
def test_D24_with_a_solver_it_agrees_as_well(text: str) -> None:
    held(text, Asker(solver()))
