"""Values of the evaluator: lanes plus affine unknowns.

An integer is a base (a Python int when all threads agree, else an int64 array with one entry a
thread of the block) plus a sum of coefficient x symbol for what is unknown but the same for all
threads: blockIdx, sizes, loop counters without a known bound. A coefficient may vary by thread.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from smemlint.analysis.simt.domain.ctypes import I32, I64
from smemlint.reasons import Assumption, Reason, ReasonCode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from smemlint.analysis.simt.domain.ctypes import CType, IntType
    from smemlint.facts import LayoutUse, SharedArray

    pass
    from smemlint.analysis.simt.domain.scev import Scev

    Array: TypeAlias = NDArray[np.int64]
    Lanes: TypeAlias = int | Array


@dataclass(frozen=True, slots=True)
class Symbol:
    """An unknown that is the same for every thread of the block.

    Attributes:
        key: identity; two evaluations of one thing give one key.
        name: as the user knows it, for messages.
        multiple: a number that is known to divide it.
        nonnegative: known to be >= 0.
        most: a number that it is known not to be above; None where there is none.
    """

    key: str
    name: str
    multiple: int = 1
    nonnegative: bool = False
    most: int | None = None

    def part(self) -> Symbol:
        """Returns what is left when what divides it is divided out."""
        name = f"{self.name}/{self.multiple}"
        return replace(self, key=f"{self.key}/{self.multiple}", name=name, multiple=1, most=None)


@dataclass(frozen=True, slots=True)
class Conditional(Symbol):
    """What a number takes for granted: it stands for 0 where that holds.

    Attributes:
        assumption: what it takes for granted.
    """

    assumption: Assumption = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class UnknownOffset(Symbol):
    """An offset into a known array that is itself not known."""


class AffineInt:
    """An integer: base plus coefficient x symbol; immutable by convention.

    Attributes:
        form: how the compiler computes the part that is no compile-time constant; None where it
            follows from base and terms alone (see `scev.scev_of`).
    """

    __slots__ = ("base", "form", "terms", "type")

    def __init__(
        self,
        base: Lanes,
        type: IntType = I32,
        terms: tuple[tuple[Symbol, Lanes], ...] = (),
        form: Scev | None = None,
    ) -> None:
        self.base = base
        self.type = type
        self.terms = terms
        self.form = form

    @property
    def is_concrete(self) -> bool:
        """Nothing unknown in it."""
        return not self.terms

    @property
    def is_uniform(self) -> bool:
        """The same for all threads."""
        return isinstance(self.base, int) and all(isinstance(c, int) for _, c in self.terms)

    @property
    def constant(self) -> int | None:
        """Its value if it is one known number, else None."""
        return self.base if isinstance(self.base, int) and not self.terms else None

    def __repr__(self) -> str:
        parts = [str(self.base) if isinstance(self.base, int) else "lanes"]
        for symbol, c in self.terms:
            parts.append(f"{c if isinstance(c, int) else 'lanes'}*{symbol.name}")
        return " + ".join(parts)

    def identity(self) -> str:
        """Returns a text that is equal only for equal values, to key what is computed from it."""
        return ";".join([_identity(self.base), *(f"{s.key}*{_identity(c)}" for s, c in self.terms)])


def _identity(lanes: Lanes) -> str:
    return str(lanes) if isinstance(lanes, int) else f"#{hash(lanes.tobytes()):x}"


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that is not followed.

    Attributes:
        reason: why, in words; it becomes the reason of an undecided access.
        is_data: it comes from memory at run time.
        is_uniform: still known to be the same for all threads.
        split: the symbol whose residues by the modulus would decide it, where that is so.
    """

    reason: Reason
    is_data: bool = False
    is_uniform: bool = False
    split: tuple[Symbol, int] | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LanePredicate(Unknown):
    """A truth value that is known for some threads; for the rest it hangs on an unknown.

    Attributes:
        may_hold: the threads for which it is not known to be false.
        holds: the threads for which it is known to be true.
    """

    may_hold: NDArray[np.bool_]
    holds: NDArray[np.bool_]

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def negated(self) -> LanePredicate:
        """Its opposite."""
        return LanePredicate(self.reason, self.is_data, may_hold=~self.holds, holds=~self.may_hold)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PartialValue(Unknown):
    """What a variable holds that is known for some threads; only its reader may look into it.

    Attributes:
        value: what those threads hold.
        holders: the threads.
        of_all: what is known of it for all threads.
    """

    value: AffineInt | Pointer
    holders: NDArray[np.bool_]
    of_all: Unknown

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


@dataclass(frozen=True, slots=True)
class FloatValue:
    """Some floating-point number; never followed."""

    type: CType


class Space(Enum):
    """Where an object lives."""

    LOCAL = "local"
    SHARED = "shared"
    GLOBAL = "global"
    PARAMETER = "parameter"


@dataclass(slots=True, eq=False)
class Object:
    """A variable, array or unknown memory region.

    Attributes:
        born: the active mask at its declaration: a write under that very mask needs no blending.
        origin: the object that this one is a view of; None for the object itself.
        layout: the swizzle that offsets in the view have gone through.
        default: what a read of a cell that was never written gives; None for uninitialized.
    """

    name: str
    type: CType
    space: Space
    key: str
    cells: dict[int, Value] = field(default_factory=dict)
    born: NDArray[np.bool_] | None = None
    shared: SharedArray | None = None
    default: Value | None = None
    is_volatile: bool = False
    origin: Object | None = None
    layout: LayoutUse | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Pointer:
    """A pointer or reference into an object, or a value of array type decayed to one.

    Attributes:
        object: what it points into.
        offset: bytes from the object's start.
        target: the type it points to.
        is_volatile: reads and writes through it are neither merged nor removed.
    """

    object: Object
    offset: AffineInt
    target: CType
    is_volatile: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Aggregate:
    """A record held by value: values at byte offsets."""

    type: CType
    cells: dict[int, Value]


@dataclass(frozen=True, slots=True, eq=False)
class CallableValue:
    """A function, lambda or type that a name or template argument stands for."""

    name: str
    payload: object = None


@dataclass(frozen=True, slots=True, eq=False)
class Cute:
    """A value of CuTe's; see `cute_values` for what the payload is."""

    payload: object

    def __str__(self) -> str:
        if isinstance(self.payload, tuple):
            return f"({','.join(map(str, self.payload))})"
        return str(self.payload)


Value: TypeAlias = AffineInt | Unknown | FloatValue | Pointer | Aggregate | CallableValue | Cute


_FAR = 1 << 32
"""What is assumed stands in a number as a move of all threads that no bank, row or unit sees."""


def assuming(value: AffineInt, assumption: Assumption) -> AffineInt:
    """Returns a number that is known where something holds; accesses made with it name that."""
    text = assumption.text
    symbol = Conditional(f"assumed:{text}", text, _FAR, assumption=assumption)
    return AffineInt(value.base, value.type, (*value.terms, (symbol, 1)), value.form)


def assumed_by(value: AffineInt) -> tuple[Assumption, ...]:
    """Returns what a number takes for granted."""
    return tuple(s.assumption for s, _ in value.terms if isinstance(s, Conditional))


def number(value: int, type: IntType = I32) -> AffineInt:
    """Returns a known number that all threads share."""
    return AffineInt(value, type)


def offset_of(value: int) -> AffineInt:
    """Returns a byte offset."""
    return AffineInt(value, I64)


def is_zero(lanes: Lanes) -> bool:
    """All entries are 0."""
    return lanes == 0 if isinstance(lanes, int) else not np.count_nonzero(lanes)


def varies_in_a_warp(lanes: Lanes) -> bool:
    """Returns whether threads of one warp hold different numbers."""
    if isinstance(lanes, int):
        return False
    rows = lanes.reshape(-1, 32)
    return bool((rows != rows[:, :1]).any())


def settled(lanes: Lanes) -> Lanes:
    """Returns the same lanes, as one int where all agree."""
    if not isinstance(lanes, np.ndarray):
        return int(lanes)
    first = lanes.item(0)
    if lanes.item(-1) != first:  # as most that differ do
        return lanes
    return lanes if np.count_nonzero(lanes != first) else first


def same(a: Value | None, b: Value | None) -> bool:
    """Returns whether two values are known to be equal."""
    if a is b:
        return True
    if isinstance(a, AffineInt) and isinstance(b, AffineInt):
        return a.identity() == b.identity()
    if isinstance(a, Pointer) and isinstance(b, Pointer):
        return a.object is b.object and same(a.offset, b.offset)
    if isinstance(a, FloatValue) and isinstance(b, FloatValue):
        return True
    if isinstance(a, Aggregate) and isinstance(b, Aggregate):
        return a.cells.keys() == b.cells.keys() and all(
            same(v, b.cells[k]) for k, v in a.cells.items()
        )
    return a == b if isinstance(a, Unknown) and isinstance(b, Unknown) else False


def truth_bounds(value: Value) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Returns the threads for which a truth value may hold, and those for which it is known to.

    Scalars, which broadcast, stand for all threads.
    """
    if isinstance(value, LanePredicate):
        return value.may_hold, value.holds
    if isinstance(value, AffineInt) and value.is_concrete:
        known = np.asarray(value.base) != 0
        return known, known
    return np.asarray(True), np.asarray(False)


def lane_predicate(why: Unknown, may_hold: NDArray[np.bool_], holds: NDArray[np.bool_]) -> Unknown:
    """Returns the condition with these bounds, where they say anything about single threads."""
    if not may_hold.ndim and not holds.ndim:
        return Unknown(why.reason, why.is_data)
    may_hold, holds = np.broadcast_arrays(may_hold, holds)
    return LanePredicate(why.reason, why.is_data, may_hold=may_hold, holds=holds)


def is_truth(value: Value) -> bool:
    """Returns whether it is unknown, or 0 or 1 for each thread."""
    if isinstance(value, Unknown):
        return True
    return (
        isinstance(value, AffineInt)
        and value.is_concrete
        and bool(np.isin(value.base, (0, 1)).all())
    )


def propagated(a: Value, b: Value) -> Unknown:
    """Returns what an operation on two values gives, one of which is unknown."""
    unknown = a if isinstance(a, Unknown) else b
    assert isinstance(unknown, Unknown)
    uniform = all(getattr(v, "is_uniform", False) for v in (a, b))
    data = any(isinstance(v, Unknown) and v.is_data for v in (a, b))
    return Unknown(unknown.reason, data, uniform, unknown.split)


def select(mask: NDArray[np.bool_], a: Value, b: Value) -> Value:
    """Thread by thread `a` where `mask`, else `b`."""
    if same(a, b):
        return a
    if isinstance(a, AffineInt) and isinstance(b, AffineInt):
        coefficients: dict[Symbol, tuple[Lanes, Lanes]] = {s: (c, 0) for s, c in a.terms}
        for s, c in b.terms:
            coefficients[s] = (coefficients.get(s, (0, 0))[0], c)
        terms = tuple((s, _where(mask, x, y)) for s, (x, y) in coefficients.items())
        return AffineInt(_where(mask, a.base, b.base), a.type, terms)
    if isinstance(a, Pointer) and isinstance(b, Pointer) and a.object is b.object:
        offset = select(mask, a.offset, b.offset)
        assert isinstance(offset, AffineInt)
        return Pointer(a.object, offset, a.target, a.is_volatile or b.is_volatile)
    if isinstance(a, FloatValue | Unknown) and isinstance(b, FloatValue):
        return a
    if isinstance(a, FloatValue) and isinstance(b, AffineInt | Unknown):
        return a
    if isinstance(a, Aggregate) and isinstance(b, Aggregate):
        keys = [*a.cells, *(k for k in b.cells if k not in a.cells)]
        return Aggregate(a.type, {k: _select_cell(mask, a, b, k) for k in keys})
    unknown = a if isinstance(a, Unknown) else b
    if isinstance(unknown, Unknown) and is_truth(a) and is_truth(b):
        (a_may, a_does), (b_may, b_does) = truth_bounds(a), truth_bounds(b)
        return lane_predicate(unknown, np.where(mask, a_may, b_may), np.where(mask, a_does, b_does))
    if isinstance(unknown, Unknown):
        return Unknown(unknown.reason, unknown.is_data)
    return Unknown(
        Reason(ReasonCode.UNKNOWN_CONDITION, "different threads hold values of different kinds")
    )


def masked_update(mask: NDArray[np.bool_], value: Value, old: Value) -> Value:
    """Returns what a variable holds after the threads of `mask` wrote over it."""
    made = select(mask, value, under_mask(None, old))
    if not isinstance(made, Unknown):
        return made
    kept: Value | None = None
    holders = np.zeros_like(mask)
    if isinstance(old, PartialValue):
        kept, holders = old.value, old.holders
    elif isinstance(old, AffineInt | Pointer):
        kept, holders = old, np.ones_like(mask)
    if isinstance(value, AffineInt | Pointer):
        both = select(mask, value, kept) if kept is not None else None
        follows_both = isinstance(both, AffineInt | Pointer)
        kept, holders = (both, holders | mask) if follows_both else (value, mask)
    else:
        holders = holders & ~mask
    if not isinstance(kept, AffineInt | Pointer) or not np.count_nonzero(holders):
        return made
    return PartialValue(made.reason, made.is_data, value=kept, holders=holders, of_all=made)


def under_mask(mask: NDArray[np.bool_] | None, value: Value) -> Value:
    """Returns what those threads see of it; None: all of them."""
    if not isinstance(value, PartialValue):
        return value
    if mask is not None and not np.count_nonzero(mask & ~value.holders):
        return value.value
    return value.of_all


def _select_cell(mask: NDArray[np.bool_], a: Aggregate, b: Aggregate, key: int) -> Value:
    x, y = a.cells.get(key), b.cells.get(key)
    if x is None or y is None:
        return x if y is None and x is not None else y  # type: ignore[return-value]
    return select(mask, x, y)


def _where(mask: NDArray[np.bool_], a: Lanes, b: Lanes) -> Lanes:
    if isinstance(a, int) and isinstance(b, int) and a == b:
        return a
    return np.where(mask, a, b).astype(np.int64, copy=False)
