"""The functions of a course in C: one for each candidate that may race, the search for the winner, and the whole arbitration."""

from __future__ import annotations

from attrs import define

from tessera_rules.compile.c_ranking import EMPTY, MOST_LANES, OPEN, OVERFLOW, RACES, Ranking
from tessera_rules.compile.c_terms import FAIL, CannotWriteError, Code, Terms
from tessera_rules.compile.c_text import number
from tessera_rules.compile.course import (
    MISSING,
    OPEN_REASON,
    OUTRANKED,
    RAISES,
    RAISES_REASON,
    REFERENCE,
    SELECTED,
    UNDECIDED,
    Lane,
    Step,
    UsesStep,
)
from tessera_rules.model.terms import Const


@define
class Functions(Ranking):
    """Writes the functions of one course: one for each candidate that may race, the search for the winner, and the whole."""

    def write(self) -> None:
        """Append them, those of inner courses first."""
        for place, lane in enumerate(self.course.lanes):
            if _out(lane) is None:
                self._lanes.append(place)
                self._lane(place, lane)
        if len(self._lanes) > MOST_LANES:
            raise CannotWriteError(f"{len(self._lanes)} candidates may race, and a header takes {MOST_LANES}")
        self._all()
        self._decide()

    # ---- pieces ----

    def _lane(self, place: int, lane: Lane) -> None:
        """Write whether a candidate races: `RACES`, `OPEN`, `OVERFLOW`, or the reason why not."""
        terms = self._terms()
        body: list[str] = []
        opens = False
        for step in lane.steps:
            if isinstance(step, UsesStep):
                lines = self._uses(terms, step, lane.name)
            else:
                code = self._written(terms, step.term, f"{lane.name}: {self._clause(step.no)}")
                lines = None if code is None else _step(code, step)
            if lines is None:
                opens = True
                body.append("    open = 1;")
            else:
                body += lines
                opens = opens or isinstance(step, UsesStep)
        body.append(f"    return open ? {OPEN} : {RACES};" if opens else f"    return {RACES};")
        self._function(
            f"{self.prefix}_lane_{place}({self._with('int *st')})",
            terms,
            ["    (void)st;", *body],
            local=["    int open = 0;"] if opens else [],
            hot=self.course.plain,
        )

    def _clause(self, reason: int) -> str:
        found = self.course.reasons[reason]
        return found.clause or found.code

    def _uses(self, terms: Terms, step: UsesStep, name: str) -> list[str] | None:
        known = self.names.known.get(id(step.course))
        if known is None:
            known = f"{self.prefix}_u{len(self.names.known)}"
            self.names.known[id(step.course)] = known
            Functions(step.course, known, self.names).write()
        given = dict(step.sizes)
        body: list[str] = ["    {"]
        sizes = []
        for dim in step.course.dims:
            term = given[dim.name]
            assert term is not None
            try:
                code = terms.write(term)
            except CannotWriteError as problem:
                self.names.open.setdefault(f"{name}: {self._clause(step.no)}: {problem}")
                return None
            if code.kind == "fail":
                return [f"    return {step.error};"]
            if code.kind != "int":
                return [f"    return {step.no};"]
            sizes.append(f"u_{dim.name}")
            body.append(f"        const int64_t u_{dim.name} = {code.text};")
        body.append(f"        const int inner = *st ? 0 : {known}_decide({', '.join(sizes)});")
        body += [f"    {line}" for line in _status(step.error)]
        body.append(f"        if (inner == {OVERFLOW}) return {OVERFLOW};")
        body.append(f"        if (inner == {UNDECIDED}) open = 1;")
        body.append(f"        else if (inner < 0 && inner != {EMPTY}) return {step.no};")
        body.append("    }")
        return body

    # ---- a request ----

    def _request(self, terms: Terms) -> list[str]:
        """Write whether it is one, and whether its result is empty."""
        body: list[str] = []
        for dim in self.course.dims:
            low, name = max(dim.low, 0), f"d_{dim.name}"
            body.append(f"    if ({name} < {number(min(low, 2**63 - 1))}) return {RAISES};")
            if dim.high is not None and dim.high < 2**63 - 1:
                body.append(f"    if ({name} > {number(dim.high)}) return {RAISES};")
            if dim.step != 1:
                body.append(f"    if (!tsr_in_range({name}, {number(dim.low)}, INT64_MAX, {number(dim.step)}, st)) return {RAISES};")
        for term in self.course.checks:
            code = self._written(terms, term, "a check")
            if code is None:
                body.append(f"    return {UNDECIDED};")
            elif code.pure:
                body.append(f"    if (!{code.text}) return {RAISES};")
            else:
                body += [f"    ok = {code.text} != 0;", f"    if (*st) return *st == TSR_ST_WIDE ? {OVERFLOW} : {RAISES};", f"    if (!ok) return {RAISES};"]
        return body

    def _emptiness(self, terms: Terms) -> list[str]:
        if not self.course.empties:
            return []
        body = ["    empty = 1;"]
        for shape in self.course.empties:
            body.append("    some = 0;")
            for term in shape:
                try:
                    code = terms.write(term)
                except CannotWriteError:
                    continue
                if code.kind != "int":
                    continue
                if code.pure:
                    if code.low <= 0:
                        body.append(f"    if ({code.text} == 0) some = 1;")
                else:
                    body.append(f"    ok = {code.text} == 0;")
                    body.append(f"    if (*st == TSR_ST_WIDE) return {OVERFLOW};")
                    body.append("    if (*st) *st = 0; else if (ok) some = 1;")
            body.append("    if (!some) empty = 0;")
        return body

    _LOCAL = ("    int status = 0, ok = 0, some = 0, empty = 0;", "    int *const st = &status;")
    _USED = ("    (void)ok; (void)some; (void)empty; (void)st;",)

    def _decide(self) -> None:
        """Write the search for the winner: the first who races where places are fixed, else by way of everything."""
        name = f"{self.prefix}_decide({self._with() or 'void'})"
        if not self.course.plain:
            self._function(name, self._terms(), [f"    return {self.prefix}_all({self._pass('NULL')});"])
            return
        terms = self._terms()
        body = [*self._USED, *self._request(terms), *self._emptiness(terms), f"    if (empty) return {EMPTY};"]
        for place in self.course.ranked:
            if place not in self._lanes:
                continue
            body.append(f"    ok = {self.prefix}_lane_{place}({self._pass('st')});")
            body.append(f"    if (ok == {RACES}) return {place};")
            body.append(f"    if (ok == {OVERFLOW}) return {OVERFLOW};")
            body.append(f"    if (ok == {OPEN}) return {UNDECIDED};")
        body.append(f"    return {RAISES if self.course.nobody_raises else REFERENCE};")
        self._function(name, terms, body, local=self._LOCAL, hot=True)

    # ---- everything ----

    def _all(self) -> None:
        """Write the whole arbitration: everybody's gates, then each criterion on those left."""
        terms = self._terms()
        course = self.course
        total = len(course.lanes)
        body = [*self._USED, "    (void)alive; (void)out; (void)crit; (void)k; (void)opened;"]
        if total:
            body += [f"    if (why) for (k = 0; k < {total}; k++) why[k] = {RAISES_REASON};"]
        body += self._request(terms) + self._emptiness(terms)
        body.append(f"    if (empty && !why) return {EMPTY};")
        for bit, place in enumerate(self._lanes):
            body.append(f"    ok = {self.prefix}_lane_{place}({self._pass('st')});")
            body.append(f"    if (ok == {RACES}) left |= UINT64_C(1) << {bit};")
            body.append(f"    else if (ok == {OVERFLOW}) return {OVERFLOW};")
            body.append(f"    else if (ok == {OPEN}) {{ opened = 1; if (why) why[{place}] = {OPEN_REASON}; }}")
            body.append(f"    else if (why) why[{place}] = ok;")
        body += [f"    if (why) why[{place}] = {_out(lane)};" for place, lane in enumerate(course.lanes) if _out(lane) is not None]
        body.append("    alive = left;")
        body += ["    if (empty) {", *self._say("left", OUTRANKED["empty"], "        "), f"        return {EMPTY};", "    }"]
        if course.forced is not None:
            body += self._forced()
        else:
            body.append(f"    if (opened) return {UNDECIDED};")
            body += self._race(terms)
        local = (*self._LOCAL, f"    int k = 0, opened = 0, crit = {SELECTED['declaration']};", "    uint64_t left = 0, alive = 0, out = 0;")
        self._function(f"{self.prefix}_all({self._with('int *why')})", terms, body, local=local)


def _out(lane: Lane) -> int | None:
    """Return the reason of a candidate that is out whatever the sizes are."""
    first = lane.steps[0] if lane.steps else None
    if not isinstance(first, Step) or first.term is None:
        return None
    if isinstance(first.term, Const):
        return first.no if first.term.value is (not first.wanted) else first.error
    return first.error if first.term is MISSING else None


def _status(error: int) -> list[str]:
    """Write: where an expression is no value, it ends here."""
    return ["    if (*st) {", f"        if (*st == TSR_ST_WIDE) return {OVERFLOW};", "        *st = 0;", f"        return {error};", "    }"]


def _step(code: Code, step: Step) -> list[str]:
    """Write one gate."""
    negated = "!" if step.wanted else ""
    if code.text == FAIL.text:
        return [f"    return {step.error};"]
    if code.text in ("0", "1"):
        return [] if (code.text == "1") is step.wanted else [f"    return {step.no};"]
    if code.pure:
        return [f"    if ({negated}{code.text}) return {step.no};"]
    tested = [f"        const int held = {code.text} != 0;", *(f"    {line}" for line in _status(step.error)), f"        if ({negated}held) return {step.no};"]
    return ["    {", *tested, "    }"]
