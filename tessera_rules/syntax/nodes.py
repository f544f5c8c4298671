"""What a file says, as frozen nodes with spans; nothing here is resolved, typed or checked.

Trees compare equal where they say the same: spans take no part in ``==``, nor does a clause's text, which is its
expression as spelt. Every recursive reader of expressions may recurse: depth is bounded by `MAX_DEPTH` when nodes are built.
"""

from __future__ import annotations

from typing import Literal

from attrs import field, frozen

from tessera_rules.source import Source, Span

MAX_DEPTH = 200
"""Deepest nesting of brackets and of expression nodes; a chain of ``and`` or ``or`` is one level."""

MAX_TERMS = 20_000
"""Most nodes in one expression."""


@frozen
class Name:
    """A name as written; inside ``for`` it may hold ``{s}`` parts, which ``text`` keeps."""

    text: str
    span: Span = field(eq=False, repr=False, kw_only=True)


# ---- expressions -------------------------------------------------------------------------------------------------


@frozen
class Expr:
    """Any expression. ``parens`` is no part of the tree: brackets only group."""

    span: Span = field(eq=False, repr=False, kw_only=True)
    depth: int = field(default=1, eq=False, repr=False, kw_only=True)
    size: int = field(default=1, eq=False, repr=False, kw_only=True)


@frozen
class IntLit(Expr):
    """``128``, ``1_000``, ``0x40``, ``64Ki``: the value; the spelling is the span's text."""

    value: int


@frozen
class FloatLit(Expr):
    """``5e-3``, ``0.25``."""

    value: float


@frozen
class StrLit(Expr):
    """``"…"`` decoded. ``{s}`` and ``{{`` stay as written: what they mean depends on the ``for`` around."""

    value: str


@frozen
class BoolLit(Expr):
    """``true`` or ``false``."""

    value: bool


@frozen
class NullLit(Expr):
    """``null``."""


@frozen
class NameRef(Expr):
    """A bare name: an operand, dimension, attribute, word, dtype, loop name or predicate; may hold ``{s}``."""

    name: str


@frozen
class Member(Expr):
    """``device.arch``: a name, a dot, a name."""

    value: Expr
    name: str


@frozen
class Call(Expr):
    """``f(x, n, k=v)``. ``probe python "m:f"`` is ``Call("probe python", (StrLit,))``."""

    function: str
    arguments: tuple[Expr, ...]
    keywords: tuple[tuple[Name, Expr], ...] = ()
    function_span: Span = field(eq=False, repr=False, kw_only=True)


@frozen
class Index(Expr):
    """``x[i]``."""

    value: Expr
    index: Expr


@frozen
class Unary(Expr):
    """``-x`` or ``not x``."""

    operator: Literal["-", "not"]
    operand: Expr


@frozen
class Binary(Expr):
    """``x op y`` for ``+ - * / // %``, left to right."""

    operator: Literal["+", "-", "*", "/", "//", "%"]
    left: Expr
    right: Expr


@frozen
class BoolOp(Expr):
    """``x and y and z``: a whole chain of one operator, flat."""

    operator: Literal["and", "or"]
    operands: tuple[Expr, ...]


CompareOperator = Literal["==", "!=", "<", "<=", ">", ">=", "in", "not in", "like"]


@frozen
class Compare(Expr):
    """``x < y <= z``: ``operands`` is one longer than ``operators``. The right side of ``like`` is a `Pattern`."""

    operands: tuple[Expr, ...]
    operators: tuple[CompareOperator, ...]


@frozen
class IfElse(Expr):
    """``value if condition else otherwise``."""

    value: Expr
    condition: Expr
    otherwise: Expr


@frozen
class ListExpr(Expr):
    """``[a, b]``."""

    items: tuple[Expr, ...]


@frozen
class TupleExpr(Expr):
    """``(a, b)``: only an item of a ``for`` source."""

    items: tuple[Expr, ...]


@frozen
class RangeExpr(Expr):
    """``low..high step s``, both ends in; ``high`` is None in ``1..`` (only in ``dim``)."""

    low: Expr
    high: Expr | None
    step: Expr | None = None


@frozen
class PatternWord:
    """One word of a pattern."""

    name: str
    span: Span = field(eq=False, repr=False, kw_only=True)


@frozen
class PatternAny:
    """``*`` alone: any run of words."""

    span: Span = field(eq=False, repr=False, kw_only=True)


@frozen
class PatternChoice:
    """``(a | b)``."""

    options: tuple[PatternItem, ...]
    span: Span = field(eq=False, repr=False, kw_only=True)


@frozen
class PatternRepeat:
    """``x?`` (none or one) or ``x*`` (any number)."""

    item: PatternItem
    times: Literal["?", "*"]
    span: Span = field(eq=False, repr=False, kw_only=True)


PatternItem = PatternWord | PatternAny | PatternChoice | PatternRepeat


@frozen
class Pattern(Expr):
    """``[bias?, (relu | gelu)?]``, the right side of ``like``."""

    items: tuple[PatternItem, ...]


# ---- pieces of declarations --------------------------------------------------------------------------------------


@frozen
class Clause:
    """One condition: ``text`` is the author's with white space folded and comments left out, without the ``because``."""

    expr: Expr
    text: str = field(eq=False)
    because: StrLit | None
    span: Span = field(eq=False, repr=False, kw_only=True)


@frozen
class Field:
    """One field of a block. ``keyword`` is the word it begins with; ``keyword_span`` its place."""

    keyword: str
    keyword_span: Span = field(eq=False, repr=False, kw_only=True)
    span: Span = field(eq=False, repr=False, kw_only=True)


@frozen
class DocField(Field):
    """The string alone on the first line of a block (keyword ``doc``)."""

    value: StrLit


@frozen
class NameField(Field):
    """``tier hand_tuned``, ``target rocm``, ``op attention``, ``computes f16``, ``on_decline next``, ``verify ahead``."""

    value: Name


@frozen
class NamesField(Field):
    """``tags [a, b]``, ``honours [causal]``, ``order rules, tier``, ``require [deterministic]``, ``given [mask]``, ``allow [tf32]``."""

    values: tuple[Name, ...]


@frozen
class FlagField(Field):
    """``deterministic``, ``batch_invariant``."""


@frozen
class ExprField(Field):
    """``cost E``, ``workspace E``, ``when E`` (then ``text`` is the folded text)."""

    value: Expr
    text: str = field(eq=False)


@frozen
class TextField(Field):
    """``because "…"``."""

    value: StrLit


@frozen
class ClausesField(Field):
    """``available { … }``, ``requires { … }``, ``avoid { … }``, ``guard { … } else NAME``; ``check C`` has one clause."""

    clauses: tuple[Clause, ...]
    otherwise: Name | None = None


@frozen
class AccuracyField(Field):
    """``accuracy { atol E  rtol E }``; a part left out is None."""

    parts: tuple[ExprField, ...]


@frozen
class Argument:
    """``ptr a``, ``ptr? bias``, ``i64 lda = stride(a, 0)``: the C type without ``?``, the name, an expression."""

    ctype: str
    nullable: bool
    name: Name
    value: Expr | None
    span: Span = field(eq=False, repr=False, kw_only=True)


@frozen
class Status:
    """``ok 0`` in ``returns i32 { … }``."""

    name: Name
    value: Expr
    span: Span = field(eq=False, repr=False, kw_only=True)


@frozen
class Launch:
    """``launch { grid [..] block [..] shared E }``; parts that are absent are None."""

    grid: ListExpr | None
    block: ListExpr | None
    shared: Expr | None
    span: Span = field(eq=False, repr=False, kw_only=True)


@frozen
class BindField(Field):
    """``bind python|native|source "PATH" …``; also ``reference python …`` and ``facts python …`` by their keywords."""

    language: Literal["python", "native", "source"]
    path: StrLit
    constants: tuple[tuple[Name, Expr], ...] = ()
    compiler: StrLit | None = None
    flags: tuple[StrLit, ...] = ()
    symbol: StrLit | None = None
    arguments: tuple[Argument, ...] | None = None
    returns: Name | None = None
    statuses: tuple[Status, ...] = ()
    launch: Launch | None = None


@frozen
class UsesField(Field):
    """``uses fft(B = B, n = n, dtype = c64)``."""

    op: Name
    arguments: tuple[tuple[Name, Expr], ...]


@frozen
class PacksField(Field):
    """``packs b python "m:f"``."""

    operand: Name
    path: StrLit


# ---- op fields ---------------------------------------------------------------------------------------------------


@frozen
class DtypeSpec:
    """The dtype of an operand or result: ``i32`` (one name), ``one of [f16, i8]`` (choices), ``dtype out`` (attribute)."""

    name: Name | None = None
    choices: tuple[Name, ...] | None = None
    attribute: Name | None = None
    span: Span = field(eq=False, repr=False, kw_only=True)


@frozen
class OperandField(Field):
    """``operand mask?: [Sq, Skv] i32``, ``inout c: [M, N]`` (keyword ``inout``)."""

    name: Name
    optional: bool
    shape: tuple[Expr, ...]
    dtype: DtypeSpec | None


@frozen
class ResultField(Field):
    """``result [M, N]``, ``result lse: [B] f32``, ``result c`` (an inout operand; then ``shape`` is None)."""

    name: Name | None
    shape: tuple[Expr, ...] | None
    dtype: DtypeSpec | None


@frozen
class DimField(Field):
    """``dim head_dim in 1..1024``."""

    name: Name
    range: RangeExpr


@frozen
class TypeSpec:
    """``bool``, ``int?``, ``one of [a, b]``, ``list of [a, b]``, ``list of int``. Words may be names or strings."""

    kind: str
    words: tuple[Name | StrLit, ...] | None = None
    item: str | None = None
    nullable: bool = False
    span: Span = field(eq=False, repr=False, kw_only=True)


@frozen
class AttrField(Field):
    """``attr causal: bool = false``."""

    name: Name
    type: TypeSpec
    default: Expr | None


@frozen
class DtypeField(Field):
    """``dtype q in [f32, f16]``."""

    operand: Name
    choices: tuple[Name, ...] | None


@frozen
class FactField(Field):
    """``fact arch: one of ["gfx942"]``."""

    name: Name
    type: TypeSpec


# ---- rule and test fields ----------------------------------------------------------------------------------------


@frozen
class SelectorItem:
    """``NAME``, ``tier T``, ``tag T`` or a quoted glob (``kind`` says which)."""

    kind: Literal["name", "tier", "tag", "glob"]
    value: str
    span: Span = field(eq=False, repr=False, kw_only=True)


@frozen
class ActionField(Field):
    """``deny SEL``, ``avoid SEL``, ``force SEL``, ``prefer SEL over SEL``."""

    selector: tuple[SelectorItem, ...]
    over: tuple[SelectorItem, ...] = ()


@frozen
class Layout:
    """``layout q { align 8  strides [8192, 64, 1] }`` and a dtype for it: ``dtype i8``."""

    operand: Name
    align: Expr | None
    strides: tuple[Expr, ...] | None
    dtype: Name | None
    span: Span = field(eq=False, repr=False, kw_only=True)


@frozen
class Setting:
    """``head_dim 72``, ``epilogue [bias, gelu]``, ``dtype f16``: a name and a value (a name, literal, list or expression)."""

    name: Name
    value: Expr
    span: Span = field(eq=False, repr=False, kw_only=True)


@frozen
class RequestField(Field):
    """``request attention on rocm { … }``."""

    op: Name
    target: Name
    settings: tuple[Setting, ...]
    given: tuple[Name, ...] | None = None
    layouts: tuple[Layout, ...] = ()


@frozen
class DeviceField(Field):
    """``device { arch "gfx1151" }``."""

    settings: tuple[Setting, ...]


@frozen
class AssumeField(Field):
    """``assume available all``, ``assume unavailable a, b``: ``names`` is None for ``all``."""

    available: bool
    names: tuple[Name, ...] | None


@frozen
class ExpectField(Field):
    """``expect [not] NAME [VERDICT [by "TEXT"]]``."""

    negated: bool
    candidate: Name
    verdict: Name | None = None
    by: StrLit | None = None


@frozen
class ForClause(Field):
    """The ``for head_dim in 8..256 step 8`` line of a test (keyword ``for``); several names may be bound at once."""

    names: tuple[Name, ...]
    source: ForSource


@frozen
class TargetsWithOp:
    """``targets with op NAME`` as a ``for`` source."""

    op: Name
    span: Span = field(eq=False, repr=False, kw_only=True)


ForSource = Expr | TargetsWithOp


# ---- declarations ------------------------------------------------------------------------------------------------


@frozen
class Declaration:
    """``op``, ``target``, ``candidate``, ``rule``, ``policy``, ``test``: a keyword, a name and fields in file order.

    A ``policy`` has an empty name; the name of a ``test`` is its text. ``damaged`` says that a syntax error lies inside:
    the name counts as declared, the rest is not to be trusted.
    """

    kind: Literal["op", "target", "candidate", "rule", "policy", "test"]
    name: Name
    fields: tuple[Field, ...]
    damaged: bool = field(default=False, kw_only=True)
    span: Span = field(eq=False, repr=False, kw_only=True)


@frozen
class Predicate:
    """``predicate fits(rows, limit) = …``."""

    name: Name
    parameters: tuple[Name, ...]
    body: Expr
    text: str = field(eq=False)
    damaged: bool = field(default=False, kw_only=True)
    span: Span = field(eq=False, repr=False, kw_only=True)


@frozen
class For:
    """``for (s, step) in [...] { declarations }``; may be nested."""

    names: tuple[Name, ...]
    source: ForSource
    body: tuple[Item, ...]
    damaged: bool = field(default=False, kw_only=True)
    span: Span = field(eq=False, repr=False, kw_only=True)


Item = Declaration | Predicate | For


@frozen
class Use:
    """``use "ops.tsr"``."""

    path: StrLit
    span: Span = field(eq=False, repr=False, kw_only=True)


@frozen
class Comment:
    """``# …`` with its hash, without the line's end."""

    text: str
    span: Span = field(eq=False, repr=False, kw_only=True)


@frozen
class File:
    """One parsed file. ``edition`` is None where the ``tessera`` line is missing (a finding says so)."""

    source: Source = field(eq=False, repr=False)
    edition: int | None
    uses: tuple[Use, ...]
    items: tuple[Item, ...]
    comments: tuple[Comment, ...] = field(eq=False)
    edition_span: Span | None = field(default=None, eq=False, repr=False, kw_only=True)
