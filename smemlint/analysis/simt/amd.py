"""Translation units for AMD's GPUs: their shared memory (LDS) has banks of its own rules."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from smemlint.frontend.program import Unit

_NAMED_SO = re.compile(r"(?:^|[._-])hip(?:\.\w+)?$", re.IGNORECASE)
"""`settle_hip.cpp`, `gemm.hip`, `gemm.hip.cpp`."""
_BUILTIN = "__builtin_amdgcn_"
_HIP = re.compile(r"hip[A-Z]\w*")
_CUDA = re.compile(r"cu(?:da)?[A-Z]\w*")


def is_for_amd(unit: Unit) -> bool:
    """Returns whether a unit is compiled for AMD's GPUs only.

    Its file's name says so, its code uses `amdgcn` builtins, or it calls the HIP run-time library
    and never CUDA's. What is behind `#if` for HIP was left out when the unit was read.
    """
    if _NAMED_SO.search(posixpath.basename(unit.path)):
        return True
    own = posixpath.normpath(unit.path)
    words: set[str] = set()
    for function in unit.functions:
        if posixpath.normpath(function.span.path) == own:
            words |= function.words
    if any(word.startswith(_BUILTIN) for word in words):
        return True
    calls_hip = any(_HIP.fullmatch(word) for word in words)
    return calls_hip and not any(_CUDA.fullmatch(word) for word in words)
