"""The inputs of probes, one module an op: exact ones, whose right result is known bit for bit, and ones inside a bound.

A module has ``exact(asked)``, which yields `Draft` values for the request in hand (none where its attributes leave nothing
exact), and may have ``bound(asked)`` in place of the random ones that every op gets, ``ATTRS`` with values that matter for
its attributes, ``structures(request)`` with more combinations of attributes, ``PROMISES_SPECIAL`` where NaN and Inf go
through as the reference has them. It is found by the name of the reference's module, so that an op of a user's with a shipped
reference has it too; any other op gets what `draft.generic` makes.
"""
