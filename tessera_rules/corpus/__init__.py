"""What was measured before: immutable records of races, and what they say about a request today.

A record is evidence, never a verdict: every gate still runs, a winner is worked out anew from the times in the records, and a
record that is stale, foreign, of another shape or of other contestants says nothing.
"""
