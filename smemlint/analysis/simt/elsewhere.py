"""Kernels that a file launches or instantiates, and that a file outside of the run defines."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping

from smemlint.analysis.program.units import ProgramIndex
from smemlint.analysis.simt.launches.host_code import LAUNCH_WORDS
from smemlint.analysis.simt.shared_functions import touches_shared
from smemlint.facts import NotAnalysed, Span
from smemlint.frontend.cuda.preprocessor.cub_headers import is_cub_header
from smemlint.frontend.cuda.preprocessor.cutlass_headers import (
    is_cutlass_header,
    is_without_kernels,
)
from smemlint.frontend.line_searches import words_outside_comments
from smemlint.frontend.program import Function, Unit
from smemlint.frontend.text_heuristics import (
    built_includes,
    declares_variable,
    defines_kernel,
    instantiated_includes,
    launched_and_not_defined,
    library_kernels,
    may_touch_shared,
)
from smemlint.reasons import Reason, ReasonCode


def defined_elsewhere(index: ProgramIndex, path: str, followed: int) -> Iterator[NotAnalysed]:
    """Yields a note for each kernel of another file that one launches, instantiates or builds."""
    text = index.read(path) or ""
    kernels = library_kernels(text)
    if len(kernels) <= followed or any(p.endswith("cutlass/cutlass.h") for p in index.sources):
        kernels = []  # or the library itself is of the run
    for name, start in dict(reversed(kernels)).items():  # the first place of each
        where = _place(path, text, start, 1)
        reason = f"what CUTLASS's `{name}` makes a kernel of is in its headers, which are not read"
        yield NotAnalysed(where, "", Reason(ReasonCode.LEFT_OUT, reason))
    launches = launched_and_not_defined(text)
    headers = {posixpath.basename(name) for name in instantiated_includes(text)}
    built = {posixpath.basename(name) for name in built_includes(path, text)}
    if not launches and not headers and not built:
        return
    unit = index.unit(path)
    yield from _undefined(index, unit, launches)
    needed = headers or {name for name in built if name.endswith(".cuh")}
    missing = ", ".join(n for n in unit.not_found if posixpath.basename(n) in needed)
    if missing and not launches and not any(f.is_kernel for f in unit.functions):
        reason = f"kernels that it uses may be in files that were not found: {missing}"
        yield NotAnalysed(_place(path, text, 0, 0), "", Reason(ReasonCode.MISSING, reason))
    parts = [f for f in unit.files if built and f.endswith(".cu") and _is_left_out(index, f)]
    if parts:
        reason = f"kernels may be in {', '.join(parts)}: not among the files to analyse"
        yield NotAnalysed(_place(path, text, 0, 0), "", Reason(ReasonCode.LEFT_OUT, reason))
        return
    outside = (file for file in unit.files if posixpath.normpath(file) not in index.sources)
    if all(is_cub_header(file) or is_without_kernels(file) for file in outside):
        return  # without a scan
    defined = [f for f in _kernels_outside(index, unit) if touches_shared(f, unit)]
    for function in defined:
        if function.name in launches:
            start = launches.pop(function.name)
            name, file = f"`{function.name}`", posixpath.normpath(function.span.path)
            reason = f"{name} is defined in {file}, which is not among the files to analyse"
            where = _place(path, text, start, len(function.name))
            yield NotAnalysed(where, "", Reason(ReasonCode.LEFT_OUT, reason))
    if not headers and not built:
        return
    launching = [
        f.words
        for f in unit.functions
        if not f.words.isdisjoint(LAUNCH_WORDS) and (headers or f.name in text or not f.template)
    ]
    files = dict.fromkeys(
        posixpath.normpath(function.span.path)
        for function in defined
        if any(function.name in words for words in launching)
    )
    if files:
        reason = f"kernels are defined in {', '.join(files)}: not among the files to analyse"
        yield NotAnalysed(_place(path, text, 0, 0), "", Reason(ReasonCode.LEFT_OUT, reason))


def _is_left_out(index: ProgramIndex, file: str) -> bool:
    """Returns whether a file that is included is none of the run and has, or makes, kernels."""
    text = index.read(file) or ""
    makes_kernels = may_touch_shared(text) or bool(instantiated_includes(text))
    return posixpath.normpath(file) not in index.sources and makes_kernels


def _kernels_outside(index: ProgramIndex, unit: Unit) -> Iterator[Function]:
    """Yields the kernels of a unit that neither files of the run nor CUTLASS define."""
    for function in unit.functions:
        file = posixpath.normpath(function.span.path)
        if function.is_kernel and file not in index.sources and not is_cutlass_header(file):
            yield function


def _undefined(
    index: ProgramIndex, unit: Unit, launches: Mapping[str, int]
) -> Iterator[NotAnalysed]:
    """Yields a note for each launched kernel that only a missing include can define."""
    if not unit.not_found:
        return
    missing = ", ".join(unit.not_found)
    text = index.read(unit.path) or ""
    kernels = {f.name for f in unit.functions if f.is_kernel}
    words = words_outside_comments(text)
    for name, start in launches.items():
        if name not in words or name in kernels or declares_variable(text, name):
            continue
        if not any(defines_kernel(index.read(file) or "", name) for file in index.sources):
            reason = f"`{name}` is defined in no file that was read; not found: {missing}"
            where = _place(unit.path, text, start, len(name))
            yield NotAnalysed(where, "", Reason(ReasonCode.MISSING, reason))


def _place(path: str, text: str, start: int, length: int) -> Span:
    line = text.count("\n", 0, start) + 1
    column = start - text.rfind("\n", 0, start)
    return Span(path, line, column, line, column + length)
