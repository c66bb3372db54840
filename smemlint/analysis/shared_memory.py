"""The one test for whether a text or a function can touch shared memory, or describe a swizzle."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from smemlint.frontend.program import Function, Unit

_NAMES = frozenset(("__shared__", "ldmatrix", "__cvta_generic_to_shared"))
_TOUCHES = re.compile(r"__shared__|\bldmatrix|\.shared\b|__cvta_generic_to_shared")
_LAUNCHED = re.compile(r"\b(?P<name>[A-Za-z_]\w*)\s*(?:<[^;{}()<]*>)?\s*<<<")
_DEFINED = re.compile(r"__global__[^;{}]*?\b([A-Za-z_]\w*)\s*\(")
_INCLUDES = re.compile(r'^\s*#\s*include\s*"', re.M)
_DESCRIBES = re.compile(r"\bSwizzle\s*<|\bCU_TENSOR_MAP_SWIZZLE_\w+")


def may_touch_shared(text: str) -> bool:
    """Returns whether code in a text may declare or access shared memory."""
    return _TOUCHES.search(text) is not None


def describes_swizzle(text: str) -> bool:
    """Returns whether a text writes down a swizzle, of CuTe or of a tensor map."""
    return _DESCRIBES.search(text) is not None


def launched_and_not_defined(text: str) -> dict[str, int]:
    """Returns the kernels that a text launches by name and does not define, with their places.

    None where it includes no file of its own project.
    """
    if "<<<" not in text or not _INCLUDES.search(text):
        return {}
    defined = set(_DEFINED.findall(text))
    found: dict[str, int] = {}
    for launch in _LAUNCHED.finditer(text):
        if launch["name"] not in defined:
            found.setdefault(launch["name"], launch.start())
    return found


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
