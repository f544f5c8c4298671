"""What a syntax finding says: what stands here, what could, and the nearest word."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tessera_rules.diagnostic import Finding, Related
from tessera_rules.nearest import did_you_mean, nearest
from tessera_rules.source import Span
from tessera_rules.syntax import codes
from tessera_rules.syntax.lexer import BAD, DEEP, END, SEP
from tessera_rules.syntax.nodes import MAX_DEPTH

if TYPE_CHECKING:
    from tessera_rules.syntax.parser import Parser

_VALUE = {"INT", "FLOAT", "true", "null"}
_VALUES = _VALUE | {"false", "STRING", "NAME", "(", "[", "-", "not", "PROBE", "TARGETS"}
_OPERATORS = {"+", "-", "*", "/", "//", "%", "==", "!=", "<", "<=", ">", ">=", "and", "or", "in", "not", "like", "if", ".", "[", "(", "..", "step"}
_SHOWN = {
    "NAME": "a name",
    "INT": "an integer",
    "FLOAT": "a number",
    "STRING": 'a string "…"',
    "TARGETS": "`targets with op`",
    "GIVEN": "`given`",
    "LAYOUT": "`layout`",
    "PROBE": "`probe python`",
}
_MEANT = {
    "≤": "<=", "≥": ">=", "≠": "!=", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "'": '"', "‘": '"', "’": '"', "`": '"', "×": "*", "·": "*", "÷": "//",
    "−": "-", "–": "-", "—": "-", "&&": "and", "&": "and", "||": "or", "!": "not", "\u00a0": "a space", "^": "* (there is no power)", "~": "not",
}  # fmt: skip
_WORD = re.compile(r"[0-9A-Za-z_.]+")
_STRING = re.compile(r'"(?:[^"\\\r\n]|\\(?:["\\nt]|u\{[0-9A-Fa-f]{1,6}\}))*')
_LINE = re.compile(r"[^\r\n]*")
# How many of the brackets that are open at the end of a file are shown, innermost first.
_MOST_OPEN = 3
DECLARATIONS = ("op", "target", "candidate", "rule", "policy", "test", "predicate", "for", "use")
# Words that begin a field and no declaration: one of them at the top stands behind a brace too many.
FIELD_WORD = re.compile(
    "tier|tags|available|requires|computes|honours|guard|avoid|accuracy|cost|bind|packs|uses|workspace|deterministic|batch_invariant"
    "|operand|result|attr|dtype|dim|check|reference|inout|facts?|when|deny|prefer|force|because|request|expect|assume|order"
)


class Reporter:
    """Makes the findings of one parser from where it stands."""

    def __init__(self, parser: Parser) -> None:
        self.parser = parser
        self.source = parser.builder.source

    def _span(self, start: int, end: int) -> Span:
        return Span(self.source, start, end)

    def mistake(self, kind: str, expected: set[str], inserted: bool) -> Finding:
        """Return the finding for the token that the parser cannot take."""
        if kind == BAD:
            return self._bad()
        lexer = self.parser.lexer
        if kind == DEEP:
            return codes.TOO_DEEP.at(
                self._span(lexer.start, lexer.start + 1), f"brackets are nested deeper than {MAX_DEPTH} levels", hint="name parts of it as predicates"
            )
        return self._unknown_word(kind, expected, inserted) or self.unexpected(kind, expected)

    # ---- words that are none ---------------------------------------------------------------------------------------------

    def _unknown_word(self, kind: str, expected: set[str], inserted: bool) -> Finding | None:
        lexer = self.parser.lexer
        word = lexer.text[lexer.start : lexer.end]
        if not (word[:1].isalpha() or word[:1] == "_") or "NAME" in expected:
            return None
        fits = {each for each in expected if each[0].islower()} - _OPERATORS - {"because", "else", "returns", "with", "over", "by"}
        span = self._span(lexer.start, lexer.end)
        if "ERROR_ITEM" in expected:
            stray = FIELD_WORD.fullmatch(word) is not None and lexer.text[: lexer.start].rstrip().endswith("}")
            hint = "the `}` before it closes its block: is that one too many?" if stray else did_you_mean(word, DECLARATIONS, "declaration")
            return codes.UNEXPECTED.at(span, f"'{word}' begins no declaration", hint=hint)
        if "ERROR_FIELD" in expected and "ERROR_CLAUSE" not in expected:
            block = self._block()
            return codes.UNKNOWN_FIELD.at(span, f"'{word}' is no field of {block}", hint=self._field_hint(word, fits))
        if len(fits) > 1 and not expected & {"python", "native"} and not inserted:
            return codes.UNKNOWN_FIELD.at(span, f"'{word}' is no part of this block", hint=did_you_mean(word, sorted(fits), "part"))
        return None

    @staticmethod
    def _field_hint(word: str, fits: set[str]) -> str:
        return did_you_mean(word, sorted(fits), "field")

    def _block(self) -> str:
        """Return what the innermost declaration is, for a message."""
        parser = self.parser
        for value in reversed(parser.values):
            if isinstance(value, tuple) and len(value) == 2:
                word = parser.builder.text(value)
                if word in ("op", "candidate", "target", "rule", "policy", "test"):
                    return f"an {word}" if word == "op" else f"a {word}"
        return "this block"

    # ---- anything else ---------------------------------------------------------------------------------------------------

    def unexpected(self, kind: str, expected: set[str] | None = None) -> Finding:
        """Return the finding for a token that could be right elsewhere."""
        lexer = self.parser.lexer
        if kind in (BAD, DEEP):
            return self.mistake(kind, set(), False)
        if kind == END:
            return self.end_of_file()
        expected = self.parser.expected() if expected is None else expected
        text = lexer.text[lexer.start : lexer.end]
        if kind == SEP:
            semicolon = text[:1] == ";"
            span = self._span(lexer.start, lexer.start + 1) if semicolon else self._span(lexer.start, lexer.start)
            found = "`;` cannot stand here" if semicolon else "the line ends too early"
        else:
            span = self._span(lexer.start, lexer.end)
            shown = text if len(text) <= 40 else text[:37] + "…"
            found = f"'{shown}' cannot stand here"
        wanted = _listed(expected)
        hint = self._hint(kind, text, expected)
        related = self._open_bracket()
        return codes.UNEXPECTED.at(span, f"{found}: expected {wanted}", hint=hint, related=related)

    def _hint(self, kind: str, text: str, expected: set[str]) -> str | None:
        if kind == "=" and "==" in expected:
            return "equality is written =="
        if kind in ("=", ":") and self._after_field_word():
            return f"a field has no '{kind}' after its word"
        if kind == SEP and "{" in expected:
            return "the `{` stands on the same line"
        if text[:1].isalpha():
            near = nearest(text, sorted(each for each in expected if each[0].islower()))
            if near is not None:
                return f"did you mean '{near}'?"
            if SEP in expected:
                return "two fields or clauses are parted by a newline or `;`"
        return None

    def _after_field_word(self) -> bool:
        values = self.parser.values
        return bool(values) and isinstance(values[-1], tuple) and len(values[-1]) == 2 and self.parser.builder.text(values[-1])[:1].islower()

    def _open_bracket(self) -> tuple[Related, ...]:
        brackets = self.parser.lexer.brackets
        if brackets and brackets[-1][0] != "{" and brackets[-1][1] < self.parser.lexer.start:
            mark, offset = brackets[-1]
            return (Related(self._span(offset, offset + 1), f"this `{mark}` is open"),)
        return ()

    # ---- ends ----------------------------------------------------------------------------------------------------------

    def end_of_file(self) -> Finding:
        """Return the finding for a text that ends too early: at its last character, with the bracket that is open."""
        lexer = self.parser.lexer
        end = len(lexer.text.rstrip())
        span = self._span(end, end)
        if not lexer.brackets:
            return codes.END_OF_FILE.at(span, f"the file ends in the middle of a declaration: expected {_listed(self.parser.expected())}")
        mark, offset = lexer.brackets[-1]
        place = self._span(offset, offset + 1)
        closing = {"{": "}", "(": ")", "[": "]"}[mark]
        return codes.END_OF_FILE.at(
            span,
            f"the file ends, and the `{mark}` of line {place.line} is still open",
            hint=f"close it with `{closing}`",
            related=tuple(
                Related(self._span(opened, opened + 1), f"this `{each}` is never closed") for each, opened in [*reversed(lexer.brackets)][:_MOST_OPEN]
            ),
        )

    def unclosed(self, first: int, brace: int, field: bool) -> Finding:
        """Return the finding for a declaration, or a field, that begins inside a block that is still open."""
        text = self.source.text
        word = _WORD.match(text, first)
        span = self._span(first, word.end() if word else first + 1)
        place = self._span(brace, brace + 1)
        what = "a field" if field else "a declaration"
        return codes.UNCLOSED.at(
            span,
            f"{what} begins here, and the `{{` of line {place.line} is still open",
            hint=f"close it with `}}` before '{span.text}'",
            related=(Related(place, "this `{` is not closed"),),
        )

    # ---- what is no token ------------------------------------------------------------------------------------------------

    def _bad(self) -> Finding:
        lexer = self.parser.lexer
        text, start = lexer.text, lexer.start
        character = text[start]
        if character == '"':
            good = _STRING.match(text, start)
            stop = good.end() if good else start + 1
            if stop < len(text) and text[stop] == "\\" and text[stop + 1 : stop + 2] not in ("\r", "\n", ""):
                escape = text[stop : stop + 2]
                if escape == "\\u":
                    found = re.compile(r"\\u\{?[0-9A-Fa-f]*\}?").match(text, stop)
                    span = self._span(stop, found.end() if found else stop + 2)
                    return codes.BAD_ESCAPE.at(span, f"'{span.text}' is no character", hint="a code point is written \\u{1F600}")
                return codes.BAD_ESCAPE.at(
                    self._span(stop, stop + 2), f"'{escape}' is no escape of a string", hint='the escapes are \\" \\\\ \\n \\t \\u{…}; a backslash is \\\\'
                )
            line = _LINE.match(text, start)
            return codes.UNTERMINATED_STRING.at(self._span(start, line.end() if line else start + 1), 'this string has no closing `"` on its line')
        if character.isascii() and character.isdigit():
            found = _WORD.match(text, start)
            span = self._span(start, found.end() if found else start + 1)
            return codes.BAD_NUMBER.at(span, f"'{_short(span.text)}' is no number", hint=_number_hint(span.text))
        stop = start + 1
        if character.isalpha():
            while stop < len(text) and (text[stop].isalnum() or text[stop] == "_"):
                stop += 1
        elif text[start : start + 2] in _MEANT:
            stop = start + 2
        span = self._span(start, stop)
        meant = _MEANT.get(span.text)
        if character.isalpha():
            return codes.UNKNOWN_CHARACTER.at(span, f"'{_short(span.text)}' is no name", hint="names are A-Z a-z 0-9 and _, and begin with no digit")
        shown = f"'{span.text}'" if character.isprintable() else f"U+{ord(character):04X}"
        return codes.UNKNOWN_CHARACTER.at(span, f"the character {shown} means nothing here", hint=f"write {meant}" if meant else None)


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "…"


def _number_hint(text: str) -> str:
    if re.fullmatch(r"0[0-9_]+", text):
        return f"write {text.lstrip('0_') or '0'}: a number has no leading zero"
    if text.endswith("."):
        return f"write {text}0"
    word = re.fullmatch(r"([0-9]+)(and|or|in|if|else|not|like|because)", text)
    if word:
        return f"write {word[1]} {word[2]}"
    if re.fullmatch(r"[0-9]+[kKmMgGtT][bB]?", text):
        return "the suffixes are Ki Mi Gi Ti: 64Ki is 65536"
    return "integers: 128, 1_000, 0x40, 64Ki; floats: 0.25, 5e-3; a name begins with no digit"


def _listed(expected: set[str]) -> str:
    """Return what could stand here, for a message."""
    rest = {each for each in expected if not each.startswith("ERROR_")}
    shown: list[str] = []
    if rest >= _VALUE:
        shown.append("a value")
        rest -= _VALUES
    if {"*", "+", "=="} <= rest or {"and", "or"} <= rest:
        shown.append("an operator")
        rest -= _OPERATORS
    if SEP in rest:
        shown.append("the end of the line")
        rest -= {SEP, END}
    if END in rest:
        shown.append("the end of the file")
        rest -= {END}
    named = [_SHOWN[each] for each in ("NAME", "INT", "FLOAT", "STRING", "TARGETS", "GIVEN", "LAYOUT", "PROBE") if each in rest]
    words = sorted(f"`{each}`" for each in rest if each not in _SHOWN)
    shown = [*named, *words[:16], *(["…"] if len(words) > 16 else []), *shown]
    return " or ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else (shown or ["nothing"])[0]
