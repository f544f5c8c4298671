"""Where a broken piece of text ends: plain scanning, with strings, comments and brackets understood."""

from __future__ import annotations

import re

_WORDS = "op|target|candidate|rule"
_NAME = r"[A-Za-z_{][A-Za-z0-9_{}]*"
_DECLARATION = re.compile(
    rf"(?:(?:{_WORDS})[ \t]+{_NAME}[ \t]*\{{(?![A-Za-z0-9_]+\}}[ \t]*(?:\n|$))|policy[ \t]*\{{|test[ \t]*\"[^\"\n]*\"[ \t]*\{{"
    rf"|predicate[ \t]+{_NAME}[ \t]*[=(]|for[ \t]+[^\n]*?[ \t]in[ \t][^\n]*\{{[ \t\r]*(?:#[^\n]*)?(?:\n|$)|use[ \t]*\"|tessera[ \t]+[0-9])"
)
# What begins a declaration where no block is open: there the word alone is enough.
_TOP = re.compile(r"(?:op|target|candidate|rule|policy|test|predicate|for|use|tessera)(?![A-Za-z0-9_])")
_FIELD = re.compile(
    r"(?:tier|target|op|computes|bind|packs|uses)[ \t]+[A-Za-z_{]|(?:tags|honours)[ \t]*\[|(?:available|requires|avoid|guard|accuracy)[ \t]*\{"
    r"|(?:cost|workspace)[ \t]+[A-Za-z0-9_(]|(?:deterministic|batch_invariant)[ \t\r]*(?:[\n;#]|$)"
)
_PIECE = re.compile(r'"(?:[^"\\\n]|\\.)*"?|#[^\n]*|[\n;(){}\[\]]')
_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*+")
_SPACE = re.compile(r"[ \t]*")
# A line that begins so goes on with the one before it.
_GOES_ON = re.compile(r"[ \t]*(?:(?:and|or|in|not[ \t]+in|like|because|returns|over|with|if|else)(?![A-Za-z0-9_{])|[*/%<>]|==|!=)")
# How many lines further a bracket that is open at a mistake is looked for: enough for anybody, and never the whole file each time.
_LOOK_AHEAD = 40
_PAIRS = {")": "(", "]": "[", "}": "{"}


def declaration_begins(text: str, offset: int) -> bool:
    """Whether a whole head of a declaration, such as ``candidate x {``, stands at an offset."""
    return _DECLARATION.match(text, offset) is not None


def field_begins(text: str, offset: int) -> bool:
    """Whether what stands at an offset looks like a field of a candidate, and like no clause."""
    return _FIELD.match(text, offset) is not None


def _closes(text: str, offset: int, opened: list[str]) -> bool:
    """Whether the round and square brackets that are open at a line's end are closed before any brace or declaration."""
    stack = [mark for mark in opened if mark != "{"]
    lines = 0
    for match in _PIECE.finditer(text, offset):
        mark = match[0]
        lines += mark == "\n"
        if lines > _LOOK_AHEAD:
            return False
        if mark in "([":
            stack.append(mark)
        elif mark in ")]":
            if stack and stack[-1] == _PAIRS[mark]:
                stack.pop()
                if not stack:
                    return True
        elif mark in "{}" or (mark == "\n" and _TOP.match(text, match.end())):
            return False
    return False


def skip_piece(text: str, offset: int, opened: list[str], *, loose: bool = False) -> int:
    """Return where a broken field or clause ends: at its newline or `;`, before the `}` of the block, or before a declaration."""
    stack = list(opened)
    braces = stack.count("{")
    for match in _PIECE.finditer(text, offset):
        mark = match[0]
        if mark in ("(", "["):
            stack.append(mark)
        elif mark == "{":
            while stack and stack[-1] != "{":
                stack.pop()
            stack.append(mark)
            braces += 1
        elif mark in (")", "]"):
            if stack and stack[-1] == _PAIRS[mark]:
                stack.pop()
        elif mark == "}":
            while stack and stack[-1] != "{":
                stack.pop()
            if not stack:
                return match.start()
            stack.pop()
            braces -= 1
            if loose and not stack:
                return match.end()
        elif mark in ("\n", ";"):
            if mark == "\n" and declaration_begins(text, match.end()):
                return match.start()
            if mark == "\n" and not stack and _GOES_ON.match(text, match.end()):
                continue
            if not stack or (not braces and (mark == ";" or not _closes(text, match.end(), stack))):
                return match.start()
    return len(text)


def skip_declaration(text: str, offset: int, opened: list[str], inside: bool) -> int:
    """Return where a broken declaration ends: before the next one, or before the `}` of the `for` block that it stands in."""
    stack = list(opened)
    braces = stack.count("{")
    for match in _PIECE.finditer(text, offset):
        mark = match[0]
        if mark in ("(", "[", "{"):
            stack.append(mark)
            braces += mark == "{"
        elif mark in (")", "]"):
            if stack and stack[-1] == _PAIRS[mark]:
                stack.pop()
        elif mark == "}":
            while stack and stack[-1] != "{":
                stack.pop()
            if stack:
                stack.pop()
                braces -= 1
            elif inside:
                return match.start()
        elif mark == "\n":
            line = match.end()
            if declaration_begins(text, line):
                return match.start()
            word = _SPACE.match(text, line).end()  # type: ignore[union-attr]
            if not braces and _TOP.match(text, word):
                return match.start()
    return len(text)
