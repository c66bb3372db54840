"""What the meaning of a type's spelling rests on: the names in it that are bound where it stands.

CUTLASS spells some thousand types in terms of each other, so each is worked out once for the
bindings that it names.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import cast

from smemlint.analysis.simt.domain.ctypes import IntType, RecordType
from smemlint.analysis.simt.domain.environment import Binding, Variable
from smemlint.analysis.simt.domain.values import AffineInt, Pointer
from smemlint.analysis.simt.frames import Frame

_WORD = re.compile(r"[A-Za-z_]\w*")


def cache_key(
    spelling: str,
    frame: Frame | None,
    lookup: Callable[[str], Binding | None],
    is_scattered: Callable[[str], bool],
) -> tuple[object, ...] | None:
    """Returns the bindings that a spelling names as a key; None where one may change.

    It is None too for a `decltype` and for a pack. The key holds the bindings, so that none of them
    gives its identity to another one.

    Args:
        spelling: of a type.
        frame: in which it stands; None outside of all.
        lookup: gives what a name is bound to in the scopes of the frame.
        is_scattered: whether what a name means depends on the place of the frame.
    """
    words = _words(spelling)
    if "decltype" in words or "..." in spelling:
        return None
    if frame is None:
        return ()
    found: list[object] = []
    statics = frame.record.statics if frame.record is not None else {}
    for word in words:
        binding = lookup(word) or cast("Binding | None", statics.get(word))
        if binding is None:
            if frame.this is not None and _is_member(word, frame.this):
                return None
            found.append(None)
            continue
        if binding.__class__ is Variable:
            value = binding.object.cells.get(0)
            if not isinstance(binding.type, IntType) or not isinstance(value, AffineInt):
                return None
            binding = value
        found.append(binding.identity() if binding.__class__ is AffineInt else binding)
    for word in words:
        if is_scattered(word):
            found.append(frame.place)
            break
    return tuple(found)


def _is_member(word: str, this: Pointer) -> bool:
    return isinstance(this.target, RecordType) and this.target.member(word) is not None


@lru_cache(1 << 15)
def _words(spelling: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_WORD.findall(spelling)))
