"""What differs between architectures, with its source; what is unknown stays unknown.

Sources: CUDA C++ Programming Guide, compute capabilities, "technical specifications" and "shared
memory" (sizes; 32 banks of 4 bytes; lanes on one 32-bit word do not conflict, since sm_50); PTX
ISA, target notes of `ldmatrix`, `stmatrix` and `cp.async`. The rules of wider accesses, of matrix
instructions and of atomics are documented nowhere: they were measured, on an H200 (sm_90) only.
"""

from __future__ import annotations

from dataclasses import dataclass

LANES = 32
BANKS = 32
WORD = 4
"""Bytes of a bank's word."""
WIDEST_ACCESS = 16
"""Bytes that one lane can move with one shared load or store, on every architecture here."""
STATIC_SHARED_LIMIT = 48 * 1024
"""Bytes of `__shared__` variables of known size per block; more needs the dynamic form."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """One compute capability.

    Attributes:
        name: e.g. `sm_90`.
        shared_per_block: bytes of shared memory that one block can opt in to.
        has_ldmatrix, has_stmatrix, has_async_copy: which instructions exist.
        is_measured: the rules of every kind of access were measured on it; elsewhere only those of
            loads and stores of up to 4 bytes are known.
    """

    name: str
    shared_per_block: int
    has_ldmatrix: bool = True
    has_stmatrix: bool = False
    has_async_copy: bool = True
    is_measured: bool = False


_KIB = 1024
ARCHITECTURES: dict[str, Architecture] = {
    a.name: a
    for a in (
        Architecture("sm_70", 96 * _KIB, has_ldmatrix=False, has_async_copy=False),
        Architecture("sm_72", 96 * _KIB, has_ldmatrix=False, has_async_copy=False),
        Architecture("sm_75", 64 * _KIB, has_async_copy=False),
        Architecture("sm_80", 163 * _KIB),
        Architecture("sm_86", 99 * _KIB),
        Architecture("sm_87", 163 * _KIB),
        Architecture("sm_89", 99 * _KIB),
        Architecture("sm_90", 227 * _KIB, has_stmatrix=True, is_measured=True),
        Architecture("sm_100", 227 * _KIB, has_stmatrix=True),
        Architecture("sm_103", 227 * _KIB, has_stmatrix=True),
        Architecture("sm_110", 227 * _KIB, has_stmatrix=True),
        Architecture("sm_120", 99 * _KIB, has_stmatrix=True),
        Architecture("sm_121", 99 * _KIB, has_stmatrix=True),
    )
}


def architecture(name: str) -> Architecture:
    """The architecture of that name (`sm_90a` is `sm_90`, `sm_100f` is `sm_100`).

    Raises:
        ValueError: the name is unknown.
    """
    found = ARCHITECTURES.get(name.rstrip("af"))
    if found is None:
        known = ", ".join(ARCHITECTURES)
        raise ValueError(f"unknown architecture {name!r}: one of {known}")
    return found


def require_bank_rules(name: str, kind: str, width: int) -> None:
    """Checks that it is known how the architecture serves an access.

    Raises:
        ValueError: the name is unknown, or nobody measured such an access there.
    """
    if architecture(name).is_measured or (kind in ("load", "store") and width <= WORD):
        return
    known = ", ".join(a.name for a in ARCHITECTURES.values() if a.is_measured)
    raise ValueError(f"{kind} of {width} bytes was not measured on {name}: only on {known}")
