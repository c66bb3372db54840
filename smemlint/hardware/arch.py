"""What differs between architectures, with its source; what is unknown stays unknown."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Architecture:
    """One compute capability.

    Attributes:
        name: e.g. `sm_90`.
        shared_per_block: bytes of shared memory that one block can opt in to (CUDA C++ Programming
            Guide, table of technical specifications per compute capability).
        has_bank_model: the wavefront rules were measured on it.
    """

    name: str
    shared_per_block: int
    has_bank_model: bool = False


_KIB = 1024
ARCHITECTURES: dict[str, Architecture] = {
    a.name: a
    for a in (
        Architecture("sm_70", 96 * _KIB),
        Architecture("sm_72", 96 * _KIB),
        Architecture("sm_75", 64 * _KIB),
        Architecture("sm_80", 163 * _KIB),
        Architecture("sm_86", 99 * _KIB),
        Architecture("sm_87", 163 * _KIB),
        Architecture("sm_89", 99 * _KIB),
        Architecture("sm_90", 227 * _KIB, has_bank_model=True),
        Architecture("sm_100", 227 * _KIB),
        Architecture("sm_103", 227 * _KIB),
        Architecture("sm_120", 99 * _KIB),
    )
}
"""By name. All have 32 banks of 4 bytes; the rules of wide accesses were measured on sm_90 only
and are taken for the others, which `is_measured` tells."""


def architecture(name: str) -> Architecture:
    """The architecture of that name (`sm_90a` is `sm_90`).

    Raises:
        ValueError: the name is unknown.
    """
    found = ARCHITECTURES.get(name.rstrip("af"))
    if found is None:
        known = ", ".join(ARCHITECTURES)
        raise ValueError(f"unknown architecture {name!r}: one of {known}")
    return found


def is_measured(name: str) -> bool:
    """Whether the bank model was measured on this architecture."""
    return architecture(name).has_bank_model


def require_bank_model(name: str) -> None:
    """Checks that the architecture has 32 banks of 4 bytes, as all since sm_50 do.

    Raises:
        ValueError: the name is unknown.
    """
    architecture(name)
