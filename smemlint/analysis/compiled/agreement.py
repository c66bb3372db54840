"""Source and compiled code of one run, line by line: what both say of an access."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from smemlint.facts import Access, AccessKind, Facts, KernelFacts

_TOLERANCE = 0.05
"""Figures that are this close, relatively, are one: what the compiler unrolls weighs otherwise."""
_READS = (AccessKind.LOAD, AccessKind.LDMATRIX)


class _Line(NamedTuple):
    """Where accesses of source and compiled code meet."""

    path: str
    line: int
    kernel: str
    is_read: bool


def joined_with_compiled(facts: Facts) -> Facts:
    """Compares the accesses of sources with those of compiled code at the same lines.

    Where both have the same figure, the source's access is confirmed and stands alone. Where they
    differ, both stand, and each names the other's figure. What only compiled code decides, it
    decides for the line: the source's access stays undecided and is left out.
    """
    compiled = _by_line(a for k in facts.kernels for a in k.accesses if a.origin)
    if not compiled:
        return facts
    sources = _by_line(a for k in facts.kernels for a in k.accesses if not a.origin)
    kernels = tuple(_joined(kernel, sources, compiled) for kernel in facts.kernels)
    return replace(facts, kernels=kernels)


def _by_line(accesses: Iterable[Access]) -> dict[_Line, list[Access]]:
    found: dict[_Line, list[Access]] = {}
    for access in accesses:
        found.setdefault(_line_of(access), []).append(access)
    return found


def _line_of(access: Access) -> _Line:
    line = access.line or access.span.line
    kernel = access.instance.kernel.rpartition("::")[2]
    return _Line(access.span.path, line, kernel, access.kind in _READS)


def _joined(
    kernel: KernelFacts, sources: dict[_Line, list[Access]], compiled: dict[_Line, list[Access]]
) -> KernelFacts:
    found = []
    for access in kernel.accesses:
        line = _line_of(access)
        own, others = (compiled, sources) if access.origin else (sources, compiled)
        shown = _compared(access, _alike(access, own[line]), _alike(access, others.get(line, [])))
        if shown is not None:
            found.append(shown)
    return replace(kernel, accesses=tuple(found))


def _alike(access: Access, candidates: list[Access]) -> list[Access]:
    """Returns those of the access's launch, with its template values if any have them."""
    instance = access.instance
    launch = instance.block, instance.passed
    found = [c for c in candidates if (c.instance.block, c.instance.passed) == launch]
    values = _values(access)
    return [c for c in found if _values(c) == values] or found


def _values(access: Access) -> tuple[str, ...]:
    return tuple(value for _, value in access.instance.template)


def _compared(access: Access, line: list[Access], others: list[Access]) -> Access | None:
    """Adds what the others say of its line to an access; None where they say all of it."""
    own, theirs = _excess(line), _excess(others)
    is_source = not access.origin
    if not others:
        return access
    if own is None or theirs is None:
        is_covered = own is None and theirs is not None
        return None if is_covered else access
    if abs(own - theirs) <= _TOLERANCE * theirs:
        if not is_source:
            return None
        return replace(access, is_confirmed=True, remark=f"confirmed by {others[0].origin}")
    whose = others[0].origin if is_source else "the source"
    remark = f"{whose} shows {theirs:.3g} times the ideal wavefronts here, not {own:.3g}"
    return replace(access, is_confirmed=False, remark=remark)


def _excess(accesses: list[Access]) -> float | None:
    """Computes wavefronts over ideal of all instructions; None where some are not decided."""
    spent = ideal = 0.0
    for access in accesses:
        if access.wavefronts is None or access.ideal is None or not access.certainty.is_decided:
            return None
        spent += access.wavefronts.mean * access.instructions
        ideal += access.ideal.mean * access.instructions
    return spent / ideal if ideal else None
