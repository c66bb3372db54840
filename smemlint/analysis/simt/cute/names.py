"""Names of CuTe's that need none of its layouts, which files without CuTe never load."""

from __future__ import annotations

from smemlint.analysis.simt.domain.values import AffineInt

STATIC_INTEGERS = frozenset(("Int", "C", "constant", "integral_constant"))
"""Class templates whose last argument is the value of all objects."""
CLASS_TEMPLATES = STATIC_INTEGERS | frozenset((
    "tuple", "Shape", "Stride", "Layout", "ComposedLayout", "Swizzle", "Copy_Atom", "TiledCopy",
    "TiledMMA", "Tensor", "ThrCopy", "ThrMMA",
))  # fmt: skip
"""Class templates, and aliases of such, that no class of a user's is an instance of."""
NARROW_BITS = {
    "uint1_t": 1, "uint1b_t": 1, "int2b_t": 2, "uint2b_t": 2, "int4b_t": 4, "uint4b_t": 4,
    "float_e2m1_t": 4, "float_e2m3_t": 6, "float_e3m2_t": 6,
}  # fmt: skip
"""Types of CUTLASS's that fill no byte, whose elements no pointer of C++ points to."""
_ENUMERATORS = {"Major": {"K": 0, "MN": 1}}


def is_enumeration(name: str) -> bool:
    """Returns whether a name is that of an enumeration of CuTe's."""
    return name in _ENUMERATORS


def enumerator(enumeration: str, name: str) -> AffineInt | None:
    """Returns the value of `GMMA::Major::K` and its like; None for all others."""
    number = _ENUMERATORS.get(enumeration.rsplit("::", 1)[-1], {}).get(name)
    return AffineInt(number) if number is not None else None
