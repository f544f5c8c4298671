"""What the suites of all ops share: one call, watched, and its result judged element by element against the unrounded reference."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

from tessera_rules.bind.arrays import dtype_of, word_of
from tessera_rules.declined import Declined
from tessera_rules.errors import MissingExtraError, TesseraError
from tessera_rules.ops import reference64_of
from tessera_rules.oracle.bounds import bound
from tessera_rules.oracle.judge import judge
from tests.conformance.layouts import LAYOUTS, guard_value

Array = np.ndarray[Any, Any]
Operands = dict[str, Array]
Attrs = Mapping[str, Any]
Dims = tuple[int, ...]


def array(values: Any, dtype: str) -> Array:
    """Return values rounded to a dtype, or skip where the extra that has it is missing."""
    try:
        return np.asarray(values).astype(dtype_of(dtype))
    except MissingExtraError:
        pytest.skip(f"extra: ml_dtypes is not installed, and {dtype} needs it")


class Conformance:
    """The suite that every kernel of an op inherits; see the subclass of the op.

    A kernel's test class sets ``kernel`` (a staticmethod that takes operands and attributes by name and returns the result, or
    writes it to ``out`` where it takes that) and, where the kernel is narrower than the op, what it admits: ``dtypes``,
    ``layouts``, ``shapes``, ``attributes``, or `admits`. ``computes`` is the class that its rules declare.
    """

    op: ClassVar[str]
    kernel: ClassVar[Callable[..., Any]]
    dtypes: ClassVar[Sequence[str]] = ("f64", "f32", "f16", "bf16")
    layouts: ClassVar[Sequence[str]] = tuple(LAYOUTS)
    shapes: ClassVar[Sequence[Dims]] = ()
    attributes: ClassVar[Sequence[Attrs]] = ({},)
    middle: ClassVar[Dims] = ()
    computes: ClassVar[str | None] = None
    inout: ClassVar[frozenset[str]] = frozenset()
    out_is_attribute: ClassVar[bool] = False
    rejects: ClassVar[tuple[type[BaseException], ...]] = (TesseraError, Declined, ValueError, TypeError)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Give each test the dtypes of its class. Shapes, layouts and attributes are gone through within a test: its message names them."""
        if "dtype" in metafunc.fixturenames:
            metafunc.parametrize("dtype", self.dtypes)

    # What an op says of itself.

    specials: ClassVar[Sequence[str]] = ("nan", "inf", "-inf", "denormal", "zero")

    def operands(self, rng: np.random.Generator, shape: Dims, dtype: str, attrs: Attrs) -> Operands:
        """Return operands of a shape that the attributes need, values of every operand unlike the others'."""
        raise NotImplementedError

    def wrong(self, good: Operands) -> Iterator[tuple[str, Operands, Attrs]]:
        """Yield calls that must be refused: what is wrong, the operands, the attributes."""
        raise NotImplementedError

    def result_dtype(self, operands: Operands, attrs: Attrs) -> str:
        """Return the word of the result's dtype."""
        return word_of(next(iter(operands.values())).dtype)

    def admits(self, operands: Operands, attrs: Attrs) -> bool:
        """Whether the kernel's clauses let this call through; what they refuse is not asked of it."""
        return True

    def expected(self, operands: Operands, attrs: Attrs) -> Array:
        """Return the unrounded result."""
        result: Array = reference64_of(self.op)(**operands, **attrs)
        return result

    def allowed(self, operands: Operands, attrs: Attrs, expected: Array) -> Array:
        """Return the largest error of each element."""
        return bound(self.op, operands, attrs, expected, self.result_dtype(operands, attrs), self.computes)

    # One call.

    def takes_out(self) -> bool:
        """Whether the kernel writes to an array that it is given."""
        return not self.out_is_attribute and "out" in inspect.signature(type(self).kernel).parameters

    def check(self, operands: Operands, attrs: Attrs, layout: str = "contiguous", poison: int = 0xFF, only: str | None = None) -> None:
        """Call the kernel and hold it to everything: result, inputs unchanged, nothing written around the output.

        ``layout`` is that of every operand, or of the one called ``only``; ``poison`` is the byte that fills the output before.
        """
        if not self.admits(operands, attrs):
            return
        expected = self.expected({name: x.copy() for name, x in operands.items()}, attrs)
        allowed = self.allowed(operands, attrs, expected)
        dtype = dtype_of(self.result_dtype(operands, attrs))
        placed = {name: LAYOUTS[layout if only in (None, name) else "contiguous"](x) for name, x in operands.items()}
        before = {name: buffer.tobytes() for name, (_, buffer) in placed.items()}
        arguments: dict[str, Any] = {name: x for name, (x, _) in placed.items()} | dict(attrs)
        around = None
        if self.takes_out():
            around = _poisoned(expected.shape, dtype, poison)
            arguments["out"] = around[0]
        result = type(self).kernel(**arguments)
        assert not isinstance(result, Declined), f"declined what its clauses admit: {result}"
        where = f"{self.op} {[x.shape for x in operands.values()]} {dict(attrs)} {layout}"
        result = np.asarray(result)
        found = judge(result, expected, allowed, dtype)
        assert found.ok, f"{where}: {found.why}"
        if around is not None:
            assert np.shares_memory(result, around[0]) or not result.size, f"{where}: the result is not the output that was given"
            assert (around[1] == poison).all(), f"{where}: wrote around the output"
            assert (around[2] == poison).all(), f"{where}: wrote around the output"
        for name, (x, buffer) in placed.items():
            if name in self.inout:
                kept, whole = LAYOUTS[layout if only in (None, name) else "contiguous"](x)
                assert whole.tobytes() == buffer.tobytes(), f"{where}: wrote around '{name}'"
                assert judge(x, expected, allowed, dtype).ok, f"{where}: '{name}' does not hold the result"
                del kept
            else:
                assert buffer.tobytes() == before[name], f"{where}: wrote to '{name}'"

    def check_as_it_lies(self, operands: Operands, attrs: Attrs) -> None:
        """Call with the arrays themselves, strides of 0 and all, and judge the result."""
        expected = self.expected({name: np.array(x) for name, x in operands.items()}, attrs)
        arguments = {name: x.copy() if name in self.inout else x for name, x in operands.items()}
        result = np.asarray(type(self).kernel(**arguments, **attrs))
        found = judge(result, expected, self.allowed(operands, attrs, expected), dtype_of(self.result_dtype(operands, attrs)))
        assert found.ok, f"strides {[x.strides for x in operands.values()]}: {found.why}"

    def rng(self, *key: Any) -> np.random.Generator:
        """Return a generator that depends on the key alone."""
        return np.random.default_rng([ord(c) for c in f"{self.op} {key}"])

    # The tests that hold for every op.

    def test_shapes(self, dtype: str) -> None:
        attrs = self.attributes[0]
        for shape in self.shapes:
            self.check(self.operands(self.rng(shape), shape, dtype, attrs), attrs)

    def test_attributes(self, dtype: str) -> None:
        for attrs in self.attributes:
            self.check(self.operands(self.rng(attrs), self.middle, dtype, attrs), attrs)

    def test_layouts(self, dtype: str) -> None:
        """Each operand alone, and all together, with guards that show any read outside."""
        attrs = self.attributes[-1]
        for layout in self.layouts:
            operands = self.operands(self.rng(layout), self.middle, dtype, attrs)
            for only in (None, *operands):
                self.check(operands, attrs, layout, only=only)

    def test_broadcast_operands(self, dtype: str) -> None:
        """An operand of equal rows with stride 0 is like one whose rows lie in memory (P3)."""
        attrs = self.attributes[-1]
        operands = self.operands(self.rng("broadcast"), self.middle, dtype, attrs)
        for name, x in operands.items():
            if name in self.inout or x.dtype.kind == "i" or x.size == 0:
                continue
            for axis in range(x.ndim):
                one = np.broadcast_to(x.take([0], axis), x.shape)
                given = operands | {name: one}
                if self.admits(given, attrs):
                    self.check_as_it_lies(given, attrs)

    def test_output_is_written_whole(self, dtype: str) -> None:
        """Twice, over different stale contents: what was not written shows (P4)."""
        for poison in (0x00, 0x5A):
            self.check(self.operands(self.rng("poison"), self.middle, dtype, self.attributes[0]), self.attributes[0], poison=poison)

    def test_repeats(self, dtype: str) -> None:
        """A second call after another shape gives what the first one gave: no state is left behind."""
        attrs = self.attributes[-1]
        first, other = (self.operands(self.rng("repeat", shape), shape, dtype, attrs) for shape in (self.middle, self.shapes[-1]))
        for operands in (first, other, first):
            self.check(operands, attrs)

    def test_special_values(self, dtype: str) -> None:
        """NaN, infinities, denormals and zeros in one place of each operand: every element is of the reference's class."""
        attrs = self.attributes[0]
        operands = self.operands(self.rng("special"), self.middle, dtype, attrs)
        for name, special in itertools.product(operands, self.specials):
            x = operands[name]
            value = None if x.dtype.kind == "i" or x.dtype.name == "int4" or not x.size else special_value(special, x.dtype)
            if value is None:
                continue
            changed = x.copy()
            changed.flat[changed.size // 3] = value
            self.check_class(operands | {name: changed}, attrs)

    def check_class(self, operands: Operands, attrs: Attrs) -> None:
        """Check a call whose values are special; ops in which some such value means nothing in particular override this."""
        self.check(operands, attrs)

    def test_wrong_arguments(self) -> None:
        """A wrong rank or size is refused, by an error or a decline; it never gives a result."""
        attrs = self.attributes[-1]
        good = self.operands(self.rng("wrong"), self.middle, self.dtypes[-1] if self.dtypes[-1] != "bf16" else "f32", attrs)
        for what, operands, changes in self.wrong(good):
            try:
                result = type(self).kernel(**operands, **{**attrs, **changes})
            except self.rejects:
                continue
            assert isinstance(result, Declined), f"gave a result where {what}"


def special_value(special: str, dtype: np.dtype[Any]) -> Any:
    """Return a value by its name, None where the dtype has none."""
    word = word_of(dtype)
    if special == "denormal":
        from tessera_rules.dtypes import FORMATS

        return complex(2.0 ** FORMATS[word].min_exponent, 0) if dtype.kind == "c" else 2.0 ** FORMATS[word].min_exponent
    if special == "zero":
        return -0.0
    if word in ("f8e4m3", "f8e4m3fnuz", "f8e5m2fnuz") and "inf" in special:
        return None
    return float(special)


def resized(x: Array, axis: int, by: int = 1) -> Array:
    """Return an array whose size along an axis is another."""
    if not x.size:
        return np.zeros((*x.shape[:axis], x.shape[axis] + by, *x.shape[axis + 1 :]), x.dtype)
    return np.ascontiguousarray(np.take(x, np.arange(x.shape[axis] + by) % x.shape[axis], axis=axis))


def misfits(good: Operands) -> Iterator[tuple[str, Operands, Attrs]]:
    """Yield the operands with one of another rank or, axis by axis, of another size; not where that only makes a larger call."""
    for name, x in good.items():
        yield f"'{name}' has another rank", good | {name: x[None]}, {}
        for axis in range(x.ndim):
            if any(other is not x and x.shape[axis] in other.shape for other in good.values()):
                yield f"'{name}' is larger at axis {axis}", good | {name: resized(x, axis)}, {}


def _poisoned(shape: Dims, dtype: np.dtype[Any], poison: int) -> tuple[Array, Array, Array]:
    """Return an output full of a byte, and the guards before and after it."""
    size = int(np.prod(shape)) * dtype.itemsize
    raw = np.full(size + 256, poison, np.uint8)
    start = 64 + -raw.__array_interface__["data"][0] % 64
    return raw[start : start + size].view(dtype).reshape(shape), raw[:start], raw[start + size :]


__all__ = ["Array", "Attrs", "Conformance", "Dims", "Operands", "array", "guard_value", "misfits", "resized", "special_value"]
