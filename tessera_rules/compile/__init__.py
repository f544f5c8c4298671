"""Conditions that can be asked: the interpreter, partial evaluation, domains, generated Python, arrays. Terms in, values out.

- `tessera_rules.compile.evaluate`: one term, names perhaps open (three-valued); what every other evaluator must say
- `tessera_rules.compile.simplify`: what is left of a term once some names are known
- `tessera_rules.compile.domain`: where conditions can hold, telling points, a search for values with proofs
- `tessera_rules.compile.python`: conditions as straight-line Python for the hot path
- `tessera_rules.compile.vectorized`: conditions over arrays of requests (the only part that imports NumPy)
"""
