"""The findings that building a ruleset reports: fields (1xx), names and types (2xx), meaning (3xx)."""

from __future__ import annotations

from tessera_rules.diagnostic import Code

MISSING_FIELD = Code(
    "TSR102",
    "a field that must be there is missing",
    "A declaration lacks a field that it cannot do without: a candidate needs `tier`, `target`, `op` and `bind`; an op needs an operand and a "
    "result; "
    "a test needs a `request` and an `expect`.\n\nWithout it nobody can say what the declaration means, so nothing of it is used. Add the field.",
)
DUPLICATE_FIELD = Code(
    "TSR103",
    "a field or block stands twice",
    "A declaration has the same field twice. There is one `requires` block, one `bind`, one `tier`: if the last one won in silence, the first would "
    "be "
    "a condition that somebody wrote and nobody checks.\n\nJoin the two, or delete one.",
)
BAD_FIELD = Code(
    "TSR104",
    "a field has a value that it cannot have",
    "The field takes one of a fixed set of words, or a value of another kind. The message shows what was written and what is possible.",
)
BAD_BINDING = Code(
    "TSR105",
    "a binding is incomplete",
    'A binding does not say all that is needed to call it: `bind python` names `"module:callable"`; `bind native` and `bind source` name a symbol '
    "and its "
    "arguments; statuses need a return type; `launch` belongs to a source for a device compiler.",
)
UNKNOWN_NAME = Code(
    "TSR201",
    "a name that the op does not have",
    "A clause reads a name that is no dimension, attribute or operand of the op, no predicate and no loop name. It is never taken for zero, false "
    "or a "
    "string: a condition on a misspelt name would hold, or fail, for ever.\n\nCorrect the spelling; the message names the nearest one.",
)
UNKNOWN_OP = Code(
    "TSR202",
    "an op that is not declared",
    'The declaration is about an op that no file of this load declares. Correct the name, or bring the op in: `use "std/ops.tsr"`.',
)
UNKNOWN_TARGET = Code(
    "TSR203",
    "a target that is not declared",
    "The declaration names a target that no file of this load declares. Correct the name, or declare the target.",
)
UNKNOWN_CANDIDATE = Code(
    "TSR204",
    "a candidate that is not declared, or not in reach",
    "A rule, a guard or a test names a candidate that no file of this load declares, or one of another op or target, which it can never meet.",
)
UNKNOWN_ATTRIBUTE = Code(
    "TSR205",
    "something honoured, given or packed that the op does not have",
    "`honours`, `packs`, `given` and `layout` name attributes and operands of the op. A name that the op lacks would promise nothing.",
)
UNKNOWN_WORD = Code(
    "TSR206",
    "a word that is no value here",
    "An attribute, a dtype or a list is compared with a word that it can never have, so the comparison could never hold. The message lists the values.",
)
TYPE_MISMATCH = Code(
    "TSR207",
    "values of different types meet",
    "Two values of types that do not go together are compared or computed with: a string with a number, a dtype with a dimension, a version with a "
    "string. "
    'Versions are written `version("12.9")`.',
)
NOT_BOOLEAN = Code(
    "TSR208",
    "a condition that is neither true nor false",
    "There is no implicit truth value: a clause, a condition and the operands of `and`, `or`, `not` are boolean. Write the comparison that is "
    "meant, such as `M != 0`.",
)
BAD_CALL = Code(
    "TSR209",
    "a function is called with what it does not take",
    "The number or the kind of the arguments does not fit the function or predicate.",
)
UNKNOWN_FUNCTION = Code(
    "TSR210",
    "a function that there is not",
    "The set of functions is closed; a user's own are predicates. The message names the nearest one.",
)
NOT_HERE = Code(
    "TSR211",
    "a thing that has no value in this place",
    "Probes ask the machine and stand in `available` only; dimensions, attributes and layouts belong to a request and stand in `requires`; what "
    "looks at the data "
    "(`amax`, `amin`, `all_finite`) stands in `guard`; `/` and `sqrt` are floating point and stand in `cost`, `accuracy`, `guard` and native "
    "arguments.",
)
UNKNOWN_FACT = Code(
    "TSR212",
    "a device fact that the target does not declare",
    "`device.NAME` is a fact of the candidate's target. One that the target does not declare is known on no machine.",
)
UNKNOWN_ARGUMENT = Code(
    "TSR213",
    "a native argument that means nothing",
    "Arguments of a native or source binding name operands, `out`, dimensions or attributes of the op, or one of `threads workspace workspace_bytes "
    "stream device`, or are "
    "`TYPE NAME = EXPRESSION`. Anything else would be filled with garbage.",
)
ARGUMENT_TYPE = Code(
    "TSR214",
    "a native argument with a C type that does not fit",
    "Operands, results and list attributes are pointers; dimensions are integers; attributes go by their own type (`bool`: an integer, `one of` and "
    "`dtype`: `i32`).",
)
NO_SUCH_CALLABLE = Code(
    "TSR215",
    "a Python binding that its package lacks",
    "The package is installed here, was read (never imported), and has no such module or name.",
)
LOOP_NAME = Code(
    "TSR216",
    "a loop name in braces that no `for` around binds",
    "`{name}` inside names, and inside strings within a `for`, stands for the value of a loop name. `{{` is a brace.",
)
NEVER_NULL = Code(
    "TSR218",
    "compared with null, which it never is",
    "Only what is declared with `?` can be `null`. For an optional operand write `given(x)`.",
)
DUPLICATE = Code(
    "TSR301",
    "two declarations of one name",
    "Two declarations of one kind have the same name. If the last one won in silence, the first would be dropped without a word. Rename or delete one.",
)
NO_SUCH_FILE = Code(
    "TSR302",
    "a used file that is not there",
    '`use "FILE"` is relative to the file that says so; `std/` is the folder of the rules that ship; `pkg:NAME/FILE` is a file of an installed '
    "package with an entry point "
    "`NAME` in the group `tessera_rules.rules`.",
)
USE_CYCLE = Code(
    "TSR303",
    "files that use each other in a circle",
    "A file uses itself through others. The message shows the chain, with a place for each link.",
)
DIVISOR = Code(
    "TSR304",
    "a divisor that is zero or negative",
    "`%` and `//` floor, and their divisor is positive. A constant divisor of 0 or less is an error of the clause on every request.",
)
RECURSION = Code(
    "TSR305",
    "a predicate that needs itself",
    "Predicates are total and not recursive. The message shows the chain.",
)
RESERVED = Code(
    "TSR306",
    "a name that is taken",
    "`reference`, `undecided` and `all` are words of decisions and no names of candidates; `dtype threads device given allow require target` are "
    "words of requests "
    "and no names of dimensions, attributes or operands.",
)
EMPTY_SELECTION = Code(
    "TSR308",
    "a preference over nobody",
    "The right side of `prefer … over …` is empty once the left side is taken out of it. Such a preference could never hold.",
)
USES_CYCLE = Code(
    "TSR309",
    "ops that are derived from each other in a circle",
    "A candidate `uses` an op whose candidate uses the first op again: neither could ever be decided.",
)
ONE_NAMESPACE = Code(
    "TSR310",
    "one name for two things of an op",
    "Operands, dimensions, attributes and results of an op share one namespace, so that a name in a clause means one thing.",
)
BAD_SOURCE = Code(
    "TSR311",
    "a `for` that cannot be gone through",
    "A `for` goes through a list, a range of integers or `targets with op NAME`; with several names each item is a tuple of as many values.",
)
SMOKE = Code(
    "TSR313",
    "a smoke probe on a request that its own candidate refuses",
    "`smoke(…)` runs the binding once on the request that it states. A request that is not whole, or that the candidate's own `requires` refuses, "
    "can never succeed.",
)
TOO_LARGE = Code(
    "TSR314",
    "an expression that grows too large",
    "With its predicates put in place the expression is nested too deep or has too many terms. Split it into several clauses.",
)
BAD_RANGE = Code(
    "TSR315",
    "a range that holds nothing, or steps nowhere",
    "In `low..high step s` the low end is not above the high one and the step is positive; both ends are in.",
)
SHAPE = Code(
    "TSR316",
    "a shape or size that does not hang together",
    "A dimension of a result or of a `dim` field that no operand binds, an `inout` result that is no inout operand, a `dtype` field on an operand "
    "that has its own dtype.",
)
TOO_MANY = Code(
    "TSR317",
    "more declarations than a load may have",
    "A load has at most 100,000 declarations, the members of families counted.",
)
TEST_REQUEST = Code(
    "TSR318",
    "a test whose request is not one of the op",
    "A `request` in a test states dimensions and attributes of its op with values of their types, and facts of its target.",
)
SELECTS_NOBODY = Code(
    "TSR322",
    "a selector that selects nobody",
    "No candidate in the rule's scope has this tier or tag, or a name of this pattern. The rest of the rule holds all the same, and candidates "
    "that are declared later count; as it stands, this part of it could never act.",
    severity="warning",
)
OPEN_ENDED = Code(
    "TSR511",
    "an open-ended architecture test",
    "An architecture is compared by `==` and `in` with the ones that are known to work. An order test lets the next chip in, which nobody has "
    "tried: `>= (10, 0)` once took a "
    "consumer chip for a server chip. Facts of type `one of` and `string` have no order at all (an error); a number that names an architecture has "
    "one that means little (a warning).",
    severity="warning",
)
