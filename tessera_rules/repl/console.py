"""The REPL without a terminal: a line goes in, a text comes out. The prompt and piped input both drive this."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from typing import Any

from attrs import define, evolve, field, frozen

from tessera_rules.arbiter.decision import Decision
from tessera_rules.errors import RuleError, TesseraError, UsageError
from tessera_rules.machine.telling import tell
from tessera_rules.nearest import did_you_mean
from tessera_rules.repl.sweep import sweep_values
from tessera_rules.report.explain import explain, explain_verdict
from tessera_rules.report.table import table
from tessera_rules.report.text import render_findings
from tessera_rules.session import Arbiter

DECLARATIONS = ("op", "target", "predicate", "candidate", "rule", "policy", "test", "for", "use")


@frozen
class Reply:
    """What a line gave: the text to show, whether it went well, whether the session ends."""

    text: str = ""
    ok: bool = True
    done: bool = False


@frozen
class Ask:
    """A request as typed: op, target and ``k=v`` words."""

    op: str
    target: str | None
    words: dict[str, str] = field(factory=dict)


@define
class Console:
    """The state of a session: rules, machine, what is assumed, the request last asked for."""

    arbiter: Arbiter
    machine_name: str = "this machine"
    assumed: frozenset[str] | None = frozenset()
    asked: Ask | None = None
    decision: Decision | None = None

    def execute(self, text: str) -> Reply:
        """Carry out one line (or one declaration of several lines) and return what it gave; never raises for bad input."""
        stripped = text.strip()
        if not stripped or stripped.startswith("#"):
            return Reply()
        try:
            return self._execute(stripped)
        except RuleError as problem:
            return Reply(render_findings(problem.findings), ok=False)
        except TesseraError as problem:
            place = f"{problem.span.source.name}:{problem.span.line}: " if problem.span else ""
            return Reply(f"{place}{problem.message}", ok=False)

    def _execute(self, text: str) -> Reply:
        word = text.split(None, 1)[0]
        rest = text[len(word) :].strip()
        verb = VERBS.get(word)
        if verb is not None and not (word in self.arbiter.ruleset.ops and "=" in rest and word not in ("run",)):
            return verb.act(self, rest)
        if self._declares(word, text):
            return self._declare(text)
        if word in self.arbiter.ruleset.ops:
            return self._request(text)
        known = [*VERBS, *self.arbiter.ruleset.ops]
        raise UsageError(f"'{word}' is no verb and no op", hint=did_you_mean(word, known, "verb or op"))

    def _declares(self, word: str, text: str) -> bool:
        return (word in DECLARATIONS and "=" not in text.split("{", 1)[0].replace("==", "")) or (word == "predicate")

    # ---- requests ----

    def _split(self, text: str) -> Ask:
        try:
            words = shlex.split(text, comments=True)
        except ValueError as problem:
            raise UsageError(f"the line cannot be split into words: {problem}") from None
        plain = [each for each in words if "=" not in each]
        pairs: dict[str, str] = {}
        for each in words:
            name, equals, value = each.partition("=")
            if equals and name in pairs:
                raise UsageError(f"{name} is given twice: {name}={pairs[name]} and {each}")
            if equals:
                pairs[name] = value
        if len(plain) > 2:
            raise UsageError(f"'{plain[2]}' is no NAME=VALUE", hint="OP TARGET NAME=VALUE …, such as matmul x86 M=512")
        return Ask(plain[0] if plain else "", plain[1] if len(plain) > 1 else None, pairs)

    def _request(self, text: str) -> Reply:
        self.asked = self._split(text)
        self.decision = None
        self.decision = self.decide(self.asked)
        return Reply(explain(self.decision))

    def decide(self, ask: Ask) -> Decision:
        """Return the decision for a request on the machine of this session."""
        return self.arbiter.decide(ask.op, target=ask.target, assume=self.assumed, **ask.words)

    def last(self) -> tuple[Ask, Decision]:
        """Return the request last asked for and its decision under the rules and the machine of now. Raises `UsageError` without one."""
        if self.asked is None:
            raise UsageError("there is no request yet", hint="type one first, such as: attention rocm dtype=f16 head_dim=72")
        if self.decision is None:
            self.decision = self.decide(self.asked)
        return self.asked, self.decision

    # ---- declarations ----

    def _declare(self, text: str) -> Reply:
        before = self.arbiter
        self.arbiter = before.declare(text, replace=True)
        self.decision = None
        new = [name for name in self.arbiter.ruleset.candidates if name not in before.ruleset.candidates]
        what = f"candidate{'s' if len(new) > 1 else ''} {', '.join(new)}" if new else text.split("{", 1)[0].strip().splitlines()[0]
        return Reply(f"declared {what}")


# ---- verbs -----------------------------------------------------------------------------------------------------------


def _why(console: Console, rest: str) -> Reply:
    _ask, decision = console.last()
    if not rest:
        return Reply(explain(decision))
    if rest == "not":
        losers = [verdict for verdict in decision.verdicts if verdict.verdict != "selected"]
        return Reply("\n".join(explain_verdict(verdict) for verdict in losers) or "nobody lost: there is one candidate, and it won")
    found = {verdict.candidate: verdict for verdict in decision.verdicts}
    if rest not in found:
        raise UsageError(f"'{rest}' has no verdict on this request", hint=did_you_mean(rest, found, "candidate"))
    return Reply(explain_verdict(found[rest]))


def _what(console: Console, rest: str) -> Reply:
    if rest.split(None, 1)[:1] != ["if"]:
        raise UsageError("`what` goes on with `if`", hint="what if head_dim=80")
    ask, before = console.last()
    changed = console._split(rest.split(None, 1)[1] if " " in rest else "")
    if not changed.words or changed.op:
        raise UsageError("`what if` takes NAME=VALUE words", hint="what if head_dim=80")
    words = {**ask.words, **changed.words}
    after = console.decide(evolve(ask, words=words))
    said = ", ".join(f"{name}={value}" for name, value in changed.words.items())
    line = f"with {said}: {after.tag}" + (" (as before)" if after.tag == before.tag else f" instead of {before.tag}")
    return Reply(f"{line}\n{explain(after)}")


def _sweep(console: Console, rest: str) -> Reply:
    name, values = sweep_values(rest)
    ask, _ = console.last()
    rows = []
    for value in values:
        decision = console.decide(evolve(ask, words={**ask.words, name: str(value)}))
        loser = next((verdict for verdict in decision.verdicts if verdict.verdict in ("refused", "denied", "error", "unavailable")), None)
        rows.append((str(value), decision.tag, decision.criterion, f"{loser.candidate} {loser.verdict}: {loser.clause or loser.reason}" if loser else ""))
    return Reply(table((name, "winner", "by", "not"), rows))


def _machine(console: Console, rest: str) -> Reply:
    if not rest:
        return Reply(console.machine_name)
    here = rest in ("here", "this")
    console.arbiter, console.machine_name = console.arbiter.on(None if here else rest), "this machine" if here else rest
    console.decision = None
    return Reply(f"deciding for {console.machine_name}")


def _assume(console: Console, rest: str) -> Reply:
    names = [name for name in rest.replace(",", " ").split() if name]
    for name in names:
        if name not in console.arbiter.ruleset.candidates and name not in ("all", "none"):
            raise UsageError(f"there is no candidate '{name}'", hint=did_you_mean(name, [*console.arbiter.ruleset.candidates, "all", "none"], "candidate"))
    if "all" in names:
        console.assumed = None
    elif "none" in names:
        console.assumed = frozenset()
    else:
        console.assumed = (console.assumed or frozenset()) | set(names)
    console.decision = None
    shown = "all" if console.assumed is None else ", ".join(sorted(console.assumed)) or "none"
    return Reply(f"assumed available: {shown}")


def _show(console: Console, rest: str) -> Reply:
    ruleset = console.arbiter.ruleset
    rules = {rule.name: rule for rule in ruleset.rules}
    for known in (ruleset.candidates, ruleset.ops, ruleset.targets, rules):
        if rest in known:
            found: Any = known[rest]
            return Reply(f"# {found.span.source.name}:{found.span.line}\n{found.span.text}")
    if not rest:
        lines = [f"{kind}: {', '.join(names) or 'none'}" for kind, names in (("ops", ruleset.ops), ("targets", ruleset.targets), ("rules", rules))]
        by_pair = [f"candidates of {op} on {target}: {', '.join(each.name for each in found)}" for (op, target), found in ruleset.registered.items()]
        return Reply("\n".join([*lines, *by_pair]))
    every = [*ruleset.candidates, *ruleset.ops, *ruleset.targets, *rules]
    raise UsageError(f"there is no '{rest}'", hint=did_you_mean(rest, every, "name"))


def _run(console: Console, rest: str) -> Reply:
    from tessera_rules.report.run import render_run
    from tessera_rules.trial import run_words

    ask = console._split(rest) if rest and not rest.startswith("-") else console.last()[0]
    return Reply(render_run(run_words(console.arbiter, ask.op, ask.target, ask.words, progress=tell)))


def _measure(console: Console, rest: str) -> Reply:
    from tessera_rules.report.run import render_measurement
    from tessera_rules.trial import measure_words

    ask = console._split(rest) if rest else console.last()[0]
    return Reply(render_measurement(measure_words(console.arbiter, ask.op, ask.target, ask.words, progress=tell)))


def _reload(console: Console, _rest: str) -> Reply:
    console.arbiter = console.arbiter.reload()
    refresh = getattr(console.arbiter.machine, "refresh", None)
    if refresh is not None:
        refresh()
    console.decision = None
    ruleset = console.arbiter.ruleset
    return Reply(f"{len(ruleset.candidates)} candidates of {len(ruleset.ops)} ops, {len(ruleset.rules)} rules, from {len(ruleset.sources)} sources")


def _help(_console: Console, _rest: str) -> Reply:
    lines = [f"  {verb.usage:<34} {verb.about}" for verb in dict.fromkeys(VERBS.values())]
    return Reply(
        "A line is a request, a verb, or a declaration (which then counts):\n"
        "  attention rocm dtype=f16 head_dim=72   the decision for it\n" + "\n".join(lines) + "\n"
        "  candidate x { … }                    any declaration of the language, over several lines"
    )


def _quit(_console: Console, _rest: str) -> Reply:
    return Reply(done=True)


@frozen
class Verb:
    """A verb of the REPL: how it is typed, what it does."""

    usage: str
    about: str
    act: Callable[[Console, str], Reply] = field(eq=False)


VERBS: dict[str, Verb] = {
    "why": Verb("why [NAME] | why not", "the reasons for one candidate, or for all that lost", _why),
    "what": Verb("what if NAME=VALUE …", "the decision with something changed", _what),
    "sweep": Verb("sweep NAME=LOW..HIGH [step S]", "who wins along one dimension, as a table", _sweep),
    "run": Verb("run [OP TARGET NAME=VALUE …]", "make inputs, run the winner, compare it with the reference", _run),
    "measure": Verb("measure [OP TARGET NAME=VALUE …]", "time everybody in the race, interleaved", _measure),
    "machine": Verb("machine [FILE | here]", "decide for a stated machine, or for this one", _machine),
    "assume": Verb("assume NAME … | all | none", "hold `available` blocks for true", _assume),
    "show": Verb("show [NAME]", "a declaration as written, or the names of all", _show),
    "reload": Verb("reload", "read the files again, probe again", _reload),
    "help": Verb("help", "this text", _help),
    "quit": Verb("quit", "leave (also exit, Ctrl-D)", _quit),
    "exit": Verb("quit", "leave (also exit, Ctrl-D)", _quit),
}


def is_complete(text: str) -> bool:
    """Whether a typed text is whole: every bracket outside strings and comments is closed, and no operator waits for more.

    >>> is_complete("why not"), is_complete("candidate x {")
    (True, False)
    """
    depth, in_string, i = 0, False, 0
    while i < len(text):
        char = text[i]
        if in_string:
            if char == "\\":
                i += 1
            elif char in '"\n':
                in_string = False
        elif char == '"':
            in_string = True
        elif char == "#":
            end = text.find("\n", i)
            i = len(text) if end < 0 else end
        elif char in "{([":
            depth += 1
        elif char in "})]":
            depth -= 1
        i += 1
    last = text.rstrip().rsplit(None, 1)[-1:] or [""]
    return depth <= 0 and not (text.lstrip().split(None, 1)[:1] == ["predicate"] and last[0] in ("=", "and", "or", "not", "in"))


def chunks(lines: Iterable[str]) -> Iterable[str]:
    """Yield whole inputs of a stream of lines: a declaration over several lines is one."""
    waiting = ""
    for line in lines:
        waiting += line if line.endswith("\n") else line + "\n"
        if is_complete(waiting):
            yield waiting
            waiting = ""
    if waiting.strip():
        yield waiting
