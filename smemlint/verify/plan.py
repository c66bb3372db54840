"""What of an access is replayed: patterns in a normal form; equal ones are measured once."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from smemlint.facts import Access, AccessKind, WarpPattern
from smemlint.hardware.arch import BANKS, LANES, WORD, architecture
from smemlint.hardware.atomics import MEASURED, attempts
from smemlint.lazy_dataclasses import dataclass
from smemlint.verify.replay_kernels import Form

ALL = 2**LANES - 1
_ROW = BANKS * WORD
_NEVER = {AccessKind.ASYNC_COPY: "time does not tell the wavefronts of `cp.async`"}


@dataclass(frozen=True, slots=True)
class Pattern:
    """One warp instruction to replay.

    Attributes:
        offsets: byte offset of each of the 32 lanes; those that take no part repeat one that does.
        mask: bit l says that lane l takes part; all bits for matrix instructions.
    """

    form: Form
    offsets: tuple[int, ...]
    mask: int = ALL

    @property
    def digest(self) -> str:
        """A short name that is the same in every run and recording."""
        text = f"{self.form.name} {self.mask:08x} {' '.join(map(str, self.offsets))}"
        return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()[:12]

    @property
    def pairs_in_doubt(self) -> bool:
        """Whether an 8- or 16-byte load pairs up both ways, but only thanks to lanes that are off.

        The profiler's counter then does not halve the passes, and time does (seen on an H200).
        """
        if self.form.kind != "load" or self.form.width <= WORD:
            return False
        pairs = [
            [
                self.offsets[lane] == self.offsets[lane ^ bits]
                for lane in range(LANES)
                if self.mask >> lane & self.mask >> (lane ^ bits) & 1
            ]
            for bits in (1, 2, 3)
        ]
        return all(pairs[0]) and all(pairs[1]) and not all(pairs[2])


def pattern_of(access: Access, pattern: WarpPattern, arch: str) -> Pattern | str:
    """Returns the replay of one pattern of an access, or why there is none."""
    if access.kind in _NEVER:
        return _NEVER[access.kind]
    if access.kind is AccessKind.ATOMIC and access.note not in MEASURED:
        return f"atomic `{access.note}` has no replay"
    form = Form(
        str(access.kind),
        pattern.width,
        access.matrices,
        operation=access.note if access.kind is AccessKind.ATOMIC else "",
    )
    mask = ALL if form.matrices else sum(1 << k for k in range(LANES) if pattern.active[k])
    found = normal(form, [int(a) for a in pattern.addresses], mask, arch)
    if isinstance(found, Pattern) and not pattern.wavefronts:
        return "it has no predicted figure"
    return found


def normal(form: Form, addresses: Sequence[int], mask: int, arch: str) -> Pattern | str:
    """Moves a pattern by rows of banks to the start of shared memory, or says why it cannot."""
    taking = [k for k in range(LANES) if mask >> k & 1]
    if form.matrices:
        taking = [k for k in taking if k < 8 * form.matrices]
    if not taking:
        return "no lane is active"
    if any(addresses[k] % form.width for k in taking):
        return f"misaligned: an address is not a multiple of {form.width} bytes"
    start = min(addresses[k] for k in taking) & -_ROW
    offsets = [addresses[k] - start for k in range(LANES)]
    for k in set(range(LANES)) - set(taking):
        offsets[k] = offsets[taking[0]]
    limit = architecture(arch).shared_per_block
    if max(offsets) + form.width > limit:
        return f"it spans {max(offsets) + form.width} bytes: a block has {limit}"
    if _has_idle_part(form, mask):
        form = replace(form, is_accompanied=True)
    return Pattern(form, tuple(offsets), mask)


def _has_idle_part(form: Form, mask: int) -> bool:
    """Returns whether 128 bytes of a wide access go to lanes that are all off."""
    if form.kind not in ("load", "store") or form.width <= WORD:
        return False
    lanes = _ROW // form.width
    return any(not mask >> first & 2**lanes - 1 for first in range(0, LANES, lanes))


@dataclass(frozen=True, slots=True)
class Known:
    """A pattern whose wavefronts follow from what a bank is, without any further rule."""

    pattern: Pattern
    wavefronts: int


def yardsticks(form: Form) -> tuple[Known, Known]:
    """Returns two patterns that calibrate a form: free of conflicts, and all lanes in one bank.

    Of an accompanied form, only the first 128 bytes have active lanes.
    """
    lanes = _ROW // form.width if form.is_accompanied else 8 * form.matrices or LANES
    mask = 2**lanes - 1 if form.is_accompanied else ALL
    rounds = attempts(form.operation) if form.kind == "atomic" else 1
    free = tuple(form.width * (k % lanes) for k in range(LANES))
    full = tuple(_ROW * (k % lanes) for k in range(LANES))
    return (
        Known(Pattern(form, free, mask), max(lanes * form.width // _ROW, 1) * rounds),
        Known(Pattern(form, full, mask), lanes * rounds),
    )
