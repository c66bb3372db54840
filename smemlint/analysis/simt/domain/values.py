"""Values of the evaluator: lanes plus affine unknowns.

An integer is a base (a Python int when all threads agree, else an int64 array with one entry a
thread of the block) plus a sum of coefficient x symbol for what is unknown but the same for all
threads: blockIdx, sizes, loop counters without a known bound. A coefficient may vary by thread.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import field, replace
from enum import Enum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.simt.domain.ctypes import BOOL, I32, I64, CType, IntType
from smemlint.analysis.simt.domain.lanes import Lanes, identity
from smemlint.analysis.simt.domain.scev import Scev
from smemlint.analysis.simt.domain.spelling import abbreviated, sum_of_products
from smemlint.facts import LayoutUse, SharedArray
from smemlint.lazy_dataclasses import dataclass, light_dataclass
from smemlint.reasons import Assumption, Reason, ReasonCode

TEMPLATE_KEY = "template:"
"""How keys of template arguments begin that no launch gives."""
BEHIND_KEY = " behind "
"""What stands in keys of offsets behind a member whose size is not known."""
ITERATION_KEY = "iteration@"
"""What stands in keys of numbers of iterations, and of what is computed of them."""
ADDRESS = "base:"
"""How the keys of symbols begin that stand for the address of an object."""
_OPERATOR = re.compile(r"\([^\s()]+ |\bsum ")
_NAME = re.compile(r"[A-Za-z_][\w:.]*")


@light_dataclass(frozen=True, slots=True)
class Symbol:
    """An unknown that is the same for every thread of the block.

    Attributes:
        key: identity; two evaluations of one thing give one key.
        name: as the user knows it, for messages.
        multiple: a number that is known to divide it.
        nonnegative: known to be >= 0.
        most: a number that it is known not to be above; None where there is none.
        least: a number that it is known not to be below, where it is not negative.
        is_iteration: it numbers the iterations of a loop of which one stands for all.
    """

    key: str
    name: str
    multiple: int = 1
    nonnegative: bool = False
    most: int | None = None
    least: int = 0
    is_iteration: bool = False

    def __hash__(self) -> int:
        return hash(self.key)  # which a text remembers: symbols are hashed in every sum

    @property
    def is_known_to_compiler(self) -> bool:
        """Whether it hangs on a template argument that no launch gives, or on a class not read."""
        return TEMPLATE_KEY in self.key or BEHIND_KEY in self.key

    @property
    def is_of_iteration(self) -> bool:
        """Whether it is computed of an iteration's number, as `i & 1` is: no linear function."""
        return not self.is_iteration and ITERATION_KEY in self.key

    def part(self) -> Symbol:
        """Returns what is left when what divides it is divided out."""
        key, name = (f"{text}/{self.multiple}" for text in (self.key, self.name))
        return replace(self, key=key, name=name, multiple=1, most=None, least=0)


_OF_LAUNCH = ("param:", "gridDim.", ADDRESS)


def is_of_launch(key: str) -> bool:
    """Returns whether the symbol of a key is one number in a launch: computed of arguments only."""
    names = _NAME.findall(_OPERATOR.sub(" ", key))
    return bool(names) and all(name.startswith(_OF_LAUNCH) for name in names)


def hangs_on_launch(key: str) -> bool:
    """Returns whether an argument, or an extent of the block or the grid, has a say in a key."""
    return "param:" in key or "Dim." in key


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
            follows from base and terms alone (see `integer_scev.scev_of`).
        written: the threads that wrote a variable last, and the number that these hold: what the
            compiler computes of it under their condition is computed from that number.
    """

    __slots__ = ("base", "form", "terms", "type", "written")

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
        self.written: tuple[NDArray[np.bool_], AffineInt] | None = None

    @property
    def is_concrete(self) -> bool:
        """Nothing unknown in it."""
        return not self.terms

    @property
    def is_uniform(self) -> bool:
        """The same for all threads."""
        if not isinstance(self.base, int):
            return False
        return not self.terms or all(isinstance(c, int) for _, c in self.terms)

    @property
    def constant(self) -> int | None:
        """Its value if it is one known number, else None."""
        return self.base if isinstance(self.base, int) and not self.terms else None

    def __repr__(self) -> str:
        terms = ((s.name, c if isinstance(c, int) else None) for s, c in self.terms)
        return sum_of_products(terms, self.base if isinstance(self.base, int) else None)

    def is_beside(self, other: AffineInt) -> bool:
        """Returns whether what is unknown in two numbers is the same, in every lane."""
        return len(self.terms) == len(other.terms) and all(
            a == b and np.array_equal(x, y)
            for (a, x), (b, y) in zip(self.terms, other.terms, strict=True)
        )

    def identity(self) -> str:
        """Returns a text that is equal only for equal values, to key what is computed from it."""
        base = identity(self.base)
        if not self.terms:
            return base
        return ";".join([base, *[f"{s.key}*{identity(c)}" for s, c in self.terms]])


def depends_on(*numbers: AffineInt) -> Reason:
    """Returns the reason that a result hangs on what is unknown in its operands."""
    names = sorted({s.name for number in numbers for s, _ in number.terms})
    text = f"depends on the value of {', '.join(f'`{abbreviated(n)}`' for n in names)}"
    return Reason(ReasonCode.UNKNOWN_VALUE, text)


@light_dataclass(frozen=True, slots=True)
class Unknown:
    """A value that is not followed.

    Attributes:
        reason: why, in words; it becomes the reason of an undecided access.
        is_data: it comes from memory at run time.
        is_uniform: still known to be the same for all threads.
        split: the symbol whose residues by the modulus would decide it, where that is so.
        condition: a text that is equal only for equal conditions; empty where there is none.
        confines: of a condition: it may keep out the threads of some numbers in every block.
    """

    reason: Reason
    is_data: bool = False
    is_uniform: bool = False
    split: tuple[Symbol, int] | None = None
    condition: str = field(default="", compare=False)
    confines: bool = field(default=True, compare=False)

    @staticmethod
    def because(
        code: ReasonCode, text: str, *, is_data: bool = False, is_uniform: bool = False
    ) -> Unknown:
        """Returns an unknown value with its reason."""
        return Unknown(Reason(code, text), is_data, is_uniform)


@dataclass(frozen=True, slots=True)
class UnknownTensor(Unknown):
    """A tensor of CuTe's in shared memory, with a layout that is not known."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LanePredicate(Unknown):
    """A truth value that is known for some threads; for the rest it hangs on an unknown.

    Attributes:
        may_hold: the threads for which it is not known to be false.
        holds: the threads for which it is known to be true.
        is_staggered: each iteration of a loop adds threads, or takes some away.
    """

    may_hold: NDArray[np.bool_]
    holds: NDArray[np.bool_]
    is_staggered: bool = False

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def negated(self) -> LanePredicate:
        """Returns its opposite."""
        return replace(self, may_hold=~self.holds, holds=~self.may_hold)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PartialValue(Unknown):
    """What a variable holds that is known for some threads; only its reader may look into it.

    Attributes:
        of_all: what is known of it for all threads.
    """

    value: AffineInt | Pointer
    holders: NDArray[np.bool_]
    of_all: Value

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DataRange(Unknown):
    """Data of a range: `base + step * k` with `0 <= k < count`, where `k` is not known.

    Attributes:
        base: one for each thread, or one for all.
        step: between the values; a power of two where `count` is None.
        count: of values; None where `k` is any integer, up to a multiple of 2 to the 32.
        is_one_for_a_warp: all threads of a warp have the same `k`.
    """

    base: Lanes
    step: int
    count: int | None
    is_one_for_a_warp: bool = False

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


@light_dataclass(frozen=True, slots=True)
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
        conditions: assumed `#if` conditions that chose its type.
        may_be_another: an access through it may be to another array.
        is_given: what a pointer that was passed or loaded points to: nothing, or what others do.
        members, choices: arrays alike, of which it is any; such objects that begin with it, by key.
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
    conditions: tuple[str, ...] = ()
    may_be_another: bool = False
    is_given: bool = False
    members: tuple[Object, ...] = ()
    choices: dict[str, Object] | None = None


@light_dataclass(frozen=True, slots=True, eq=False)
class Pointer:
    """A pointer or reference into an object, or a value of array type decayed to one.

    Attributes:
        offset: bytes from the object's start.
        is_volatile: reads and writes through it are neither merged nor removed.
        is_reference: a call returned it as a reference: where a value is wanted it is read.
    """

    object: Object
    offset: AffineInt
    target: CType
    is_volatile: bool = False
    is_reference: bool = False


@light_dataclass(frozen=True, slots=True, eq=False)
class Aggregate:
    """A record by value: values at byte offsets."""

    type: CType
    cells: dict[int, Value]


@dataclass(frozen=True, slots=True, eq=False)
class CallableValue:
    """A function, lambda or type that a name or template argument stands for.

    Attributes:
        payload: of a lambda or type; the names of functions one of which it is.
    """

    name: str
    payload: object = None

    @property
    def choices(self) -> tuple[str, ...]:
        """The functions that it may be."""
        if self.payload is None:
            return (self.name,)
        return self.payload if isinstance(self.payload, tuple) else ()


def one_of(values: Iterable[CallableValue]) -> CallableValue | None:
    """Returns any of some functions; None where they are none."""
    names = tuple(dict.fromkeys(name for value in values for name in value.choices))
    return CallableValue(names[0], names if len(names) > 1 else None) if names else None


@dataclass(frozen=True, slots=True, eq=False)
class Cute:
    """A value of CuTe's; see `cute.values` for what the payload is."""

    payload: object

    def __str__(self) -> str:
        if isinstance(self.payload, tuple):
            return f"({','.join(map(_component_text, self.payload))})"
        return str(self.payload)


def _component_text(value: object) -> str:
    """Prints a part of a CuTe tuple as CuTe prints its type: `?` for a run-time number."""
    is_open = isinstance(value, AffineInt) and value.constant is None
    return "?" if is_open or isinstance(value, Unknown) else str(value)


Value: TypeAlias = AffineInt | Unknown | FloatValue | Pointer | Aggregate | CallableValue | Cute


_FAR = 1 << 32
"""What is assumed stands in a number as a move of all threads that no bank, row or unit sees."""


def assuming(value: AffineInt, assumption: Assumption) -> AffineInt:
    """Returns a number that is known where something holds; accesses made with it name that."""
    text = assumption.text
    symbol = Conditional(f"assumed:{text}", text, _FAR, assumption=assumption)
    return AffineInt(value.base, value.type, (*value.terms, (symbol, 1)), value.form)


def without_assumptions(value: AffineInt) -> AffineInt:
    """Returns a number where all that it takes for granted holds."""
    terms = tuple((s, c) for s, c in value.terms if not isinstance(s, Conditional))
    return AffineInt(value.base, value.type, terms, value.form)


def assuming_as(value: AffineInt, *others: AffineInt) -> AffineInt:
    """Returns a number that takes for granted what others do, too."""
    terms = dict(value.terms)
    for other in others:
        terms.update((s, 1) for s, _ in other.terms if isinstance(s, Conditional))
    return AffineInt(value.base, value.type, tuple(terms.items()), value.form)


def assumed_by(value: AffineInt) -> tuple[Assumption, ...]:
    """Returns what a number takes for granted."""
    return tuple(s.assumption for s, _ in value.terms if isinstance(s, Conditional))


def number(value: int, type: IntType = I32) -> AffineInt:
    """Returns a known number that all threads share."""
    return AffineInt(value, type)


GIVEN, NOT_GIVEN = number(1, BOOL), number(0, BOOL)
"""Whether a pointer that a kernel is given is neither null nor equal to others, which is taken for
granted. These very objects tell that only this is why the value is known."""


def hangs_on_null(value: Value) -> bool:
    """Returns whether a value is another one where a pointer is null or equal to another."""
    return value is GIVEN or value is NOT_GIVEN


def offset_of(value: int) -> AffineInt:
    """Returns a byte offset."""
    return AffineInt(value, I64)


ORIGIN = offset_of(0)
"""Where an object begins."""
