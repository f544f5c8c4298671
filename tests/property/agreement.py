"""Four evaluators of one decision, asked the same: the interpreter (the arbiter itself), generated Python, arrays, and C."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve, frozen

from tessera_rules.arbiter.courses import course_of
from tessera_rules.arbiter.request import bind_words
from tessera_rules.arbiter.situation import Situation
from tessera_rules.arbiter.structure import of_dims, settle
from tessera_rules.compile.c_header import OVERFLOW, Header, write_header
from tessera_rules.compile.course import RAISES, REFERENCE, UNDECIDED, Course, UsesStep
from tessera_rules.compile.evaluate import ClauseError, evaluate
from tessera_rules.errors import ArbiterError, OperandError
from tessera_rules.machine.stated import parse_machine
from tessera_rules.model.load import load
from tessera_rules.model.terms import Apply, Const, Term
from tessera_rules.session import Arbiter
from tests.property.agreement_strategies import MACHINE, Asked

THERE = parse_machine(MACHINE, "box.json")
Told = tuple[int, tuple[tuple[str, str, str | None], ...]]
"""A winner as its index or code, and for each candidate its verdict, code, and clause."""
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]


def arbiter_of(text: str) -> Arbiter:
    loaded = load((), texts={"drawn.tsr": text})
    return Arbiter(loaded.ruleset_or_raise(), THERE)


@frozen
class Case:
    """A drawn file, loaded, with its course; only files without errors come this far."""

    asked: Asked
    arbiter: Arbiter
    course: Course

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(lane.name for lane in self.course.lanes)


def case_of(asked: Asked) -> Case:
    arbiter = arbiter_of(asked.text)
    request = bind_words(arbiter.ruleset, "f", "t", asked.words, THERE)
    return Case(asked, arbiter, course_of(Situation(arbiter.ruleset, request, THERE), "MNK"))


# ---- the four ----


def interpreted(case: Case, sizes: dict[str, int]) -> Told:
    try:
        found = case.arbiter.decide("f", target="t", **case.asked.words, **sizes)
    except (ArbiterError, OperandError):
        return RAISES, ()
    winner = case.names.index(found.winner) if found.winner is not None else UNDECIDED if found.tag == "undecided" else REFERENCE
    return winner, tuple((each.verdict, each.code, each.clause) for each in found.verdicts)


def generated(case: Case) -> Iterator[int | None]:
    """Yield the winners that generated Python names; None where it hands a request to the arbiter."""
    request = bind_words(case.arbiter.ruleset, "f", "t", case.asked.words, THERE)
    structure = settle(Situation(case.arbiter.ruleset, request, THERE), of_dims)
    for sizes in case.asked.requests:
        found = structure.winner(*(sizes[fact.key.removeprefix("dim:")] for fact in structure.parameters))
        yield None if found is None else REFERENCE if found == "reference" else case.names.index(found)


def vectorized(case: Case) -> list[Told]:
    columns: dict[str, Any] = {}
    for name in "MNK":
        values = [sizes[name] for sizes in case.asked.requests]
        fits = all(value < 2**63 for value in values)
        columns[name] = np.array(values, np.int64 if fits else object)
    many = case.arbiter.decide_many("f", "t", dims=columns, **case.asked.words)
    rows = [many.reasons(name) for name in many.names]
    table = many.reason_table
    found: list[Told] = []
    for place, winner in enumerate(many.winners.tolist()):
        reasons = [table[row[place]] for row in rows]
        found.append((winner, () if winner == RAISES else tuple((each.verdict, each.code, each.clause) for each in reasons)))
    return found


def headers(cases: Sequence[Case]) -> list[Header]:
    return [write_header(case.course, f"r{number}", ("drawn",)) for number, case in enumerate(cases)]


def in_c(cases: Sequence[Case], written: Sequence[Header], folder: Path, *flags: str) -> list[list[tuple[int, int, list[int]]]]:
    """Return what C says of each request whose sizes are 64-bit: the winner alone, the winner with reasons, the reasons."""
    parts = ["#include <stdio.h>", *(header.text for header in written), "int main(void) {", "    long long m, n, k; int which, i;"]
    parts.append('    while (scanf("%d %lld %lld %lld", &which, &m, &n, &k) == 4) {')
    for number, case in enumerate(cases):
        count = len(case.course.lanes)
        sizes = {"M": "m", "N": "n", "K": "k"}
        given = ", ".join(sizes[dim.name] for dim in case.course.dims)
        parts.append(f"        if (which == {number}) {{ int why[{count}]; const int all = r{number}_reasons({given}, why);")
        parts.append(f'            printf("%d %d", r{number}_winner({given}), all);')
        parts.append(f'            for (i = 0; i < {count}; i++) printf(" %d", why[i]);')
        parts.append('            printf("\\n"); }')
    parts += ["    }", "    return 0;", "}", ""]
    source, program = folder / "drawn.c", folder / "drawn"
    source.write_text("\n".join(parts), encoding="ascii")
    done = subprocess.run(["gcc", *FLAGS, *flags, "-o", str(program), str(source), "-lm"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    lines = []
    for number, case in enumerate(cases):
        for sizes_of in case.asked.requests:
            if max(sizes_of.values()) < 2**63:
                lines.append(f"{number} {sizes_of['M']} {sizes_of['N']} {sizes_of['K']}")
    ran = subprocess.run([str(program)], input="\n".join(lines), capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[:2000]
    assert ran.stderr == "", ran.stderr[:2000]  # what a sanitizer finds
    answers: list[list[tuple[int, int, list[int]]]] = [[] for _ in cases]
    for asked, line in zip(lines, ran.stdout.splitlines(), strict=True):
        first, second, *why = map(int, line.split())
        answers[int(asked.split()[0])].append((first, second, why))
    return answers


# ---- are they the same? ----


def is_wide(course: Course, sizes: dict[str, int]) -> bool:
    """Whether a number on the way does not fit in 64 bits, or is one that a double would round where there are doubles."""
    values: list[Any] = []
    floats = False
    for term in _all_terms(course):
        pending: list[Term] = [term]
        while pending:
            part = pending.pop()
            if isinstance(part, Apply):
                pending.extend(part.args)
            try:
                value = evaluate(part, lambda key: _size(sizes, key))
            except ClauseError:
                continue
            floats = floats or isinstance(value, float)
            values.append(part.value if isinstance(part, Const) else value)
    limit = 2**53 if floats or course.costs else 2**63 - 1
    inner = [step for lane in course.lanes for step in lane.steps if isinstance(step, UsesStep)]
    return any(isinstance(value, int) and abs(value) > limit for value in values) or any(_inner_is_wide(step, sizes) for step in inner)


def _inner_is_wide(step: UsesStep, sizes: dict[str, int]) -> bool:
    inner: dict[str, int] = {}
    for name, term in step.sizes:
        if term is not None:
            try:
                inner[name] = evaluate(term, lambda key: _size(sizes, key))
            except ClauseError:
                return False
    return is_wide(step.course, inner)


def _size(sizes: dict[str, int], key: str) -> int:
    if key.removeprefix("dim:") not in sizes:
        raise ClauseError(f"{key} has no value")
    return sizes[key.removeprefix("dim:")]


def _all_terms(course: Course) -> Iterator[Term]:
    yield from course.checks
    for shape in course.empties:
        yield from shape
    for lane in course.lanes:
        for step in lane.steps:
            if isinstance(step, UsesStep):
                yield from (term for _, term in step.sizes if term is not None)
            elif step.term is not None:
                yield step.term
        yield from (term for term in lane.avoid if term is not None)
        if lane.cost is not None:
            yield lane.cost
    yield from (choice.term for choice in course.choices if choice.term is not None)


def differences(case: Case, header: Header, of_c: list[tuple[int, int, list[int]]], told: dict[str, int]) -> Iterator[str]:
    """Yield what an evaluator says other than the interpreter; ``told`` counts how often each of them had an answer."""
    arrays, python, c = vectorized(case), list(generated(case)), iter(of_c)
    for place, sizes in enumerate(case.asked.requests):
        winner, verdicts = interpreted(case, sizes)
        where = f"{sizes} {case.asked.words}"
        told["interpreter"] += 1
        if python[place] is not None:
            told["python"] += 1
            if python[place] != winner:
                yield f"{where}: generated Python says {python[place]}, the interpreter {winner}"
        told["arrays"] += 1
        if arrays[place][0] != winner or not all(map(_same, arrays[place][1], verdicts)) or len(arrays[place][1]) != len(verdicts):
            yield f"{where}: arrays say {arrays[place]}, the interpreter {winner, verdicts}"
        if max(sizes.values()) >= 2**63:
            continue
        alone, second, why = next(c)
        for found in (alone, second):
            if found == OVERFLOW and is_wide(case.course, sizes):
                continue
            if found == UNDECIDED and header.open:
                continue
            told["c"] += 1
            if found != winner:
                yield f"{where}: C says {alone} and {second}, the interpreter {winner}"
        if second == winner and second != UNDECIDED and not header.open:
            reasons = [case.course.reasons[number] for number in why]
            found_reasons = [(each.verdict, each.code, each.clause) for each in reasons]
            if winner != RAISES and not all(map(_same, found_reasons, verdicts)):
                yield f"{where}: C says {found_reasons}, the interpreter {verdicts}"


def _same(found: tuple[str, str, str | None], verdict: tuple[str, str, str | None]) -> bool:
    """Whether a reason is a verdict's. Reasons of the ranking have no clause."""
    return found[:2] == verdict[:2] and (found[2] == verdict[2] or found[0] in ("selected", "outranked", "undecided"))


def disagreements(asked: Sequence[Asked], folder: Path, *flags: str, told: dict[str, int] | None = None) -> list[str]:
    """Ask all four, and return what they say other than the interpreter, each with its rule file."""
    counts = told if told is not None else dict.fromkeys(("interpreter", "python", "arrays", "c"), 0)
    cases = [case_of(each) for each in asked]
    written = headers(cases)
    answers = in_c(cases, written, folder, *flags)
    found = []
    for case, header, of_c in zip(cases, written, answers, strict=True):
        found += [f"{said}\n{case.asked.text}" for said in differences(case, header, of_c, counts)]
    return found


def without(asked: Asked, name: str) -> Asked:
    """Return the same requests with one dimension left out."""
    return evolve(asked, requests=tuple({key: size for key, size in sizes.items() if key != name} for sizes in asked.requests))
