"""The interpreter, generated Python, arrays and C say the same of every request, and each is caught where it does not."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve
from hypothesis import HealthCheck, Phase, given, settings

from tessera_rules.compile import c_terms, expressions, operators, vector_operators, vectorized
from tessera_rules.compile.columns import Column
from tessera_rules.model.terms import Apply
from tests.property.agreement import Case, arbiter_of, case_of, disagreements, interpreted
from tests.property.agreement import vectorized as by_arrays
from tests.property.agreement_strategies import EDGES, TARGET, Asked, asked, more_requests, op

GOLDEN = Path(__file__).parents[1] / "golden" / "agreement"
DEEP = bool(os.environ.get("TSR_DEEP"))
SANITIZED = ("-O0", "-fsanitize=undefined", "-fno-sanitize-recover")
OPERATORS = (
    "add", "sub", "mul", "floordiv", "mod", "div", "neg", "abs", "min", "max", "sqrt", "ceil_div", "align_up", "gcd", "is_pow2", "log2", "bytes",
    "bits", "eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not", "if", "in", "in_range", "like", "contains", "index",
)  # fmt: skip


def drawn(count: int, requests: int) -> list[Asked]:
    """Return files drawn from a fixed seed, the same at every run; two of the requests of each are drawn with it."""
    found: list[Asked] = []

    @settings(max_examples=count, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    @given(asked(2))
    def collect(each: Asked) -> None:
        found.append(evolve(each, requests=(*each.requests, *more_requests(len(found), requests - 2))))

    collect()
    assert len(found) >= count
    return found


RARE = (
    "relu in ep",
    "ep[0] == relu",
    "ep like [bias, *]",
    "bits(dtype) // bytes(dtype) == M % 8",
    "gcd(M, N) == log2(K)",
    "not given(bias)",
    "M in 2..9 step 3",
)
"""Conditions with operators that a small sample may not have."""


def asked_of(condition: str) -> Asked:
    body = (
        f'{{ tier emitted; target t; op f; requires {{ {condition} }}; honours [ep, bias, act, causal]; cost sqrt(K) / 2.0; bind python "no_such_package:c" }}'
    )
    text = f"tessera 1\n{TARGET}{op('', '[M, N]', '')}candidate c0 {body}\ncandidate c1 {body.replace('requires', 'avoid')}\n"
    requests = tuple({"M": m, "N": n, "K": k} for m in (1, 2, 8) for n in (0, 4) for k in (1, 4))
    return Asked(text, {"dtype": "f16", "ep": "bias,relu", "given": "bias"}, requests)


@pytest.fixture(scope="module")
def sample() -> list[Asked]:
    return [*drawn(30, 10), *(asked_of(condition) for condition in RARE)]


def test_four_evaluators_agree(sample: list[Asked], tmp_path: Path) -> None:
    told = dict.fromkeys(("interpreter", "python", "arrays", "c"), 0)
    for start in range(0, len(sample), 19):
        assert disagreements(sample[start : start + 19], tmp_path, *(SANITIZED if start else ("-O0",)), told=told) == []
    assert told["python"] > len(sample)  # it does not hand everything to the arbiter
    assert told["c"] > told["interpreter"]  # nor does C, which is asked twice


@pytest.mark.deep
def test_four_evaluators_agree_on_thousands_of_files(tmp_path: Path) -> None:
    files = drawn(2000, 100)
    counts = dict.fromkeys(OPERATORS, 0)
    for each in files:
        for word in operators_of(case_of(each)):
            counts[word] += 1
    assert min(counts.values()) >= len(files) / 100, counts
    for start in range(0, len(files), 20):
        assert disagreements(files[start : start + 20], tmp_path, *(SANITIZED if start % 200 == 0 else ("-O0",))) == []


def test_what_is_drawn_has_every_operator_and_the_edges(sample: list[Asked]) -> None:
    counts = dict.fromkeys(OPERATORS, 0)
    sizes = [size for each in sample for request in each.requests for size in request.values()]
    assert sum(size in EDGES for size in sizes) >= len(sizes) / 10
    outcomes: set[str] = set()
    for each in sample:
        case = case_of(each)
        for word in operators_of(case):
            counts[word] += 1
        for request in each.requests[:6]:
            winner, verdicts = interpreted(case, request)
            outcomes |= {str(min(winner, 0)), *(f"{word} {code}" for word, code, _ in verdicts)}
    assert min(counts.values()) >= len(sample) / 100, counts
    wanted = {"0", "-1", "-3", "error error", "outranked empty", "denied denied", "refused closed_world", "unavailable unavailable"}
    assert wanted <= outcomes, wanted - outcomes


def operators_of(case: Case) -> set[str]:
    ruleset = case.arbiter.ruleset
    terms = [clause.term for each in ruleset.candidates.values() for clause in (*each.requires, *each.avoid, *each.available)]
    terms += [term for each in ruleset.candidates.values() for term in (each.cost, each.workspace) if term is not None]
    terms += [clause.term for rule in ruleset.rules for clause in rule.conditions.values()]
    found: set[str] = set()
    while terms:
        part = terms.pop()
        if isinstance(part, Apply):
            found.add(part.op)
            terms.extend(part.args)
    return found


def test_a_size_or_a_dtype_that_is_not_stated_is_open_as_the_arbiter_has_it(sample: list[Asked]) -> None:
    for each in sample[:30]:
        arbiter = arbiter_of(each.text)
        requests = each.requests[:4]
        for hidden in ("M", "N", "dtype"):
            words = {key: word for key, word in each.words.items() if key != hidden}
            names = [name for name in "MNK" if name != hidden]
            many = arbiter.decide_many("f", "t", dims={name: np.array([request[name] for request in requests], object) for name in names}, **words)
            for place, request in enumerate(requests):
                case = Case(Asked(each.text, words, ()), arbiter, many._question.course)
                winner, verdicts = interpreted(case, {name: request[name] for name in names})
                assert many.winners[place] == winner, (hidden, request, each.text)
                told = [many.reason_table[many.reasons(name)[place]] for name in many.names] if winner != -3 else []
                assert [(reason.verdict, reason.code) for reason in told] == [verdict[:2] for verdict in verdicts], (hidden, request, each.text)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.json")), ids=lambda path: path.stem)
def test_what_once_differed_agrees(path: Path, tmp_path: Path) -> None:
    kept = json.loads(path.read_text(encoding="utf-8"))
    each = Asked(path.with_suffix(".tsr").read_text(encoding="utf-8"), kept["words"], tuple(kept["requests"]))
    assert disagreements([each], tmp_path, *SANITIZED) == []


# ---- planted faults ----


def off_by_one(writer: Callable) -> Callable:
    return lambda self, op, args: c_terms.Terms.arithmetic(self, "add", [writer(self, op, args), self.write(one())])


def one():
    from tessera_rules.model.terms import Const
    from tessera_rules.model.types import INT

    return Const(INT, 1)


SWAPPED = {"add": "sub", "sub": "add", "mul": "add", "floordiv": "ceil_div", "mod": "floordiv", "ceil_div": "floordiv", "align_up": "ceil_div", "neg": "abs"}
SWAPPED |= {"abs": "neg", "min": "max", "max": "min", "gcd": "max", "log2": "abs", "eq": "ne", "ne": "eq", "lt": "le", "le": "lt", "gt": "ge", "ge": "gt"}
FALSE_IN = ("in_range", "is_pow2", "div", "sqrt", "not")
CASES = [*SWAPPED, *FALSE_IN]


def small(op: str) -> Asked:
    """A file in which one operator decides, at sizes where a neighbour of it says something else."""
    b = "(N + 1)" if op in ("floordiv", "mod", "ceil_div", "align_up") else "N"
    symbols = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
    if op in ("eq", "ne", "lt", "le", "gt", "ge"):
        condition = f"M {symbols[op]} N"
    elif op in symbols:
        condition = f"M {symbols[op]} {b} == K"
    elif op in ("neg", "abs"):
        condition = f"{'-(M - N)' if op == 'neg' else 'abs(M - N)'} == K"
    elif op == "log2":
        condition = "log2(M) == K"
    elif op == "in_range":
        condition = "M in 2..9 step 3"
    elif op == "is_pow2":
        condition = "is_pow2(M)"
    elif op == "not":
        condition = "not (M in 2..4)"
    else:
        condition = f"{op}(M, {b}) == K" if op not in ("div", "sqrt") else "true"
    cost = {"div": "  cost M / (N + 1)\n", "sqrt": "  cost sqrt(M)\n"}.get(op, "")
    text = f"""tessera 1
target t {{
  fact cores: int
}}
op f {{
  operand a: [M, K]
  operand b: [K, N]
  result [8]
  dtype a in [f32]
  reference python "no_such_package:f"
}}
candidate c0 {{ tier emitted; target t; op f
  requires {{ {condition} }}
{cost}  bind python "no_such_package:c0" }}
candidate c1 {{ tier emitted; target t; op f
{"  cost K" if cost else ""}
  bind python "no_such_package:c1" }}
"""
    requests = tuple({"M": m, "N": n, "K": k} for m in (1, 2, 3, 4, 8, 9) for n in (1, 2, 3, 4) for k in (0, 1, 2, 3, 4, 6))
    return Asked(text, {"dtype": "f32"}, requests)


@pytest.mark.parametrize("op", CASES)
def test_a_fault_in_c_is_caught(op: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if op in SWAPPED:
        other = SWAPPED[op]
        writer = c_terms._WRITERS[other]
        taken = (lambda self, _op, args: writer(self, other, args[:1])) if other in ("neg", "abs") else (lambda self, _op, args: writer(self, other, args))
        monkeypatch.setitem(c_terms._WRITERS, op, taken)
    else:
        kind = c_terms.Code("0", "bool") if op in ("in_range", "is_pow2", "not") else c_terms.Code("0x1p-3", "float")
        monkeypatch.setitem(c_terms._WRITERS, op, lambda self, _op, args: kind)
    assert any("C says" in said for said in disagreements([small(op)], tmp_path))


@pytest.mark.parametrize("op", CASES)
def test_a_fault_in_arrays_is_caught(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = case_of(small(op))
    before = [interpreted(case, sizes) for sizes in case.asked.requests]
    if op == "not":
        monkeypatch.setattr(vectorized.np, "logical_not", lambda values: values)
    elif op in SWAPPED:
        other = SWAPPED[op]
        quick = vector_operators.QUICK[other]
        taken = (lambda _op, columns: quick(other, columns[:1])) if other in ("neg", "abs") else (lambda _op, columns: quick(other, columns))
        monkeypatch.setitem(vector_operators.QUICK, op, taken)
    else:
        value = False if op in ("in_range", "is_pow2") else 0.125
        monkeypatch.setitem(vector_operators.QUICK, op, lambda _op, columns: Column(np.full(columns[0].values.shape, value)))
    assert by_arrays(case) != before


@pytest.mark.parametrize("op", CASES)
def test_a_fault_in_generated_python_is_caught(op: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = SWAPPED.get(op)
    functions = {**operators.STRICT, "in_range": operators.in_range}
    if other is not None:
        swapped = functions[other]

        def wrong(*values):
            return swapped(*values[: 1 if other in ("neg", "abs") else None])
    else:

        def wrong(*_values):
            return False if op in ("in_range", "is_pow2", "not") else 0.125

    monkeypatch.setitem(expressions._EMIT, op, lambda emitter, term: emitter.call(wrong, *map(emitter.expression, term.args)))
    assert any("Python says" in said for said in disagreements([small(op)], tmp_path))


def test_without_a_fault_these_files_agree(tmp_path: Path) -> None:
    assert disagreements([small(op) for op in CASES], tmp_path) == []
