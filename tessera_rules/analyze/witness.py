"""The request that shows a finding, as ``check --json`` prints it."""

from __future__ import annotations

from typing import Any

from tessera_rules.analyze.space import Point, Space
from tessera_rules.model.terms import reads


def witness(space: Space, point: Point) -> dict[str, Any]:
    """Return a point as the document of a witness: attributes at their defaults and facts that nothing reads are left out."""
    op = space.op
    attrs = {name: point[f"attr:{name}"] for name, attr in op.attrs.items() if not _same(point[f"attr:{name}"], attr.default)}
    read = frozenset[str]().union(*(reads(term) for term in space.terms()))
    found: dict[str, Any] = {
        "op": op.name,
        "target": space.target,
        "dtype": point["dtype"],
        "attrs": attrs,
        "dims": {name: point[f"dim:{name}"] for name in op.dims},
        "given": [operand.name for operand in op.operands.values() if operand.optional and point[f"given:{operand.name}"]],
        "device": {key.removeprefix("device:"): value for key, value in point.items() if key.startswith("device:") and key in read},
    }
    layouts = {name: {"dtype": layout.dtype} for name, layout in space.request(point).layouts.items()}
    return {**found, "layouts": layouts} if layouts else found


def spelled(space: Space, point: Point) -> str:
    """Return a point as a person would type it: ``M=1 K=513 act=relu``."""
    document = witness(space, point)
    parts = [f"dtype={document['dtype']}"] if document["dtype"] is not None else []
    parts += [f"{name}={_word(value)}" for name, value in document["attrs"].items()]
    parts += [f"given={','.join(document['given'])}"] if document["given"] else []
    parts += [f"{name}.dtype={layout['dtype']}" for name, layout in document.get("layouts", {}).items()]
    parts += [f"{name}={value}" for name, value in document["dims"].items()]
    parts += [f"device.{name}={_word(value)}" for name, value in document["device"].items()]
    return " ".join(parts)


def _word(value: Any) -> str:
    if isinstance(value, tuple | list):
        return ",".join(map(str, value))
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _same(one: Any, two: Any) -> bool:
    return isinstance(one, bool) is isinstance(two, bool) and bool(one == two)
