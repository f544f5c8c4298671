"""The loop that drives the tables over the tokens; the first mistake ends it (`Recovering` goes on)."""

from __future__ import annotations

from typing import Any

from tessera_rules.syntax.builder import Builder
from tessera_rules.syntax.lexer import END, Lexer, vocabulary
from tessera_rules.syntax.messages import Reporter
from tessera_rules.syntax.tables import tables


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
        # A list here gets every token that is taken, as ``(symbol, start, end)``.
        self.taken: list[tuple[str, int, int]] | None = None

    # ---- the loop --------------------------------------------------------------------------------------------------

    def run(self) -> Any:
        """Parse to the end of the text and return what the start symbol made, or None."""
        lexer = self.lexer
        lexer.advance()
        if lexer.kind == END:
            return None
        states, values, begins, ends, actions, rules, words = self.states, self.values, self.begins, self.ends, self.actions, self.rules, self.words
        text = lexer.text
        taken = self.taken
        while True:
            kind = lexer.kind
            if kind == "NAME":
                word = text[lexer.start : lexer.end]
                if word in words:
                    kind = self._keyword(word, lexer.end)
            while True:
                action = actions[states[-1]].get(kind)
                if action is None:
                    if kind == "NAME" and "{" in text[lexer.start : lexer.end] and self._word_and_brace():
                        # `requires{tile}`: no name, but what stands before the brace, or the brace.
                        lexer.split_brace()
                        kind = self._keyword(text[lexer.start : lexer.end], lexer.end) if lexer.kind == "NAME" else "{"
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
                    if taken is not None:
                        taken.append((kind, lexer.start, lexer.end))
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
        for symbol, needs in self.words.get(word, ()):
            if symbol in row and (needs is None or needs.match(self.lexer.text, end)) and ("NAME" not in row or self.accepts(symbol)):
                return symbol
        return "NAME"

    def _word_and_brace(self) -> bool:
        """Whether a name such as ``requires{tile}`` is a keyword that fits, or nothing, and then a block."""
        text, start = self.lexer.text, self.lexer.start
        word = text[start : text.index("{", start)]
        row = self.actions[self.states[-1]]
        return any(symbol in row for symbol, _ in self.words.get(word, ())) if word else self.accepts("{")

    # ---- looking ahead -----------------------------------------------------------------------------------------------

    def accepts(self, symbol: str, states: list[int] | None = None) -> bool:
        """Whether a symbol can come next: the reductions before it are tried, beside the states."""
        return self._after(symbol, self.states if states is None else states) is not None

    def _after(self, symbol: str, states: list[int]) -> int | None:
        """Return the state that taking a symbol leads to, None where it cannot come; at the end of the text the end state."""
        depth = len(states)
        top: list[int] = []
        while True:
            action = self.actions[top[-1] if top else states[depth - 1]].get(symbol)
            if action is None or action >= 0:
                return action
            origin, length, _ = self.rules[-1 - action]
            inside = min(length, len(top))
            if inside:
                del top[-inside:]
            depth -= length - inside
            state = self.actions[top[-1] if top else states[depth - 1]][origin]
            if state == self.end_state and symbol == END:
                return state
            top.append(state)

    def expected(self) -> set[str]:
        """Return every symbol that can come next."""
        return {symbol for symbol in self.actions[self.states[-1]] if symbol[0] != "@" and self.accepts(symbol)}

    # ---- after a mistake -----------------------------------------------------------------------------------------------

    def _mistake(self, kind: str) -> bool:
        """Report what cannot go on; False where reading ends, as it does here."""
        self.lexer.restore()
        self.builder.report(self.reporter.unexpected(kind))
        return False
