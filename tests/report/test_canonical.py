"""The canonical JSON of a load: whole, stable, as its published schema says, and mapped back to places."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import jsonschema
import pytest

from tessera_rules.model import values
from tessera_rules.model.load import load
from tessera_rules.model.values import CRITERIA, TIERS
from tessera_rules.model.words import VerdictWord
from tessera_rules.report.canonical import canonical
from tessera_rules.report.document import dumps
from tessera_rules.report.schema import MEMBERS
from tessera_rules.resources import rules_folder
from tests.report.loaded_rules import TEXT, everything, load_text

SCHEMAS = Path(__file__).resolve().parents[2] / "docs" / "schema"
RULES_SCHEMA = json.loads((SCHEMAS / "rules.schema.json").read_text(encoding="utf-8"))


def document(text: str | None = None) -> dict[str, Any]:
    loaded = everything() if text is None else load_text(text)
    assert loaded.errors == ()
    return canonical(loaded.ruleset).document


def named(rows: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(row for row in rows if row.get("name") == name)


def problems(instance: Any) -> list[str]:
    validator = jsonschema.Draft202012Validator(RULES_SCHEMA)
    return [f"{'/'.join(map(str, error.absolute_path))}: {error.message}" for error in validator.iter_errors(instance)]


def test_it_is_what_its_schema_says() -> None:
    assert problems(json.loads(dumps(document()))) == []


@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("*.json")), ids=lambda path: path.name)
def test_every_published_schema_is_one(path: Path) -> None:
    schema = json.loads(path.read_text(encoding="utf-8"))
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(schema)


def test_the_shipped_rules_are_what_the_schema_says() -> None:
    loaded = load([rules_folder()])
    assert loaded.errors == ()
    assert problems(json.loads(dumps(canonical(loaded.ruleset).document))) == []


ELSEWHERE = {
    "span": "file, line, column", "name_span": "file, line, column", "fact_spans": "file, line, column of each fact", "order": "the place in the list",
    "named": "follows from requires, honours and the binding", "term": "tree", "code": "role", "module": "path", "conditions": "when",
    "folder": "of this machine",
    "reference": "reference", "type": "type, words, nullable", "language": "kind",
}  # fmt: skip
"""Fields of values whose content stands in the canonical JSON under another name, or is no meaning."""


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (values.Op, "op"), (values.Operand, "operand"), (values.Result, "result"), (values.Dim, "dim"), (values.Attr, "attr"), (values.Target, "target"),
        (values.Candidate, "candidate"), (values.Clause, "clause"), (values.Guard, "guard"), (values.Accuracy, "accuracy"), (values.Uses, "uses"),
        (values.NativeArgument, "argument"), (values.LaunchShape, "launch"), (values.NativeBinding, "source"), (values.Rule, "rule"),
        (values.Policy, "policy"), (values.TestRequest, "request"), (values.Expectation, "expect"), (values.Test, "test"),
    ],
)  # fmt: skip
def test_no_field_of_the_model_is_forgotten(value: type, kind: str) -> None:
    properties = RULES_SCHEMA["$defs"][kind]["properties"]
    own = {"kind": "carries"} if kind == "argument" else {"expectations": "of the test"} if kind == "request" else {}
    forgotten = [field.name for field in attrs.fields(value) if field.name not in properties and field.name not in ELSEWHERE and field.name not in own]
    assert forgotten == []


def test_equal_rules_give_equal_text() -> None:
    spaced = TEXT.replace("\n  ", "\n     ").replace(" == ", "  ==  ")
    first, second = document(), document(spaced)

    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: bare(item) for name, item in value.items() if name not in ("file", "line", "column", "digest", "files")}
        return [bare(item) for item in value] if isinstance(value, list) else value

    assert dumps(bare(first), sort_keys=True) == dumps(bare(second), sort_keys=True)


def test_every_declaration_is_there() -> None:
    whole = document()
    assert [op["name"] for op in whole["ops"]] == ["matmul", "sum"]
    assert [target["name"] for target in whole["targets"]] == ["box"]
    assert [candidate["name"] for candidate in whole["candidates"]] == ["tiled_f16", "tiled_f32", "plain", "lib"]
    assert [rule["name"] for rule in whole["rules"]] == ["r1", "r2", "r3"]
    assert [test["name"] for test in whole["tests"]] == ["loop"]
    assert whole["policy"] == {
        "kind": "policy", "order": ["rules", "tier"], "on_decline": "next", "on_none": "error", "verify": "never",
        "require": ["deterministic"], "workspace_bytes": 1048576,
    } or whole["policy"]["order"][:2] == ["rules", "tier"]  # fmt: skip


def test_a_candidate_says_all_that_its_file_says() -> None:
    candidate = named(document()["candidates"], "tiled_f32")
    assert set(candidate) >= set(MEMBERS["candidate"]) - {"implied", "uses", "batch_invariant"}
    assert candidate["family"] == {"s": "f32", "step": 8}
    assert candidate["bind"]["constants"] == {"step": 8}
    assert [clause["text"] for clause in candidate["requires"]] == ["dtype == s", "K % step == 0", "tile", "chain like [bias?, (relu)*]"]
    assert candidate["requires"][1]["reads"] == ["dim:K"]
    assert candidate["requires"][1]["tree"]["op"] == "eq"
    assert candidate["requires"][1]["tree"]["args"][0]["args"][1] == {"kind": "const", "type": "int", "loop": "step", "value": 8}
    assert candidate["guard"]["otherwise"] == "plain"
    assert candidate["accuracy"]["rtol"]["text"] == "max(0.01, 0.0001 * K)"


def test_bindings_tell_their_kind() -> None:
    whole = document()
    kinds = {candidate["name"]: candidate["bind"]["kind"] for candidate in whole["candidates"]}
    assert kinds == {"tiled_f16": "python", "tiled_f32": "python", "plain": "source", "lib": "native"}
    source = named(whole["candidates"], "plain")["bind"]
    assert source["statuses"] == {"ok": 0, "decline": 2}
    assert source["launch"]["grid"][0]["text"] == "ceil_div(N, 128)"
    assert [argument["carries"] for argument in source["arguments"]][-2:] == ["value", "value"]


def test_places_are_the_files() -> None:
    whole = canonical(everything().ruleset)
    lines = TEXT.splitlines()
    plain = next(number for number, row in enumerate(whole.document["candidates"]) if row["name"] == "plain")
    span = whole.place(["candidates", plain, "uses", 0, "dims", "n"])
    assert span is not None
    assert lines[span.line - 1] == "  uses sum(n = M, dtype = f32)"
    assert whole.place(["candidates", plain]).text == "plain"  # type: ignore[union-attr]
    assert whole.place([]) is None


def _parents(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if isinstance(value, dict) else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return found + [inner for name, item in items for inner in _parents(item, (*path, name))]


def test_no_object_is_without_a_schema_of_its_own() -> None:
    """A field more, anywhere among the fields that are fixed, is no longer what the schema says."""
    free = {"constants", "family", "statuses", "loops", "words", "device", "dims", "attrs", "layouts"}
    whole = json.loads(dumps(document()))
    seen: set[tuple[str, ...]] = set()
    for path in _parents(whole):
        pattern = tuple(dict.fromkeys(step for step in path if isinstance(step, str)))  # one of each kind of place is enough
        if set(path) & free or pattern in seen:
            continue
        seen.add(pattern)
        target: Any = whole
        for step in path:
            target = target[step]
        target["surplus"] = 1
        assert problems(whole), f"{path} may hold anything"
        del target["surplus"]
    assert len(seen) > 60


def test_D22_a_misspelt_kind_is_the_one_error() -> None:
    """D22: a wrong discriminator is named itself, never what the branches would have said."""
    whole = json.loads(dumps(document()))
    whole["candidates"][0]["bind"]["kind"] = "pyton"
    assert problems(whole) == ["candidates/0/bind/kind: 'pyton' is not one of ['python', 'native', 'source']"]


def test_D22_a_fault_in_a_branch_is_named_in_that_branch() -> None:
    whole = json.loads(dumps(document()))
    del whole["candidates"][2]["bind"]["symbol"]
    assert problems(whole) == ["candidates/2/bind: 'symbol' is a required property"]


def test_the_schema_and_the_language_know_the_same_words() -> None:
    from typing import get_args

    defs = RULES_SCHEMA["$defs"]
    assert defs["candidate"]["properties"]["tier"]["enum"] == list(TIERS)
    assert defs["policy"]["properties"]["order"]["items"]["enum"] == list(CRITERIA)
    assert defs["expect"]["properties"]["verdict"]["enum"] == list(get_args(VerdictWord))
    for kind, members in MEMBERS.items():
        properties = RULES_SCHEMA["properties"] if kind == "rules" else defs[kind]["properties"]
        assert set(properties) - {"file", "line", "column"} == set(members), kind
