"""What differs between architectures, with its source; what is not measured is marked as assumed.

Sources: CUDA C++ Programming Guide, compute capabilities, "technical specifications" and "shared
memory" (sizes; 32 banks of 4 bytes; lanes on one 32-bit word do not conflict, since sm_50); PTX
ISA, target notes of `ldmatrix` (sm_75), `cp.async` (sm_80), `stmatrix` and `cp.async.bulk` (sm_90).

No document says how wider accesses, matrix instructions, atomics and asynchronous copies are
served. The rules were measured on an H200 and an H100 (sm_90). NVIDIA's staff gives the one of wide
loads, pairs of lanes included, for compute capability 7.0 to 7.5 in the same words
(forums.developer.nvidia.com/t/77228). Nothing published contradicts it for those in between and
after, so it is assumed there: `assumption`.
"""

from __future__ import annotations

from smemlint.lazy_dataclasses import dataclass

LANES = 32
BANKS = 32
WORD = 4
"""Bytes of a bank's word."""
WIDEST_ACCESS = 16
"""Bytes that one lane can move with one shared load or store, on every architecture here."""
STATIC_SHARED_LIMIT = 48 * 1024
"""Bytes of `__shared__` variables of known size per block; more needs the dynamic form."""
LARGEST_BLOCK = (1024, 1024, 64)
"""Threads of a block along x, y and z at most, on every architecture."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """One compute capability.

    Attributes:
        name: e.g. `sm_90`.
        shared_per_block: bytes of shared memory that one block can opt in to.
        has_ldmatrix, has_stmatrix, has_async_copy: which instructions exist.
        documents_wide_loads: NVIDIA says how it serves loads of 8 and 16 bytes.
        has_warp_atomics: `REDUX` and `ATOMS.POPC.INC`, which atomics of a warp are combined with.
        is_measured: the rules of every kind of access were measured on it.
    """

    name: str
    shared_per_block: int
    has_ldmatrix: bool = True
    has_stmatrix: bool = False
    has_async_copy: bool = True
    documents_wide_loads: bool = False
    has_warp_atomics: bool = True
    is_measured: bool = False

    @property
    def capability(self) -> tuple[int, int]:
        """Major and minor number of the compute capability."""
        return divmod(int(self.name.removeprefix("sm_")), 10)

    def has(self, kind: str) -> bool:
        """Returns whether `ldmatrix`, `stmatrix`, `async_copy` or another instruction exists."""
        return bool(getattr(self, f"has_{kind}", True))


_KIB = 1024


def _volta(name: str, kib: int, *, has_ldmatrix: bool = False) -> Architecture:
    return Architecture(
        name,
        kib * _KIB,
        has_ldmatrix=has_ldmatrix,
        has_async_copy=False,
        documents_wide_loads=True,
        has_warp_atomics=False,
    )


def _hopper(name: str, kib: int, *, is_measured: bool = False) -> Architecture:
    return Architecture(name, kib * _KIB, has_stmatrix=True, is_measured=is_measured)


ARCHITECTURES: dict[str, Architecture] = {
    a.name: a
    for a in (
        _volta("sm_70", 96), _volta("sm_72", 96), _volta("sm_75", 64, has_ldmatrix=True),
        Architecture("sm_80", 163 * _KIB), Architecture("sm_86", 99 * _KIB),
        Architecture("sm_87", 163 * _KIB), Architecture("sm_89", 99 * _KIB),
        _hopper("sm_90", 227, is_measured=True), _hopper("sm_100", 227), _hopper("sm_103", 227),
        _hopper("sm_110", 227), _hopper("sm_120", 99), _hopper("sm_121", 99),
    )
}  # fmt: skip


def architecture(name: str) -> Architecture:
    """Returns the architecture of that name (`sm_90a` is `sm_90`, `sm_100f` is `sm_100`).

    Raises:
        ValueError: the name is unknown.
    """
    found = ARCHITECTURES.get(name.rstrip("af"))
    if found is None:
        known = ", ".join(ARCHITECTURES)
        raise ValueError(f"unknown architecture {name!r}: one of {known}")
    return found


def assumption(name: str, kind: str, width: int) -> str:
    """Returns what is taken for granted where such an access is priced for an architecture.

    Args:
        name: of the architecture.
        kind: of access, e.g. `load`, `ldmatrix`, `async_copy`.
        width: bytes that a lane moves.

    Returns:
        The assumption in words; empty where the rule was measured there or is documented.

    Raises:
        ValueError: the name is unknown, or the architecture has no such instruction.
    """
    target = architecture(name)
    if not target.has(kind):
        raise ValueError(f"{target.name} has no {spelled(kind)}")
    is_documented = kind in ("load", "store") and width <= WORD
    is_documented |= kind == "load" and target.documents_wide_loads
    if target.is_measured or is_documented:
        return ""
    known = ", ".join(a.name for a in ARCHITECTURES.values() if a.is_measured)
    what = _SPELLED.get(kind, f"{kind}s of {width} bytes")
    return f"{target.name} serves {what} as measured on {known}"


def spelled(kind: str) -> str:
    """Returns how PTX spells a kind of access that not all architectures have."""
    return _SPELLED.get(kind, kind)


_SPELLED = {"async_copy": "cp.async", "ldmatrix": "ldmatrix", "stmatrix": "stmatrix"}
