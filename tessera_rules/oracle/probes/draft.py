"""What a probe is before it lies in memory, and the random inputs that every op gets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from attrs import frozen

from tessera_rules.arbiter.facts import RequestFacts
from tessera_rules.bind.arrays import dtype_of
from tessera_rules.bind.inputs import operand_dtype, random_values
from tessera_rules.compile.evaluate import UNKNOWN
from tessera_rules.dtypes import FORMATS
from tessera_rules.model.request import Request

Array = np.ndarray[Any, Any]


@frozen(eq=False)
class Draft:
    """Values for operands by name. ``exact``: whatever the order of sums, the right result is the reference rounded once."""

    label: str
    values: Mapping[str, Array]
    exact: bool = False


@frozen(eq=False)
class Asked:
    """What probes are made for: a request with every size, what the kernel rounds operands to, and randomness."""

    request: Request
    computes: str | None
    rng: np.random.Generator

    @property
    def dtype(self) -> str:
        """The request's dtype."""
        return self.request.dtype or "f32"

    @property
    def precision(self) -> int:
        """Significant bits that the kernel keeps of an operand."""
        own = FORMATS[self.dtype].precision
        return own if self.computes is None else min(own, FORMATS[self.computes].precision)

    @property
    def sum_bits(self) -> int:
        """Bits of the narrowest sums that a right kernel may have."""
        return 53 if self.dtype in ("f64", "c128", "i64") else 24

    def dim(self, name: str) -> int:
        """Return a size."""
        return self.request.dims[name]

    def attr(self, name: str) -> Any:
        """Return an attribute's value."""
        return self.request.attrs[name]

    def given(self, name: str) -> bool:
        """Whether an optional operand is given."""
        return name in self.request.given

    def shape(self, name: str) -> tuple[int, ...]:
        """Return an operand's shape."""
        return sizes(self.request, name)

    def names(self) -> tuple[str, ...]:
        """Return the operands that are there."""
        return tuple(name for name, operand in self.request.op.operands.items() if not operand.optional or name in self.request.given)

    def within(self, name: str, low: int, high: int) -> Array:
        """Return random integers from low to high, both among them, in an operand's shape."""
        return self.rng.integers(low, high + 1, self.shape(name)).astype(np.float64)

    def signs(self, shape: tuple[int, ...]) -> Array:
        """Return ±1 at random."""
        return self.rng.choice(np.array([-1.0, 1.0]), shape)

    def odd(self, shape: tuple[int, ...], bits: int) -> Array:
        """Return odd integers of up to ``bits`` bits with random signs: their last bit is lost wherever one too few is kept."""
        bits = max(1, bits)
        return (2.0 * self.rng.integers(0, 2 ** (bits - 1), shape) + 1.0) * self.signs(shape)


def sizes(request: Request, name: str) -> tuple[int, ...]:
    """Return the shape of an operand (or of ``out``) whose every size is known."""
    return tuple(0 if size is UNKNOWN else int(size) for size in RequestFacts(request).shape(name))


def cast(values: Mapping[str, Array], request: Request) -> dict[str, Array]:
    """Return a draft's values in the dtypes of the operands."""
    found = {}
    for name, x in values.items():
        with np.errstate(all="ignore"):
            found[name] = np.asarray(x).astype(dtype_of(operand_dtype(request, request.op.operands[name])))
    return found


def generic(asked: Asked, sample: Any = None) -> dict[str, Array]:
    """Return random operands: normal floats, integers over the dtype's range, indices for integer operands of a dtype of their own.

    ``sample`` is a reference's ``sample_operands``, which knows better.
    """
    request = asked.request
    known: Mapping[str, Array] = sample(asked.rng, dict(request.dims), dict(request.attrs)) if sample is not None else {}
    found = {}
    for name in asked.names():
        operand = request.op.operands[name]
        dtype = operand_dtype(request, operand)
        if name in known:
            found[name] = np.asarray(known[name])
        elif FORMATS[dtype].kind in ("int", "uint") and operand.dtypes is not None:
            # Often indices: numbers that index any dimension.
            found[name] = asked.rng.integers(0, min((size for size in request.dims.values() if size > 0), default=1), asked.shape(name))
        else:
            found[name] = random_values(asked.rng, asked.shape(name), dtype)
    return found


def floating(asked: Asked, name: str) -> bool:
    """Whether an operand holds floats or complex numbers."""
    return FORMATS[operand_dtype(asked.request, asked.request.op.operands[name])].kind in ("float", "complex")


def random_drafts(asked: Asked, sample: Any = None, *, outliers: bool = False, special: bool = False) -> Iterator[Draft]:
    """Yield normal operands; with ``outliers`` 1 % of them × 100; with ``special`` some NaN and Inf in one operand after another."""
    yield Draft("normal", generic(asked, sample))
    if outliers:
        values = generic(asked, sample)
        for name, x in values.items():
            if floating(asked, name) and x.size:
                wide = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
                values[name] = np.where(asked.rng.random(x.shape) < 0.01, 100.0, 1.0) * wide
        yield Draft("outliers", values)
    if special:
        for name in asked.names():
            values = generic(asked, sample)
            if not floating(asked, name) or values[name].size < 2:
                continue
            wide = values[name].astype(np.float64)
            for value in (np.nan, np.inf, -np.inf):
                wide[tuple(asked.rng.integers(0, size) for size in wide.shape)] = value
            yield Draft(f"NaN and Inf in {name}", {**values, name: wide})
