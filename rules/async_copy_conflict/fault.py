"""Which side of an asynchronous copy is at fault: each is priced beside one that is contiguous."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from smemlint.facts import Access, KernelFacts, WarpPattern

_LINE = 128
_PITCH = "none found: fragments of `wmma` take a pitch, and no swizzle"
_SWIZZLE = (
    "an exclusive-or of the 16-byte chunks of 128-byte rows (Swizzle<3,4,3> of bytes) instead "
    "of padding removes the bank conflicts of the reads as well, and costs the copy nothing"
)


@dataclass(frozen=True, slots=True)
class Fault:
    """What makes a copy dear.

    Attributes:
        reason: for the message.
        notes: what the sides would take alone.
        help: what to do about it.
    """

    reason: str
    notes: tuple[str, ...]
    help: str


def fault_of(access: Access, pattern: WarpPattern, kernel: KernelFacts) -> Fault:
    """Returns what makes a copy dear, by pricing each side beside a contiguous one."""
    import numpy as np

    assert pattern.source is not None
    row = np.arange(len(pattern.active), dtype=np.int64) * pattern.width
    shared = _wavefronts(access, pattern, pattern.addresses, row)
    global_ = _wavefronts(access, pattern, row, pattern.source)
    notes = (
        f"wavefronts with contiguous lines in global memory: {shared}, "
        f"with contiguous rows in shared memory: {global_}",
    )
    written = _shared_fault(access, pattern, notes, takes_pitch=_takes_pitch(access, kernel))
    if shared == global_ == pattern.ideal:
        return Fault(
            "the lanes go through shared and global memory in different orders",
            notes,
            "let neighbouring lanes write neighbours of what neighbouring lanes read",
        )
    if global_ < pattern.wavefronts and global_ <= shared:
        return written
    read = _global_fault(access, pattern, pattern.source, notes)
    if shared < pattern.wavefronts:
        return read
    if _are_alike(pattern, pattern.source):
        return written
    return Fault(f"{written.reason}, and {read.reason}", notes, f"{read.help}; and {written.help}")


def _are_alike(pattern: WarpPattern, source: NDArray[np.int64]) -> bool:
    """Returns whether all lanes write as far from each other as they read."""
    apart = (pattern.addresses - source)[pattern.active]
    return bool((apart == apart[0]).all())


def _takes_pitch(access: Access, kernel: KernelFacts) -> bool:
    """Returns whether fragments of `wmma` read what is copied: no swizzle is possible then."""
    from smemlint.facts.accesses import FRAGMENT

    return any(a.array is access.array and a.note == FRAGMENT for a in kernel.accesses)


def _shared_fault(
    access: Access, pattern: WarpPattern, notes: tuple[str, ...], *, takes_pitch: bool
) -> Fault:
    assert pattern.source is not None
    name = access.array.name if access.array is not None else ""
    width = _run(pattern.addresses, pattern)
    if len(set(pattern.addresses[pattern.active].tolist())) < int(pattern.active.sum()):
        return Fault(f"several lanes write one place of `{name}`", notes, "copy every byte once")
    gap = _gap(pattern)
    if width <= pattern.width and 0 < gap < _LINE - pattern.width:
        return Fault(
            f"the lanes leave gaps of {gap} bytes between what they write to `{name}`",
            notes,
            "let lanes that follow one another write without gaps",
        )
    begin = int(pattern.addresses[pattern.active].min()) % _LINE
    moved = pattern.addresses - begin
    source = moved if _are_alike(pattern, pattern.source) else pattern.source
    if begin and _wavefronts(access, pattern, moved, source) == pattern.ideal:
        return Fault(
            f"what it writes to `{name}` begins {begin} bytes into a row of {_LINE}",
            notes,
            f"begin on multiples of {_LINE} bytes in shared memory",
        )
    if width <= pattern.width:
        return Fault(
            f"the lanes write a column of `{name}`",
            notes,
            "let the lanes of a warp write along rows, and transpose where the tile is read",
        )
    lanes_of_rows = Counter((pattern.addresses[pattern.active] // _LINE).tolist())
    written = {lanes * pattern.width for lanes in lanes_of_rows.values()}
    if len(written) == 1 and max(written) < _LINE:  # of rows without padding
        return Fault(
            f"it writes {max(written)} bytes of a row of `{name}` at a time",
            notes,
            f"let a warp write whole rows of {_LINE} bytes: of what lies in other rows, no swizzle "
            "makes one",
        )
    return Fault(
        f"rows of {width} bytes of `{name}` do not fit the sectors of the lines that are read",
        notes,
        _PITCH if takes_pitch else _SWIZZLE,
    )


def _global_fault(
    access: Access, pattern: WarpPattern, source: NDArray[np.int64], notes: tuple[str, ...]
) -> Fault:
    import numpy as np

    width = _run(source, pattern)
    begin = int(source[pattern.active].min()) % _LINE
    if width >= _LINE:
        row = np.arange(len(pattern.active), dtype=np.int64) * pattern.width
        if _wavefronts(access, pattern, row, source - begin) > pattern.ideal:
            return Fault(
                "lanes that follow one another read from different lines of global memory",
                notes,
                f"let {_LINE // pattern.width} lanes that follow one another read the {_LINE} "
                "bytes of one line",
            )
        return Fault(
            f"what it reads begins {begin} bytes into a line",
            notes,
            f"begin on multiples of {_LINE} bytes in global memory",
        )
    if width <= pattern.width:  # of tiles as wide as one lane's bytes, or of a column of wider ones
        return Fault(
            "each lane reads a row of global memory of its own",
            notes,
            f"let the lanes of a warp read along rows, of a tile that is {_LINE} bytes wide",
        )
    return Fault(
        f"it reads {width} bytes of a row in global memory at a time",
        notes,
        f"let a warp read whole {_LINE}-byte lines: a tile that is {_LINE} bytes wide, "
        f"{_LINE // width} times as wide as this",
    )


def _gap(pattern: WarpPattern) -> int:
    """Returns the bytes between what neighbours write, where always as many; else 0."""
    places = sorted(pattern.addresses[pattern.active].tolist())
    steps = {after - before for before, after in pairwise(places)}
    return steps.pop() - pattern.width if len(steps) == 1 else 0


def _run(addresses: NDArray[np.int64], pattern: WarpPattern) -> int:
    """Returns the bytes of the longest run of neighbours among the active lanes."""
    lanes = sorted(set(addresses[pattern.active].tolist()))
    longest = run = 1
    for a, b in pairwise(lanes):
        run = run + 1 if b - a == pattern.width else 1
        longest = max(longest, run)
    return longest * pattern.width


def _wavefronts(
    access: Access, pattern: WarpPattern, to: NDArray[np.int64], source: NDArray[np.int64]
) -> int:
    from smemlint.hardware.async_copies import async_wavefronts

    form = access.note.rpartition(".")[2]
    cost = async_wavefronts(to, source, form=form, width=pattern.width, active=pattern.active)
    return int(cost.wavefronts)
