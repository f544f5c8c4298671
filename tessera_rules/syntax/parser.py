"""The loop that drives the tables over the tokens, and goes on after a mistake.

After a mistake the innermost list that can hold a broken piece (clauses, fields, declarations) gets a stand-in, the text
is skipped to where that piece ends, and reading goes on: one cause gives one finding, and everything else is still read.
"""

from __future__ import annotations

from typing import Any

from attrs import frozen

from tessera_rules.syntax.builder import Builder
from tessera_rules.syntax.lexer import BAD, DEEP, END, SEP, Lexer, vocabulary
from tessera_rules.syntax.messages import Reporter
from tessera_rules.syntax.resync import declaration_begins, field_begins, skip_declaration, skip_piece
from tessera_rules.syntax.tables import tables

STAND_INS = ("ERROR_CLAUSE", "ERROR_FIELD", "ERROR_ITEM")
BLOCK_WORDS = {"ERROR_CLAUSE": "clause", "ERROR_FIELD": "field", "ERROR_ITEM": "declaration"}


@frozen
class Result:
    """What a start symbol made: its value, None where the text is empty or nothing of it could be read."""

    value: Any


class Parser:
    """One run over one text."""

    def __init__(self, builder: Builder, start: str = "file") -> None:
        self.builder = builder
        self.lexer = Lexer(builder.source.text)
        table = tables()
        self.actions = table.actions
        self.rules = tuple((origin, length, getattr(builder, method) if method else None) for origin, length, method in table.rules)
        self.states = [table.starts[start]]
        self.end_state = table.ends[start]
        self.values: list[Any] = []
        self.begins: list[int] = []
        self.ends: list[int] = []
        self.words = vocabulary().words
        self.reporter = Reporter(self)
        self.recovers = start == "file"
        # Where the last mistake was: the next token is not reported again before something was read.
        self._silent_from = -1

    # ---- the loop --------------------------------------------------------------------------------------------------

    def run(self) -> Any:
        """Parse to the end of the text and return what the start symbol made, or None."""
        lexer = self.lexer
        lexer.advance()
        if lexer.kind == END:
            return None
        states, values, begins, ends, actions, rules, words = self.states, self.values, self.begins, self.ends, self.actions, self.rules, self.words
        text = lexer.text
        while True:
            kind = lexer.kind
            if kind == "NAME":
                word = text[lexer.start : lexer.end]
                if word in words:
                    kind = self._keyword(word, lexer.end)
            while True:
                action = actions[states[-1]].get(kind)
                if action is None:
                    if kind == "NAME" and text[lexer.start] == "{":
                        # `requires{tile}`: a brace where no name fits.
                        lexer.split_brace()
                        kind = "{"
                        continue
                    if not self._mistake(kind):
                        return None
                    break
                if action >= 0:
                    states.append(action)
                    values.append((lexer.start, lexer.end))
                    begins.append(lexer.start)
                    ends.append(lexer.end)
                    lexer.last = kind
                    lexer.advance()
                    break
                origin, length, method = rules[-1 - action]
                if method is None:
                    states.pop()
                elif length == 1:
                    values[-1] = method(values[-1:], begins[-1], ends[-1])
                    states.pop()
                else:
                    begin = begins[-length]
                    value = method(values[-length:], begin, ends[-1])
                    end = ends[-1]
                    del states[-length:], values[-length:], begins[-length:], ends[-length:]
                    values.append(value)
                    begins.append(begin)
                    ends.append(end)
                state = actions[states[-1]][origin]
                states.append(state)
                if state == self.end_state and kind == END:
                    return values[-1]

    def _keyword(self, word: str, end: int) -> str:
        """Return the symbol that a word is here: a keyword where the parser can take it, else a name."""
        row = self.actions[self.states[-1]]
        for symbol, needs in self.words[word]:
            if symbol in row and (needs is None or needs.match(self.lexer.text, end)) and ("NAME" not in row or self.accepts(symbol)):
                return symbol
        return "NAME"

    # ---- looking ahead -----------------------------------------------------------------------------------------------

    def accepts(self, symbol: str, states: list[int] | None = None) -> bool:
        """Whether a symbol can come next: the reductions before it are tried on a copy of the states."""
        stack = list(self.states if states is None else states)
        while True:
            action = self.actions[stack[-1]].get(symbol)
            if action is None:
                return False
            if action >= 0:
                return True
            origin, length, _ = self.rules[-1 - action]
            del stack[-length:]
            state = self.actions[stack[-1]][origin]
            stack.append(state)
            if state == self.end_state and symbol == END:
                return True

    def expected(self) -> set[str]:
        """Return every symbol that can come next."""
        return {symbol for symbol in self.actions[self.states[-1]] if symbol[0] != "@" and self.accepts(symbol)}

    # ---- after a mistake -----------------------------------------------------------------------------------------------

    def _feed(self, symbol: str, value: Any, begin: int, end: int) -> None:
        """Take a symbol that is not in the text; it is known to fit."""
        while True:
            action = self.actions[self.states[-1]][symbol]
            if action >= 0:
                self.states.append(action)
                self.values.append(value)
                self.begins.append(begin)
                self.ends.append(end)
                self.lexer.last = symbol
                return
            origin, length, method = self.rules[-1 - action]
            if method is not None:
                first, last = self.begins[-length], self.ends[-1]
                made = method(self.values[-length:], first, last)
                del self.values[-length:], self.begins[-length:], self.ends[-length:]
                self.values.append(made)
                self.begins.append(first)
                self.ends.append(last)
            del self.states[-length:]
            self.states.append(self.actions[self.states[-1]][origin])

    def _stand_in(self) -> str | None:
        return next((symbol for symbol in STAND_INS if symbol in self.actions[self.states[-1]]), None)

    def _mistake(self, kind: str) -> bool:
        """Report what cannot go on and find where to go on; False where reading ends."""
        lexer = self.lexer
        lexer.restore()
        quiet = lexer.start <= self._silent_from and kind != END
        if kind == END:
            if self._silent_from < len(lexer.text) or lexer.open_braces():
                self._silent_from = len(lexer.text)
                self.builder.report_at(self.reporter.end_of_file(), self._damage_place())
            return self._close_all(lexer.start)
        if not self.recovers:
            if not quiet:
                self.builder.report(self.reporter.unexpected(kind))
            return False
        begins = self._unclosed_before()
        if begins is not None:
            return True
        inserted = False
        before = self.expected() if not quiet else set()
        if self.accepts(SEP):
            self._feed(SEP, (lexer.start, lexer.start), lexer.start, lexer.start)
            inserted = True
        if not quiet:
            self.builder.report(self.reporter.mistake(kind, before, inserted))
        self._silent_from = lexer.start
        if inserted and kind not in (BAD, DEEP) and self.accepts(kind):
            lexer.redo()
            return True
        self._skip()
        return True

    def _skip(self) -> None:
        """Put a stand-in for the broken piece and move the lexer past it."""
        lexer = self.lexer
        popped: list[Any] = []
        limit = lexer.start
        while (stand_in := self._stand_in()) is None:
            self.states.pop()
            popped.append(self.values.pop())
            limit = self.begins.pop()
            self.ends.pop()
        kept = [each for each in lexer.brackets if each[1] < limit]
        opened = [mark for mark, offset in lexer.brackets if limit <= offset < lexer.start]
        inside = any(mark == "{" for mark, _ in kept)
        if stand_in == "ERROR_ITEM":
            end = skip_declaration(lexer.text, lexer.start, opened, inside)
        else:
            end = skip_piece(lexer.text, lexer.start, opened)
        value = self.builder.broken(popped[::-1], limit, max(end, limit + 1)) if stand_in == "ERROR_ITEM" else None
        self._feed(stand_in, value, limit, end)
        lexer.go_to(end, kept)
        self._silent_from = max(self._silent_from, end if end < len(lexer.text) else -1)

    def _unclosed_before(self) -> int | None:
        """Where a declaration, or after clauses a field, begins on this line inside an open block: close what is open and go on there."""
        lexer = self.lexer
        if not lexer.open_braces():
            return None
        line = lexer.text.rfind("\n", 0, lexer.start) + 1
        first = line + len(lexer.text[line : lexer.start]) - len(lexer.text[line : lexer.start].lstrip(" \t"))
        braces = [offset for mark, offset in lexer.brackets if mark == "{" and offset < first]
        if not braces:
            return None
        if declaration_begins(lexer.text, first):
            closing = len(braces) if first == line else None
        elif self._in_clauses(first) and field_begins(lexer.text, first):
            closing = 1
        else:
            return None
        if lexer.start > self._silent_from:
            self.builder.report_at(self.reporter.unclosed(first, braces[-1], closing == 1 and not declaration_begins(lexer.text, first)), braces[-1])
        while self.begins and self.begins[-1] >= first:
            self.states.pop(), self.values.pop(), self.begins.pop(), self.ends.pop()
        lexer.brackets = [each for each in lexer.brackets if each[1] < first]
        closed = 0
        while braces and (closing is None or closed < closing):
            self.builder.damage.append(braces[-1])
            self._close_one(first)
            lexer.brackets = [each for each in lexer.brackets if each[1] < braces[-1]]
            braces.pop()
            closed += 1
            if closing is None and self.accepts(SEP):
                trial = self._states_after(SEP)
                if trial is not None and "ERROR_ITEM" in self.actions[trial]:
                    break
        if self.accepts(SEP):
            self._feed(SEP, (first, first), first, first)
        self._silent_from = first - 1
        lexer.go_to(first, lexer.brackets)
        lexer.last = SEP
        return first

    def _in_clauses(self, first: int) -> bool:
        for position in range(len(self.states) - 1, -1, -1):
            for stand_in in STAND_INS:
                if stand_in in self.actions[self.states[position]]:
                    return stand_in == "ERROR_CLAUSE"
        return False

    def _states_after(self, symbol: str) -> int | None:
        stack = list(self.states)
        while True:
            action = self.actions[stack[-1]].get(symbol)
            if action is None:
                return None
            if action >= 0:
                return action
            origin, length, _ = self.rules[-1 - action]
            del stack[-length:]
            stack.append(self.actions[stack[-1]][origin])

    def _close_one(self, at: int) -> None:
        """Take a `}` that is missing: what stands half-written before it is dropped."""
        if not self.accepts("}"):
            if self.accepts(SEP):
                self._feed(SEP, (at, at), at, at)
            limit = at
            while (stand_in := self._stand_in()) is None:
                self.states.pop(), self.values.pop(), self.ends.pop()
                limit = self.begins.pop()
            self._feed(stand_in, None, limit, at)
        if self.accepts("}"):
            self._feed("}", (at, at), at, at)

    def _damage_place(self) -> int:
        braces = self.lexer.open_braces()
        return braces[-1] if braces else max(self.lexer.start - 1, 0)

    def _close_all(self, at: int) -> bool:
        """At the end of the text: close every open block, so that what was read is kept. False where nothing is left to do."""
        if not self.recovers:
            return False
        lexer = self.lexer
        for brace in reversed(lexer.open_braces()):
            self.builder.damage.append(brace)
            self._close_one(at)
        lexer.brackets = []
        if not self.accepts(END):
            popped: list[Any] = []
            limit = at
            if self.accepts(SEP):
                self._feed(SEP, (at, at), at, at)
            while (stand_in := self._stand_in()) is None:
                self.states.pop(), self.ends.pop()
                popped.append(self.values.pop())
                limit = self.begins.pop()
            self._feed(stand_in, self.builder.broken(popped[::-1], limit, at + 1), limit, at)
        return True
