"""C types as the device ABI lays them out: sizes, alignments and member offsets in bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
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

    Args:
        number: tells it from others; no two of them are one type.
        size: bytes.

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
class TupleType(OpaqueType):
    """A tuple of which only a part is known from its type: `cute::Stride<int64_t, Int<1>>`."""

    modes: tuple[CType, ...] = ()


@dataclass(frozen=True, slots=True)
class BitField(OpaqueType):
    """The type of a bit-field, whose accesses are not followed.

    Attributes:
        size, align: of the type that it is declared with.
    """

    bits: int = 0


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
    return isinstance(ctype, BitField) or not is_opaque(ctype)


CType: TypeAlias = (
    IntType | FloatType | VoidType | PointerType | ArrayType | RecordType | OpaqueType
)

BOOL = IntType(8, False, True)
I8, U8 = IntType(8, True), IntType(8, False)
I16, U16 = IntType(16, True), IntType(16, False)
I32, U32 = IntType(32, True), IntType(32, False)
I64, U64 = IntType(64, True), IntType(64, False)
HALF, BF16 = FloatType("half", 2), FloatType("__nv_bfloat16", 2)
FLOAT, DOUBLE = FloatType("float", 4), FloatType("double", 8)
TF32 = FloatType("tf32", 4)
E4M3, E5M2, E8M0 = (FloatType(name, 1) for name in ("e4m3", "e5m2", "e8m0"))
VOID = VoidType()
FUNCTION = OpaqueType("a function")

_ALIASES: dict[str, CType] = {
    "int8_t": I8, "uint8_t": U8, "int16_t": I16, "uint16_t": U16,
    "int32_t": I32, "uint32_t": U32, "int64_t": I64, "uint64_t": U64,
    "uchar": U8, "ushort": U16, "uint": U32, "ulong": U64, "BYTE": U8,
    "size_t": U64, "ssize_t": I64, "ptrdiff_t": I64, "intptr_t": I64, "uintptr_t": U64,
    "wchar_t": I32, "char8_t": U8, "char16_t": U16, "char32_t": U32,
    "clock_t": I64, "half": HALF, "__half": HALF, "half_t": HALF, "float16_t": HALF,
    "nv_half": HALF, "__nv_bfloat16": BF16, "nv_bfloat16": BF16, "bfloat16_t": BF16,
    "bf16": BF16, "nv_bfloat": BF16, "float32_t": FLOAT, "float64_t": DOUBLE,
    "tfloat32_t": TF32, "tf32_t": TF32,
    "__nv_fp8_e4m3": FloatType("e4m3", 1), "__nv_fp8_e5m2": FloatType("e5m2", 1),
    "e4m3": FloatType("e4m3", 1), "e5m2": FloatType("e5m2", 1),  # as instances are named
    "tf32": TF32,
    "float_e4m3_t": FloatType("e4m3", 1), "float_e5m2_t": FloatType("e5m2", 1),
    "fp8_e4m3_t": FloatType("e4m3", 1), "__nv_fp8_storage_t": U8,
    "__nv_fp8_e8m0": FloatType("e8m0", 1), "float_ue8m0_t": FloatType("e8m0", 1),
    "__int128": IntType(128, True), "__int128_t": IntType(128, True),
    "__uint128_t": IntType(128, False), "uint128_t": IntType(128, False),
    "cuuint32_t": U32, "cuuint64_t": U64,
}  # fmt: skip


def _vector(name: str, element: CType, count: int) -> RecordType:
    """Returns a built-in vector with the alignment that vector_types.h gives it."""
    size = element.size * count
    align = element.align if count == 3 else min(size, 16)
    members = tuple(
        Member(axis, element, i * element.size) for i, axis in enumerate("xyzw"[:count])
    )
    return RecordType(name, members, size, align, is_pair_class=element in (HALF, BF16))


def _vectors() -> dict[str, CType]:
    scalars: dict[str, CType] = {
        "char": I8, "uchar": U8, "short": I16, "ushort": U16, "int": I32, "uint": U32,
        "long": I64, "ulong": U64, "longlong": I64, "ulonglong": U64,
        "float": FLOAT, "double": DOUBLE,
    }  # fmt: skip
    table: dict[str, CType] = {}
    for name, element in scalars.items():
        for count in (1, 2, 3, 4):
            table[f"{name}{count}"] = _vector(f"{name}{count}", element, count)
    for names, element in (
        (("half2", "__half2", "nv_half2"), HALF),
        (("__nv_bfloat162", "nv_bfloat162", "bf16_2"), BF16),
    ):
        for name in names:
            table[name] = _vector(name, element, 2)
    for name in ("cuComplex", "cufftComplex", "cuFloatComplex"):
        table[name] = _vector(name, FLOAT, 2)
    for name in ("cuDoubleComplex", "cufftDoubleComplex"):
        table[name] = _vector(name, DOUBLE, 2)
    dim3 = tuple(Member(axis, U32, 4 * i) for i, axis in enumerate("xyz"))
    table["dim3"] = RecordType("dim3", dim3, 12, 4)
    table["cudaLaunchConfig_t"] = _launch_config(table["dim3"])
    for name in ("ClusterBarrier", "ClusterTransactionBarrier"):  # CUTLASS 4.7, arch/barrier.h
        word = (Member("barrier_", U64, 0),)
        table[name] = RecordType(name, word, 8, 8, statics={"ValueType": U64})
    return table


def _launch_config(dim3: CType) -> RecordType:
    """Returns what `cudaLaunchKernelEx` is given, as `driver_types.h` lays it out."""
    members = (
        Member("gridDim", dim3, 0),
        Member("blockDim", dim3, 12),
        Member("dynamicSmemBytes", U64, 24),
        Member("stream", PointerType(VoidType()), 32),
        Member("attrs", PointerType(VoidType()), 40),
        Member("numAttrs", U32, 48),
    )
    return RecordType("cudaLaunchConfig_t", members, 56, 8)


NAMED: dict[str, CType] = {**_ALIASES, **_vectors()}


KEYWORDS: dict[str, CType] = {
    "int": I32, "unsigned": U32, "float": FLOAT, "double": DOUBLE, "void": VOID, "bool": BOOL,
    "char": I8, "short": I16, "long": I64,
}  # fmt: skip
"""Types of one keyword, which no declaration can give another meaning."""


@lru_cache(4096)
def builtin(words: tuple[str, ...]) -> CType | None:
    """Returns the type that words like `unsigned long long` name; None for no built-in type."""
    names = [w for w in words if w not in ("const", "volatile")]
    if len(names) == 1:
        word = names[0].removeprefix("::").removeprefix("std::").removeprefix("cute::")
        word = word.removeprefix("cutlass::").removeprefix("::")
        if word in NAMED:
            return NAMED[word]
    unsigned = "unsigned" in names
    rest = sorted(w for w in names if w not in ("signed", "unsigned", "int"))
    match rest:
        case []:
            return (U32 if unsigned else I32) if names else None
        case ["bool"] | ["_Bool"]:
            return BOOL
        case ["char"]:
            return U8 if unsigned else I8
        case ["short"]:
            return U16 if unsigned else I16
        case ["long"] | ["long", "long"]:
            return U64 if unsigned else I64
        case ["float"]:
            return FLOAT
        case ["double"] | ["double", "long"]:
            return DOUBLE
        case ["void"]:
            return VOID
        case ["__int128"]:
            return NAMED["__int128"]
        case _:
            return None


def array_member(ctype: CType) -> ArrayType | None:
    """Returns the array of a class that is nothing but an array; None of all others."""
    if not isinstance(ctype, RecordType) or ctype.record is not None or len(ctype.members) != 1:
        return None
    only = ctype.members[0]
    return only.type if not only.name and isinstance(only.type, ArrayType) else None


def lay_out(
    name: str,
    fields: list[tuple[str, CType, int]],
    *,
    union: bool = False,
    align: int = 1,
    record: object = None,
    arguments: tuple[str, ...] = (),
    pack: int | None = 0,
) -> RecordType:
    """Returns a record from (name, type, extra alignment) fields, by the rules of the C ABI.

    Args:
        name: of the record.
        fields: in order of declaration.
        union: all members at offset 0.
        align: `alignas` of the whole record, in bytes.
        record: the front end's record, for its methods.
        arguments: its template arguments.
        pack: bytes that members are aligned to at most; 0 without a limit, None where they are
            aligned to what they ask for themselves.
    """
    placed: list[tuple[str, CType, int]] = []
    end = size = 0
    for field_name, ctype, extra in fields:
        begin, end, natural = _placed(ctype, extra, 0 if union else end, pack, bool(field_name))
        align = max(align, natural)
        size = max(size, end)
        if field_name or not isinstance(ctype, BitField):
            placed.append((field_name, ctype, begin))
    offsets = [begin // 8 for _, _, begin in placed] if union else _apart(placed, end)
    if offsets is None:  # several bit-fields of one byte cannot be told apart
        unsized = [(n, _without_bits(ctype), extra) for n, ctype, extra in fields]
        return lay_out(name, unsized, align=align, record=record, arguments=arguments, pack=pack)
    members = []
    behind = ""
    for (field_name, ctype, _), offset in zip(placed, offsets, strict=True):
        members.append(Member(field_name, ctype, offset, behind))
        if not union and not is_sized(ctype):
            behind = behind or field_name or getattr(ctype, "spelling", name)
    size = -(-max(size, 1) // 8)
    return RecordType(
        name,
        tuple(members),
        -(-size // align) * align,
        align,
        record=record,
        arguments=arguments,
        is_sized=all(is_sized(ctype) for _, ctype, _ in fields),
        data_size=size,
    )


def _placed(
    ctype: CType, extra: int, at: int, pack: int | None, is_named: bool
) -> tuple[int, int, int]:
    """Returns the bits from which and up to which a member lies, and the bytes it is aligned to.

    A bit-field does not cross the units of its type that it is aligned to.
    Source: System V ABI for x86-64, 3.1.2; GCC 12, `place_field` in stor-layout.cc.

    Args:
        ctype: of the member.
        extra: what `alignas` demands.
        at: the bit behind the member before it.
        pack: as that of `lay_out`.
        is_named: a bit-field without a name does not align the record.
    """
    natural = max(ctype.align if pack is not None else 1, extra, 1)
    natural = min(natural, pack or natural)
    unit = 8 * natural
    if not isinstance(ctype, BitField):
        begin = -(-at // unit) * unit
        size = 1 if isinstance(ctype, OpaqueType) and not ctype.size else ctype.size
        return begin, begin + 8 * size, natural
    crosses = -(-(at % unit + ctype.bits) // unit) * unit > 8 * ctype.size
    if extra or not ctype.bits or (crosses and pack == 0):
        at = -(-at // unit) * unit
    return at, at + ctype.bits, natural if is_named else 1


def _apart(placed: Sequence[tuple[str, CType, int]], end: int) -> list[int] | None:
    """Returns bytes where members lie, each bit-field at another one of those of its neighbours.

    None where there are more bit-fields than bytes.

    Args:
        placed: name, type and first bit of each member.
        end: the bit behind the last one.
    """
    limits: list[int] = []
    for _, ctype, begin in reversed(placed):
        limits.append(end)
        end = end if isinstance(ctype, BitField) else begin
    found: list[int] = []
    free = 0
    for (_, ctype, begin), limit in zip(placed, reversed(limits), strict=True):
        at = begin // 8
        if isinstance(ctype, BitField):
            at = max(free, at)
            if 8 * at >= limit:
                return None
        found.append(at)
        free = at + (1 if isinstance(ctype, BitField) else ctype.size)
    return found


def _without_bits(ctype: CType) -> CType:
    if not isinstance(ctype, BitField):
        return ctype
    return OpaqueType(ctype.spelling, ctype.size, ctype.align)


def as_base(ctype: CType) -> CType:
    """Returns a class as a part of those derived from it, in which empty ones take no room.

    Members behind one that is not plain lie in its padding. Source: Itanium C++ ABI, 2.4.
    """
    if not isinstance(ctype, RecordType):
        return ctype
    is_empty = ctype.is_sized and all(m.type.size == 0 for m in ctype.members)
    if is_empty:
        return replace(ctype, size=0)
    if ctype.is_plain or not ctype.is_sized or ctype.data_size == ctype.size:
        return ctype
    if ctype.is_plain is None:
        return replace(ctype, is_sized=False)
    return replace(ctype, size=ctype.data_size)


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
