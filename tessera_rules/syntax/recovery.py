"""Going on after a mistake.

The innermost list that can hold a broken piece (clauses, fields, declarations) gets a stand-in, the text is skipped to where
that piece ends, and reading goes on: one cause gives one finding, and everything else is still read.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import Any

from attrs import evolve

from tessera_rules.syntax import nodes
from tessera_rules.syntax.builder import Builder
from tessera_rules.syntax.lexer import BAD, DEEP, END, SEP
from tessera_rules.syntax.parser import Parser
from tessera_rules.syntax.resync import declaration_begins, field_begins, skip_declaration, skip_piece

_BRACE_NEXT = re.compile(r"[ \t]*\{")
STAND_INS = ("ERROR_CLAUSE", "ERROR_FIELD", "ERROR_ITEM")


class Recovering(Parser):
    """A parser of whole files that reports every mistake and keeps what is right."""

    def __init__(self, builder: Builder, start: str = "file") -> None:
        super().__init__(builder, start)
        # Where the last mistake was: the next token is not reported again before something was read.
        self._silent_from = -1
        self._last_mistake = -1
        self._stuck = 0

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
        return next((symbol for symbol in STAND_INS if symbol in self.actions[self.states[-1]] and self.accepts(symbol)), None)

    def _mistake(self, kind: str) -> bool:
        """Report what cannot go on and find where to go on; False where reading ends."""
        lexer = self.lexer
        lexer.restore()
        self._stuck = self._stuck + 1 if lexer.start == self._last_mistake else 0
        self._last_mistake = lexer.start
        if self._stuck > 8:
            # No text leads here that we know of; should one, it is skipped and never looped on.
            if kind == END:
                return False
            lexer.advance()
            return True
        quiet = lexer.start <= self._silent_from and kind != END
        if kind == END:
            if self._silent_from < len(lexer.text) or lexer.open_braces():
                self._silent_from = len(lexer.text)
                self._end_too_early()
            return self._close_all(lexer.start)
        if self._interrupted():
            return True
        before = set() if quiet else self.expected()
        # A clause that is cut off is no clause; a field that is cut off is still that field.
        inserted = self.accepts(SEP) and not self._in_clauses(self.states)
        brace = self.accepts("{") or (kind == "{" and lexer.last == "{")
        if inserted:
            # A predicate that is cut off must not pass for a whole one.
            self.builder.hurt(self.begins[-1])
            self._feed(SEP, (lexer.start, lexer.start), lexer.start, lexer.start)
        if not quiet:
            self.builder.report(self.reporter.mistake(kind, before, inserted))
        self._silent_from = lexer.start
        if brace and self._mended_brace(kind):
            return True
        if lexer.text[lexer.start : lexer.end] == "else" and "else" in self.actions[self._after("}", self.states) or 0]:
            # `guard { … else x`: the block's end is missing.
            self._close_one(lexer.open_braces()[-1], lexer.start)
            return True
        if inserted and kind not in (BAD, DEEP) and self.accepts(kind):
            lexer.redo()
            return True
        self._skip()
        return True

    def _end_too_early(self) -> None:
        """Report that the text ends too early; where its last words are a mistake already, as in a string cut off, that one says so too."""
        finding = self.reporter.end_of_file()
        reported = self.builder.findings
        text = self.lexer.text.rstrip()
        if reported and reported[-1].span.end > len(text) - len(text[-100:].split()[-1] if text else ""):
            reported[-1] = evolve(reported[-1], related=(*reported[-1].related, *finding.related))
            self.builder.hurt(self._damage_place())
        else:
            self.builder.report_at(finding, self._damage_place())

    def _mended_brace(self, kind: str) -> bool:
        """Go on where a `{` is missing, doubled, or has something before it: what is in the block is read all the same."""
        lexer = self.lexer
        text, start, end = lexer.text, lexer.start, lexer.end
        if kind == "{" or (kind not in (SEP, BAD, DEEP) and _BRACE_NEXT.match(text, end)) or (kind == SEP and text[end : end + 1] == "{"):
            lexer.advance()
            return True
        if kind == SEP:
            if text[end - 1] == "\n" and declaration_begins(text, end):
                return False
        elif kind in (BAD, DEEP) or not self._fits(self._after("{", self.states), kind):
            return False
        self._feed("{", (start, start), start, start)
        lexer.brackets = [*lexer.brackets, ("{", start)]
        if kind == SEP:
            lexer.advance()
        return True

    def _skip(self) -> None:
        """Put a stand-in for the broken piece and move the lexer past it."""
        lexer = self.lexer
        text, start = lexer.text, lexer.start
        stand_in, dropped, limit = self._pop_to_stand_in(start)
        kept = [each for each in lexer.brackets if each[1] < limit]
        opened = [mark for mark, offset in lexer.brackets if limit <= offset < start]
        value = None
        if stand_in == "ERROR_ITEM":
            end = skip_declaration(text, start, opened, any(mark == "{" for mark, _ in kept))
            value = self.builder.broken(dropped, limit, max(end, limit + 1)) if dropped else self.builder.guessed(start, end)
            self._feed(stand_in, value, limit, end)
        else:
            self._feed(stand_in, None, limit, start)
            # Where fields may share a line, the next may follow the `}` at once.
            end = skip_piece(text, start, opened, loose=self.accepts("ERROR_FIELD"))
            self.ends[-1] = end
        lexer.go_to(end, kept)
        if lexer.kind != END:
            self._silent_from = max(self._silent_from, lexer.start if lexer.kind == SEP else -1)

    def _interrupted(self) -> bool:
        """Whether a declaration, or after clauses a field, begins on this line while another is unfinished; then reading goes on there.

        Reports TSR021 where a block is still open, TSR001 where a declaration without one has no end.
        """
        lexer = self.lexer
        text = lexer.text
        line = text.rfind("\n", 0, lexer.start) + 1
        first = line + len(text[line : lexer.start]) - len(text[line : lexer.start].lstrip(" \t"))
        braces = lexer.open_braces()
        if braces and braces[-1] >= first:
            return False
        declaration = declaration_begins(text, first)
        if not declaration and not (braces and field_begins(text, first)):
            return False
        # What stood before this line: with an item possible there, nothing is unfinished.
        depth = bisect_left(self.begins, first)
        # A value over the line's begin took its first word for its own, as in `a and` and then `rule x {`.
        over = depth > 0 and self.ends[depth - 1] > first
        if over:
            value = self.values[depth - 1]
            if isinstance(value, list) and value and isinstance(value[-1], nodes.Declaration | nodes.Predicate | nodes.For):
                return False
            depth -= 1
        before = self.states[: depth + 1]
        if self.accepts("ERROR_ITEM", before) or (not braces and not over and self.accepts(SEP, before)):
            return False
        if not declaration and not self._in_clauses(before):
            return False
        report = lexer.start > self._silent_from
        kept = [each for each in lexer.brackets if each[0] == "{" and each[1] < first]
        del self.states[depth + 1 :], self.values[depth:], self.begins[depth:], self.ends[depth:]
        if report and not braces:
            word = re.compile(r"\w+").match(text, first)
            lexer.start, lexer.end = first, word.end() if word else first + 1
            self.builder.report_at(self.reporter.unexpected("NAME"), max(self.begins[-1], 0) if self.begins else 0)
        elif report:
            self.builder.report_at(self.reporter.unclosed(first, braces[-1], field=not declaration), braces[-1])
        lexer.brackets = kept
        if declaration:
            self._close_to_items(braces, first, everything=first == line)
        else:
            self._close_one(braces[-1], first)
        if self.accepts(SEP):
            self._feed(SEP, (first, first), first, first)
        self._silent_from = first - 1
        lexer.last = SEP
        lexer.go_to(first, lexer.brackets)
        return True

    def _close_to_items(self, braces: list[int], at: int, *, everything: bool) -> None:
        """Close open blocks until a declaration can stand; at a line's first column all of them."""
        for brace in reversed(braces):
            self._close_one(brace, at)
            if not everything and self._item_can_follow():
                return
        if not self.accepts(SEP):
            self._drop_item(at)

    def _fits(self, state: int | None, kind: str) -> bool:
        """Whether a state takes a token; a name may be a keyword there."""
        if state is None:
            return False
        row = self.actions[state]
        word = self.lexer.text[self.lexer.start : self.lexer.end]
        return kind in row or (kind == "NAME" and any(symbol in row for symbol, _ in self.words.get(word, ())))

    def _item_can_follow(self) -> bool:
        state = self._after(SEP, self.states)
        return state is not None and "ERROR_ITEM" in self.actions[state]

    def _in_clauses(self, states: list[int]) -> bool:
        """Whether the innermost list around a state holds clauses; a block that is closed is around nothing."""
        closed = 0
        for position in range(len(states), 0, -1):
            mark = self._brace(position - 2)
            if mark == "}":
                closed += 1
            if closed:
                closed -= mark == "{"
                continue
            for stand_in in STAND_INS:
                if stand_in in self.actions[states[position - 1]]:
                    return stand_in == "ERROR_CLAUSE"
        return False

    def _brace(self, position: int) -> str:
        """Return the brace that a value is, or an empty text."""
        value = self.values[position] if position >= 0 else None
        mark = self.lexer.text[value[0] : value[1]] if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], int) else ""
        return mark if mark in ("{", "}") else ""

    def _pop_to_stand_in(self, limit: int) -> tuple[str, list[Any], int]:
        """Drop what is half-read; return the stand-in that fits then, what was dropped, and where it begins."""
        dropped: list[Any] = []
        closed = 0
        while (stand_in := self._stand_in()) is None or closed:
            # What stands in a block that is closed is read; the broken piece is what that block belongs to.
            mark = self._brace(len(self.values) - 1)
            closed += (mark == "}") - (mark == "{" and closed > 0)
            self.states.pop()
            self.ends.pop()
            dropped.append(self.values.pop())
            limit = self.begins.pop()
        return stand_in, dropped[::-1], limit

    def _close_one(self, brace: int, at: int) -> None:
        """Take a `}` that is missing: what stands half-read before it is dropped."""
        self.builder.hurt(brace)
        if not self.accepts("}"):
            if self.accepts(SEP):
                self._feed(SEP, (at, at), at, at)
            stand_in, _, limit = self._pop_to_stand_in(at)
            self._feed(stand_in, None, limit, at)
        if self.accepts("}"):
            self._feed("}", (at, at), at, at)
        self.lexer.brackets = [each for each in self.lexer.brackets if each[1] < brace]

    def _drop_item(self, at: int) -> None:
        """Put a stand-in for the declaration that is half-read."""
        stand_in, dropped, limit = self._pop_to_stand_in(at)
        self._feed(stand_in, self.builder.broken(dropped, limit, at + 1), limit, at)

    def _damage_place(self) -> int:
        braces = self.lexer.open_braces()
        return braces[-1] if braces else max(self.lexer.start - 1, 0)

    def _close_all(self, at: int) -> bool:
        """At the end of the text: close every open block, so that what was read is kept. False where nothing is left to do."""
        for brace in reversed(self.lexer.open_braces()):
            self._close_one(brace, at)
        self.lexer.brackets = []
        if not self.accepts(END):
            if self.accepts(SEP):
                self._feed(SEP, (at, at), at, at)
            self._drop_item(at)
        return True
