"""One decision problem in every form that is compared: first match among N candidates in order.

A candidate says: op, dtype, ``head_dim % m == 0``, ``head_dim <= M``, ``seq >= S``, arch. The same for the same seed.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

from attrs import frozen

DTYPES = ("f64", "f32", "f16", "bf16")
ARCHS = ("gfx90a", "gfx942", "gfx1100", "gfx1151", "gfx1200")
HERE = "gfx1151"


@frozen
class Spec:
    """One candidate."""

    name: str
    op: str
    dtypes: tuple[str, ...]
    step: int
    most: int
    least: int
    archs: tuple[str, ...]


@frozen
class Asked:
    """One request; the machine has one arch."""

    op: str
    dtype: str
    head_dim: int
    seq: int


def specs(count: int, ops: int, seed: int = 11) -> list[Spec]:
    """Return candidates of ``ops`` ops."""
    chance = random.Random(seed * 1000 + count * 10 + ops)
    return [
        Spec(
            f"c{number}",
            f"op{number % ops}",
            tuple(sorted(chance.sample(DTYPES, chance.choice((1, 1, 2))))),
            chance.choice((8, 16, 32, 64)),
            chance.choice((64, 96, 128, 192, 256, 512)),
            chance.choice((1, 64, 256, 1024, 4096)),
            tuple(sorted(chance.sample(ARCHS, 2))),
        )
        for number in range(count)
    ]


def requests(count: int, ops: int, seed: int = 5) -> list[Asked]:
    """Return requests, about half of which somebody serves at 64 candidates."""
    chance = random.Random(seed)
    return [
        Asked(f"op{chance.randrange(ops)}", chance.choice(DTYPES), chance.choice((40, 64, 72, 80, 96, 128, 160, 256, 320)), chance.randrange(1, 8192))
        for _ in range(count)
    ]


def rules(found: list[Spec], *, aligned: bool = False) -> str:
    """Return the candidates as a rule file; with ``aligned`` each asks for operands at 16 bytes."""
    parts = ["tessera 1\n", f"target gpu {{ fact arch: one of [{', '.join(json.dumps(arch) for arch in ARCHS)}] }}\n"]
    for op in sorted({each.op for each in found}):
        operands = "".join(f"  operand {name}: [B, seq, head_dim]\n" for name in "qkv")
        parts.append(f'op {op} {{\n{operands}  result [B, seq, head_dim]\n  dtype q in [{", ".join(DTYPES)}]\n  reference python "no.such:{op}"\n}}\n')
    for each in found:
        more = "    aligned(q, 16) and aligned(k, 16) and aligned(v, 16)\n" if aligned else ""
        parts.append(
            f"candidate {each.name} {{\n  tier emitted\n  target gpu\n  op {each.op}\n"
            f"  available {{ device.arch in [{', '.join(json.dumps(arch) for arch in each.archs)}] }}\n"
            f"  requires {{\n    dtype in [{', '.join(each.dtypes)}]\n    head_dim % {each.step} == 0 and head_dim <= {each.most}\n"
            f"    seq >= {each.least}\n{more}  }}\n"
            f'  bind python "no.such:{each.name}"\n}}\n'
        )
    return "".join(parts)


def _python_condition(each: Spec) -> str:
    return (
        f"op == {each.op!r} and dtype in {each.dtypes!r} and head_dim % {each.step} == 0 and head_dim <= {each.most} "
        f"and seq >= {each.least} and arch in {each.archs!r}"
    )


def if_chain(found: list[Spec]) -> Callable[[str, str, int, int, str], int]:
    """Return what a person would write by hand: one ``if`` after the other."""
    lines = ["def decide(op, dtype, head_dim, seq, arch):"]
    lines += [f"    if {_python_condition(each)}:\n        return {number}" for number, each in enumerate(found)]
    scope: dict[str, Any] = {}
    exec("\n".join([*lines, "    return -1"]), scope)
    made: Callable[[str, str, int, int, str], int] = scope["decide"]
    return made


def loop(found: list[Spec]) -> Callable[[str, str, int, int, str], int]:
    """Return the other thing that a person would write: a loop over rows."""

    def decide(op: str, dtype: str, head_dim: int, seq: int, arch: str) -> int:
        for number, each in enumerate(found):
            if each.op == op and dtype in each.dtypes and head_dim % each.step == 0 and head_dim <= each.most and seq >= each.least and arch in each.archs:
                return number
        return -1

    return decide


# ---- peers: each returns a function of the five values ----


def starlark(found: list[Spec]) -> Callable[..., int]:
    """starlark-pyo3: the chain as a function of Starlark."""
    import starlark as peer

    lines = ["def decide(op, dtype, head_dim, seq, arch):"]
    lines += [f"    if {_python_condition(each)}:\n        return {number}" for number, each in enumerate(found)]
    module = peer.Module()
    peer.eval(module, peer.parse("rules.star", "\n".join([*lines, "    return -1", ""])), peer.Globals.standard())
    frozen_module = module.freeze()
    return lambda *values: frozen_module.call("decide", *values)


def datalogic(found: list[Spec]) -> Callable[..., int]:
    """datalogic-py: one flat ``if`` of JsonLogic."""
    import datalogic_py as peer

    def var(name: str) -> Any:
        return {"var": name}

    chain: list[Any] = []
    for number, each in enumerate(found):
        chain += [
            {
                "and": [
                    {"==": [var("op"), each.op]},
                    {"in": [var("dtype"), list(each.dtypes)]},
                    {"==": [{"%": [var("head_dim"), each.step]}, 0]},
                    {"<=": [var("head_dim"), each.most]},
                    {">=": [var("seq"), each.least]},
                    {"in": [var("arch"), list(each.archs)]},
                ]
            },
            number,
        ]
    rule = peer.Engine().compile(json.dumps({"if": [*chain, -1]}))
    return lambda op, dtype, head_dim, seq, arch: rule.evaluate({"op": op, "dtype": dtype, "head_dim": head_dim, "seq": seq, "arch": arch})


def _expression_condition(each: Spec) -> str:
    dtypes, archs = json.dumps(list(each.dtypes)), json.dumps(list(each.archs))
    return f'op == "{each.op}" && dtype in {dtypes} && head_dim % {each.step} == 0 && head_dim <= {each.most} && seq >= {each.least} && arch in {archs}'


def cel(found: list[Spec]) -> Callable[..., int]:
    """common-expression-language: a list of conditions, whose first true one is looked for (a deep chain of ``?:`` may end the process)."""
    import cel as peer

    program = peer.compile("[" + ", ".join(_expression_condition(each) for each in found) + "]")

    def decide(op: str, dtype: str, head_dim: int, seq: int, arch: str) -> int:
        holds = program.execute({"op": op, "dtype": dtype, "head_dim": head_dim, "seq": seq, "arch": arch})
        return holds.index(True) if True in holds else -1

    return decide


def zen(found: list[Spec]) -> Callable[..., int]:
    """zen-engine: a list of conditions, as for CEL."""
    import zen as peer

    text = "[" + ", ".join(_expression_condition(each).replace("&&", "and") for each in found) + "]"
    expression = peer.compile_expression(text)

    def decide(op: str, dtype: str, head_dim: int, seq: int, arch: str) -> int:
        holds = expression.evaluate({"op": op, "dtype": dtype, "head_dim": head_dim, "seq": seq, "arch": arch})
        return holds.index(True) if True in holds else -1

    return decide


PEERS: dict[str, tuple[str, Callable[[list[Spec]], Callable[..., int]]]] = {
    "starlark-pyo3": ("starlark", starlark),
    "datalogic-py": ("datalogic_py", datalogic),
    "common-expression-language": ("cel", cel),
    "zen-engine": ("zen", zen),
}
"""Distribution, module, and the maker of its decision function."""
