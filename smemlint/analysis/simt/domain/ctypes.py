"""C types as the device ABI lays them out: sizes, alignments and member offsets in bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from functools import lru_cache
from typing import TypeAlias

from smemlint.lazy_dataclasses import dataclass, light_dataclass
from smemlint.reasons import Reason


@dataclass(frozen=True, slots=True)
class IntType:
    """An integer type; `bool` has one value bit and occupies a byte."""

    bits: int
    signed: bool
    is_bool: bool = False

    @property
    def size(self) -> int:
        """Bytes."""
        return self.bits // 8

    align = size


@dataclass(frozen=True, slots=True)
class StaticIntType(IntType):
    """The type of CuTe's static integers, `cute::C<v>`: the value is part of the type.

    A calculation with any other integer leaves it.
    """


@dataclass(frozen=True, slots=True)
class NullType(IntType):
    """`std::nullptr_t`, whose one value is 0 as an address."""


@dataclass(frozen=True, slots=True)
class FloatType:
    """A floating-point type whose values are never followed: `half`, `float`, `double`, fp8."""

    name: str
    size: int

    @property
    def align(self) -> int:
        """Bytes."""
        return self.size


class TypeObserved(Exception):
    """Something depends on which of several types of one size a type is."""


class AnonymousFloat(FloatType):
    """A floating-point type that stands for any of its size: 8 bits, or `__half` or its like.

    What is found with it holds for all of them, but for what asks which one it is.

    Raises:
        TypeObserved: its name is asked for, or it is compared with a type that it may stand for.
    """

    __slots__ = ("number",)
    number: int

    def __init__(self, number: int, size: int) -> None:
        object.__setattr__(self, "number", number)
        object.__setattr__(self, "size", size)

    @property
    def name(self) -> str:
        """Not known."""
        raise TypeObserved

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FloatType) or other.size != self.size:
            return False
        if not isinstance(other, AnonymousFloat):
            raise TypeObserved
        return other.number == self.number

    def __hash__(self) -> int:
        return hash((AnonymousFloat, self.number, self.size))

    def __repr__(self) -> str:
        return f"\0float{self.number}:{self.size}\0"


@dataclass(frozen=True, slots=True)
class VoidType:
    """`void`; pointer arithmetic on it steps by one byte, as in nvcc."""

    size: int = 1
    align: int = 1


@light_dataclass(frozen=True, slots=True)
class PointerType:
    """A pointer or, with `is_reference`, a reference.

    Attributes:
        is_volatile: what it points to is: every access stays as it is written.
    """

    target: CType
    is_reference: bool = False
    size: int = 8
    align: int = 8
    is_volatile: bool = field(default=False, compare=False)


@light_dataclass(frozen=True, slots=True)
class ArrayType:
    """`count` elements; None where the extent is not known (`extern []` or not evaluated).

    Attributes:
        undecided: why the extent is not known, where a name in it means nothing.
    """

    element: CType
    count: int | None
    undecided: Reason | None = field(default=None, compare=False)

    @property
    def size(self) -> int:
        """Bytes; 0 for an unknown extent."""
        return self.element.size * (self.count or 0)

    @property
    def align(self) -> int:
        """Bytes."""
        return self.element.align


@dataclass(frozen=True, slots=True)
class Member:
    """A data member at its byte offset.

    Attributes:
        behind: the member whose size is not known, behind which it lies; its offset is nominal
            then, which tells members of local objects apart and prices nothing.
    """

    name: str
    type: CType
    offset: int
    behind: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class RecordType:
    """A struct, class, union or built-in vector.

    Attributes:
        scope: template arguments and enclosing names by which methods are evaluated.
        is_sized: the sizes of all members are known; `size` is nominal otherwise.
        initial: default initializers of members by their names, unevaluated.
        is_pair_class: one of CUDA's classes of two halves, which have a copy operator of their own.
        data_size: bytes without the padding at its end.
        is_plain: a class derived from it leaves its padding alone: it has no bases, constructors
            and private members; None where that is not known.
        own: those of `statics` that the class itself declares; the others are of what is around it.
        inherited: what names of bases mean in its scope, where no template parameter says which.
    """

    name: str
    members: tuple[Member, ...]
    size: int
    align: int
    statics: dict[str, object] = field(default_factory=dict)
    record: object = None
    arguments: tuple[str, ...] = ()
    is_sized: bool = True
    initial: dict[str, object] = field(default_factory=dict)
    is_pair_class: bool = False
    own: set[str] = field(default_factory=set)
    inherited: dict[str, object] = field(default_factory=dict)
    data_size: int = 0
    is_plain: bool | None = True

    @property
    def bases(self) -> list[RecordType]:
        """The classes of members without a name: base classes, and anonymous ones."""
        return [m.type for m in self.members if not m.name and isinstance(m.type, RecordType)]

    def with_bases(self) -> Iterator[RecordType]:
        """Yields the class, then its bases and theirs, each once."""
        worklist = [self]
        seen: set[RecordType] = set()
        while worklist:
            current = worklist.pop()
            if current not in seen:
                seen.add(current)
                yield current
                worklist += reversed(current.bases)

    def is_unrelated(self, other: CType) -> bool:
        """Returns whether it was read, and no object of it is one of another class."""
        if self.record is None or not isinstance(other, RecordType):
            return False
        return self.name != other.name and self.base_offset(other) is None

    def base_offset(self, base: RecordType) -> int | None:
        """Returns where a base class begins, 0 for the class itself; None for any other class."""
        return _base_offset(self, base, set())

    def member(self, name: str) -> Member | None:
        """Returns the member of that name, looked for in anonymous members and bases too."""
        return _member(self, name, set())


def _base_offset(ctype: RecordType, base: RecordType, without: set[RecordType]) -> int | None:
    """Returns where a base class begins; adds the classes to `without` that do not have it."""
    if (ctype.record, ctype.arguments, ctype.name) == (base.record, base.arguments, base.name):
        return 0
    for m in ctype.members:
        if not m.name and not m.behind and isinstance(m.type, RecordType) and m.type not in without:
            inner = _base_offset(m.type, base, without)
            if inner is not None:
                return m.offset + inner
    without.add(ctype)
    return None


def _member(ctype: RecordType, name: str, without: set[RecordType]) -> Member | None:
    """Returns the member of that name; adds the classes to `without` that have none."""
    for m in ctype.members:
        if m.name == name:
            return m
    for m in ctype.members:
        if not m.name and isinstance(m.type, RecordType) and m.type not in without:
            inner = _member(m.type, name, without)
            if inner is not None:
                behind = m.behind or inner.behind
                return Member(name, inner.type, m.offset + inner.offset, behind)
    without.add(ctype)
    return None


@light_dataclass(frozen=True, slots=True)
class OpaqueType:
    """A type that is not known; nothing that depends on its size is decided."""

    spelling: str
    size: int = 0
    align: int = 1

    def __str__(self) -> str:
        return self.spelling


@dataclass(frozen=True, slots=True)
class StaticType(OpaqueType):
    """A type whose objects all have one value, e.g. `cute::Int<8>`."""

    value: object = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class UnreadTemplate(OpaqueType):
    """A class of a template whose definition was not read: `thrust::device_vector<T>`.

    Attributes:
        template: its name, without namespaces.
        arguments: what they were where it was spelled; None for those that are not known.
    """

    template: str = ""
    arguments: tuple[CType | int | None, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class ClosureType(OpaqueType):
    """The type of a lambda: a class of its own, of which nothing else is known."""

    closure: object = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class TupleType(OpaqueType):
    """A tuple of which only a part is known from its type: `cute::Stride<int64_t, Int<1>>`."""

    modes: tuple[CType, ...] = ()


@dataclass(frozen=True, slots=True)
class BitField(OpaqueType):
    """The type of a bit-field, whose accesses are not followed.

    Attributes:
        size, align: of the type that it is declared with.
        whole: that type; None where it is no integer.
        is_placed: it lies where the ABI packs it; else its class has no layout that is known.
    """

    bits: int = 0
    whole: IntType | None = None
    is_placed: bool = True

    def narrow(self) -> IntType | None:
        """Returns the integer type of as many bits, which values are converted to."""
        if self.whole is None or not 0 < self.bits < self.whole.bits:
            return self.whole
        return IntType(self.bits, self.whole.signed)


def is_opaque(kind: object) -> bool:
    """Returns whether nothing is known of a type."""
    return isinstance(kind, OpaqueType) and not isinstance(kind, StaticType)


def is_unread_class(ctype: CType) -> bool:
    """Returns whether it is a class of a library, such as `cub::BlockScan<..>::TempStorage`."""
    return isinstance(ctype, OpaqueType) and not ctype.size and "::" in ctype.spelling


def is_function_pointer(ctype: CType) -> bool:
    """Returns whether a type is that of pointers to functions."""
    return isinstance(ctype, PointerType) and ctype.target == FUNCTION


def unreferenced(ctype: CType) -> CType:
    """Returns what a reference refers to; any other type itself."""
    return ctype.target if isinstance(ctype, PointerType) and ctype.is_reference else ctype


def is_sized(ctype: CType) -> bool:
    """Returns whether `size` is what the compiler gives objects of the type."""
    while isinstance(ctype, ArrayType):
        if ctype.count is None:
            return False
        ctype = ctype.element
    if isinstance(ctype, RecordType):
        return ctype.is_sized
    return ctype.is_placed if isinstance(ctype, BitField) else not is_opaque(ctype)


CType: TypeAlias = (
    IntType | FloatType | VoidType | PointerType | ArrayType | RecordType | OpaqueType
)

BOOL = IntType(8, False, True)
I8, U8 = IntType(8, True), IntType(8, False)
I16, U16 = IntType(16, True), IntType(16, False)
I32, U32 = IntType(32, True), IntType(32, False)
I64, U64 = IntType(64, True), IntType(64, False)
NULL = NullType(64, True)
HALF, BF16 = FloatType("half", 2), FloatType("__nv_bfloat16", 2)
FLOAT, DOUBLE = FloatType("float", 4), FloatType("double", 8)
TF32 = FloatType("tf32", 4)
E4M3, E5M2, E8M0 = (FloatType(name, 1) for name in ("e4m3", "e5m2", "e8m0"))
VOID = VoidType()
FUNCTION = OpaqueType("a function")


LIST_SIZE = "size of the list"
"""The member of a list behind its elements; no name of the source has blanks."""


def array_member(ctype: CType) -> ArrayType | None:
    """Returns the array of a class that is nothing but an array or a list; None of all others."""
    if not isinstance(ctype, RecordType) or ctype.record is not None or not ctype.members:
        return None
    first, *others = ctype.members
    is_plain = [member.name for member in others] in ([], [LIST_SIZE])
    is_array = is_plain and not first.name and isinstance(first.type, ArrayType)
    return first.type if is_array and isinstance(first.type, ArrayType) else None


def is_tuple(ctype: CType) -> bool:
    """Returns whether a type is a `std::tuple` or `std::pair` of types that are known."""
    if not isinstance(ctype, RecordType) or ctype.record is not None:
        return False
    return ctype.name in ("tuple", "pair")


def is_16_bit_float(ctype: CType) -> bool:
    """Returns whether it is `__half` or `__nv_bfloat16`: a class, whose pairs are classes, too."""
    if isinstance(ctype, AnonymousFloat):
        return ctype.size == HALF.size
    return ctype in (HALF, BF16)


def promoted(ctype: IntType) -> IntType:
    """Returns integral promotion: narrower than `int` becomes `int`."""
    return I32 if ctype.bits < 32 else ctype


def common(a: IntType, b: IntType) -> IntType:
    """Returns the usual arithmetic conversions."""
    return a if a is b and a.bits >= 32 else _common(a, b)


@lru_cache(256)
def _common(a: IntType, b: IntType) -> IntType:
    a, b = promoted(a), promoted(b)
    if a.bits != b.bits:
        return a if a.bits > b.bits else b
    if isinstance(a, StaticIntType) and a == b:
        return a
    return IntType(a.bits, a.signed and b.signed)
