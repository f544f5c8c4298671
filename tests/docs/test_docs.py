"""The documentation is true: its rules are linted, its sessions carried out, its links followed, and it leaves nothing out.

How a page is written: ```tsr is linted clean, and ```tsr-bad CODE… has just these codes; a piece of a file gets the edition, and
what `<!-- before: … -->` above it says. ```sh holds `$ command` lines, each followed by lines of its output in order, loosely
compared (`sessions.loose`), `…` for anything. ```python is run. A file's name after the language writes the block to it. All of a
page happens in one folder, from top to bottom. ``` and ```text say nothing that is checked; `<!-- not run: why -->` above a block
leaves it alone, `<!-- needs: package -->` where that is not installed.
"""

from __future__ import annotations

import json
import os
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from tessera_rules.check.driver import all_checks
from tessera_rules.cli.main import verbs
from tessera_rules.diagnostic import CODES
from tessera_rules.model.functions import DATA, FUNCTIONS, LAYOUT, PROBES
from tessera_rules.session import open_arbiter
from tests.docs.options import PAGE, described, table, with_tables
from tests.docs.pages import ROOT, Block, anchors, blocks, links, name_of, pages, prose
from tests.docs.sessions import carry_out, forget_modules, missing, steps

LANGUAGES = {"", "tsr", "tsr-bad", "sh", "console", "python", "c", "json", "yaml", "text"}
VARIABLES = re.compile(r"""["'](TSR_[A-Z]+)["']""")


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def rules_text(block: Block) -> str:
    """A block of rules as a file: a piece of one gets the edition, and what a comment above it says comes before."""
    if block.text.lstrip().startswith("tessera"):
        return block.text
    return f"tessera 1\n{block.before}\n{block.text}"


def write(block: Block, name: str, folder: Path, text: str | None = None) -> None:
    """Write a block to the file that it is."""
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(block.text if text is None else text, encoding="utf-8")


def lint(block: Block, folder: Path) -> tuple[str, ...]:
    """The codes of errors and warnings in a block, as `tsr lint` finds them."""
    name = block.file or "snippet.tsr"
    write(block, name, folder, rules_text(block))
    code, output = carry_out(f"tsr lint {name} --json", folder, os.environ)
    codes = tuple(each["code"] for each in json.loads(output)["findings"] if each["severity"] != "note")
    assert bool(code) == bool(codes), output
    return codes


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which a page's files lie and its commands run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_every_block_of_a_page_is_what_it_says(page: Path, folder: Path) -> None:
    names: dict[str, object] = {}
    for block in blocks(read(page)):
        where = f"{name_of(page)}:{block.line}"
        assert block.language in LANGUAGES, f"{where}: a block of '{block.language}', which nobody checks"
        if block.not_run or (block.needs and find_spec(block.needs) is None):
            continue
        if block.language in ("tsr", "tsr-bad"):
            assert block.language == "tsr" or block.codes, f"{where}: a bad text says which codes it has, ```tsr-bad TSR201"
            assert set(lint(block, folder)) == set(block.codes), where
        elif block.file:
            write(block, block.file, folder)
        elif block.language in ("sh", "console"):
            for step in steps(block.text):
                code, output = carry_out(step.command, folder, os.environ)
                lacking = missing(step.shown, output)
                assert lacking is None, f"{where}: `{step.command}` does not say\n  {lacking}\nit says\n{output}"
                assert code == 0, f"{where}: `{step.command}` ended with {code}\n{output}"
        elif block.language == "python":
            forget_modules(folder)
            exec(compile(block.text, where, "exec"), names)
    forget_modules(folder)


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for to in links(read(page)):
        if re.match(r"[a-z]+:", to):
            continue
        path, _, anchor = to.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{name_of(page)} links to {to}"
        assert there.is_relative_to(ROOT)
        if anchor:
            assert anchor in anchors(read(there)), f"{name_of(page)} links to {to}, which has no such heading"


def test_the_options_of_every_verb_are_those_of_its_parser() -> None:
    text = read(PAGE)
    for verb in [*verbs(), "every verb"]:
        assert verb == "every verb" or verb in described(text), f"docs/cli.md says nothing of `tsr {verb}`: give it a section (see `tsr eval`)"
        assert table(verb) in text, f"the options of `tsr {verb}` have changed: python -m tests.docs.options"
    assert described(text) <= set(verbs()), "docs/cli.md speaks of a verb that there is not"
    assert with_tables(text) == text


def test_every_environment_variable_is_on_the_page_of_commands() -> None:
    read_by_code = {name for path in (ROOT / "tessera_rules").rglob("*.py") for name in VARIABLES.findall(read(path))}
    rows = set(re.findall(r"^\| `(TSR_[A-Z]+)", read(PAGE), re.MULTILINE))
    assert len(read_by_code) >= 4
    assert rows == read_by_code


def test_every_function_is_in_the_table_of_the_language() -> None:
    rows = re.findall(r"^\| `(probe python|\w+)[^`]*` \| (?P<gives>[^|]+) \| (?P<where>[^|]+) \|", read(ROOT / "docs" / "language.md"), re.MULTILINE)
    stated = {name: where.strip() for name, _, where in rows if name in FUNCTIONS}
    assert set(stated) == set(FUNCTIONS)
    assert {name for name, where in stated.items() if where == "`available`"} == set(PROBES)
    assert {name for name, where in stated.items() if where == "`guard`"} == set(DATA)
    assert {name for name, where in stated.items() if where == "request"} == set(LAYOUT)


CONDITIONS = re.findall(r"^\| `(.+)` \| (true|false|error|unknown) \|$", read(ROOT / "docs" / "language.md"), re.MULTILINE)
WORKED = """
op worked_{i} {{
  operand a: [M, K]
  operand b: [K, N]
  result [M, N]
  attr act: one of [none, relu, gelu] = relu
  attr epilogue: list of [bias, relu, gelu] = [bias, relu]
  attr scale: float?
}}
candidate c{i} {{ tier emitted; target box; op worked_{i}; honours [act, epilogue, scale]; requires {{ {condition} }}; bind python "m:f" }}
"""


def test_conditions_come_to_what_the_language_says() -> None:
    """One op and candidate a condition, so that what it comes to is the candidate's verdict whatever the others do."""
    asking = [WORKED.format(i=i, condition=condition.replace("\\|", "|")) for i, (condition, _) in enumerate(CONDITIONS)]
    arbiter = open_arbiter((), {"machine": 1, "targets": {"box": {}}}, texts={"worked": "\n".join(["target box { fact cores: int }", *asking])})
    words = {"selected": "true", "refused": "false", "error": "error", "undecided": "unknown"}
    said = {}
    for i, (condition, _) in enumerate(CONDITIONS):
        [verdict] = arbiter.decide(f"worked_{i}", target="box", dtype="f32", M=64, N=100).verdicts
        said[condition] = words[verdict.verdict]
    assert said == dict(CONDITIONS)


def test_there_are_worked_conditions_of_every_kind() -> None:
    assert len(CONDITIONS) > 25
    assert {comes_to for _, comes_to in CONDITIONS} == {"true", "false", "error", "unknown"}


def test_every_field_is_in_the_reference_of_the_language() -> None:
    grammar = read(ROOT / "grammars" / "tsr.lark")
    fields = set(re.findall(r'^\w+_(?:field|part|block)?:?\s*\|?\s*"([a-z_]+)"', grammar, re.MULTILINE)) | set(re.findall(r'\| "([a-z_]+)"', grammar))
    text = read(ROOT / "docs" / "language.md")
    assert len(fields) > 40
    lacking = [word for word in sorted(fields) if not re.search(rf"\b{word}\b", text)]
    assert lacking == []


def test_codes_that_pages_name_exist() -> None:
    all_checks()
    known = set(CODES) | {path.stem for path in (ROOT / "docs" / "codes").glob("TSR*.md")}
    for page in pages():
        for code in re.findall(r"\bTSR\d{3}\b", prose(read(page))):
            assert code in known, f"{name_of(page)} names {code}"


def test_the_front_page_begins_with_the_two_commands() -> None:
    first = blocks(read(ROOT / "README.md"))[0].text
    goals = re.findall(r"^make (\w+)", first, re.MULTILINE)
    assert goals == ["demo", "test"]
    makefile = read(ROOT / "Makefile")
    assert all(re.search(rf"^{goal}:", makefile, re.MULTILINE) for goal in goals)


def test_every_page_is_reached_from_the_front_page() -> None:
    found: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in found or page.suffix != ".md":
            continue
        found.add(page)
        waiting += [(page.parent / to.partition("#")[0]).resolve() for to in links(read(page)) if to.partition("#")[0] and ":" not in to]
    lost = [name_of(page) for page in pages() if page not in found]
    assert lost == [], "no link leads there from the front page"
