"""What is declared, brought in or bound, and never used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tessera_rules.check.edits import delete_lines
from tessera_rules.check.registry import Mark, check
from tessera_rules.check.subjects import Load, Where
from tessera_rules.check.words import words_of
from tessera_rules.diagnostic import Code, Related
from tessera_rules.syntax import nodes

UNUSED_PREDICATE = Code(
    "TSR403",
    "a predicate that nobody uses",
    "No clause, condition or predicate of this load asks for the predicate. Either it is left over, or the clause that was to use it was never "
    "written: then a candidate serves what it cannot.\n\nUse it or delete it. It is a note, since another load may use the file.",
    severity="note",
)
UNUSED_USE = Code(
    "TSR404",
    "a used file that nothing here needs",
    "The file brings in only ops, targets and predicates, and neither this file nor one that uses it names any of them.\n\nDelete the line.",
    severity="warning",
)
REPEATED_USE = Code(
    "TSR405",
    "a file that is used twice",
    "A file is loaded once however often it is named. The second `use` does nothing.\n\nDelete it; `tsr lint --fix` does.",
    severity="warning",
)
UNUSED_LOOP_NAME = Code(
    "TSR406",
    "a loop name that is never used",
    "A `for` binds a name that neither stands bare in its body nor in braces in a name or a string. Every member is then the same, or a value that was "
    "meant for each member never reaches it.\n\nUse the name, as `NAME` or `{NAME}`, or take it out of the `for`.",
    severity="warning",
)
UNUSED_PARAMETER = Code(
    "TSR407",
    "a parameter that its predicate never reads",
    "The predicate's value does not depend on the parameter, whatever a caller passes.\n\nRead it, or take it out of the list and out of every use.",
    severity="warning",
)

_DEFINITIONS = ("op", "target")


def _all_words(load: Load) -> Counter[str]:
    found: Counter[str] = Counter()
    for words in load.words.values():
        found.update(words)
    return found


@check(UNUSED_PREDICATE, Load, whole=True)
def unused_predicate(load: Load, _load: Load) -> Iterator[Mark]:
    """A predicate whose name stands nowhere but at its declaration."""
    words = _all_words(load)
    for file in load.named:
        for item in file.items:
            if isinstance(item, nodes.Predicate) and "{" not in item.name.text and words[item.name.text] <= 1:
                yield Mark(item.name.span, f"predicate '{item.name.text}' is used nowhere in this load")


@check(REPEATED_USE, nodes.File)
def repeated_use(file: nodes.File, _where: Where) -> Iterator[Mark]:
    """The same path in two `use` lines of one file."""
    first: dict[str, nodes.Use] = {}
    for use in file.uses:
        known = first.setdefault(use.path.value, use)
        if known is not use:
            related = (Related(known.span, "used first here"),)
            yield Mark(use.span, f'"{use.path.value}" is used already', related=related, edits=delete_lines(use.span))


@check(UNUSED_USE, Load, whole=True)
def unused_use(load: Load, _load: Load) -> Iterator[Mark]:
    """A `use` of pure definitions none of which the file, or a file that uses it, names."""
    import os

    by_path = {os.path.realpath(file.source.path): file for file in load.files if file.source.path is not None}
    edges: dict[int, list[tuple[nodes.Use, nodes.File]]] = {}
    users: dict[int, list[nodes.File]] = {}
    for file in load.files:
        for use in file.uses:
            there = by_path.get(_target(file, use))
            if there is not None:
                edges.setdefault(id(file), []).append((use, there))
                users.setdefault(id(there), []).append(file)
    for file in load.named:
        if not file.items:
            continue  # a file that only brings others together
        above = _closure(file, lambda each: users.get(id(each), []))
        for use, there in edges.get(id(file), ()):
            below = _closure(there, lambda each: [other for _, other in edges.get(id(each), ())])
            names = {name for each in below for name in _defined(each)}
            if not names or any(not _pure(each) for each in below):
                continue
            if not any(names & set(load.words[each.source]) for each in above if each not in below):
                yield Mark(use.path.span, f'nothing that "{use.path.value}" declares is named here', hint="delete the line")


def _target(file: nodes.File, use: nodes.Use) -> str:
    import os

    from tessera_rules.resources import rules_folder

    text = use.path.value
    if text.startswith("std/"):
        return os.path.realpath(rules_folder() / text[4:])
    return os.path.realpath(os.path.join(os.path.dirname(file.source.path or ""), text))


def _closure(start: nodes.File, step: object) -> list[nodes.File]:
    found, stack, seen = [], [start], {id(start)}
    while stack:
        each = stack.pop()
        found.append(each)
        for other in step(each):  # type: ignore[operator]
            if id(other) not in seen:
                seen.add(id(other))
                stack.append(other)
    return found


def _pure(file: nodes.File) -> bool:
    """Whether a file only declares names: nothing of it acts unless somebody names it."""
    return all(isinstance(item, nodes.Predicate) or (isinstance(item, nodes.Declaration) and item.kind in _DEFINITIONS) for item in file.items)


def _defined(file: nodes.File) -> Iterator[str]:
    for item in file.items:
        if not isinstance(item, nodes.For):
            yield item.name.text


@check(UNUSED_LOOP_NAME, nodes.For, nodes.ForClause)
def unused_loop_name(loop: nodes.For | nodes.ForClause, where: Where) -> Iterator[Mark]:
    """A name that a `for` binds and nothing in it reads."""
    if isinstance(loop, nodes.For):
        if loop.damaged or any(item.damaged for item in loop.body):
            return
        start, end = (loop.source.span.end, loop.span.end)
    else:
        assert where.declaration is not None
        start, end = loop.span.end, where.declaration.span.end
    words = words_of(loop.span.source.text[start:end])
    title = where.declaration.name.text if isinstance(loop, nodes.ForClause) and where.declaration is not None else ""
    for name in loop.names:
        if not words[name.text] and f"{{{name.text}}}" not in title and not name.text.startswith("_"):
            yield Mark(name.span, f"the loop name '{name.text}' is never used", hint=f"write {name.text} or {{{name.text}}} where its value belongs")


@check(UNUSED_PARAMETER, nodes.Predicate)
def unused_parameter(predicate: nodes.Predicate, _where: Where) -> Iterator[Mark]:
    """A parameter that does not stand in the body."""
    words = words_of(predicate.body.span.text)
    for parameter in predicate.parameters:
        if not words[parameter.text]:
            yield Mark(parameter.span, f"predicate '{predicate.name.text}' never reads '{parameter.text}'")
