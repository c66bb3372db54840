"""Where machine code of each architecture finds what its launch gives: words of constant bank 0.

NVIDIA documents none of this. The places are those that ptxas 13.0 reads for a kernel that asks for
`blockDim`, a spilled register and its parameters, target by target.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.analysis.compiled.state import Geometry
from smemlint.analysis.compiled.values import ZERO, Value
from smemlint.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from smemlint.config.options import Block

SHARED_WINDOW = 0x5A5A0000
"""Stands for the upper word of generic addresses into shared memory, which no code looks at."""
_STACK_TOP = Value(1 << 20)


@dataclass(frozen=True, slots=True)
class Target:
    """What machine code of an architecture takes for granted.

    Attributes:
        arch: its name, e.g. `sm_90`.
        block_size: offset of `blockDim.x` in constant bank 0; y and z follow.
        stack_pointer: offset of the address of a thread's local memory.
        parameters: offset of the first parameter, where a cubin does not say.
        reserved: bytes of shared memory in front of a kernel's own.
        window: offset of the generic address of shared memory; None where `SR_SWINHI` holds it.
    """

    arch: str
    block_size: int
    stack_pointer: int
    parameters: int
    reserved: int
    window: int | None = None


_SYSTEM_BYTES = 1024
TARGETS: dict[str, Target] = {
    **{
        arch: Target(arch, 0x0, 0x28, 0x160, 0, 0x18)
        for arch in ("sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89")
    },
    "sm_90": Target("sm_90", 0x0, 0x28, 0x210, _SYSTEM_BYTES),
    **{
        arch: Target(arch, 0x360, 0x37C, 0x380, _SYSTEM_BYTES)
        for arch in ("sm_100", "sm_103", "sm_110", "sm_120", "sm_121")
    },
}


def target_of(name: str) -> Target | None:
    """Returns the target of that name (`sm_90a` is `sm_90`), or None if its code is not read."""
    return TARGETS.get(name.rstrip("af"))


def constant(place: int) -> tuple[str, int]:
    """Returns the register that stands for a word of constant bank 0."""
    return ("constant", place)


def launched(target: Target, block: Block, words: Mapping[int, int] | None = None) -> Geometry:
    """Returns the geometry of a block with the constants that its launch gives.

    Args:
        target: of the code.
        block: its extents.
        words: further words of constant bank 0 that are known, by offset, e.g. parameters.
    """
    known: dict[Hashable, Value] = {constant(target.stack_pointer): _STACK_TOP}
    for axis, extent in enumerate(block):
        known[constant(target.block_size + 4 * axis)] = Value(extent)
    if target.window is not None:
        known[constant(target.window)] = ZERO
        known[constant(target.window + 4)] = Value(SHARED_WINDOW)
    known |= {constant(place): Value(word) for place, word in (words or {}).items()}
    return Geometry.of(block, known)
