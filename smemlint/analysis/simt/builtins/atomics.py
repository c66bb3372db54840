"""Which lanes of a warp issue a shared atomic: the compiler adds up on an address that they share.

Found by reading the SASS of some 2000 kernels of our own (nvcc 13.0.88, sm_80, sm_90 and sm_100):
each operation on each type, its result used or not, on an address that is constant, uniform at run
time or by lane, with operands of the same kinds. On an address that ptxas proves to be one for the
warp, 32-bit integers are combined in registers and one lane issues the atomic:

- add and sub of an operand that is one for the warp: POPC of the active lanes times the operand;
- add, sub, min, max, and, or, xor whose result is not used: REDUX;
- add and sub of any operand whose result is used: a prefix sum over SHFL, but only in a warp
  whose lanes are all active; else every lane issues its own.

Adds of the constant 1 whose result is not used become ATOMS.POPC.INC instead, which every lane
issues. Exchanges, compare-and-swap, bounded inc and dec and floating-point numbers are never
combined; of 64-bit integers only add of a uniform operand is. Counters of an H200 agree in
fixtures/kernels/uniform_atomics.cu but for one line: under `tid % 3 == 0`, of 23 conditions tried
the only kind, nothing is combined on a constant address.

Before sm_80 there is neither instruction (15 kernels, sm_75): ones are added as any other number
is, and in the place of REDUX stands a butterfly over SHFL, in warps whose lanes are all active.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.simt.domain.integer_scev import scev_of
from smemlint.analysis.simt.domain.values import AffineInt, Unknown, Value
from smemlint.hardware.arch import architecture
from smemlint.hardware.atomics import ONE, executed

_REDUCED = frozenset(("add", "min", "max", "and", "or", "xor"))
_WARP = 32
_COUNTED = ("add.u32.one.red", "add.s32.one.red")


def is_one_for_a_warp(value: Value) -> bool:
    """Returns whether the compiler can tell that all lanes of a warp hold one value."""
    if isinstance(value, AffineInt):
        return not scev_of(value).is_divergent
    return isinstance(value, Unknown) and value.is_uniform


def compiled(operation: str, operand: Value, *, is_used: bool, arch: str) -> str:
    """Returns the operation as it is compiled: counting ones has an instruction of its own."""
    is_one = isinstance(operand, AffineInt) and operand.constant == 1 and not scev_of(operand).terms
    if operation in ("add.u32", "add.s32") and is_one and not is_used:
        operation += ONE
    return executed(operation, arch)


def issuing(
    mask: NDArray[np.bool_],
    operation: str,
    address: AffineInt,
    operand: Value,
    *,
    is_used: bool,
    arch: str,
) -> NDArray[np.bool_]:
    """Returns the threads that issue an atomic.

    Args:
        mask: the active threads, of shape (32 * warps,).
        operation: e.g. `add.u32`.
        address: the offset that it works on.
        operand: what is added, compared, ...
        is_used: whether its result is.
        arch: the target.

    Returns:
        `mask`, or only its last thread of each warp where the compiler combines the lanes.
    """
    name, _, kind = operation.partition(".")
    is_integer, bits = kind[:1] in ("u", "s", "b"), kind[1:]
    if operation in _COUNTED or not is_integer or not is_one_for_a_warp(address):
        return mask
    is_scaled = name == "add" and is_one_for_a_warp(operand)
    if bits == "64":
        return _last_of_each_warp(mask) if is_scaled else mask
    if name not in _REDUCED or bits != "32":
        return mask
    is_reduced = not is_used and architecture(arch).has_warp_atomics
    if is_scaled or is_reduced:
        return _last_of_each_warp(mask)
    if name == "add" or not is_used:  # over SHFL, in full warps only
        is_full = mask.reshape(-1, _WARP).all(axis=1).repeat(_WARP)
        return np.where(is_full, _last_of_each_warp(mask), mask)
    return mask


def _last_of_each_warp(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    rows = mask.reshape(-1, _WARP)
    last = _WARP - 1 - rows[:, ::-1].argmax(axis=1)
    alone: NDArray[np.bool_] = rows & (np.arange(_WARP) == last[:, None])
    return alone.reshape(-1)
