"""The ranking in C: each criterion of the policy on the bit set of those left."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, field

from tessera_rules.compile.c_terms import CannotWriteError, Code, Terms
from tessera_rules.compile.course import OUTRANKED, RAISES, RAISES_REASON, REFERENCE, SELECTED, UNDECIDED, Course, Lane
from tessera_rules.model.terms import Term

OVERFLOW = -4
"""A number on the way does not fit in 64 bits, or would be rounded: the library knows, the header does not."""
EMPTY = -5
MOST_LANES = 64
RACES, OPEN = -1, -2


@define
class Names:
    """The inner courses that have functions already, and what was found on the way."""

    functions: list[str] = field(factory=list)
    known: dict[int, str] = field(factory=dict)
    open: dict[str, None] = field(factory=dict)
    needs_sqrt: bool = False


def parameters_of(course: Course) -> str:
    """Return the parameters of a course's functions."""
    return ", ".join(f"int64_t d_{dim.name}" for dim in course.dims)


def arguments_of(course: Course) -> str:
    """Return these, handed on."""
    return ", ".join(f"d_{dim.name}" for dim in course.dims)


@define
class Pieces:
    """What the functions of one course are put together from."""

    course: Course
    prefix: str
    names: Names
    _lanes: list[int] = field(factory=list, init=False)

    def _terms(self) -> Terms:
        sizes = {}
        for dim in self.course.dims:
            low, high = max(dim.low, 0), 2**63 - 1 if dim.high is None else min(dim.high, 2**63 - 1)
            sizes[dim.name] = Code(f"d_{dim.name}", "int", low, max(low, high))
        return Terms(sizes)

    def _function(self, head: str, terms: Terms, body: list[str], *, local: Sequence[str] = (), hot: bool = False) -> None:
        unused = [f"    (void)d_{dim.name};" for dim in self.course.dims]
        declared = [f"    {kind} t{place} = 0;" for place, kind in enumerate(terms.temporaries)]
        unused += [f"    (void)t{place};" for place in range(len(terms.temporaries))]
        self.names.needs_sqrt = self.names.needs_sqrt or terms.needs_sqrt
        self.names.functions.append("\n".join([f"{'TESSERA_HOT' if hot else 'static inline'} int {head} {{", *local, *declared, *unused, *body, "}", ""]))

    def _with(self, *extra: str) -> str:
        return ", ".join(each for each in (parameters_of(self.course), *extra) if each)

    def _pass(self, *extra: str) -> str:
        return ", ".join(each for each in (arguments_of(self.course), *extra) if each)

    def _written(self, terms: Terms, term: Term | None, what: str) -> Code | None:
        """Write a condition, or say what is open."""
        if term is None:
            return None
        try:
            return terms.condition(term)
        except CannotWriteError as problem:
            self.names.open.setdefault(f"{what}: {problem}")
            return None

    def _say(self, mask: str, reason: int, indent: str) -> list[str]:
        lines = [f"{indent}    if ({mask} >> {bit} & 1) why[{place}] = {reason};" for bit, place in enumerate(self._lanes)]
        return [f"{indent}if (why) {{", *lines, f"{indent}}}"] if lines else []

    def _raise(self, indent: str) -> list[str]:
        return [f"{indent}if (why) for (k = 0; k < {len(self.course.lanes)}; k++) why[k] = {RAISES_REASON};", f"{indent}return {RAISES};"]

    def _drop(self, word: str, indent: str = "    ") -> list[str]:
        """Write that those of ``out`` fall behind."""
        inner = indent + "    "
        return [f"{indent}if (out) {{", *self._say("out", OUTRANKED[word], inner), f"{inner}crit = {SELECTED[word]};", f"{inner}left &= ~out;", f"{indent}}}"]

    def _bits(self, places: int) -> str:
        """Return the bits of lanes that may race."""
        return f"UINT64_C({sum(1 << bit for bit, place in enumerate(self._lanes) if places >> place & 1)})"

    @staticmethod
    def _if(code: Code | None, then: list[str], indent: str = "    ") -> list[str]:
        if code is None:
            return [f"{indent}return {UNDECIDED};"]
        inner = [f"{indent}    {line}" for line in then]
        if code.pure:
            return [f"{indent}if ({code.text}) {{", *inner, f"{indent}}}"]
        wide = f"{indent}if (*st == TSR_ST_WIDE) return {OVERFLOW};"
        return [f"{indent}ok = {code.text} != 0;", wide, f"{indent}if (*st) {{ *st = 0; ok = 0; }}", f"{indent}if (ok) {{", *inner, f"{indent}}}"]


@define
class Ranking(Pieces):
    """Writes what follows once everybody's gates are known: ``left`` and ``opened`` are set."""

    def _forced(self) -> list[str]:
        forced = self.course.forced
        assert forced is not None
        if forced == REFERENCE:
            return [*self._say("left", OUTRANKED["force"], "    "), f"    return {REFERENCE};"]
        if forced not in self._lanes:
            return [f"    if (why) for (k = 0; k < {len(self.course.lanes)}; k++) why[k] = {RAISES_REASON};", f"    return {RAISES};"]
        bit = self._lanes.index(forced)
        return [
            f"    if (opened) return {UNDECIDED};",
            f"    if (!(left >> {bit} & 1)) {{",
            f"        if (why) for (k = 0; k < {len(self.course.lanes)}; k++) why[k] = {RAISES_REASON};",
            f"        return {RAISES};",
            "    }",
            *self._say("left", OUTRANKED["force"], "    "),
            f"    if (why) why[{forced}] = {SELECTED['force']};",
            f"    return {forced};",
        ]

    def _race(self, terms: Terms) -> list[str]:
        body = ["    if (left != 0 && (left & (left - 1)) == 0) crit = 0;"]
        if self.course.nobody_raises:
            body += ["    if (left == 0) {", *self._raise("        "), "    }"]
        if "rules" in self.course.order:
            body += self._forces(terms)
        for word in self.course.order:
            body += getattr(self, f"_by_{word}")(terms)
        for bit, place in enumerate(self._lanes):
            body.append(f"    if (left >> {bit} & 1) {{ if (why) why[{place}] = crit; return {place}; }}")
        return [*body, f"    return {REFERENCE};"]

    def _forces(self, terms: Terms) -> list[str]:
        forces = [choice for choice in self.course.choices if choice.kind == "force"]
        if not forces:
            return []
        body = ["    {", "        uint64_t allowed = ~UINT64_C(0), mine = 0;", "        int held = 0, any = 0;"]
        for rule in dict.fromkeys(choice.rule for choice in forces):
            body += ["        held = 0; mine = 0;"]
            for choice in (each for each in forces if each.rule == rule):
                code = self._written(terms, choice.term, "a rule")
                body += self._if(code, [f"held = 1; mine |= {self._bits(choice.lanes)};"], "        ")
            body.append("        if (held) { any = 1; allowed &= mine; }")
        body += ["        if (any) {", "            if (!(left & allowed)) {", *self._raise("                "), "            }"]
        return [*body, "            out = left & ~allowed;", *self._drop("rules", "            "), "        }", "    }"]

    def _by_rules(self, terms: Terms) -> list[str]:
        prefers = [choice for choice in self.course.choices if choice.kind == "prefer"]
        if not prefers or not self._lanes:
            return []
        count = len(self._lanes)
        body = ["    {", f"        uint64_t before[{count}] = {{0}};", "        int held = 0;"]
        for choice in prefers:
            then = ["held = 1;"]
            for bit, place in enumerate(self._lanes):
                if choice.over >> place & 1:
                    others = self._bits(choice.lanes & ~(1 << place))
                    then.append(f"if (left >> {bit} & 1) before[{bit}] |= left & {others};")
            code = self._written(terms, choice.term, "a rule")
            body += self._if(code, then, "        ")
        return [*body, f"        if (held) {{ out = left & ~tsr_keep(left, before, {count});", *self._drop("rules", "        "), "        }", "    }"]

    def _by_avoid(self, terms: Terms) -> list[str]:
        rules = [choice for choice in self.course.choices if choice.kind == "avoid"]
        own = [(bit, self.course.lanes[place]) for bit, place in enumerate(self._lanes) if self.course.lanes[place].avoid]
        if not rules and not own:
            return []
        body = ["    {", "        uint64_t bad = 0;"]
        for choice in rules:
            code = self._written(terms, choice.term, "a rule")
            body += self._if(code, [f"bad |= {self._bits(choice.lanes)};"], "        ")
        for bit, lane in own:
            body.append(f"        if (left >> {bit} & 1) {{")
            opened = 0
            for term in lane.avoid:
                code = self._written(terms, term, f"{lane.name}: its avoid")
                body += self._if(code, [], "            ")
                if code is None:
                    break
                body.pop()  # its bracket stays open for the next
                opened += 1
            else:
                body.append(f"            bad |= UINT64_C(1) << {bit};")
            body.append(f"            {'}' * opened}")
            body.append("        }")
        return [*body, "        out = (left & ~bad) ? left & bad : 0;", *self._drop("avoid", "        "), "    }"]

    def _by_tier(self, _terms: Terms) -> list[str]:
        body: list[str] = []
        tiers = sorted({self.course.lanes[place].tier for place in self._lanes})
        if len(tiers) < 2:
            return []
        for tier in tiers:
            mine = sum(1 << place for place in self._lanes if self.course.lanes[place].tier == tier)
            body.append(f"    {'else ' if body else ''}if (left & {self._bits(mine)}) out = left & ~{self._bits(mine)};")
        return [*body, "    else out = 0;", *self._drop("tier")]

    def _by_cost(self, terms: Terms) -> list[str]:
        if not self.course.costs or not self._lanes:
            return []
        count = len(self._lanes)
        body = ["    if ((left & (left - 1)) != 0) {"]
        body += [f"        double costs[{count}] = {{0}}, best = 0.0;", "        uint64_t priced = 0;"]
        for bit, place in enumerate(self._lanes):
            lane = self.course.lanes[place]
            if lane.open_cost:
                body.append(f"        if (left >> {bit} & 1) return {UNDECIDED};")
            elif lane.cost is not None:
                body += [f"        if (left >> {bit} & 1) {{", *self._cost_of(terms, lane, bit), "        }"]
        body += ["        out = 0;", "        if (priced) {"]
        body.append(f"            for (k = 0; k < {count}; k++)")
        body.append("                if ((left >> k & 1) && (!(priced >> k & 1) || costs[k] != best)) out |= UINT64_C(1) << k;")
        return [*body, "        }", *self._drop("cost", "        "), "    }"]

    def _cost_of(self, terms: Terms, lane: Lane, bit: int) -> list[str]:
        assert lane.cost is not None
        try:
            code = terms.write(lane.cost)
        except CannotWriteError as problem:
            self.names.open.setdefault(f"{lane.name}: its cost: {problem}")
            return [f"            return {UNDECIDED};"]
        if code.kind not in ("int", "float", "mixed"):
            return []
        exact = terms.comparable(code)
        indent = "            "
        take = [f"if (!priced || costs[{bit}] < best) best = costs[{bit}];", f"priced |= UINT64_C(1) << {bit};"]
        lines = [f"{indent}costs[{bit}] = {exact.text};"]
        if exact.pure:
            return lines + [indent + line for line in take]
        lines.append(f"{indent}if (*st == TSR_ST_WIDE) return {OVERFLOW};")
        lines += [f"{indent}if (*st) *st = 0; else {{", *(f"{indent}    {line}" for line in take), f"{indent}}}"]
        return lines

    def _by_declaration(self, _terms: Terms) -> list[str]:
        return ["    out = left & (left - 1);", *self._drop("declaration")]
