"""The one test for whether a text or a function can touch shared memory, or describe a swizzle."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from smemlint.frontend.program import Function, Unit

_NAMES = frozenset(("__shared__", "ldmatrix", "__cvta_generic_to_shared"))
_TOUCHES = re.compile(r"__shared__|\bldmatrix|\.shared\b|__cvta_generic_to_shared")
_DESCRIBES = re.compile(r"\bSwizzle\s*<|\bCU_TENSOR_MAP_SWIZZLE_\w+")


def may_touch_shared(text: str) -> bool:
    """Returns whether code in a text may declare or access shared memory."""
    return _TOUCHES.search(text) is not None


def describes_swizzle(text: str) -> bool:
    """Returns whether a text writes down a swizzle, of CuTe or of a tensor map."""
    return _DESCRIBES.search(text) is not None


def touches_shared(function: Function, unit: Unit) -> bool:
    """Returns whether a function, or one that it may call, names shared memory."""
    shared = set(_NAMES)
    for group in unit.declarations.values():
        for declaration in group:
            if declaration.kind == "variable" and "__shared__" in declaration.specifiers:
                shared.add(declaration.name)
    seen: set[str] = set()
    worklist = [function]
    while worklist:
        current = worklist.pop()
        words = current.words
        if words & shared or any("shared" in w for w in words):
            return True
        for word in words - seen:
            seen.add(word)
            worklist.extend(unit.functions_named(word))
            for record in unit.records.get(word, ()):
                worklist.extend(f for f in unit.functions if f.record == record.name)
    return False
