"""A course as one self-contained C99 header: the decision over 64-bit sizes, the reasons, and a table to check it by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import define, frozen

from tessera_rules.compile.c_functions import Functions
from tessera_rules.compile.c_prelude import PRELUDE, SQUARE_ROOT
from tessera_rules.compile.c_ranking import EMPTY, OVERFLOW, Names, arguments_of, parameters_of
from tessera_rules.compile.c_text import comment, literal, number
from tessera_rules.compile.course import RAISES, REFERENCE, UNDECIDED, Course

__all__ = ["OVERFLOW", "Header", "Vector", "write_header"]


@frozen
class Vector:
    """A request with the winner that the library names for it."""

    sizes: tuple[int, ...]
    winner: int


@frozen
class Header:
    """The text, and what hangs on more than sizes, or is nothing that C says: where it is met the answer is `UNDECIDED`."""

    text: str
    open: tuple[str, ...]


def write_header(course: Course, prefix: str, about: Sequence[str], vectors: Sequence[Vector] = ()) -> Header:
    """Return the header of a course.

    ``prefix`` is an identifier that all its names begin with; ``about`` are lines for its first comment. Raises `CannotWriteError`
    where more than 64 candidates may race.
    """
    return _Header(course, prefix, tuple(about), tuple(vectors)).whole()


@define
class _Header:
    course: Course
    prefix: str
    about: tuple[str, ...]
    vectors: tuple[Vector, ...]

    def whole(self) -> Header:
        names = Names(open=dict.fromkeys(self.course.open))
        Functions(self.course, self.prefix, names).write()
        upper = f"{self.prefix.upper()}_H"
        lines = [
            "/*",
            *(f" * {comment(line)}" for line in self.about),
            " *",
            f" * {self.prefix}_winner(sizes) answers with the place of a candidate in {self.prefix}_name(), or one of the negative codes below.",
            f" * {self.prefix}_reasons(sizes, why) does the same, and says of each candidate why it came out so: why[] has {len(self.course.lanes)} places,",
            f" * numbered as {self.prefix}_reason() has them.",
            *([" * Where something is not known, a reason may be a later one of several."] if names.open else []),
            *(f" * not known here, so that the answer is UNDECIDED where it is met: {comment(said)}" for said in names.open),
            " */",
            f"#ifndef {upper}",
            f"#define {upper}",
            "",
            "#include <stddef.h>",
            "#include <stdint.h>",
            PRELUDE,
            *([SQUARE_ROOT] if names.needs_sqrt else []),
            *self._enums(),
            *self._tables(),
            *names.functions,
            *self._public(),
            *self._check(bool(names.open)),
            "#endif",
            "",
        ]
        return Header("\n".join(lines), tuple(names.open))

    def _enums(self) -> Iterator[str]:
        p = self.prefix
        yield f"enum {p}_code {{"
        yield f"    {p}_REFERENCE = {REFERENCE},  /* nobody races, or the result is empty: the op's reference runs */"
        yield f"    {p}_UNDECIDED = {UNDECIDED},  /* what is not known here decides */"
        yield f"    {p}_RAISES = {RAISES},     /* no request that the op takes, or a force that is refused */"
        yield f"    {p}_OVERFLOW = {OVERFLOW},   /* a number does not fit in 64 bits: ask the library */"
        for place, lane in enumerate(self.course.lanes):
            yield f"    {p}_{lane.name} = {place},"
        yield f"    {p}_COUNT = {len(self.course.lanes)}"
        yield "};"
        yield ""
        yield f"enum {p}_why {{"
        for place, reason in enumerate(self.course.reasons):
            where = f", {reason.file}:{reason.line}" if reason.file else ""
            said = f"{reason.candidate} {reason.verdict}" if reason.candidate else f"{reason.verdict} by {reason.code}"
            clause = f": {reason.clause[:120]}" if reason.clause else ""
            yield f"    {p}_why_{place} = {place},  /* {comment(said + clause + where)} */"
        yield f"    {p}_why_COUNT = {len(self.course.reasons)}"
        yield "};"
        yield ""

    def _tables(self) -> Iterator[str]:
        p = self.prefix
        yield f"static inline const char *{p}_name(int winner) {{"
        if self.course.lanes:
            yield f"    static const char *const names[{len(self.course.lanes)}] = {{"
            yield from (f"        {literal(lane.name)}," for lane in self.course.lanes)
            yield "    };"
            yield f"    if (winner >= 0 && winner < {len(self.course.lanes)}) return names[winner];"
        yield '    return winner == -1 ? "reference" : winner == -2 ? "undecided" : winner == -3 ? "raises" : "overflow";'
        yield "}"
        yield ""
        yield f"struct {p}_reason_text {{ const char *verdict, *code, *candidate, *clause, *file; int line; }};"
        yield f"static inline const struct {p}_reason_text *{p}_reason(int why) {{"
        yield f"    static const struct {p}_reason_text reasons[{len(self.course.reasons)}] = {{"
        for reason in self.course.reasons:
            words = ", ".join(map(literal, (reason.verdict, reason.code, reason.candidate, reason.clause, reason.file)))
            yield f"        {{{words}, {reason.line or 0}}},"
        yield "    };"
        yield f"    return why >= 0 && why < {len(self.course.reasons)} ? &reasons[why] : NULL;"
        yield "}"
        yield ""

    def _public(self) -> Iterator[str]:
        p, parameters, sizes = self.prefix, parameters_of(self.course), arguments_of(self.course)
        yield f"static inline int {p}_winner({parameters or 'void'}) {{"
        yield f"    const int winner = {p}_decide({sizes});"
        yield f"    return winner == {EMPTY} ? {p}_REFERENCE : winner;"
        yield "}"
        yield ""
        yield f"static inline int {p}_reasons({parameters}{', ' if parameters else ''}int *why) {{"
        yield f"    const int winner = {p}_all({sizes}{', ' if sizes else ''}why);"
        yield f"    return winner == {EMPTY} ? {p}_REFERENCE : winner;"
        yield "}"
        yield ""

    def _check(self, opened: bool) -> Iterator[str]:
        """Yield the test vectors and the function that counts what is wrong. Sizes from 65,536 up may overflow, which is no answer and not a wrong one."""
        p, count = self.prefix, len(self.course.dims)
        yield f"#define {p.upper()}_VECTORS {len(self.vectors)}"
        yield f"static inline int {p}_check(void) {{"
        yield "    int wrong = 0;"
        if self.vectors:
            yield f"    static const struct {{ int64_t sizes[{max(count, 1)}]; int winner; }} vectors[{len(self.vectors)}] = {{"
            for vector in self.vectors:
                yield f"        {{{{{', '.join(map(number, vector.sizes)) or '0'}}}, {vector.winner}}},"
            yield "    };"
            yield "    int i, k;"
            yield f"    for (i = 0; i < {len(self.vectors)}; i++) {{"
            yield "        const int64_t *const s = vectors[i].sizes;"
            sizes = ", ".join(f"s[{place}]" for place in range(count))
            yield f"        const int found = {p}_winner({sizes});"
            yield "        int large = 0;"
            yield f"        for (k = 0; k < {max(count, 1)}; k++) large |= s[k] > 65535;"
            tolerated = f" && !(large && found == {p}_OVERFLOW)" + (f" && found != {p}_UNDECIDED" if opened else "")
            yield f"        if (found != vectors[i].winner{tolerated}) wrong++;"
            yield "    }"
        yield "    return wrong;"
        yield "}"
        yield ""
