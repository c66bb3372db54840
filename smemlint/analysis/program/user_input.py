"""What users state of kernels and arrays, in pragmas and in the configuration."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterator

from smemlint.analysis.program.units import ProgramIndex
from smemlint.config.preconditions import Precondition, read_precondition
from smemlint.facts import NotAnalysed, SharedArray, Span
from smemlint.frontend.program import Function
from smemlint.layout.declared import DeclaredSwizzle, declared_in, read_declared
from smemlint.reasons import Reason, ReasonCode
from smemlint.sources.languages import CommentStyle, is_python_path
from smemlint.sources.pragmas import MARK, Pragma, pragmas_in


class UserInput:
    """Finds pragmas and settings of kernels and arrays."""

    def __init__(self, index: ProgramIndex) -> None:
        self._index = index
        self._declared: dict[str, dict[int, DeclaredSwizzle]] = {}

    def launch_pragma(self, function: Function) -> Pragma | None:
        """Returns the last `launch(..)` pragma in front of a kernel."""
        found = self._pragmas_before(function, "launch")
        return found[-1] if found else None

    def preconditions(self, function: Function) -> tuple[Precondition, ...]:
        """Returns what the configuration and pragmas assume of a kernel's arguments."""
        own = self._index.settings.kernels.get(function.name)
        stated = list(own.assume) if own is not None else []
        for pragma in self._pragmas_before(function, "assume"):
            stated += pragma.arguments
        return tuple(read_precondition(text) for text in dict.fromkeys(stated))

    def _pragmas_before(self, function: Function, name: str) -> list[Pragma]:
        """Returns the sound pragmas of a name in front of a kernel, behind the kernel before it."""
        path = posixpath.normpath(function.span.path)
        text = self._index.read(path) or ""
        if MARK not in text:
            return []
        kernels = [
            f.span.line
            for f in self._index.unit_of(path).functions
            if f.is_kernel and posixpath.normpath(f.span.path) == path
        ]
        before = max((k for k in kernels if k < function.span.line), default=0)
        return [
            p
            for p in pragmas_in(text, _comments(path))
            if p.name == name and not p.problem and before < p.line <= function.span.line
        ]

    def declared_swizzle(self, kernel: str, array: SharedArray) -> DeclaredSwizzle | None:
        """Returns the swizzle that the configuration or a pragma gives an array."""
        own = self._index.settings.kernels.get(kernel)
        if own is not None and array.name in own.swizzle:
            return declared_in(own.swizzle[array.name])
        path = posixpath.normpath(array.span.path)
        for line, declared in self._swizzle_pragmas(path).items():
            if array.span.line <= line <= array.span.end_line:
                self._index.dependencies.swizzles[path, line] = None
                return declared
        return None

    def _swizzle_pragmas(self, path: str) -> dict[int, DeclaredSwizzle]:
        """Returns declared swizzles by the line that they speak of."""
        if path not in self._declared:
            text = self._index.read(path) or ""
            pragmas = pragmas_in(text, _comments(path))
            found = (p for p in pragmas if p.name == "swizzle" and not p.problem)
            self._declared[path] = {
                p.target: read_declared(p.arguments, p.reason.split(" ", 1)[0]) for p in found
            }
        return self._declared[path]

    def unused_swizzle_pragmas(self, used: Collection[tuple[str, int]]) -> Iterator[NotAnalysed]:
        """Yields swizzle pragmas at no shared array that was accessed; `used` are all others."""
        text = "this `swizzle` stands at no shared array that a kernel was seen to access"
        reason = Reason(ReasonCode.WRONG_PRAGMA, text)
        for path in self._index.sources:
            for line in self._swizzle_pragmas(path):
                if (path, line) not in used:
                    yield NotAnalysed(Span(path, line, 1, line, 1), "", reason)


def _comments(path: str) -> CommentStyle:
    return CommentStyle.PYTHON if is_python_path(path) else CommentStyle.C
