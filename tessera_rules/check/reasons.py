"""What a reader would miss: documentation of what was made by hand, reasons of what is ruled out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tessera_rules.check.registry import Mark, check
from tessera_rules.check.subjects import Where
from tessera_rules.diagnostic import Code
from tessera_rules.syntax import nodes

UNDOCUMENTED = Code(
    "TSR415",
    "a hand-tuned candidate without documentation",
    "Somebody wrote this kernel by hand and outranks every other tier with it. A reader of a decision wants to know what it is.\n\n"
    "Put a string alone on the first line of its block.",
    severity="note",
)
UNEXPLAINED = Code(
    "TSR416",
    "a rule that denies or avoids without a reason",
    "A `deny` or `avoid` takes a candidate away from somebody who asked for nothing wrong. The decision quotes the rule's `because`, and there is none, "
    'and no documentation either.\n\nAdd `because "…"`: an issue, a measurement with its date, the version that mends it.',
    severity="note",
)
UNEXPLAINED_AVOID = Code(
    "TSR417",
    "an `avoid` clause without a reason",
    "`avoid` says that the candidate could serve the request and is known to be slower. Why, and from where that is known, is nowhere to be "
    'read.\n\nAdd `because "…"`.',
    severity="note",
)
WIDE_RULE = Code(
    "TSR418",
    "a rule that selects by tier, tag or pattern for every op",
    "The rule has no `op` and no `target`, and selects by `tier`, `tag` or a quoted pattern: it is about every candidate of every op, those that "
    "others will add included.\n\nGive it the `op` or the `target` that it is about.",
    severity="note",
)
PINNED = Code(
    "TSR419",
    "a `force` that always holds",
    "A rule without `when` forces a candidate for every request in its scope: where the candidate is refused, the request fails though others "
    "could serve it.\n\nGive the rule a `when`, or use `prefer`.",
    severity="note",
)
NAME_STYLE = Code(
    "TSR420",
    "a name that is not written like the others",
    "Ops, targets, candidates, predicates, rules and attributes are written in lower case with underscores. Names that differ only in case or "
    "in underscores are mistaken for each other.\n\nWrite `flash_attn`, not `FlashAttn`. Dimensions are free: `M`, `head_dim`, `Hkv`.",
    severity="note",
)

_OTHER_STYLE = re.compile(r"^[A-Z][a-z]|[a-z][A-Z][a-z]")


@check(UNDOCUMENTED, nodes.Declaration)
def undocumented(declaration: nodes.Declaration, _where: Where) -> Iterator[Mark]:
    """`tier hand_tuned` and no documentation string."""
    if declaration.kind == "candidate" and not any(isinstance(item, nodes.DocField) for item in declaration.fields):
        tier = next((item for item in declaration.fields if isinstance(item, nodes.NameField) and item.keyword == "tier"), None)
        if tier is not None and tier.value.text == "hand_tuned":
            yield Mark(declaration.name.span, f"hand-tuned candidate '{declaration.name.text}' has no documentation")


def _actions(rule: nodes.Declaration) -> list[nodes.ActionField]:
    return [item for item in rule.fields if isinstance(item, nodes.ActionField)] if rule.kind == "rule" else []


@check(UNEXPLAINED, nodes.Declaration)
def unexplained(rule: nodes.Declaration, _where: Where) -> Iterator[Mark]:
    """A `deny` or `avoid` action, and neither `because` nor documentation."""
    told = any(item.keyword in ("because", "doc") for item in rule.fields)
    action = next((item for item in _actions(rule) if item.keyword in ("deny", "avoid")), None)
    if action is not None and not told:
        yield Mark(action.keyword_span, f"rule '{rule.name.text}' gives no reason to {action.keyword}", hint='because "…"')


@check(UNEXPLAINED_AVOID, nodes.ClausesField)
def unexplained_avoid(block: nodes.ClausesField, _where: Where) -> Iterator[Mark]:
    """A clause of `avoid` without `because`."""
    for clause in block.clauses if block.keyword == "avoid" else ():
        if clause.because is None:
            yield Mark(clause.expr.span, "why is it slower here?", hint='because "…"')


@check(WIDE_RULE, nodes.Declaration)
def wide_rule(rule: nodes.Declaration, _where: Where) -> Iterator[Mark]:
    """A selector by tier, tag or pattern in a rule without a scope."""
    if any(item.keyword in ("op", "target") for item in rule.fields):
        return
    for action in _actions(rule):
        wide = next((item for item in (*action.selector, *action.over) if item.kind != "name"), None)
        if wide is not None:
            yield Mark(wide.span, "this selects from the candidates of every op on every target", hint="give the rule an `op` or a `target`")
            return


@check(PINNED, nodes.Declaration)
def pinned(rule: nodes.Declaration, _where: Where) -> Iterator[Mark]:
    """`force` in a rule without `when`."""
    force = next((item for item in _actions(rule) if item.keyword == "force"), None)
    if force is not None and not any(item.keyword == "when" for item in rule.fields):
        yield Mark(force.keyword_span, "this rule forces for every request in its scope", hint="give it a `when`, or use `prefer`")


@check(NAME_STYLE, nodes.Declaration, nodes.Predicate, nodes.AttrField)
def name_style(node: nodes.Declaration | nodes.Predicate | nodes.AttrField, _where: Where) -> Iterator[Mark]:
    """A name with humps, or a capitalized one."""
    if isinstance(node, nodes.Declaration) and node.kind in ("test", "policy"):
        return
    if _OTHER_STYLE.search(node.name.text):
        lower = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", node.name.text).lower()
        yield Mark(node.name.span, f"'{node.name.text}' is not in lower case with underscores", hint=f"such as '{lower}'")
