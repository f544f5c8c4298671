"""The findings that reading a text reports: bytes and characters, tokens, structure, limits."""

from __future__ import annotations

from tessera_rules.diagnostic import Code

UNEXPECTED = Code(
    "TSR001",
    "something else is expected here",
    "The text goes on in a way that the language does not have at this place. The message shows what stands here and what could.\n\n"
    "The declaration around it is not used until this is mended; everything else in the file is still read, so one run shows every mistake. "
    "Write what the message names, or end the line before.",
)
END_OF_FILE = Code(
    "TSR002",
    "the file ends inside a block",
    "A `{`, `(` or `[` was opened and the file ended before it was closed, as happens when a file is cut off. The second place of the finding is "
    "the bracket that is open.\n\nClose it, or find the rest of the file.",
)
UNKNOWN_CHARACTER = Code(
    "TSR003",
    "a character that means nothing here",
    "Outside strings and comments the language is ASCII: names, numbers, operators and brackets. A typographic quote or a `≤` looks right and is "
    "another character.\n\nType the ASCII spelling that the hint gives.",
)
BAD_NUMBER = Code(
    "TSR004",
    "this is no number",
    "Integers are `128`, `1_000_000`, `0x40` and `64Ki`; floats have digits on both sides of the point, `0.25`, or an exponent, `5e-3`. A leading "
    "zero (`01`) and a word that touches a number (`1and`) are no numbers: read as `0 1` or `1 and` they would change what a condition says.",
)
UNTERMINATED_STRING = Code(
    "TSR005",
    "a string does not end on its line",
    'A string runs from `"` to the next `"` on the same line. Without the second one the rest of the file would be text.\n\n'
    'Add the closing `"`; a line break inside is written `\\n`.',
)
BAD_ESCAPE = Code(
    "TSR006",
    "a backslash that begins no escape",
    'A string has the escapes `\\"`, `\\\\`, `\\n`, `\\t` and `\\u{1F600}` (a code point in hexadecimal). Anything else after a backslash is a slip, '
    "most often a Windows path.\n\nWrite `\\\\` for a backslash.",
)
NOT_UTF8 = Code(
    "TSR007",
    "the file is not UTF-8",
    "Rules are UTF-8 text. The place is the first byte that is none.\n\nSave the file as UTF-8.",
)
BINARY = Code(
    "TSR008",
    "this is no text",
    "The file holds NUL bytes: it is a binary file, or text in UTF-16.\n\nName the right file, or save it as UTF-8.",
)
TOO_LARGE = Code(
    "TSR009",
    "the file is too large",
    "A file may have 16 MiB. Past that it is no file that somebody wrote, and reading it would take memory from everybody else.\n\nSplit it; `use` "
    "brings the parts together.",
)
LONG_LINE = Code(
    "TSR010",
    "a line is too long",
    "A line may have 64 KiB. No place in a longer one can be shown to a person.\n\n"
    "Break the line: inside `(` or `[` and after an operator a newline ends nothing.",
)
LONE_CR = Code(
    "TSR011",
    "a carriage return without a line feed",
    "Lines end with LF or CRLF. A CR alone is shown as a line break by some editors and by none of the tools: what stands after it looks like a new "
    "line and is still a comment, or the other way round.\n\nSave the file with LF or CRLF.",
)
INVISIBLE = Code(
    "TSR012",
    "an invisible or direction-changing character",
    "Bidirectional controls and zero-width characters make a text look other than it is read. They are an error anywhere, comments and strings "
    "included.\n\nDelete the character; in a string write it as an escape, `\\u{200B}`.",
)
CONTROL = Code(
    "TSR013",
    "a control character",
    "Control characters other than tab and the line's end have no place in rules.\n\nDelete it; in a string write it as an escape, `\\u{7}`.",
)
TOO_DEEP = Code(
    "TSR014",
    "nested too deep",
    "Brackets and expressions may be nested 200 deep; every operator of a chain like `a + b + c` counts as one level, a chain of `and` or of `or` as "
    "one together. The limit counts what is written, so it is the same on every machine.\n\nName parts of it as predicates, or use `min`, `max` or a list.",
)
TOO_LONG = Code(
    "TSR015",
    "an expression is too long",
    "An expression may have 20,000 parts.\n\nSplit it into clauses or predicates.",
)
BIG_INTEGER = Code(
    "TSR016",
    "an integer is too big",
    "Integers may have 4,096 bits.\n\nNo size or address comes near it; check the number.",
)
TOO_MANY = Code(
    "TSR017",
    "too many declarations",
    "A load may have 100,000 declarations.\n\nLoad fewer files at once, or write families with `for`.",
)
NO_EDITION = Code(
    "TSR018",
    "the edition line is missing",
    "A file begins with `tessera 1`: the edition of the language that it is written in, so that an old file keeps its meaning.\n\nWrite it as the first line.",
)
EDITION = Code(
    "TSR019",
    "an edition line that is not right",
    "The edition stands first and exactly once, and it is one that this version knows: `tessera 1`.",
)
MIXED_ENDINGS = Code(
    "TSR020",
    "lines end in two ways",
    "Some lines end with LF and some with CRLF. An editor and a formatter would rewrite them back and forth.\n\nRun `tsr fmt --line-ending lf` (or `crlf`).",
    severity="warning",
)
UNCLOSED = Code(
    "TSR021",
    "a block is not closed before the next declaration",
    "A declaration begins while the block before it is still open: a `}` is missing. The second place is the bracket that is open.\n\nClose the block.",
)
UNKNOWN_FIELD = Code(
    "TSR101",
    "a field that the block does not have",
    "The word is none of the fields of this block. A misspelt field is never passed over: a `reqires` that is ignored would be a condition that "
    "nobody checks.\n\nCorrect the spelling; the message names the nearest field.",
)
MISPLACED = Code(
    "TSR106",
    "a part stands where it cannot",
    "A documentation string stands first in its block; a tuple `(a, b)` stands only in the list of a `for`; `bind` takes each of its parts once; "
    "arguments by name follow those by position.",
)
