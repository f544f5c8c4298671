"""Conditions that hold always or never, seen in the built terms."""

from __future__ import annotations

from collections.abc import Iterator

from tessera_rules.check.bounds import constant
from tessera_rules.check.registry import Mark, check
from tessera_rules.check.subjects import Condition, Load
from tessera_rules.diagnostic import Code
from tessera_rules.model.terms import Apply, Const, Fact, Term
from tessera_rules.nearest import did_you_mean
from tessera_rules.source import Span

CONSTANT_CLAUSE = Code(
    "TSR435",
    "a condition that reads nothing",
    "The condition asks for no dimension, attribute, fact or probe: it is true, or false, on every request.\n\n"
    "Ask for what was meant. To switch a candidate off write a rule that denies it, with its reason.",
    severity="warning",
)
FLOAT_EQUALITY = Code(
    "TSR436",
    "computed floats are compared for equality",
    "A computed float is rounded. Whether it equals another one depends on the machine and on the order of the operations.\n\n"
    "Compare with `<=` and a tolerance, or compute with integers (`//`, `%`).",
    severity="warning",
)
NEVER_NEGATIVE = Code(
    "TSR437",
    "a size is compared with what it can never be",
    "Dimensions, `threads` and sizes are 0 or more, so `M >= 0` says nothing and `M < 0` is never true.\n\n"
    "Write the bound that was meant; a dimension that must not be empty is `M >= 1`.",
    severity="warning",
)
OUTSIDE_UNIVERSE = Code(
    "TSR438",
    "a device fact is compared with a value that its target does not list",
    "The target says `fact arch: one of [...]`, and the value is none of them. A misspelt chip is never there, and what the clause guards is "
    "never served.\n\nCorrect the spelling, or add the value to the target's list.",
    severity="warning",
)
NEAR_NULL = Code(
    "TSR439",
    "an environment variable is compared with a word that people do not agree on",
    '`env("NAME")` is a string, null when unset. People write `1`, `true`, `yes` and `on`, and only one of them equals the text of the clause.\n\n'
    'Compare with `"1"` and `"0"`, or with `null`, and say so where the variable is documented.',
    severity="note",
)

_SAYS = {"true", "false", "yes", "no", "on", "off", "True", "False", "TRUE", "FALSE"}
_FLOATS = ("div", "sqrt", "add", "sub", "mul")


def _place(apply: Apply, condition: Condition) -> Span:
    return apply.span or condition.clause.span


@check(CONSTANT_CLAUSE, Condition, unless=("TSR422", "TSR430"))
def constant_clause(condition: Condition, _load: Load) -> Iterator[Mark]:
    """A clause without a fact in it, and without a loop name (whose value differs from member to member)."""
    clause = condition.clause
    if not clause.reads and not clause.loops and not _has_any(clause.term):
        yield Mark(clause.span, "this reads nothing of the request or the machine: it is the same every time")


def _has_any(term: Term) -> bool:
    """Whether a part was wrong and is reported already."""
    stack: list[Term] = [term]
    while stack:
        each = stack.pop()
        if each.type.kind == "any":
            return True
        if isinstance(each, Apply):
            stack.extend(each.args)
    return False


@check(FLOAT_EQUALITY, Condition)
def float_equality(condition: Condition, _load: Load) -> Iterator[Mark]:
    """`==` or `!=` beside a float that is computed, or read from the data."""
    for apply in condition.applications:
        if apply.op in ("eq", "ne") and any(_computed(arg) for arg in apply.args):
            yield Mark(_place(apply, condition), "a computed float equals another one by chance", hint="compare with <= and a tolerance")


def _computed(term: Term) -> bool:
    if term.type.kind != "float":
        return False
    return (isinstance(term, Apply) and term.op in _FLOATS) or (isinstance(term, Fact) and term.key.startswith(("amax:", "amin:")))


@check(NEVER_NEGATIVE, Condition, unless=("TSR422", "TSR430"))
def never_negative(condition: Condition, _load: Load) -> Iterator[Mark]:
    """A dimension or `threads` beside 0 or a negative constant, from the side where nothing is decided."""
    flip = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
    for apply in condition.applications:
        if apply.op not in flip:
            continue
        op, (left, right) = apply.op, apply.args
        if isinstance(right, Fact):
            op, left, right = flip[op], right, left
        value = constant(right)
        if not isinstance(left, Fact) or value is None or not (left.key.startswith("dim:") or left.key == "threads"):
            continue
        if isinstance(right, Const) and right.name is not None:
            continue  # a loop value: another member may decide something
        least = 1 if left.key == "threads" else 0
        always = {"ge": value <= least, "gt": value < least, "ne": value < least}.get(op, False)
        never = {"lt": value <= least, "le": value < least, "eq": value < least}.get(op, False)
        if always or never:
            yield Mark(_place(apply, condition), f"'{left.shown}' is never below {least}, so this {'always' if always else 'never'} holds")


@check(OUTSIDE_UNIVERSE, Condition)
def outside_universe(condition: Condition, _load: Load) -> Iterator[Mark]:
    """`==`, `!=` or `in` between a `one of` fact and a string that is not listed."""
    for apply in condition.applications:
        if apply.op not in ("eq", "ne", "in"):
            continue
        fact = next((arg for arg in apply.args if isinstance(arg, Fact) and arg.key.startswith("device:") and arg.type.words), None)
        for arg in apply.args if fact is not None else ():
            if fact is not None and isinstance(arg, Const) and isinstance(arg.value, str) and arg.value not in fact.type.words:
                span = _within(_place(apply, condition), arg.value)
                yield Mark(span, f'"{arg.value}" is no value of {fact.shown}', hint=did_you_mean(arg.value, fact.type.words, "value"))


def _within(span: Span, text: str) -> Span:
    """Return where a string stands inside a span, or the span."""
    at = span.text.find(f'"{text}"')
    return span if at < 0 else Span(span.source, span.start + at, span.start + at + len(text) + 2)


@check(NEAR_NULL, Condition)
def near_null(condition: Condition, _load: Load) -> Iterator[Mark]:
    """`env("NAME")` beside "true", "yes" and the like."""
    for apply in condition.applications:
        if apply.op not in ("eq", "ne", "in"):
            continue
        env = next((arg for arg in apply.args if isinstance(arg, Fact) and arg.key.startswith("probe:env:")), None)
        word = next((arg.value for arg in apply.args if isinstance(arg, Const) and isinstance(arg.value, str) and arg.value in _SAYS), None)
        if env is not None and word is not None and apply.op != "in":
            yield Mark(_place(apply, condition), f'{env.shown} equals "{word}" for those who write it just so', hint='compare with "1" or "0"')
