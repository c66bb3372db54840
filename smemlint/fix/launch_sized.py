"""Arrays that the launch sizes: `extern __shared__ float s[]`, whose rows only the indices know.

Their accesses tell how far they reach. Where each indexes the array by its name, another place for
every element can be stated as an index, and is priced as for an array of that size.
"""

from __future__ import annotations

import re
from dataclasses import replace

from smemlint.facts import Access, SharedArray
from smemlint.fix.padding import ROW_BYTES, Usage


def sized(usage: Usage) -> Usage | None:
    """Returns the usage with the size that its accesses reach, where only the launch knows it.

    None for other arrays, and where an address is not known or an access does not name the array.
    """
    arrays = {id(a.array): a.array for a in usage.accesses if a.array is not None}
    if not all(map(_is_open, arrays.values())) or not usage.is_complete:
        return None
    if not all(map(_names_its_array, usage.accesses)):
        return None
    known = {key: _with_size(array, usage) for key, array in arrays.items()}
    return Usage(tuple(replace(a, array=known[id(a.array)]) for a in usage.accesses))


def _is_open(array: SharedArray) -> bool:
    return array.is_dynamic and array.dims == (None,) and array.element_bytes > 0


def _names_its_array(access: Access) -> bool:
    name = access.array.name if access.array is not None else ""
    return re.search(rf"(?<![\w.>]){re.escape(name)}\s*\[", access.expression) is not None


def _with_size(array: SharedArray, usage: Usage) -> SharedArray:
    """Returns the array with the bytes that are reached, and as many elements as begin rows."""
    patterns = [p for a in usage.accesses if a.array is array for p in a.patterns]
    ends = (int(p.addresses[p.active].max(initial=array.base)) + p.reach for p in patterns)
    size = max(ends) - array.base
    rows = -(-size // ROW_BYTES)
    return replace(array, dims=(rows * ROW_BYTES // array.element_bytes,), bytes=size)
