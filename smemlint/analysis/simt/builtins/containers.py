"""Containers of global memory in host code: `thrust::device_vector<T>` and its like.

Only the type of the elements matters: it chooses the template arguments of a launch.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from smemlint.analysis.simt.domain.values import Object, Pointer, Space, offset_of
from smemlint.analysis.simt.types.template_arguments import type_argument

if TYPE_CHECKING:
    from smemlint.analysis.simt.domain.ctypes import CType
    from smemlint.analysis.simt.evaluator import Evaluator

_CONTAINER = re.compile(
    r"(?:thrust::|std::|cutlass::)?"
    r"(?:device_vector|host_vector|universal_vector|vector|device_ptr|DeviceAllocation)"
    r"\s*<\s*(?P<element>[^,]+?)\s*>"
)
_TO_ELEMENTS = frozenset(("data", "begin", "get"))


def elements_of(ev: Evaluator, kind: CType, method: str, key: str) -> Pointer | None:
    """Returns what `v.data()` points to; None where the object is no such container."""
    if method not in _TO_ELEMENTS:
        return None
    found = _CONTAINER.fullmatch(getattr(kind, "spelling", ""))
    element = type_argument(ev, found["element"]) if found is not None else None
    if element is None or not element.size:
        return None
    return Pointer(Object("elements", element, Space.GLOBAL, key), offset_of(0), element)
