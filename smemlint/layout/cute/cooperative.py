"""`cooperative_copy` and `cooperative_gemm`: threads share a copy or a product of tiles.

Source: CUTLASS 4.7, `cute/algorithm/cooperative_copy.hpp` and `cooperative_gemm.hpp`.
"""

from __future__ import annotations

from smemlint.layout.cute.algebra import coalesce, composition, domain_distribute, logical_divide
from smemlint.layout.cute.copy_traits import DEFAULT_COPY, CopyOp
from smemlint.layout.cute.copying import Instruction, copy
from smemlint.layout.cute.int_tuples import IntTuple, product
from smemlint.layout.cute.integers import (
    UNDERSCORE,
    CuteError,
    Integer,
    greatest_common_divisor,
    lanes_of,
    static,
)
from smemlint.layout.cute.inverses import max_alignment, right_inverse
from smemlint.layout.cute.layouts import ComposedLayout, Layout
from smemlint.layout.cute.tensors import Space, Tensor, common_vector
from smemlint.layout.cute.tiled_copy import CopyAtom, make_tiled_copy_for
from smemlint.layout.cute.tiled_mma import Operand, TiledMma


def cooperative_copy(
    threads: int,
    thread: Integer,
    source: Tensor,
    destination: Tensor,
    max_vector_bits: int = 0,
    policy: CopyAtom | None = None,
) -> list[Instruction]:
    """Returns the instructions of `cooperative_copy<threads, max_vector_bits>(..)`.

    Args:
        threads: how many take part.
        thread: the number of each.
        source: in global or shared memory.
        destination: in global or shared memory.
        max_vector_bits: an element's width by default.
        policy: how vectors are copied, `DefaultCopy` by default.
    """
    limit = max_vector_bits or source.bits
    total = static(source.size)
    if total != static(destination.size) or source.bits != destination.bits:
        raise CuteError("cooperative_copy of tensors of other sizes or types")
    order = _better_order(source, destination)
    s, d = (
        tensor.apply(lambda layout: coalesce(logical_divide(layout, order), (1, 1)))
        for tensor in (source, destination)
    )
    common = common_vector(s, d)
    if total % threads:
        return _strided(threads, thread, s, d, common, limit)
    bits = max(
        source.bits,
        greatest_common_divisor(common * source.bits, limit, total * source.bits // threads),
    )
    elements = bits // source.bits
    tile = _tile(s, d, elements, min(threads, total // elements))
    s, d = (
        tensor.apply(lambda layout: logical_divide(layout, tile)).slice(
            (UNDERSCORE, thread), UNDERSCORE
        )
        for tensor in (s, d)
    )
    atom = policy if policy is not None else CopyAtom(DEFAULT_COPY, bits)
    return copy(s.recast(bits), d.recast(bits), atom)


def _tile(source: Tensor, destination: Tensor, elements: int, threads: int) -> Layout:
    """Maps (value, thread) to the elements that all threads copy at once."""
    count = elements * threads
    a, b = (domain_distribute(tensor.shape, count) for tensor in (source, destination))
    if a.size != count or b.size != count:
        raise CuteError("cooperative_copy finds no way to share the elements")
    domain = b if is_compatible(a.shape, b.shape) else a
    return composition(domain, Layout((elements, threads)))


def is_compatible(a: IntTuple, b: IntTuple) -> bool:
    """Returns whether every coordinate of shape `a` is one of `b`: `compatible`."""
    if not isinstance(a, tuple):
        return a == product(b)
    return isinstance(b, tuple) and len(a) == len(b) and all(map(is_compatible, a, b))


def _better_order(source: Tensor, destination: Tensor) -> Layout:
    """Returns the order of elements of the tensor whose contiguity matters more."""
    a, b = (right_inverse(tensor.layout.plain) for tensor in (source, destination))
    size_a, size_b = static(a.size), static(b.size)
    score_a = _score(source, size_a > size_b)
    return a if score_a >= _score(destination, size_b > size_a) else b


def _score(tensor: Tensor, is_longer: bool) -> tuple[bool, bool, bool]:
    composed = isinstance(tensor.layout, ComposedLayout) and tensor.layout.swizzle.bits
    pointer = tensor.swizzle is not None and tensor.swizzle.bits
    return bool(composed or pointer), tensor.space is Space.SHARED, is_longer


def _strided(
    threads: int, thread: Integer, source: Tensor, destination: Tensor, common: int, limit: int
) -> list[Instruction]:
    """Returns element `thread + i * threads` by thread; the first round is the remainder."""
    if common > 1 and limit > source.bits:
        bits = greatest_common_divisor(
            source.bits * max_alignment(source.layout),
            source.bits * max_alignment(destination.layout),
            limit,
        )
        source, destination = source.recast(bits), destination.recast(bits)
    count = static(destination.size)
    remainder = count % threads
    starts = ([0] if remainder else []) + list(range(remainder, count, threads))
    return [
        Instruction(
            op,
            max(tensor.bits // 8, 1),
            lanes_of(tensor.address_of(thread + start)),
            tensor,
        )
        for start in starts
        for tensor, op in ((source, "load"), (destination, "store"))
        if tensor.is_shared
    ]


def gemm_operand(
    mma: TiledMma, thread: Integer, tensor: Tensor, operand: Operand, op: CopyOp, is_store: bool
) -> list[Instruction]:
    """Returns how `cooperative_gemm` moves a tile between shared memory and fragments.

    Args:
        mma: that multiplies.
        thread: the number of each.
        tensor: the tile of the operand.
        operand: of the MMA.
        op: how it is copied: `SmemCopyOpA` and its like.
        is_store: whether the fragments are stored.

    Raises:
        CuteError: what CuTe refuses to compile, or a tile that is copied under conditions since
            the MMA's does not divide it.
    """
    extents = tuple(static(tensor.mode(i).size) for i in range(2))
    if any(extent % tile for extent, tile in zip(extents, mma.tile(operand), strict=True)):
        raise CuteError("cooperative_gemm of a tile that the MMA's does not divide")
    tiled = make_tiled_copy_for(CopyAtom(op, tensor.bits), mma, operand)
    fragment = mma.fragment(mma.partition(tensor, 0, operand), operand, tensor.bits)
    there = tiled.partition(tensor, thread, "D" if is_store else "S")
    here = tiled.retile(fragment)
    if operand == "C":
        return copy(here, there, tiled) if is_store else copy(there, here, tiled)
    found: list[Instruction] = []
    for k in range(static(there.mode(2).size)):
        at = (UNDERSCORE, UNDERSCORE, k)
        found += copy(there.slice(*at), here.slice(*at), tiled)
    return found
