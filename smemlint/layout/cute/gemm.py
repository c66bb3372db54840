"""`gemm` on operands in shared memory, as the loads that it makes.

Source: CUTLASS 4.7, `cute/algorithm/gemm.hpp`.
"""

from __future__ import annotations

from smemlint.layout.cute.copying import Instruction, copy
from smemlint.layout.cute.integers import UNDERSCORE, CuteError, static
from smemlint.layout.cute.layouts import prepend
from smemlint.layout.cute.tensors import Tensor
from smemlint.layout.cute.tiled_mma import TiledMma


def gemm(a: Tensor, b: Tensor, mma: TiledMma | None = None) -> list[Instruction]:
    """Returns the loads of `gemm(mma, A, B, C)` in order; none where A and B are in registers.

    Operands in shared memory are copied to fragments one k at a time, as `copy(src, dst)` does.
    Operands that the MMA reads by descriptor have no lane addresses: one record each.

    Args:
        a: (V, M, K) or (M, K).
        b: (V, N, K) or (N, K).
        mma: `UniversalFMA` by default.

    Raises:
        CuteError: only one operand is in shared memory, or the ranks have no overload.
    """
    descriptors = [
        tensor
        for tensor, is_descriptor in (
            (a, mma is not None and mma.op.a_is_descriptor),
            (b, mma is not None and mma.op.b_is_descriptor),
        )
        if is_descriptor and tensor.is_shared
    ]
    if descriptors:
        return [Instruction("descriptor", 0, None, tensor) for tensor in descriptors]
    if not a.is_shared and not b.is_shared:
        return []
    if not a.is_shared or not b.is_shared:
        raise CuteError("gemm of one operand in shared memory and one in registers")
    if a.rank == 2:
        a, b = (t.apply(lambda layout: prepend(layout, 3)) for t in (a, b))
    if a.rank != 3 or b.rank != 3:
        raise CuteError(f"gemm of operands of rank {a.rank} in shared memory")
    found: list[Instruction] = []
    fragments = [
        (t, t.fragment_like(_fragment_bits(mma, name) or None)) for t, name in ((a, "A"), (b, "B"))
    ]
    for k in range(static(a.mode(2).size)):
        for tensor, fragment in fragments:
            at = (UNDERSCORE, UNDERSCORE, k)
            found += copy(tensor.slice(*at), fragment.slice(*at))
    return found


def _fragment_bits(mma: TiledMma | None, operand: str) -> int:
    return mma.op.element_bits(operand) if mma is not None else 0
