"""Which lane reaches which bank, as SVG: lanes downwards, banks to the right, words below.

Colours are the page's custom properties; crowded cells are hatched too, so that nothing hangs on
colour. All cells of a kind are one path, which keeps reports of many findings small.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from smemlint.facts import Access, WarpPattern
from smemlint.hardware.arch import BANKS, LANES
from smemlint.lint.passes import Pass, passes

_CELL_W, _CELL_H = 11, 8
_LEFT, _TOP, _BARS, _FOOT = 44, 34, 48, 22
_WIDTH = _LEFT + BANKS * _CELL_W + 14
_HEIGHT = _TOP + LANES * _CELL_H + _BARS + 16 + _FOOT
_TICKS = (0, 8, 16, 24, 31)

HATCH = (
    "<svg width='0' height='0' style='position:absolute' aria-hidden='true'><defs>"
    "<pattern id='hatch' width='4' height='4' patternUnits='userSpaceOnUse' "
    "patternTransform='rotate(45)'><rect width='4' height='4' class='hot'/>"
    "<line x1='0' y1='0' x2='0' y2='4' class='line'/></pattern></defs></svg>"
)
"""Goes into the page once; maps refer to it."""


def bank_map(access: Access, pattern: WarpPattern, highest: int = 0) -> str:
    """Returns the map of one warp instruction.

    Args:
        access: it belongs to.
        pattern: of it; has an active lane.
        highest: words that the tallest bar stands for; by default those of this pattern. Maps that
            are compared share it.
    """
    split = passes(access, pattern)
    crowded = max(split, key=lambda p: p.turns)
    summary = (
        f"{pattern.wavefronts} wavefronts, {max(pattern.ideal, pattern.profiler_ideal)} at best"
    )
    body = [
        _text(_LEFT, 14, "bank", anchor="start"),
        *(_text(_x(bank) + _CELL_W / 2, 28, str(bank)) for bank in _TICKS),
        _text(_LEFT - 8, 28, "lane", anchor="end"),
        *(_text(_LEFT - 8, _y(lane) + _CELL_H, str(lane), anchor="end") for lane in _TICKS),
        f"<path class='grid' d='{''.join(_frame(p) for p in split)}'/>",
        f"<path class='cool' d='{_cells(split, is_crowded=False)}'/>",
        f"<path class='crowded' d='{_cells(split, is_crowded=True)}'/>",
        *_bars(crowded, max(highest, crowded.turns), len(split) > 1),
    ]
    return (
        f"<svg class='map' viewBox='0 0 {_WIDTH} {_HEIGHT}' width='{_WIDTH}' height='{_HEIGHT}' "
        f"role='img' aria-label='banks of the lanes of a warp: {summary}'>{''.join(body)}</svg>"
    )


def most_words(access: Access, pattern: WarpPattern) -> int:
    """Returns the height that a map of the pattern needs."""
    return max(p.turns for p in passes(access, pattern))


def _cells(split: Iterable[Pass], *, is_crowded: bool) -> str:
    return "".join(
        f"M{_x(bank)} {_y(lane)}h{_CELL_W - 1}v{_CELL_H - 1}h-{_CELL_W - 1}z"
        for part in split
        for lane, banks in part.banks
        for bank in banks
        if (part.words[bank] > 1) is is_crowded
    )


def _frame(part: Pass) -> str:
    """Returns the outline of a pass: what is inside is served together."""
    height = (part.last - part.first + 1) * _CELL_H
    top = _y(part.first) - 0.5
    width = BANKS * _CELL_W
    return f"M{_LEFT - 0.5} {top}h{width}v{height}h-{width}z"


def _bars(crowded: Pass, highest: int, is_part: bool) -> Sequence[str]:
    base = _y(LANES) + _BARS + 10
    found = []
    for bank, words in enumerate(crowded.words):
        if words:
            height = round(_BARS * words / highest, 1)
            kind = "crowded" if words > 1 else "cool"
            box = f"x='{_x(bank)}' y='{base - height}' width='{_CELL_W - 1}' height='{height}'"
            found.append(f"<rect class='{kind}' {box}/>")
    lanes = f" of lanes {crowded.first}-{crowded.last}" if is_part else ""
    summary = f"words in each bank{lanes}: up to {crowded.turns}"
    line = f"<path class='grid' d='M{_LEFT} {base}h{BANKS * _CELL_W}'/>"
    return (*found, line, _text(_LEFT, base + 16, summary, anchor="start"))


def _x(bank: int) -> int:
    return _LEFT + bank * _CELL_W


def _y(lane: int) -> int:
    return _TOP + lane * _CELL_H


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f"<text x='{x}' y='{y}' text-anchor='{anchor}'>{text}</text>"
