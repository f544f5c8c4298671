"""A decision as a person reads it: who runs and why, then each of the others with its reason, then what is open."""

from __future__ import annotations

from collections.abc import Callable

from tessera_rules.arbiter.decision import Decision, Residual, Verdict
from tessera_rules.arbiter.reasons import CRITERION_TEXT, spelled, word_of
from tessera_rules.model.request import DEFAULT_ALIGN, Request
from tessera_rules.source import Span

Paint = Callable[[str, str], str]
"""Shows a text in a role: ``good error warning note dim strong``."""
_ROLES = {"selected": "good", "undecided": "warning", "outranked": "dim", "delegated": "note", "degraded": "warning"}


def plain(_role: str, text: str) -> str:
    """Show text as it is."""
    return text


def explain(decision: Decision, holds_for: str | None = None, paint: Paint = plain) -> str:
    """Return the explanation, several lines without a last newline; ``holds_for`` is shown where it is given."""
    lines = [_headline(decision, paint), f"  {paint('dim', 'request')}  {request_words(decision.request)}"]
    order = {name: place for place, name in enumerate(decision.ranking)}
    verdicts = sorted(decision.verdicts, key=lambda each: (each.candidate != decision.winner, each.verdict == "outranked", order.get(each.candidate, 0)))
    width = max((len(each.verdict) for each in verdicts), default=0)
    for verdict in verdicts:
        lines += _verdict_lines(verdict, width, paint)
    if not verdicts:
        lines.append(f"  no candidate is registered for {decision.request.op.name} on {decision.request.target}")
    if decision.residual:
        lines.append(paint("strong", "open:"))
        lines += [_residual_line(each, paint) for each in decision.residual]
    lines += [f"{paint('note', 'note:')} {note}" for note in decision.notes]
    if holds_for is not None:
        lines.append(f"{paint('dim', 'the same holds for:')} {holds_for}")
    return "\n".join(lines)


def _headline(decision: Decision, paint: Paint) -> str:
    request = decision.request
    what = f"{request.op.name} on {request.target}"
    if decision.tag == "undecided":
        names = [each.candidate for each in decision.verdicts if each.verdict == "undecided"]
        between = f" between {', '.join(names)}" if len(names) > 1 else f" whether {names[0]} can" if names else ""
        return f"{paint('strong', what)}: {paint('warning', 'undecided')}{between}"
    who = decision.winner if decision.winner is not None else "the reference"
    return (
        f"{paint('strong', what)}: {paint('good' if decision.winner else 'warning', who)} runs, by {decision.criterion}: {CRITERION_TEXT[decision.criterion]}"
    )


def request_words(request: Request) -> str:
    """Return a request as it is typed after ``tsr eval OP TARGET``: what is known, and what differs from its default."""
    return " ".join(words_of(request)) or "nothing is known"


def words_of(request: Request) -> list[str]:
    """Return the words of a request, one ``NAME=VALUE`` each."""
    words = [] if request.dtype is None else [f"dtype={request.dtype}"]
    words += [f"{name}={request.dims[name]}" for name in request.op.dims if name in request.dims]
    words += [f"{name}={_bare(value)}" for name, value in request.attrs.items() if value != request.op.attrs[name].default]
    if request.given:
        words.append(f"given={','.join(name for name in request.op.operands if name in request.given)}")
    for name, layout in request.layouts.items():
        words += [f"{name}.align={layout.align}"] if layout.align not in (None, DEFAULT_ALIGN) else []
        words += [f"{name}.strides={','.join(map(str, layout.strides))}"] if layout.strides is not None else []
        words += [f"{name}.dtype={layout.dtype}"] if layout.dtype is not None else []
    for word, names in (("allow", request.allow), ("require", request.require)):
        words += [f"{word}={','.join(sorted(names))}"] if names else []
    words += [f"threads={request.threads}"] if request.threads not in (None, 1) else []
    words += [f"device={request.device}"] if request.device else []
    return words


def _bare(value: object) -> str:
    return ",".join(map(word_of, value)) if isinstance(value, tuple | list) else word_of(value)


def _verdict_lines(verdict: Verdict, width: int, paint: Paint) -> list[str]:
    word = paint(_ROLES.get(verdict.verdict, "error"), verdict.verdict.ljust(width))
    indent = " " * (width + 4)
    lines = [f"  {word}  {paint('strong', verdict.candidate)} ({verdict.tier}): {verdict.reason}"]
    if verdict.because and verdict.because not in verdict.reason:
        lines.append(f"{indent}because {verdict.because}")
    found = verdict.extra.get("found")
    if found and str(found) not in verdict.reason:
        lines.append(f"{indent}found: {found}")
    if verdict.values and not found and spelled(verdict.values) not in verdict.reason and verdict.verdict not in ("selected", "undecided"):
        lines.append(f"{indent}{paint('dim', 'with ' + spelled(verdict.values))}")
    if verdict.span is not None and verdict.verdict != "selected":
        lines.append(f"{indent}{paint('dim', place(verdict.span))}")
    return lines


def explain_verdict(verdict: Verdict, paint: Paint = plain) -> str:
    """Return one verdict with its reason, values and place."""
    return "\n".join(line.removeprefix("  ") for line in _verdict_lines(verdict, len(verdict.verdict), paint))


def _residual_line(residual: Residual, paint: Paint) -> str:
    needs = f"  give {', '.join(residual.needs)}" if residual.needs else ""
    where = f"  {paint('dim', place(residual.span))}" if residual.span is not None else ""
    return f"  {residual.candidate}: {residual.condition}{needs}{where}"


def place(span: Span) -> str:
    """Return ``file:line:column`` of a span."""
    return f"{span.source.name}:{span.line}:{span.column}"
