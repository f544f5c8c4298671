"""Times of decisions and calls, beside a hand-written chain and other rule engines on the same decisions with the same answers.

    python -m benchmarks [--json PATH] [--quick]

Every figure is the median of repeats of one run, in microseconds a decision; in brackets the best repeat, which a busy machine
moves least. Answers are compared before anything is timed: a row whose answers differ says so instead of a time.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tessera_rules as tsr
from benchmarks.contest import DTYPES, HERE, PEERS, Asked, Spec, if_chain, loop, requests, rules, specs
from tessera_rules.session import Arbiter, open_arbiter

SIZES = ((8, 1), (64, 1), (512, 8), (512, 1))
"""Candidates, and the ops that they are spread over."""
BARS = {"prepared": (0.4,) * 4, "from operands": (1.5,) * 4, "from operands, aligned": (3.0,) * 4, "cold": (5.0, 5.0, 5.0, 15.0), "explained": (100.0,) * 4}
ASKED = 256
RESULTS = Path(__file__).parent / "results" / "decisions.json"

Time = dict[str, float]


def timed(work: Callable[[], object], count: int, repeats: int) -> Time:
    """Return microseconds for one of the ``count`` things that ``work`` does: median and best of repeats."""
    found = []
    gc.collect()
    gc.disable()
    try:
        for _ in range(repeats):
            start = time.perf_counter()
            work()
            found.append((time.perf_counter() - start) / count * 1e6)
    finally:
        gc.enable()
    return {"median_us": statistics.median(found), "best_us": min(found)}


def over(decide: Callable[..., object], rows: Sequence[tuple[Any, ...]], repeats: int) -> Time:
    """Time a function over rows of arguments."""

    def work() -> None:
        for row in rows:
            decide(*row)

    work()
    return timed(work, len(rows), repeats)


def machine() -> dict[str, Any]:
    """Return the machine that everything of the generated rules is decided for."""
    return {"machine": 1, "targets": {"gpu": {"arch": HERE}}}


def answers(decide: Callable[..., int], asked: Sequence[Asked]) -> list[int]:
    """Return places of winners, -1 for nobody."""
    return [decide(each.op, each.dtype, each.head_dim, each.seq, HERE) for each in asked]


# ---- ours ----


class Ours:
    """Our decisions on one generated problem."""

    def __init__(self, found: list[Spec], asked: list[Asked], *, aligned: bool = False) -> None:
        self.asked = asked
        self.arbiter: Arbiter = open_arbiter([], machine(), texts={"rules.tsr": rules(found, aligned=aligned)})
        self.place = {each.name: number for number, each in enumerate(found)}
        ops = sorted({each.op for each in found})
        self.ready = {(op, dtype): self.arbiter.prepare(op, target="gpu", dtype=dtype) for op in ops for dtype in DTYPES}

    def answers(self) -> list[int]:
        """Return places of winners of prepared requests."""
        return [self.place.get(self.ready[each.op, each.dtype].decide(1, each.seq, each.head_dim).tag, -1) for each in self.asked]

    def prepared(self, repeats: int) -> Time:
        """Sizes that were met before."""
        rows = [(self.ready[each.op, each.dtype].decide, each.seq, each.head_dim) for each in self.asked]

        def work() -> None:
            for decide, seq, head_dim in rows:
                decide(1, seq, head_dim)

        work()
        return timed(work, len(rows), repeats)

    def cold(self, repeats: int) -> Time:
        """Sizes that were never met; the structure was."""
        rows = [(self.ready[each.op, each.dtype].decide, each.seq, each.head_dim) for each in self.asked]
        batch = iter(range(2, 10**9))

        def work() -> None:
            size = next(batch)
            for decide, seq, head_dim in rows:
                decide(size, seq, head_dim)

        work()
        return timed(work, len(rows), repeats)

    def on_operands(self, repeats: int) -> tuple[Time, list[int], list[Asked]]:
        """Three arrays whose shapes were met before."""
        known = {"f64": np.float64, "f32": np.float32, "f16": np.float16}
        asked = [each for each in self.asked if each.dtype in known]
        memory = {dtype: np.zeros(8192 * 320 + 64, kind) for dtype, kind in known.items()}

        def array(each: Asked) -> Any:
            flat = memory[each.dtype]
            start = -flat.__array_interface__["data"][0] % 64 // flat.itemsize
            return flat[start : start + each.seq * each.head_dim].reshape(1, each.seq, each.head_dim)

        rows = [(self.ready[each.op, each.dtype].decide_on, array(each), array(each), array(each)) for each in asked]

        def work() -> None:
            for decide, q, k, v in rows:
                decide(q, k, v)

        found = [self.place.get(decide(q, k, v).tag, -1) for decide, q, k, v in rows]
        return timed(work, len(rows), repeats), found, asked

    def explained(self, repeats: int) -> Time:
        """The whole decision, a verdict for everybody."""
        rows = self.asked[:8]

        def work() -> None:
            for each in rows:
                self.arbiter.decide(each.op, target="gpu", dtype=each.dtype, B=1, seq=each.seq, head_dim=each.head_dim)

        return timed(work, len(rows), max(3, repeats // 3))


def generated(count: int, ops: int, repeats: int) -> dict[str, Any]:
    """Return every row for one generated problem."""
    found, asked = specs(count, ops), requests(ASKED, ops)
    chain = if_chain(found)
    expected = answers(chain, asked)
    rows = [(each.op, each.dtype, each.head_dim, each.seq, HERE) for each in asked]
    table: dict[str, Any] = {"hand-written if-chain": over(chain, rows, repeats), "hand-written loop": over(loop(found), rows, repeats)}
    ours = Ours(found, asked)
    assert answers(loop(found), asked) == expected
    same = ours.answers() == expected
    for name in ("prepared", "cold", "explained"):
        table[name] = getattr(ours, name)(repeats) if same else {"differs": True}
    for name, aligned in (("from operands", False), ("from operands, aligned", True)):
        time_of, got, there = Ours(found, asked, aligned=aligned).on_operands(repeats)
        table[name] = time_of if got == answers(chain, there) else {"differs": True}
    for name in PEERS:
        table[name] = _peer_apart(name, count, ops, repeats)
    return table


def _peer_apart(name: str, count: int, ops: int, repeats: int) -> dict[str, Any]:
    """Time a peer in a process of its own, which it may end."""
    if importlib.util.find_spec(PEERS[name][0]) is None:
        return {"missing": "not installed"}
    command = [sys.executable, "-m", "benchmarks.bench_decisions", "--peer", name, str(count), str(ops), str(repeats)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=Path(__file__).parents[1], check=False)
    except subprocess.TimeoutExpired:
        return {"missing": "no end within 120 s"}
    if done.returncode:
        return {"missing": f"ended with {done.returncode}: {done.stderr.strip().splitlines()[-1][:80] if done.stderr.strip() else ''}"}
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def peer(name: str, count: int, ops: int, repeats: int) -> dict[str, Any]:
    """Return a peer's time on one generated problem, or that its answers differ."""
    found, asked = specs(count, ops), requests(ASKED, ops)
    decide = PEERS[name][1](found)
    if answers(decide, asked) != answers(if_chain(found), asked):
        return {"differs": True}
    rows = [(each.op, each.dtype, each.head_dim, each.seq, HERE) for each in asked[:64]]
    return over(decide, rows, max(3, repeats // 3))


# ---- the rules that ship ----


def shipped(repeats: int) -> dict[str, Any]:
    """Return times on the shipped x86 rules: decisions on matmul, and what `run` adds to a direct call of the same kernel."""
    arbiter = tsr.load()
    ready = arbiter.prepare("matmul", target="x86", dtype="f32")
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((8, 16)).astype(np.float32), rng.standard_normal((16, 8)).astype(np.float32)
    sizes = iter(range(1, 10**9))
    table: dict[str, Any] = {
        "prepared": over(ready.decide, [(8, 8, 16)] * 500, repeats),
        "prepared, sizes by name": timed(lambda: [ready.decide(M=8, N=8, K=16) for _ in range(500)], 500, repeats),
        "from operands": over(ready.decide_on, [(a, b)] * 500, repeats),
        "cold": timed(lambda: [ready.decide(next(sizes), 8, 16) for _ in range(500)], 500, repeats),
        "explained": timed(lambda: [arbiter.decide("matmul", target="x86", dtype="f32", M=8, N=8, K=16) for _ in range(5)], 5, repeats),
    }
    for name in ("x86_numpy_matmul", "x86_generic_matmul_f32"):
        direct = _direct(arbiter, name, a, b)
        if direct is None:
            table[f"{name}: call"] = {"missing": "it does not bind here"}
            continue
        forced = arbiter.prepare("matmul", target="x86", dtype="f32", force=name)
        assert np.array_equal(direct(a, b), forced(a, b))
        rows = [(a, b)] * 200
        table[f"{name}: direct call"] = over(direct, rows, repeats)
        table[f"{name}: prepared call"] = over(forced, rows, repeats)
        arbiter.run("matmul", a, b, target="x86", force=name)
        table[f"{name}: Arbiter.run"] = timed(lambda name=name: [arbiter.run("matmul", a, b, target="x86", force=name) for _ in range(200)], 200, repeats)
    return table


def _direct(arbiter: Arbiter, name: str, a: Any, b: Any) -> Callable[[Any, Any], Any] | None:
    """Return a call of a kernel as somebody would write it who needs nothing else: a new output, the kernel, the output."""
    import ctypes

    from tessera_rules.bind.address import address_of
    from tessera_rules.bind.bound import NativeBound, PythonBound

    bound = arbiter.machine.binder.bind(arbiter.ruleset.candidates[name])  # type: ignore[attr-defined]
    shape, dtype = (a.shape[0], b.shape[1]), a.dtype
    if isinstance(bound, PythonBound):
        function = bound.callable.function
        return lambda a, b: function(a=a, b=b, out=np.empty(shape, dtype))
    if not isinstance(bound, NativeBound):
        return None
    forced = arbiter.prepare("matmul", target="x86", dtype="f32", force=name)
    forced(a, b)
    arguments, kinds = [], arbiter.ruleset.candidates[name].bind.arguments  # type: ignore[union-attr]
    prepared = next(iter(bound.memo.values()))
    arguments = [kind(value) for kind, value in zip(prepared.types, prepared.values, strict=True)][3:]
    assert [each.name for each in kinds[:3]] == ["a", "b", "out"]
    call, pointer = bound.function, ctypes.c_void_p

    def direct(a: Any, b: Any) -> Any:
        out = np.empty(shape, dtype)
        call(pointer(address_of(a)), pointer(address_of(b)), pointer(address_of(out)), *arguments)
        return out

    return direct


# ---- the table ----


def cell(found: dict[str, Any] | None) -> str:
    """Return a figure as text."""
    if found is None:
        return ""
    if "differs" in found:
        return "answers differ"
    return found["missing"] if "missing" in found else f"{found['median_us']:.2f} ({found['best_us']:.2f})"


def about() -> dict[str, Any]:
    """Return what the figures were taken on."""
    model = next((line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")), platform.processor())
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "load_average": [round(each, 2) for each in os.getloadavg()],
        "python": platform.python_version(),
        "numpy": np.__version__,
        "system": platform.platform(),
    }


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def main(words: Sequence[str] | None = None) -> int:
    """Print the table and write the figures; returns 0."""
    reader = argparse.ArgumentParser(prog="python -m benchmarks", description="Decisions and calls, beside other engines.")
    reader.add_argument("--json", type=Path, default=RESULTS, help="where the figures go")
    reader.add_argument("--quick", action="store_true", help="few repeats, small problems")
    reader.add_argument("--peer", nargs=4, help=argparse.SUPPRESS)
    said = reader.parse_args(words)
    if said.peer is not None:
        print(json.dumps(peer(said.peer[0], *map(int, said.peer[1:]))))
        return 0
    repeats, sizes = (5, SIZES[:2]) if said.quick else (31, SIZES)
    tables = {f"{count} over {ops}": generated(count, ops, repeats) for count, ops in sizes}
    ship = shipped(repeats)
    found = {"about": about(), "generated": tables, "shipped": ship}
    print(f"{found['about']['cpu']}, {found['about']['cores']} cores, load {found['about']['load_average'][0]}; µs: median (best)\n")
    rows = list(dict.fromkeys(name for table in tables.values() for name in table))
    widths = [max(len(key), *(len(cell(table.get(row))) for row in rows)) for key, table in tables.items()]
    print(f"{'generated rules':28}  " + "  ".join(key.rjust(width) for key, width in zip(tables, widths, strict=True)) + "   bars")
    for row in rows:
        cells = [cell(table.get(row)).rjust(width) for table, width in zip(tables.values(), widths, strict=True)]
        bars = BARS.get(row)
        print(f"{row:28}  " + "  ".join(cells) + (f"   {' '.join(f'{bar:g}' for bar in bars[: len(sizes)])}" if bars else ""))
    print("\nshipped rules, x86")
    for row, figure in ship.items():
        print(f"{row:44}  {cell(figure)}")
    said.json.parent.mkdir(parents=True, exist_ok=True)
    said.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
