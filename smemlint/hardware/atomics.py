"""How shared atomics serialize, by operation, as far as it was measured (H200, sm_90)."""

from __future__ import annotations

from enum import Enum

import numpy as np
from numpy.typing import NDArray

from smemlint.hardware.arch import architecture


class Serialization(Enum):
    """What makes the lanes of an atomic take turns."""

    BY_LANE = "every active lane of a bank takes a turn: lanes on one word serialize"
    BY_WORD = "every distinct word of a bank takes a turn: lanes on one word are counted together"


_ONE_INSTRUCTION = ("add", "inc", "dec", "min", "max", "exch", "and", "or", "xor", "cas")
_TYPES = ("u32", "s32", "b32")

MEASURED: dict[str, Serialization] = {
    **{f"{op}.{t}": Serialization.BY_LANE for op in _ONE_INSTRUCTION for t in _TYPES},
    "add.u32.one.red": Serialization.BY_WORD,
    "add.s32.one.red": Serialization.BY_WORD,
}
"""Operation -> rule. `.one.red` is an add of the constant 1 whose result is not used, which
compiles to ATOMS.POPC.INC."""


LOOPS = {"add.f32": 4, "add.f64": 8, "add.u64": 8}
"""Operation -> width. They compile to a load and a loop around ATOMS.CAST.SPIN; lanes that meet in
a bank try again."""
_HALF = 16
_BANKS = 32
_WORD = 4


def attempt(
    addresses: NDArray[np.int64], active: NDArray[np.bool_], operation: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns what one turn of the loop around ATOMS.CAST.SPIN costs.

    Lanes on one word add turns, but no wavefronts to a turn. (Measured: every row of add.f32,
    add.f64 and add.u64 in fixtures/gpu/atomics.json that is not refused here.)

    Args:
        addresses: of the lanes in bytes, of shape (n, 32).
        active: which lanes take part, of shape (n, 32).
        operation: a key of `LOOPS`.

    Returns:
        Wavefronts and the profiler's ideal of shape (n,): those of the first turn, and in the same
        proportion to each other as those of all turns.

    Raises:
        ValueError: lanes meet in a bank on different words, so that later turns cost otherwise.
    """
    width = LOOPS[operation]
    words = np.where(active, addresses // width, -1)
    lanes = np.arange(words.shape[1])
    together = active[:, :, None] & active[:, None, :] & (lanes[:, None] != lanes)
    same_word = words[:, :, None] == words[:, None, :]
    banks = words % (_BANKS * _WORD // width)
    passes = lanes // _HALF if width > _WORD else lanes * 0
    met = together & (banks[:, :, None] == banks[:, None, :]) & (passes[:, None] == passes)
    is_mixed = (met & ~same_word).any(axis=(1, 2))
    if width > _WORD:  # turns in which one half is done cost less: all lanes on a word, or none
        on_one = (same_word | ~together).all(axis=(1, 2))
        is_mixed |= (together & same_word).any(axis=(1, 2)) & ~on_one
    if is_mixed.any():
        raise ValueError(f"atomic `{operation}` is a loop: lanes that meet in a bank try again")
    bytes_moved = np.count_nonzero(active, axis=1) * width
    halves = np.stack([active[:, :_HALF], active[:, _HALF:]]).any(axis=2)
    spent = np.count_nonzero(halves, axis=0) if width > _WORD else halves.any(axis=0)
    ideal = -(-bytes_moved // (_BANKS * _WORD))
    return 2 * np.asarray(spent, np.int64), 2 * np.asarray(ideal, np.int64)


def has_varying_turns(
    addresses: NDArray[np.int64], active: NDArray[np.bool_], operation: str
) -> bool:
    """Returns whether how many lanes are left in each turn of a loop hangs on the warps' timing.

    Of wide operands a turn costs a wavefront for each half of the warp that has lanes left. Alone,
    a warp is done with one half before the other; where several warps meet on a word, lanes of both
    halves are left for longer. (An H100 counted 303,078 wavefronts for an ideal of 282,440 where
    four warps add doubles to one word; `attempt` gives 4 of 4.)
    """
    width = LOOPS.get(operation, 0)
    if width <= _WORD:
        return False
    own = [np.unique(row[mask]) for row, mask in zip(addresses // width, active, strict=True)]
    is_shared = len(np.unique(np.concatenate(own))) < sum(map(len, own))
    return is_shared and any(
        len(words) < np.count_nonzero(mask) for words, mask in zip(own, active, strict=True)
    )


def attempts(operation: str) -> int:
    """Rounds of an operation: compare-and-swap takes two (measured, 26 of 26 patterns)."""
    return 2 if operation.startswith("cas.") else 1


ONE = ".one.red"
"""Ends an operation that adds the constant 1 and whose result is not used."""


def executed(operation: str, arch: str) -> str:
    """Returns what a target executes: before sm_80, ones are added as any other number is."""
    if operation.endswith(ONE) and not architecture(arch).has_warp_atomics:
        return operation.removesuffix(ONE)
    return operation


def serialization(operation: str) -> Serialization:
    """Returns the rule of an operation.

    Raises:
        ValueError: nobody measured it, or it compiles to a loop (see `attempt`).
    """
    rule = MEASURED.get(operation)
    if rule is None:
        raise ValueError(f"atomic `{operation}` was not measured or depends on the data")
    return rule
