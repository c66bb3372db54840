"""Types that only keywords spell, `unsigned long` or `const float *`: the same in every scope."""

from __future__ import annotations

from smemlint.analysis.simt.domain.ctypes import CType, PointerType
from smemlint.analysis.simt.types.builtin_types import KEYWORDS, builtin_type
from smemlint.frontend import ir

_WORDS = frozenset((*KEYWORDS, "signed", "const", "volatile"))


def keyword_type(type_: ir.Node) -> CType | None:
    """Returns the type that a declarator or type-id spells in keywords; None for all others."""
    match type_:
        case ir.TypeDecl() | ir.Typename():
            return keyword_type(type_.type)
        case ir.IdentifierType(names=names) if _WORDS.issuperset(names):
            return builtin_type(names)
        case ir.PtrDecl(type=inner, quals=quals) if "&" not in quals and "&&" not in quals:
            target = keyword_type(inner)
            return target and PointerType(target, is_volatile=is_volatile(inner))
    return None


def is_volatile(declarator: object) -> bool:
    """Returns whether what a declarator declares, or the elements of its array, are volatile."""
    while isinstance(declarator, ir.TypeDecl | ir.Typename | ir.ArrayDecl):
        if "volatile" in getattr(declarator, "quals", ()):
            return True
        declarator = declarator.type
    return isinstance(declarator, ir.IdentifierType) and "volatile" in declarator.names
