"""What a binding is told, and what it takes for granted."""

from __future__ import annotations

from collections.abc import Iterator

from tessera_rules.check.bounds import Bounds
from tessera_rules.check.registry import Mark, check
from tessera_rules.check.subjects import Load, Member, checks_of
from tessera_rules.diagnostic import Code, Related
from tessera_rules.model.terms import Apply, Fact, Term, facts
from tessera_rules.model.values import Candidate, Clause, NativeBinding, PythonBinding
from tessera_rules.source import Source, Span
from tessera_rules.syntax import nodes

NOT_PASSED = Code(
    "TSR321",
    "something honoured that the function is never told",
    "`honours` of a native or source binding names what the function is passed. An attribute or optional operand that is no argument, and that "
    "`requires` does not read, can have any value, and the function computes the same: a request that asks for it gets a wrong result under this name.\n\n"
    "Pass it, or take it out of `honours`: the closed world then refuses such requests.",
)
ONLY_DEFAULT = Code(
    "TSR440",
    "something honoured that `requires` fixes to its default",
    "The candidate says that it implements the attribute, and its `requires` admits only the value that the attribute has anyway.\n\n"
    "Take the attribute out of `honours`, or the clause out of `requires`.",
    severity="warning",
)
NARROW = Code(
    "TSR509",
    "an argument that is narrower than what may come",
    "An integer argument has fewer bits than the dimension or value that it carries may need. Nothing wraps: the binding implies the clause "
    "`M <= 2147483647`, and larger requests are refused by it.\n\n"
    "Pass it as `i64`, or state the bound in `requires` or in the op's `dim` with its reason; then this note is gone.",
    severity="note",
)
TWINS = Code(
    "TSR441",
    "two candidates that run the same function",
    "Two candidates of one op and target are bound to the same function with the same constants. One of them was likely copied, and the function "
    "forgotten; what is measured and proved of one is never used for the other.\n\nBind each to its own, or say in `with (…)` what differs.",
    severity="warning",
)


def _read_by(terms: list[Term | None]) -> set[str]:
    return {fact.key.split(":", 2)[1] for term in terms if term is not None for fact in facts(term) if fact.key.count(":")}


def _names_field(candidate: Candidate, load: Load) -> dict[str, Span]:
    """Return where each name of a candidate's `honours` stands."""
    found: dict[str, Span] = {}
    node = _node_of(candidate.span, load)
    for item in node.fields if node is not None else ():
        if isinstance(item, nodes.NamesField) and item.keyword == "honours":
            found.update({name.text: name.span for name in item.values})
    return found


def _node_of(span: Span, load: Load) -> nodes.Declaration | None:
    index: dict[tuple[Source, int], nodes.Declaration] | None = getattr(load, "_nodes", None)
    if index is None:
        index = {}
        stack: list[nodes.Item] = [item for file in load.files for item in file.items]
        while stack:
            item = stack.pop()
            if isinstance(item, nodes.For):
                stack.extend(item.body)
            elif isinstance(item, nodes.Declaration):
                index[item.span.source, item.span.start] = item
        load._nodes = index  # type: ignore[attr-defined]
    return index.get((span.source, span.start))


@check(NOT_PASSED, Member)
def not_passed(member: Member, load: Load) -> Iterator[Mark]:
    """A name of `honours` that no argument, launch size or `requires` clause reads."""
    candidate, bind = member.candidate, member.candidate.bind
    if not isinstance(bind, NativeBinding) or not candidate.honours:
        return
    launch = bind.launch
    told = {argument.name for argument in bind.arguments if argument.kind in ("operand", "attr")}
    told |= _read_by([argument.value for argument in bind.arguments])
    told |= _read_by([*launch.grid, *launch.block, launch.shared]) if launch else set()
    told |= _read_by([clause.term for clause in candidate.requires])
    places = _names_field(candidate, load)
    for name in candidate.honours:
        if name not in told and name in places:
            hint = f'add it to the arguments of "{bind.symbol}", or take it out of `honours`'
            yield Mark(places[name], f"'{name}' is honoured, and the function is never told of it", hint=hint)


@check(ONLY_DEFAULT, Member)
def only_default(member: Member, load: Load) -> Iterator[Mark]:
    """A name of `honours` that a clause of `requires` holds to its default."""
    if member.op is None or not member.candidate.honours:
        return
    places = _names_field(member.candidate, load)
    for clause in member.candidate.requires:
        for name, value in _fixed(clause):
            attr = member.op.attrs.get(name)
            is_default = (attr is not None and attr.default == value and type(attr.default) is type(value)) or (attr is None and value is False)
            if name in member.candidate.honours and is_default and name in places:
                related = (Related(clause.span, "this admits only the default"),)
                yield Mark(places[name], f"'{name}' is honoured at its default only", related=related)


def _fixed(clause: Clause) -> Iterator[tuple[str, object]]:
    """Yield the names that a clause holds to one value."""
    stack: list[Term] = [clause.term]
    while stack:
        term = stack.pop()
        if not isinstance(term, Apply):
            continue
        if term.op == "and":
            stack.extend(term.args)
        elif term.op == "not" and isinstance(term.args[0], Fact) and term.args[0].key.startswith(("attr:", "given:")):
            yield term.args[0].key.split(":", 1)[1], False
        elif term.op == "eq":
            left, right = term.args if isinstance(term.args[0], Fact) else reversed(term.args)
            if isinstance(left, Fact) and left.key.startswith("attr:") and hasattr(right, "value") and getattr(right, "name", None) is None:
                yield left.key[5:], right.value


@check(NARROW, Member)
def narrow(member: Member, _load: Load) -> Iterator[Mark]:
    """An implied clause about a size that neither the op nor `requires` bounds as closely."""
    candidate = member.candidate
    sizes = [clause for clause in candidate.implied if clause.because is not None and clause.because.startswith("passed as ")]
    if not sizes:
        return
    bounds = Bounds.of(member.op, [*checks_of(member.op), *(clause.term for clause in candidate.requires)])
    for clause in sizes:
        if not _known(clause.term, bounds):
            yield Mark(
                clause.span,
                f"{clause.because}: larger requests are refused by {clause.text}",
                hint="pass it as i64, or bound it in `requires` or by the op's `dim`",
            )


def _known(term: Term, bounds: Bounds) -> bool:
    if isinstance(term, Apply) and term.op == "and":
        return all(_known(arg, bounds) for arg in term.args)
    if isinstance(term, Apply) and term.op == "le":
        most, least = bounds.upper(term.args[0]), bounds.lower(term.args[1])
        return most is not None and least is not None and most <= least
    return False


@check(TWINS, Load)
def twins(load: Load, _load: Load) -> Iterator[Mark]:
    """Two candidates of one op, target and function, neither of which is a member of the other's family."""
    first: dict[tuple[str, str, str, str], Candidate] = {}
    for candidate in load.ruleset.candidates.values():
        bind = candidate.bind
        if not isinstance(bind, PythonBinding) or candidate.uses or not bind.name:
            continue
        key = (candidate.op, candidate.target, bind.path, repr(sorted(bind.constants.items())))
        known = first.setdefault(key, candidate)
        if known is not candidate and known.span.start != candidate.span.start and known.tier == candidate.tier:
            related = (Related(known.bind.span, f"candidate '{known.name}'"),)
            yield Mark(bind.span, f"'{bind.path}' is bound by '{known.name}' already", related=related)
