"""What rules mean: ops, targets, candidates, rules, a policy and tests, as frozen values with places."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, Literal

from attrs import field, frozen

from tessera_rules.model.terms import Term
from tessera_rules.model.types import Type
from tessera_rules.source import Source, Span

Tier = Literal["synthesized", "emitted", "hand_tuned"]
TIERS: tuple[Tier, ...] = ("synthesized", "emitted", "hand_tuned")

Criterion = Literal["rules", "measured", "avoid", "tier", "cost", "declaration"]
CRITERIA: tuple[Criterion, ...] = ("rules", "measured", "avoid", "tier", "cost", "declaration")


class Required(Enum):
    """The default of an attribute that every request must give."""

    REQUIRED = "required"


REQUIRED: Final = Required.REQUIRED


@frozen(eq=False)
class Clause:
    """One condition with its place, its text as the author wrote it, and what it reads.

    ``loops`` holds the values of the loop names in it, shown among a verdict's values. ``code`` says what kind of gate
    it is: ``requires`` or ``binding`` (implied by the binding) for gates, else ``available avoid guard check when``.
    """

    term: Term
    text: str
    because: str | None
    span: Span
    code: str = "requires"
    reads: frozenset[str] = frozenset()
    loops: Mapping[str, Any] = field(factory=dict)


@frozen(eq=False)
class Dim:
    """The sizes that requests may have: ``low <= d``, and ``d <= high`` where high is not None. ``span``: its ``dim`` field."""

    name: str
    low: int = 0
    high: int | None = None
    step: int = 1
    span: Span | None = None


@frozen(eq=False)
class Operand:
    """One operand: its shape as terms over dimensions, and its dtype.

    ``dtypes`` is None where it has the request's dtype, else what it may have (one or several).
    """

    name: str
    shape: tuple[Term, ...]
    optional: bool
    inout: bool
    dtypes: tuple[str, ...] | None
    span: Span


@frozen(eq=False)
class Result:
    """One result. ``dtype`` is a dtype, None for the request's; ``dtype_attr`` names the attribute that says it.

    ``dtypes`` (``result [B, n] one of [c64, c128]``) are those that go with the op's dtypes, in the order of its ``dtype`` field.
    ``inout`` names the operand that is the result (then shape is that operand's). ``name`` is None for a single unnamed one.
    """

    name: str | None
    shape: tuple[Term, ...]
    dtype: str | None
    dtype_attr: str | None
    inout: str | None
    span: Span
    dtypes: tuple[str, ...] | None = None


@frozen(eq=False)
class Attr:
    """One attribute. ``default`` is its value where the request does not say (None is ``null``); `REQUIRED`: it must say."""

    name: str
    type: Type
    default: Any
    span: Span


@frozen(eq=False)
class PythonBinding:
    """``module:callable`` with constants of this family member."""

    module: str
    name: str
    constants: Mapping[str, Any]
    span: Span

    @property
    def path(self) -> str:
        """``module:callable`` as written."""
        return f"{self.module}:{self.name}"


@frozen(eq=False)
class NativeArgument:
    """One C argument. ``kind`` says what it carries: ``operand out dim attr value workspace workspace_bytes stream device threads``.

    ``ctype`` is ``ptr i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char bool``; ``nullable`` marks ``ptr?`` and ``f32?``;
    ``value`` is the expression of ``TYPE NAME = EXPRESSION``, else None. For kind ``out`` ``name`` is ``out`` or the result's name.
    """

    ctype: str
    name: str
    nullable: bool
    kind: str
    value: Term | None
    span: Span


@frozen(eq=False)
class LaunchShape:
    """Grid, block and dynamic shared memory (bytes) of a device kernel, as terms."""

    grid: tuple[Term, ...]
    block: tuple[Term, ...]
    shared: Term | None


@frozen(eq=False)
class NativeBinding:
    """A C function of a shared library (``language`` native) or of a source that is compiled at first use (source).

    ``path`` may hold ``$NAME``. ``folder`` is that of the rule file, which relative source paths start from.
    ``returns`` is a C type or None for void; ``statuses`` maps words (``ok``, ``decline``, others) to values.
    """

    language: Literal["native", "source"]
    path: str
    symbol: str
    arguments: tuple[NativeArgument, ...]
    returns: str | None
    statuses: Mapping[str, int]
    compiler: str | None
    flags: tuple[str, ...]
    launch: LaunchShape | None
    folder: str | None
    span: Span


Binding = PythonBinding | NativeBinding


@frozen(eq=False)
class Guard:
    """Clauses about the data, and who takes over where they are false (None: the next in rank)."""

    clauses: tuple[Clause, ...]
    otherwise: str | None
    span: Span


@frozen(eq=False)
class Accuracy:
    """``|err| <= atol + rtol * |ref|``; a part that is not given is None (0)."""

    atol: Term | None
    rtol: Term | None
    span: Span


@frozen(eq=False)
class Uses:
    """Another op whose arbitrated winner this candidate runs: its dimensions and attributes as terms, its dtype."""

    op: str
    dims: Mapping[str, Term]
    attrs: Mapping[str, Term]
    dtype: Term | None
    span: Span
    text: str


@frozen(eq=False)
class Pack:
    """A constant operand that is prepared once by ``module:callable``."""

    operand: str
    module: str
    name: str
    span: Span


@frozen(eq=False)
class Target:
    """A kind of device. ``facts`` are its types; ``provider`` is ``module:callable`` or None (always there)."""

    name: str
    doc: str | None
    facts: Mapping[str, Type]
    fact_spans: Mapping[str, Span]
    provider: PythonBinding | None
    span: Span


@frozen(eq=False)
class Op:
    """An operation: operands, results, dimensions, attributes, dtypes, checks and its reference."""

    name: str
    doc: str | None
    operands: Mapping[str, Operand]
    results: tuple[Result, ...]
    dims: Mapping[str, Dim]
    attrs: Mapping[str, Attr]
    dtype_operand: str | None
    dtypes: tuple[str, ...] | None
    checks: tuple[Clause, ...]
    reference: PythonBinding | None
    span: Span
    name_span: Span


@frozen(eq=False)
class Candidate:
    """One way to compute one op on one target.

    ``named`` holds the attributes and optional operands that it names (``requires``, ``honours``, binding arguments):
    the closed world refuses any other that is given. ``implied`` are clauses that follow from the binding (code ``binding``).
    ``order`` is its place in declaration order. ``family`` maps loop names to this member's values.
    """

    name: str
    doc: str | None
    tier: Tier
    target: str
    op: str
    tags: frozenset[str]
    available: tuple[Clause, ...]
    requires: tuple[Clause, ...]
    implied: tuple[Clause, ...]
    computes: str | None
    honours: tuple[str, ...]
    named: frozenset[str]
    guard: Guard | None
    avoid: tuple[Clause, ...]
    accuracy: Accuracy | None
    cost: Term | None
    bind: Binding
    uses: tuple[Uses, ...]
    workspace: Term | None
    packs: tuple[Pack, ...]
    deterministic: bool
    batch_invariant: bool
    order: int
    family: Mapping[str, Any]
    span: Span
    name_span: Span


@frozen(eq=False)
class Action:
    """What a rule does: ``deny avoid force`` a set of candidates, or ``prefer`` one set ``over`` another."""

    kind: Literal["deny", "avoid", "prefer", "force"]
    candidates: frozenset[str]
    over: frozenset[str]
    span: Span


@frozen(eq=False)
class Rule:
    """A rule with its scope (None: any) and its condition per op (one term for each op that it can be about).

    A rule without ``when`` always holds: ``conditions`` is then empty.
    """

    name: str
    doc: str | None
    op: str | None
    target: str | None
    conditions: Mapping[tuple[str, str], Clause]
    always: bool
    actions: tuple[Action, ...]
    because: str | None
    span: Span
    name_span: Span


@frozen
class Policy:
    """How decisions are made where the rules leave it open; the defaults are the language's."""

    order: tuple[Criterion, ...] = CRITERIA
    on_decline: Literal["next", "reference", "error"] = "next"
    on_none: Literal["reference", "error"] = "reference"
    verify: Literal["first_use", "always", "never", "ahead"] = "first_use"
    require: frozenset[str] = frozenset()
    workspace_bytes: int | None = None


@frozen(eq=False)
class Expectation:
    """``expect [not] NAME [VERDICT [by TEXT]]``; ``name`` may be ``reference`` or ``undecided``."""

    negated: bool
    name: str
    verdict: str | None
    by: str | None
    span: Span


@frozen(eq=False)
class StatedLayout:
    """What a request says of one operand's layout: alignment in bytes, strides in elements, its dtype; None is not said."""

    align: int | None = None
    strides: tuple[int, ...] | None = None
    dtype: str | None = None


@frozen(eq=False)
class TestRequest:
    """One request of a test: words as ``k=v`` would say them, already typed, and what is expected of it (loop names filled)."""

    __test__ = False
    op: str
    target: str
    words: Mapping[str, Any]
    given: tuple[str, ...]
    layouts: Mapping[str, StatedLayout]
    device: Mapping[str, Any]
    loops: Mapping[str, Any]
    expectations: tuple[Expectation, ...] = ()


@frozen(eq=False)
class Test:
    """One test: its requests (one for each round of its ``for``), what is assumed, what is expected.

    ``assume_available`` is None for ``all``.
    """

    __test__ = False
    name: str
    requests: tuple[TestRequest, ...]
    assume_available: frozenset[str] | None
    assume_unavailable: frozenset[str]
    expectations: tuple[Expectation, ...]
    span: Span


@frozen(eq=False)
class Ruleset:
    """Everything that one load means. ``candidates`` is in declaration order; ``digest`` names the content of every file."""

    sources: tuple[Source, ...]
    ops: Mapping[str, Op]
    targets: Mapping[str, Target]
    candidates: Mapping[str, Candidate]
    rules: tuple[Rule, ...]
    policy: Policy
    tests: tuple[Test, ...]
    digest: str
    registered: Mapping[tuple[str, str], tuple[Candidate, ...]]
    untrusted: frozenset[str] = frozenset()
    """The candidates that nobody named: decided upon, never probed, bound or run."""
    untrusted_sources: frozenset[Source] = frozenset()
    """The files that these come from: their targets are not asked, their references do not run."""

    def for_op(self, op: str, target: str) -> tuple[Candidate, ...]:
        """Return the candidates that are registered for an op on a target, in declaration order."""
        return self.registered.get((op, target), ())
