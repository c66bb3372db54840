"""SML204: a swizzle whose parameters count in the other unit."""

from __future__ import annotations

from collections.abc import Iterator

from smemlint.config.settings import Settings
from smemlint.facts import Facts, LayoutUse
from smemlint.finding import Finding
from smemlint.layout.swizzle import Swizzle
from smemlint.lint.rule import Rule

from ..layouts import MOST_BYTES, byte_swizzle, is_conflict_free, swizzle_of

_ROW = 16
"""Bytes of a row of an 8x8 matrix of 16-bit elements, and of the widest vector."""
_MBASE = 4
"""MBase of the 32-, 64- and 128-byte modes in bytes: 16 bytes stay together."""


class SwizzleUnits(Rule):
    """Reads 8 rows of 16 bytes under the swizzle as written and as meant."""

    code = "SML204"
    name = "swizzle-units"
    summary = "the swizzle's parameters count in elements where bytes are meant, or vice versa"

    def check(self, facts: Facts, settings: Settings) -> Iterator[Finding]:
        """Yields a finding for each named mode that is in the wrong unit and costs for it."""
        for use in facts.layouts:
            is_placed = use.is_bound or (use.family == "cute-dsl" and bool(use.units))
            if not is_placed or not (use.certainty.is_decided or settings.pedantic):
                continue
            meant = _meant(use)
            if meant is None or is_conflict_free(use, facts):
                continue
            written = byte_swizzle(use)
            right = meant if use.units == "bytes" else meant.in_bytes(use.element_bytes)
            if written is None or not _is_worth_saying(use, written, right):
                continue
            other = "bytes" if use.units == "elements" else "elements"
            proof = _proof(use, written, right)
            yield self.finding(
                f"`{use.spelled}` counts in {use.units}, and its parameters are those for {other}",
                use.span,
                notes=(proof, *use.assumptions),
                help=f"in {use.units} of {use.element_bytes}-byte data write {meant}"
                if use.units == "elements"
                else f"in bytes write {meant}",
            )


def _meant(use: LayoutUse) -> Swizzle | None:
    """Returns the swizzle in the use's unit that has these numbers in the other unit."""
    swizzle = swizzle_of(use)
    size = use.element_bytes
    if swizzle is None or size not in (2, 4, 8) or swizzle.shift != 3 or swizzle.bits > 3:
        return None
    shift = size.bit_length() - 1
    if use.units == "elements" and swizzle.base == _MBASE:
        return Swizzle(swizzle.bits, _MBASE - shift, 3)
    if use.units == "bytes" and swizzle.base == _MBASE - shift:
        return Swizzle(swizzle.bits, _MBASE, 3)
    return None


def _is_worth_saying(use: LayoutUse, written: Swizzle, right: Swizzle) -> bool:
    if written.base < _MBASE:
        return True  # 16 bytes are torn apart
    as_written, as_meant = _row_wavefronts(use, written), _row_wavefronts(use, right)
    return as_meant == 1 < as_written


def _proof(use: LayoutUse, written: Swizzle, right: Swizzle) -> str:
    if written.base < _MBASE:
        return (
            f"only {written.group} bytes stay together, so 16-byte vectors are torn apart; "
            f"{right} in bytes keeps them whole"
        )
    return (
        f"in bytes it is {written}: 8 rows of 16 bytes take {_row_wavefronts(use, written)} "
        f"wavefronts, and {_row_wavefronts(use, right)} under {right}"
    )


def _row_wavefronts(use: LayoutUse, swizzle: Swizzle) -> int:
    """Returns what the first 16 bytes of 8 successive rows cost at once; 0 for none."""
    import numpy as np

    from smemlint.hardware.banks import wavefronts

    size = use.element_bytes
    unit = size if use.units == "elements" else 1
    modes = [(s, d * unit) for s, d in zip(use.shape, use.stride, strict=False) if s > 1]
    inner = [(s, d) for s, d in modes if d < _ROW]
    rows = sorted((d, s) for s, d in modes if d >= _ROW)
    if not any(d == size for _, d in inner) and not any(d == size for d, _ in rows):
        return 0
    if max(abs(use.offset * unit), *(stride for stride, _ in rows), 0) > MOST_BYTES:
        return 0
    found = np.full(1, use.offset * unit, dtype=np.int64)
    for stride, extent in _outer(rows):
        found = (np.arange(min(extent, 8), dtype=np.int64)[:, None] * stride + found).ravel()
    if len(found) < 8:
        return 0
    lanes = np.zeros(32, dtype=np.int64)
    lanes[:8] = swizzle(found[:8])
    if (lanes % _ROW).any():
        return 0
    return int(wavefronts(lanes, kind="ldmatrix", width=_ROW, matrices=1).wavefronts)


def _outer(rows: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Returns the modes that step from row to row, without those that go on inside a row."""
    contiguous = _ROW
    kept = []
    for stride, extent in rows:
        if stride == contiguous:
            contiguous = stride * extent
        else:
            kept.append((stride, extent))
    return kept


RULE = SwizzleUnits()
