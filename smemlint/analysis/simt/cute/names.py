"""Names of CuTe's that need none of its layouts, which files without CuTe never load."""

from __future__ import annotations

from smemlint.analysis.simt.domain.values import AffineInt

STATIC_INTEGERS = frozenset(("Int", "C", "constant", "integral_constant"))
"""Class templates whose last argument is the value of all objects."""
_ENUMERATORS = {"Major": {"K": 0, "MN": 1}}


def is_enumeration(name: str) -> bool:
    """Returns whether a name is that of an enumeration of CuTe's."""
    return name in _ENUMERATORS


def enumerator(enumeration: str, name: str) -> AffineInt | None:
    """Returns the value of `GMMA::Major::K` and its like; None for all others."""
    number = _ENUMERATORS.get(enumeration.rsplit("::", 1)[-1], {}).get(name)
    return AffineInt(number) if number is not None else None
