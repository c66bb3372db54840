"""SML304: a vector copy that alignment does not allow, and that is split silently."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from smemlint.config.settings import Settings
from smemlint.facts import LayoutUse
from smemlint.finding import Finding, Severity
from smemlint.lint.rule import Rule

from ..layouts import COPIES, ELEMENTWISE


class SplitVector(Rule):
    """Compares a vector with what the rows and the base of its tensor are multiples of."""

    code = "SML304"
    name = "split-vector"
    summary = "a vector copy is split, because rows or base of the tensor are not aligned for it"

    def check_layout(self, layout: LayoutUse, settings: Settings) -> Iterator[Finding]:
        """Yields one finding for a copy that is split for its alignment."""
        if layout.family == ELEMENTWISE:
            yield self._elementwise(layout)
        if layout.family != COPIES:
            return
        figures = dict(layout.parameters)
        vector, aligned, pitch = (figures[n] for n in ("vector_bytes", "aligned", "pitch"))
        if aligned >= min(vector, figures["group"]):
            return
        cause = f"the tensor begins on a multiple of {aligned} only"
        help = f"align the tensor to {vector}: `cute.struct.Align[.., {vector}]`"
        if pitch % vector:
            cause = f"its rows are {pitch} bytes apart, no multiple of {vector}"
            padded = -(-pitch // vector) * vector // layout.element_bytes
            help = f"pad rows to a multiple of {vector} bytes: a stride of {padded}"
        yield self.finding(
            f"{vector}-byte copies are split: {cause}",
            layout.span,
            notes=(
                f"nvidia-cutlass-dsl 4.8 copies down to {aligned} bytes at a time",
                *layout.assumptions,
            ),
            help=help,
        )

    def _elementwise(self, layout: LayoutUse) -> Finding:
        """Notes a copy of CuTe C++ that asks for one element at a time.

        nvcc 13.0 made vectors of all of them in four of four kernels (sm_75, sm_90: rows of halves,
        pairs of an accumulator), of three of four vectors in another: most warnings were false.
        """
        figures = dict(layout.parameters)
        element, vector = figures["element_bytes"], figures["vector_bytes"]
        found = self.finding(
            f"this copy asks for {element} bytes at a time, where {vector} lie together",
            layout.span,
            notes=(
                "the swizzled tensor is sliced at a coordinate of run time, and `copy` assumes no "
                "alignment of strides that are not static; the compiler may make vectors of them",
            ),
            help="say that they are aligned: `copy(AutoVectorizingCopy{}, src, dst)`, "
            "`copy_aligned(src, dst)`, or a copy atom of that width",
        )
        return replace(found, severity=Severity.NOTE)


RULE = SplitVector()
