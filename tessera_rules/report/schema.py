"""A team's own demands on rules, as a JSON Schema over the canonical JSON: ``tsr lint --schema team.json``.

Built-in checks never use this module: jsonschema costs start-up, and loads only where somebody asks for a schema.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tessera_rules.diagnostic import Code, Finding, sort_key
from tessera_rules.errors import UsageError
from tessera_rules.model.values import Ruleset
from tessera_rules.nearest import nearest
from tessera_rules.report.canonical import Canonical, canonical
from tessera_rules.source import Source, Span

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

DEMAND = Code(
    "TSR190",
    "a team's demand is not met",
    """\
A declaration does not meet a demand of the schema that `--schema` names.

A team states with a JSON Schema (draft 2020-12) over the canonical JSON what its rules must have beyond what the
language asks: that every hand-tuned candidate has an `accuracy` and a documentation string, that names begin with the
target's. The message is the `description` (or `title`) of the part of the schema that fails, so write one there.

Add what the demand asks for at the place that the finding points at, or change the schema.
""",
)

DISCRIMINATORS = ("kind", "tier", "target", "op", "role", "name")
"""Fields that tell which branch of an ``anyOf`` or ``oneOf`` a value was meant for, the strongest first."""

MEMBERS: dict[str, tuple[str, ...]] = {
    "rules": ("kind", "format", "digest", "files", "ops", "targets", "candidates", "rules", "policy", "tests"),
    "op": ("kind", "name", "doc", "operands", "results", "dims", "attrs", "dtype_operand", "dtypes", "checks", "reference"),
    "target": ("kind", "name", "doc", "facts", "provider"),
    "candidate": (
        "kind", "name", "doc", "tier", "target", "op", "tags", "available", "requires", "implied", "computes", "honours", "guard", "avoid",
        "accuracy", "cost", "bind", "uses", "workspace", "packs", "deterministic", "batch_invariant", "family",
    ),
    "clause": ("kind", "role", "text", "because", "reads", "loops", "tree"),
    "rule": ("kind", "name", "doc", "op", "target", "when", "always", "actions", "because"),
    "test": ("kind", "name", "requests", "assume_available", "assume_unavailable", "expectations"),
    "accuracy": ("kind", "atol", "rtol"),
}  # fmt: skip
"""The fields that an object of a kind may have, present or not: what a misspelt name in a schema is compared with."""

OTHER_MEMBERS = frozenset({
    "file", "line", "column", "shape", "optional", "inout", "dtype", "dtype_attr", "low", "high", "step", "type", "words", "nullable", "default", "path",
    "constants", "symbol", "compiler", "flags", "arguments", "returns", "statuses", "launch", "grid", "block", "shared", "ctype", "carries", "value",
    "operand", "over", "clauses", "otherwise", "order", "on_decline", "on_none", "verify", "require", "workspace_bytes", "given", "layouts", "device", "align",
    "strides", "negated", "verdict", "by", "key", "args", "loop",
})  # fmt: skip
"""The fields of all other objects."""


def read_schema(path: str | Path) -> dict[str, Any]:
    """Return a team's schema. Raises `UsageError` for a file that is none, naming the place inside it."""
    try:
        schema = json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"--schema '{path}' cannot be read: {error}") from None
    if not isinstance(schema, dict):
        raise UsageError(f"--schema '{path}' holds no JSON object", hint='a schema is an object, such as {"properties": …}')
    return schema


def validate_against(ruleset: Ruleset, schema: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Return what in a ruleset does not meet a schema, each at the declaration that falls short.

    Reports TSR190. Raises `UsageError` where the schema itself is not valid, a word of it is misspelt, or a `$ref` leads nowhere.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from referencing.exceptions import Unresolvable

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise UsageError(f"the schema is not valid at {_pointer(error.absolute_path)}: {error.message}") from None
    _check_words(schema, set(Draft202012Validator.VALIDATORS))
    whole = canonical(ruleset)
    try:
        errors = list(Draft202012Validator(schema).iter_errors(whole.document))
    except Unresolvable as error:
        raise UsageError(f"the schema refers to what is not there: {error}") from None
    findings = [_finding(cause, whole, schema) for error in errors for cause in causes(error)]
    return tuple(sorted({(each.span.source.name, each.span.start, each.message): each for each in findings}.values(), key=sort_key))


def causes(error: ValidationError) -> Iterator[ValidationError]:
    """Yield the errors that a person would name as the cause of one.

    Under ``anyOf`` and ``oneOf`` only one branch was meant: the one whose discriminating fields agree with the value, then
    the one with the fewest errors. The errors of the others are about things that nobody wrote.
    """
    if error.validator not in ("anyOf", "oneOf") or not error.context:
        yield error
        return
    branches: dict[Any, list[ValidationError]] = {}
    for inner in error.context:
        branches.setdefault(inner.schema_path[0], []).append(inner)
    meant = min(branches.values(), key=_distance)
    if _distance(meant)[0]:  # no branch is for a value of this kind: the alternatives themselves are the message
        yield error
        return
    for inner in meant:
        yield from causes(inner)


def _distance(branch: Sequence[ValidationError]) -> tuple[int, int, int]:
    """How far a value is from a branch: contradicted discriminators by strength, wrong basic types, all errors."""
    contradicted = 0
    for error in branch:
        field = error.relative_path[-1] if error.relative_path else None
        if error.validator in ("const", "enum") and len(error.relative_path) == 1 and field in DISCRIMINATORS:
            contradicted += 1 << (len(DISCRIMINATORS) - DISCRIMINATORS.index(str(field)))
        if error.validator == "type" and not error.relative_path:
            contradicted += 1 << len(DISCRIMINATORS) + 1
    return contradicted, -max((len(error.absolute_path) for error in branch), default=0), len(branch)


def _finding(error: ValidationError, whole: Canonical, schema: Mapping[str, Any]) -> Finding:
    path = list(error.absolute_path)
    span = whole.place(path) or Span(Source("<rules>", ""), 0, 0)
    subject, at = _subject(path, whole.document)
    demand = _demand(error, schema)
    detail, hint = _detail(error, whole.document)
    where = f" ({'.'.join(map(str, path[at:]))})" if path[at:] else ""
    message = f"{subject}{where}: {demand}: {detail}" if demand else f"{subject}{where}: {detail}"
    return DEMAND.at(span, message, hint=hint)


def _subject(path: Sequence[str | int], document: Any) -> tuple[str, int]:
    """Return the declaration that a path lies in, in words, and how many steps of the path lead to it."""
    if len(path) >= 2 and isinstance(path[1], int):
        declaration = document[path[0]][path[1]]
        return f"{declaration['kind']} {declaration.get('name', '')}".strip(), 2
    return (f"the {path[0]}", 1) if path else ("the rules", 0)


def _demand(error: ValidationError, schema: Mapping[str, Any]) -> str | None:
    """Return the nearest ``description`` or ``title`` on the way from the schema's root to what failed."""
    current: ValidationError | None = error
    while current is not None:
        said = _nearest_words(current)
        if said:
            return said
        current = current.parent  # type: ignore[assignment]
    said = None
    node: Any = schema
    for step in error.absolute_schema_path:
        if isinstance(node, Mapping):
            said = node.get("description") or node.get("title") or said
            node = node.get(step)
        elif isinstance(node, list) and isinstance(step, int) and step < len(node):
            node = node[step]
        else:
            break
    return str(said).strip().rstrip(".") if said else None


def _nearest_words(error: ValidationError) -> str | None:
    said = error.schema.get("description") or error.schema.get("title") if isinstance(error.schema, Mapping) else None
    return str(said).strip().rstrip(".") if said else None


def _detail(error: ValidationError, document: Any) -> tuple[str, str | None]:
    """Return what is wrong in the words of the rules, and a way on."""
    value: Any = error.instance
    wanted: Any = error.validator_value
    if error.validator == "required" and isinstance(value, Mapping):
        missing = [name for name in wanted if name not in value]
        name = error.message.split("'")[1] if "'" in error.message else missing[0]
        return f"it has no {name}", None
    if error.validator in ("const", "enum"):
        allowed = [wanted] if error.validator == "const" else list(wanted)
        near = nearest(value, [item for item in allowed if isinstance(item, str)]) if isinstance(value, str) else None
        shown = ", ".join(_short(item) for item in allowed[:12])
        return f"it is {_short(value)}, and {'must be' if len(allowed) == 1 else 'must be one of'} {shown}", f"did you mean '{near}'?" if near else None
    if error.validator == "pattern":
        return f"{_short(value)} does not match {wanted}", None
    if error.validator in ("anyOf", "oneOf"):
        return f"{_short(value)} meets none of the {len(wanted)} alternatives", None
    if error.validator == "not":
        return f"{_short(value)} is what must not be", None
    return error.message if len(error.message) <= 300 else f"{_short(value)} fails `{error.validator}`", None


def _short(value: Any) -> str:
    text = f"'{value}'" if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= 80 else text[:77] + "…"


def _pointer(path: Sequence[str | int]) -> str:
    return "/" + "/".join(map(str, path))


MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
"""Keywords whose value maps names of the author's own to schemas."""

LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
SCHEMAS = ("items", "not", "if", "then", "else", "additionalProperties", "contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties")
ANNOTATIONS = frozenset({
    "$schema", "$id", "$anchor", "$comment", "$defs", "$vocabulary", "$dynamicAnchor", "title", "description", "default", "examples", "deprecated",
    "readOnly", "writeOnly", "format", "contentEncoding", "contentMediaType", "contentSchema", "definitions", "then", "else", "minContains", "maxContains",
})  # fmt: skip


def _check_words(schema: Any, validators: set[str]) -> None:
    """Refuse a keyword that is nearly one that there is. JSON Schema ignores what it does not know: the demand would always hold."""
    known = validators | ANNOTATIONS
    fields = {field for members in MEMBERS.values() for field in members} | OTHER_MEMBERS
    stack: list[tuple[tuple[str, ...], Any]] = [((), schema)]
    while stack:
        path, node = stack.pop()
        if not isinstance(node, Mapping):
            continue
        for name, value in node.items():
            here = (*path, name)
            if name not in known and not name.startswith("x-"):
                near = nearest(name, known)
                raise UsageError(
                    f"the schema has '{name}' at {_pointer(path)}, which no JSON Schema has",
                    hint=f"did you mean '{near}'?" if near else "begin words of your own with x-",
                )
            for field in value if name in ("properties", "required") else ():
                alike = get_close_matches(field, fields, n=1, cutoff=0.8) if isinstance(field, str) and field not in fields else []
                if alike:
                    raise UsageError(f"the schema speaks of '{field}' at {_pointer(here)}, which no part of the rules has", hint=f"did you mean '{alike[0]}'?")
            if name in MAPS and isinstance(value, Mapping):
                stack.extend(((*here, key), inner) for key, inner in value.items())
            elif name in LISTS and isinstance(value, list):
                stack.extend(((*here, str(number)), inner) for number, inner in enumerate(value))
            elif name in SCHEMAS:
                stack.append((here, value))
