"""`copy` and its relatives, as the instructions that touch shared memory.

Source: CUTLASS 4.7, `cute/algorithm/copy.hpp`, `cute/atom/copy_atom.hpp` and
`cute/atom/copy_traits.hpp`. Everything is unrolled; the order is that of execution.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from smemlint.layout.cute.algebra import zipped_divide
from smemlint.layout.cute.copy_traits import CopyOp, Mechanism
from smemlint.layout.cute.int_tuples import is_static
from smemlint.layout.cute.integers import (
    UNDERSCORE,
    CuteError,
    Lanes,
    Refused,
    greatest_common_divisor,
    lanes_of,
    static,
)
from smemlint.layout.cute.inverses import nullspace
from smemlint.layout.cute.layouts import Layout
from smemlint.layout.cute.tensors import Tensor, alignment_bits, common_vector
from smemlint.layout.cute.tiled_copy import CopyAtom, Side, TiledCopy
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_COPY_INSTRUCTIONS


@dataclass(frozen=True, slots=True, eq=False)
class CopiedFrom:
    """What an asynchronous copy reads.

    Attributes:
        tensor: in global memory; None where it is not known.
        address: byte address in each thread; None without a tensor.
        form: `cg` or `ca`.
        is_zero_filling: whether the copy has a source size.
    """

    tensor: Tensor | None
    address: Lanes
    form: str
    is_zero_filling: bool


@dataclass(frozen=True, slots=True, eq=False)
class Instruction:
    """One instruction that a warp executes on shared memory.

    Attributes:
        op: `load`, `store`, `cp.async`, `ldmatrix` or `stmatrix`, or the mechanism of an operation
            without lane addresses.
        width: bytes that a lane names with one address; 0 without lane addresses.
        address: byte address in each thread; None without lane addresses.
        matrices: of ldmatrix and stmatrix.
        copied: of `cp.async`, what it reads; None for others.
        is_assembly: whether a load or store is inline assembly.
    """

    op: str
    width: int
    address: Lanes
    tensor: Tensor
    matrices: int = 0
    copied: CopiedFrom | None = None
    is_assembly: bool = False


Policy: TypeAlias = "CopyAtom | TiledCopy"


def copy(source: Tensor, destination: Tensor, policy: Policy | None = None) -> list[Instruction]:
    """Returns the instructions of `copy(policy, source, destination)`.

    Without a policy it vectorizes as far as the layouts allow: static layouts are assumed to be
    aligned to 16 bytes, others to nothing.
    """
    if policy is not None:
        atom = policy.atom if isinstance(policy, TiledCopy) else policy
        return _copy_by_atom(atom, source, destination)
    if source.layout.is_static and destination.layout.is_static:
        return _filtered(128, source, destination)
    return _aligned_to(8, source, destination)


def copy_if(policy: Policy, source: Tensor, destination: Tensor) -> list[Instruction]:
    """Returns the instructions of `copy_if(policy, predicate, source, destination)`.

    It does not skip repeated destinations.
    """
    atom = policy.atom if isinstance(policy, TiledCopy) else policy
    if atom.op.mechanism is Mechanism.AUTO_VECTORIZING:
        return _vectorized(atom.op.max_vector_bits, source, destination)
    return _copy_by_atom(atom, source, destination, skips_repeated=False)


def copy_aligned(source: Tensor, destination: Tensor) -> list[Instruction]:
    """Returns the instructions of `copy_aligned`: all strides are assumed to be aligned."""
    return _aligned_to(128, source, destination)


def copy_elements(source: Tensor, destination: Tensor) -> list[Instruction]:
    """Returns the accesses of `dst(i) = src(i)` for every element."""
    found: list[Instruction] = []
    for i in _count(destination):
        for tensor, op in ((source, "load"), (destination, "store")):
            if tensor.is_shared:
                found.append(_element(tensor, op, i))
    return found


def _element(tensor: Tensor, op: str, index: int) -> Instruction:
    address = lanes_of(tensor.address_of(index))
    width = max(tensor.bits // 8, 1)
    return Instruction(op, width, address, tensor)


def store_elements(tensor: Tensor) -> list[Instruction]:
    """Returns the stores of `clear(tensor)` and `fill(tensor, value)`."""
    return [_element(tensor, "store", i) for i in _count(tensor)] if tensor.is_shared else []


def _count(tensor: Tensor) -> range:
    size = static(tensor.size)
    if size > MAX_COPY_INSTRUCTIONS:
        raise CuteError(f"a copy of {size} elements a thread")
    return range(size)


def accesses_of_side(atom: CopyAtom, tensor: Tensor, side: Side) -> list[Instruction]:
    """Returns the instructions of a copy for one of its sides in shared memory.

    The other side does not matter to an operation of a fixed width: its addresses are those of
    the atoms that the side has.

    Raises:
        CuteError: the operation vectorizes by what it finds, or the tensor does not hold its atoms.
    """
    op = atom.op
    if op.mechanism is Mechanism.AUTO_VECTORIZING or not op.has_lane_addresses:
        raise CuteError(f"{op.name} moves what lies together on both sides")
    values = (atom.source if side == "S" else atom.destination).mode(1).size
    bits = op.source_register_bits if side == "S" else op.destination_register_bits
    kind = op.mechanism.value
    if op.mechanism is Mechanism.UNIVERSAL:
        kind = "load" if side == "S" else "store"
    found = []
    for part in _atoms_of(atom, tensor, static(values)):
        vector = part.recast(bits)
        if vector.size != 1:
            raise _mismatch(op, "does not vectorize", part)
        address = lanes_of(vector.address_of(0))
        width = max(vector.bits // 8, 1)
        found.append(
            Instruction(
                kind,
                width,
                address,
                vector,
                op.matrices,
                copied=_copied_from(op, None),
                is_assembly=op.is_assembly,
            )
        )
    return found


def _atoms_of(atom: CopyAtom, tensor: Tensor, values: int) -> Iterator[Tensor]:
    """Yields the parts that the operation moves at once, in the order of `_copy_by_atom`."""
    if tensor.rank > 1:
        whole = tensor.group(1, tensor.rank)
        parts = [whole.slice(UNDERSCORE, i) for i in _count(whole.mode(1))]
    else:
        parts = [tensor]
    for part in parts:
        if part.size == values:
            yield part
        elif isinstance(part.shape, tuple):
            yield from _atoms_of(atom, part.mode(0), values)
        else:
            raise _mismatch(atom.op, "does not match the partitioning", part)


def _mismatch(op: CopyOp, what: str, *tensors: Tensor) -> CuteError:
    """Returns the error that an operation does not fit tensors, a refusal if all is static."""
    error = Refused if all(t.layout.plain.is_static for t in tensors) else CuteError
    return error(f"{op.name} {what}: {' -> '.join(map(str, tensors))}")


# ---- by atom


def _copy_by_atom(
    atom: CopyAtom,
    source: Tensor,
    destination: Tensor,
    *,
    skips_repeated: bool = True,
) -> list[Instruction]:
    if not atom.op.has_lane_addresses:
        return [_without_lanes(atom.op, t) for t in (source, destination) if t.is_shared]
    if atom.op.mechanism is Mechanism.AUTO_VECTORIZING:
        return _vectorized(atom.op.max_vector_bits, source, destination)
    if source.rank != destination.rank:
        raise CuteError(f"copy of rank {source.rank} to rank {destination.rank}")
    if source.rank == 1:
        return _call(atom, source, destination, skips_repeated)
    s, d = source.group(1, source.rank), destination.group(1, destination.rank)
    if skips_repeated and is_static(s.shape) and is_static(d.shape):
        repeated = nullspace(d.mode(1).layout)
        s, d = _representatives(s, repeated), _representatives(d, repeated)
    return [
        instruction
        for i in _count(d.mode(1))
        for instruction in _call(
            atom, s.slice(UNDERSCORE, i), d.slice(UNDERSCORE, i), skips_repeated
        )
    ]


def _without_lanes(op: CopyOp, tensor: Tensor) -> Instruction:
    return Instruction(op.mechanism.value, 0, None, tensor)


def _representatives(tensor: Tensor, repeated: Layout) -> Tensor:
    """Returns one element of each class of rests that is the same element of the destination."""
    values = tensor.layout.plain.mode(0).shape
    divided = tensor.apply(lambda layout: zipped_divide(layout, (values, repeated)))
    return divided.slice((UNDERSCORE, 0), (0, UNDERSCORE))


def _call(
    atom: CopyAtom, source: Tensor, destination: Tensor, skips_repeated: bool
) -> list[Instruction]:
    """Executes the operation, or peels off a mode until it fits."""
    if source.size == atom.source.mode(1).size or destination.size == atom.destination.mode(1).size:
        return _execute(atom.op, source, destination)
    if isinstance(source.shape, tuple) and isinstance(destination.shape, tuple):
        return _copy_by_atom(
            atom, source.mode(0), destination.mode(0), skips_repeated=skips_repeated
        )
    raise _mismatch(atom.op, "does not match the partitioning", source, destination)


def _execute(op: CopyOp, source: Tensor, destination: Tensor) -> list[Instruction]:
    s = source.recast(op.source_register_bits)
    d = destination.recast(op.destination_register_bits)
    expected = (
        static(op.source.mode(1).size) // op.source_register_bits,
        static(op.destination.mode(1).size) // op.destination_register_bits,
    )
    if (s.size, d.size) != expected:
        raise _mismatch(op, "does not vectorize", source, destination)
    found = []
    for tensor, plain in ((s, "load"), (d, "store")):
        if tensor.is_shared:
            name = plain if op.mechanism is Mechanism.UNIVERSAL else op.mechanism.value
            found.append(
                Instruction(
                    name,
                    max(tensor.bits // 8, 1),
                    lanes_of(tensor.address_of(0)),
                    tensor,
                    op.matrices,
                    _copied_from(op, s),
                    op.is_assembly,
                )
            )
    return found


def _copied_from(op: CopyOp, source: Tensor | None) -> CopiedFrom | None:
    if op.mechanism is not Mechanism.CP_ASYNC:
        return None
    form = "cg" if op.is_global else "ca"
    address = lanes_of(source.address_of(0)) if source is not None else None
    return CopiedFrom(source, address, form, op.is_zero_filling)


# ---- auto-vectorizing


def _aligned_to(bits: int, source: Tensor, destination: Tensor) -> list[Instruction]:
    if is_static(source.shape) and is_static(destination.shape):
        return _filtered(bits, source, destination)
    return _vectorized(bits, source, destination)


def _filtered(bits: int, source: Tensor, destination: Tensor) -> list[Instruction]:
    """Copies one element of each class that is the same element of the destination."""
    if isinstance(source.size, int) and source.size == destination.size:
        repeated = nullspace(destination.layout)
        source, destination = (
            tensor.apply(lambda layout: zipped_divide(layout, repeated)).slice(0, UNDERSCORE)
            for tensor in (source, destination)
        )
    return _vectorized(bits, source, destination)


def _vectorized(max_bits: int, source: Tensor, destination: Tensor) -> list[Instruction]:
    width = vector_bits(source, destination, max_bits)
    if width > destination.bits:
        source, destination = source.recast(width), destination.recast(width)
    return copy_elements(source, destination)


def vector_bits(source: Tensor, destination: Tensor, max_bits: int) -> int:
    """Returns the width that an auto-vectorizing copy takes, in bits.

    Nothing checks the pointers: a vector may be wider than the alignment that they have.
    """
    elements = common_vector(source, destination)
    if elements > 1:
        aligned = greatest_common_divisor(
            alignment_bits(source), alignment_bits(destination), max_bits
        )
        width = greatest_common_divisor(elements * destination.bits, aligned)
        if width % 8 == 0 and width > destination.bits:
            return width
    return destination.bits
