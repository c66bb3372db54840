"""SML301: a lane's address is not a multiple of the access width."""

from __future__ import annotations

from collections.abc import Iterator

from smemlint.config.settings import Settings
from smemlint.facts import Access, KernelFacts, SharedArray
from smemlint.finding import Finding, Severity
from smemlint.frontend.heuristics import may_test_alignment
from smemlint.lint.rule import Rule

from ..layouts import byte_swizzle


class MisalignedVector(Rule):
    """Finds active lanes whose address the hardware refuses."""

    code = "SML301"
    name = "misaligned-vector"
    summary = "a lane's address is not a multiple of the access width, which faults"
    severity = Severity.ERROR

    def check_access(
        self, access: Access, kernel: KernelFacts, settings: Settings
    ) -> Iterator[Finding]:
        """Yields one finding for a misaligned access that no alignment test guards."""
        if access.array is None or access.width_bytes < 2 or _is_guarded(access):
            return
        if _is_anothers_view(access, access.array):
            return
        swizzle = byte_swizzle(access.layout) if access.layout is not None else None
        if swizzle is not None and swizzle.group < access.width_bytes:
            return  # SML302 says why
        for pattern in access.patterns:
            if not (pattern.addresses % pattern.width).any():
                continue
            lanes = access.addressing(pattern)
            (broken,) = ((pattern.addresses % pattern.width != 0) & lanes).nonzero()
            if not len(broken):
                continue
            lane = int(broken[0])
            offset = int(pattern.addresses[lane]) - access.array.base
            message = f"misaligned {pattern.width}-byte access of {access.array.shown}"
            cause = _cause(access.array, pattern.width)
            note = (
                f"warp {pattern.warp}: lane {lane} is at byte {offset}, which is not a multiple "
                f"of {pattern.width}; {len(broken)} lanes fault{cause}"
            )
            yield self.finding(
                message,
                access.span,
                access=access,
                pattern=pattern,
                notes=(note,),
                help=_help(access.array, pattern.width),
                weight=len(broken),
            )
            return


def _is_anothers_view(access: Access, array: SharedArray) -> bool:
    """Returns whether code of another file sees wider elements than were declared.

    That is most often an overload for another element type, chosen where too little was read.
    """
    is_elsewhere = access.span.path != array.span.path
    return is_elsewhere and access.width_bytes > array.element_bytes


def _cause(array: SharedArray, width: int) -> str:
    """Returns the row pitch, where it is what misaligns every other row."""
    if len(array.dims) < 2 or not array.dims[-1] or not array.element_bytes:
        return ""
    pitch = array.dims[-1] * array.element_bytes
    return f": rows are {pitch} bytes apart, no multiple of {width}" if pitch % width else ""


def _help(array: SharedArray, width: int) -> str:
    """Returns what has to hold; where a longer row is what helps, evaluation finds it."""
    size = array.element_bytes
    if not size or width % size or width == size:
        return f"let every lane's address be a multiple of {width} bytes"
    return (
        f"let every lane's index into {array.shown} be a multiple of {width // size} elements "
        f"({width} bytes), rows and swizzles included"
    )


def _is_guarded(access: Access) -> bool:
    """Returns whether a condition that could test the alignment was assumed."""
    return any(may_test_alignment(taken.subject) for taken in access.conditions)


RULE = MisalignedVector()
