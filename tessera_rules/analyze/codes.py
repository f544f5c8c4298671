"""The findings of ``tsr check`` that need a proof or a search."""

from __future__ import annotations

from tessera_rules.diagnostic import Code

NEVER_TRUE = Code(
    "TSR501",
    "a condition that can never be true",
    "No legal request on any machine makes this clause true, or no request makes all conditions of this candidate true together. The candidate is "
    "never selected, or the clause of `avoid` never avoids. Sizes are those of `dim … in`, requests are those that the op's checks let through.\n\n"
    "Correct the bound or the remainder that excludes the others; the finding names the conditions that exclude each other.",
    severity="warning",
)
IMPLIED = Code(
    "TSR502",
    "a clause that others imply",
    "Whatever makes the other clauses true makes this one true as well, for every size, dtype and attribute: it never refuses anything. It may be "
    "the remains of an edit, or be meant for something else.\n\nDelete it, or write what was meant. Of two clauses that say the same the second is named.",
    severity="warning",
)
NEVER_WINS = Code(
    "TSR503",
    "a candidate that never wins",
    "Whenever this candidate races, another one that races as well comes before it by the rules, `avoid`, tier, cost or declaration; nothing being "
    "measured and nobody failing, whatever the probes find. It is only ever run where another one declines.\n\n"
    "Raise its tier, narrow the one that covers it, or delete it. A candidate that is kept as a second choice is silenced with its reason.",
    severity="warning",
)
DEAD_RULE = Code(
    "TSR504",
    "a rule that never changes a decision",
    "With the rule and without it every request has the same winner on every machine: its condition never holds, or only where those that it is "
    "about do not win anyway.\n\nDelete the rule, or correct its condition.",
    severity="warning",
)
GAP = Code(
    "TSR505",
    "a request that nobody serves",
    "The op and the target have candidates, the request is legal, and none of them serves it though every probe holds: the reference runs, slowly "
    "and without anybody noticing. Each finding is another combination of reasons; the witness is the least request of it.\n\n"
    "Add a general candidate, widen one, or make the request illegal with a `dim … in` or a `check`. A gap that is meant is silenced with its reason.",
    severity="warning",
)
TIE = Code(
    "TSR506",
    "a tie that only the order of declaration breaks",
    "Two candidates race for one request and are level in everything: rules, avoid, tier and cost. The one that is declared first wins, so moving a "
    "file or a block changes which kernel runs. Candidates that both state a cost by different formulas are not looked at: where the two come out "
    "equal is chance.\n\nState a `cost` for each, a rule that prefers one, or requirements that part them.",
    severity="warning",
)
CLIFF = Code(
    "TSR510",
    "a cliff: one past a bound the decision falls to the lowest tier",
    "At the bound the best tier that there is serves the request; one step past it (one multiple, where sizes come in multiples) the lowest does, and "
    "the time of a call may jump by an order of magnitude.\n\n"
    "Put something between, or split the work. A bound that the hardware sets is silenced with its reason. A limit of something computed (bytes, "
    "offsets, the extent of a grid) that has its `because` is taken to be meant.",
    severity="note",
)
UNDECISIVE_TEST = Code(
    "TSR512",
    "a test that no clause decides",
    "Whichever single clause of the candidates or condition of the rules is turned over, the test still passes: it holds nothing in place.\n\n"
    'Expect a verdict with its clause (`expect x refused by "…"`), or choose a request at the edge of a bound.',
    severity="note",
)
NOT_DECIDED = Code(
    "TSR590",
    "a question that was not decided",
    "The analysis could neither prove nor show it within its limits. Nothing is concluded: it may or may not be so.\n\n"
    "Simpler conditions help (comparisons of one size with a constant, remainders by constants), and so does the extra `analyze`, which brings a solver.",
    severity="note",
)
