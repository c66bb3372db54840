"""Translation units for AMD's GPUs: their shared memory (LDS) has banks of its own rules."""

from __future__ import annotations

import posixpath

from smemlint.analysis.program.units import ProgramIndex
from smemlint.frontend.cuda.preprocessor.hip import NVIDIA_PLATFORM
from smemlint.frontend.heuristics import calls_hip_alone, computes_with_hip_types, is_hip_file
from smemlint.frontend.program import Unit
from smemlint.frontend.text_heuristics import names_amd_atom

_BUILTIN = "__builtin_amdgcn_"


def is_for_amd(unit: Unit, index: ProgramIndex) -> bool:
    """Returns whether a unit is compiled for AMD's GPUs only.

    Its file's name says so, its code uses `amdgcn` builtins, it names atoms of CuTe for AMD, or it
    calls the HIP run-time library or has its number types and never calls CUDA's, and no file of
    the run asks whether HIP stands over CUDA. What is behind `#if` for HIP was left out when the
    unit was read.
    """
    if is_hip_file(unit.path):
        return True
    own = posixpath.normpath(unit.path)
    words: set[str] = set()
    for function in unit.functions:
        if posixpath.normpath(function.span.path) == own:
            words |= function.words
    if any(word.startswith(_BUILTIN) for word in words):
        return True
    if any(names_amd_atom(index.read(path) or "") for path in unit.files):
        return True
    is_hip = calls_hip_alone(words) or computes_with_hip_types(words)
    return is_hip and not index.mentioning(NVIDIA_PLATFORM, unit.path)
