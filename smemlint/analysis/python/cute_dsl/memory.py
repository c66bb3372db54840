"""Where CuTe DSL places shared tensors, and which copies of them stay whole vectors.

`autovec_copy` moves 16 bytes at once where it can see that they lie together and aligned, and
splits the copy silently where it cannot. Seen in the PTX of nvidia-cutlass-dsl 4.8.1
(fixtures/cute/vectors.json).
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import field
from math import gcd
from typing import TypeAlias

from smemlint.analysis.python.interpreter import Interpreter
from smemlint.analysis.python.interpreter.constant_folding import is_complete
from smemlint.analysis.python.interpreter.values import (
    UNKNOWN,
    Class,
    DType,
    ModelValue,
    Scopes,
    Value,
)
from smemlint.lazy_dataclasses import dataclass

WIDEST = 16
"""Bytes of the widest vector, and what the first allocation of a kernel is aligned to at least."""
Modes: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Steps(ModelValue):
    """A number that takes every value of a range, e.g. `tx // 8` of the thread's number."""


@dataclass(eq=False)
class Allocator(ModelValue):
    """A `SmemAllocator`."""

    count: int = 0

    def place(self, alignment: int) -> Placed:
        """Returns the place of the next allocation: only the first one's is known."""
        self.count += 1
        return Placed(0 if self.count == 1 else None, max(alignment, 1))


@dataclass(frozen=True, slots=True)
class Placed:
    """A byte of shared memory.

    Attributes:
        at: its number; None when unknown.
        multiple: what it is a multiple of, or is behind a multiple of by `offset`.
        offset: see there.
    """

    at: int | None
    multiple: int
    offset: int = 0

    def behind(self, offset: int) -> Placed:
        """Returns the place some bytes further."""
        return Placed(
            self.at + offset if self.at is not None else None, self.multiple, self.offset + offset
        )

    @property
    def residue(self) -> int | None:
        """Its number modulo the widest vector; None where it is not known."""
        if self.at is not None:
            return self.at % WIDEST
        return self.offset % WIDEST if self.multiple % WIDEST == 0 else None


@dataclass(frozen=True, slots=True)
class MemRange(ModelValue):
    """A field of a `cute.struct`: a number, or `MemRange[dtype, count]`.

    Attributes:
        dtype: of its elements.
        size: in bytes; None when unknown.
        alignment: in bytes.
        struct: of a field that is itself a struct.
    """

    dtype: DType
    size: int | None
    alignment: int
    struct: StructType | None = None


@dataclass(frozen=True, slots=True, eq=False)
class StructType(ModelValue):
    """A class marked `cute.struct`.

    Attributes:
        fields: each with its byte offset; None behind something of unknown size.
        alignment: in bytes; None when unknown.
        size: in bytes; None when unknown.
    """

    fields: dict[str, tuple[int | None, MemRange]]
    alignment: int | None
    size: int | None

    def merged(self, other: StructType) -> StructType:
        """Returns what is known of a struct that is one of two: fields of the same elements."""
        fields = {}
        for name, (at, own) in self.fields.items():
            its_at, its = other.fields.get(name, (None, own))
            if own.dtype == its.dtype:
                size = own.size if own.size == its.size else None
                alignment = min(own.alignment, its.alignment)
                struct = own.struct and its.struct and own.struct.merged(its.struct)
                field = MemRange(own.dtype, size, alignment, struct)
                fields[name] = at if at == its_at else None, field
        for name, (_, own) in other.fields.items():
            if name not in self.fields:
                fields[name] = None, own
        return StructType(
            fields,
            self.alignment if self.alignment == other.alignment else None,
            self.size if self.size == other.size else None,
        )

    @staticmethod
    def of(members: list[tuple[str, Value]]) -> StructType:
        """Returns the layout of its members, in order."""
        at: int | None = 0
        alignment: int | None = 1
        fields: dict[str, tuple[int | None, MemRange]] = {}
        for name, value in members:
            found = as_range(value)
            if found is None:
                at = alignment = None
                continue
            if at is not None:
                at = -(-at // found.alignment) * found.alignment
            if found.struct is not None and found.struct.alignment is None:
                at = alignment = None
            if alignment is not None:
                alignment = max(alignment, found.alignment)
            fields[name] = at, found
            at = at + found.size if at is not None and found.size is not None else None
        size = None
        if at is not None and alignment is not None:
            size = -(-at // alignment) * alignment
        return StructType(fields, alignment, size)


def struct_of_class(owner: Class) -> StructType | None:
    """Returns the layout of the members that were assigned to a class's `__annotations__`."""
    members = owner.members.get("__annotations__")
    if not isinstance(members, dict) or not is_complete(members):
        return None
    return StructType.of([(n, value) for n, value in members.items() if isinstance(n, str)])


def struct_of(interpreter: Interpreter, node: ast.ClassDef, scopes: Scopes) -> StructType:
    """Returns the layout of the annotated members of a class, in order."""
    return StructType.of(_members(interpreter, node.body, scopes))


def annotations_of(interpreter: Interpreter, node: ast.ClassDef, scopes: Scopes) -> Value:
    """Returns the annotations of a class by name; unknown where one of them is left open."""
    members = _members(interpreter, node.body, scopes)
    return dict(members) if _UNKNOWN_MEMBER not in members else UNKNOWN


_UNKNOWN_MEMBER: tuple[str, Value] = ("", UNKNOWN)


def _members(
    interpreter: Interpreter, body: Sequence[ast.stmt], scopes: Scopes
) -> list[tuple[str, Value]]:
    """Returns the annotated members of a class; nothing is known behind those it may not have."""
    found: list[tuple[str, Value]] = []
    for member in body:
        if isinstance(member, ast.AnnAssign):
            name = ast.unparse(member.target)
            found.append((name, interpreter.evaluate(member.annotation, scopes)))
        elif isinstance(member, ast.If):
            test = interpreter.evaluate(member.test, scopes)
            if isinstance(test, bool | int | None):
                found += _members(interpreter, member.body if test else member.orelse, scopes)
                continue
            for side in (member.body, member.orelse):
                found += [_UNKNOWN_MEMBER, *_members(interpreter, side, scopes)]
            found.append(_UNKNOWN_MEMBER)
    return found


def as_range(value: Value) -> MemRange | None:
    """Returns a field's annotation as a range of memory."""
    match value:
        case MemRange():
            return value
        case DType(bits=bits) if bits >= 8:
            return MemRange(value, bits // 8, bits // 8)
        case StructType(alignment=alignment, size=size):
            return MemRange(DType("struct", 8), size, alignment or 1, value)
    return None


@dataclass(frozen=True, slots=True, eq=False)
class StructInstance(ModelValue):
    """`allocator.allocate(Storage)`."""

    type: StructType
    place: Placed


@dataclass(frozen=True, slots=True, eq=False)
class Field(ModelValue):
    """A field of an allocated struct, which makes tensors."""

    dtype: DType
    place: Placed


@dataclass(frozen=True, slots=True, eq=False)
class SharedTensor(ModelValue):
    """A tensor of shared memory.

    Attributes:
        element_bytes: of its elements.
        shape, stride: flat modes, strides in elements.
        place: of its element 0.
        swizzle: (B, M, S) that its offsets go through; None without one.
        units: `elements` or `bytes`, what the swizzle counts in.
        spelled: the swizzle as the source writes it.
    """

    element_bytes: int
    shape: Modes
    stride: Modes
    place: Placed
    swizzle: tuple[int, int, int] | None = None
    units: str = ""
    spelled: str = ""

    @property
    def group(self) -> int:
        """Bytes that the swizzle keeps together; the widest vector without one."""
        if self.swizzle is None:
            return WIDEST
        unit = self.element_bytes if self.units == "elements" else 1
        return min(WIDEST, unit << self.swizzle[1])


@dataclass(frozen=True, slots=True, eq=False)
class TileValue(ModelValue):
    """`local_tile(tensor, tiler, coordinates)`: one tile of a shared tensor."""

    tensor: SharedTensor
    tiler: Modes
    coordinates: tuple[Value, ...]

    @property
    def vector(self) -> int:
        """Bytes that one copy could move: a single run of elements; 0 where it is none."""
        runs = [(n, d) for n, d in zip(self.tiler, self.tensor.stride, strict=True) if n > 1]
        if len(runs) != 1 or runs[0][1] != 1:
            return 0
        size = runs[0][0] * self.tensor.element_bytes
        return min(size & -size, WIDEST)

    @property
    def aligned(self) -> int:
        """What power of two of bytes each tile surely begins on; 0 where it is not known.

        Some tile begins on no higher one, since each coordinate takes all values of its range.
        """
        residue = self.tensor.place.residue
        if residue is None:
            return 0
        steps = [WIDEST, residue]
        for n, d, coordinate in zip(self.tiler, self.tensor.stride, self.coordinates, strict=True):
            step = n * d * self.tensor.element_bytes
            if isinstance(coordinate, Steps):
                steps.append(step)
            elif isinstance(coordinate, int):
                residue += step * coordinate
            else:
                return 0
        steps[1] = residue % WIDEST
        found = gcd(*steps)
        return found & -found


@dataclass(frozen=True, slots=True, eq=False)
class Registers(ModelValue):
    """A tensor of registers, which takes any vector."""

    shape: Modes = field(default=())
