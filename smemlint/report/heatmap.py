"""Where a tile lands in the banks, as a coloured map for terminals and as SVG.

A cell is one vector of the tile at its logical place; its colour and number are the bank where it
is kept. Cells of one colour that are read together wait for each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from colorsys import hls_to_rgb
from html import escape

from smemlint.lazy_dataclasses import dataclass

BLOCKS = " ▁▂▃▄▅▆▇█"
_CELL_W, _BANK_W, _CELL_H, _LEFT, _BAR_H = 30, 24, 22, 64, 64
_MOST_COLUMNS, _MOST_ROWS = 32, 64
_FONT = "font-family='ui-monospace,Menlo,Consolas,monospace'"


@dataclass(frozen=True, slots=True)
class Panel:
    """One arrangement of a tile.

    Attributes:
        title: which arrangement.
        banks: the first bank of every cell, of shape rows x columns.
        read: cells (row, column) that one instruction touches.
        words: how many words of each bank it needs, one number a bank.
        verdict: what it costs, in words.
        cell_banks: how many banks a cell covers.
    """

    title: str
    banks: Sequence[Sequence[int]]
    read: frozenset[tuple[int, int]]
    words: Sequence[int]
    verdict: str
    cell_banks: int = 1

    @property
    def bank_count(self) -> int:
        """How many banks there are."""
        return len(self.words)

    @property
    def cut(self) -> str:
        """What is not drawn; empty when all is."""
        rows, columns = len(self.banks), len(self.banks[0])
        if rows <= _MOST_ROWS and columns <= _MOST_COLUMNS:
            return ""
        shown = f"{min(rows, _MOST_ROWS)}x{min(columns, _MOST_COLUMNS)}"
        return f"{shown} of {rows}x{columns} cells are drawn"


def terminal_map(panels: Sequence[Panel], *, colour: bool, unicode: bool) -> str:
    """Returns the panels as text: bank numbers, those of the access marked with `>`."""
    highest = _highest(panels)
    return "\n\n".join(_terminal_panel(panel, highest, colour, unicode) for panel in panels)


def svg(panels: Sequence[Panel], heading: str, notes: Sequence[str]) -> str:
    """Returns the panels one below another, each with a bar for every bank."""
    width = max(_panel_width(p) for p in panels)
    width = max(width, 10 * len(heading) + 32, 8 * max(len(line) for line in notes) + 32)
    highest = _highest(panels)
    body, y = [], 46 + 16 * len(notes)
    for panel in panels:
        body.append(_svg_panel(panel, y, highest))
        y += _panel_height(panel)
    head = (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{y + 8}' "
        f"viewBox='0 0 {width} {y + 8}' role='img' aria-label='{escape(heading, quote=True)}'>"
        f"<rect width='100%' height='100%' fill='#ffffff'/>"
        f"<text x='16' y='26' font-size='17' font-weight='bold' {_FONT}>{escape(heading)}</text>"
    )
    head += "".join(_text(16, 46 + 16 * i, line, 12) for i, line in enumerate(notes))
    return head + "".join(body) + "</svg>\n"


def _highest(panels: Sequence[Panel]) -> int:
    """Returns the scale that panels share, so that their bars compare."""
    return max(1, *(max(p.words) for p in panels))


# ---- terminal


def _terminal_panel(panel: Panel, highest: int, colour: bool, unicode: bool) -> str:
    lines = [panel.title]
    strip = _strip(panel.words, highest, unicode)
    for r, row in enumerate(panel.banks[:_MOST_ROWS]):
        cells = "".join(
            _cell(bank, (r, c) in panel.read, panel.bank_count, colour)
            for c, bank in enumerate(row[:_MOST_COLUMNS])
        )
        lines.append(f"  row {r:3} {cells}")
    if panel.cut:
        lines.append(f"  ({panel.cut})")
    lines += [
        f"  words needed of each bank  |{strip}| up to {max(panel.words)}",
        f"  {panel.verdict}",
    ]
    return "\n".join(lines)


def _cell(bank: int, is_read: bool, count: int, colour: bool) -> str:
    text = f"{'>' if is_read else ' '}{bank:2}"
    if not colour:
        return text
    red, green, blue = _shade(bank, count)
    weight = "1;4;" if is_read else ""
    return f"\x1b[{weight}38;2;0;0;0;48;2;{red};{green};{blue}m{text}\x1b[0m"


def _strip(words: Sequence[int], highest: int, unicode: bool) -> str:
    if unicode:
        return "".join(BLOCKS[-(-8 * w // highest)] for w in words)
    return "".join("." if not w else str(w) if w < 10 else "#" for w in words)


def _shade(bank: int, count: int) -> tuple[int, int, int]:
    """Returns hue by bank and alternating lightness, so that neighbours differ too."""
    lightness = (0.68, 0.82)[bank % 2]
    red, green, blue = hls_to_rgb(bank / count, lightness, 0.75)
    return round(red * 255), round(green * 255), round(blue * 255)


# ---- SVG


def _cell_width(panel: Panel) -> int:
    return _CELL_W if panel.cell_banks == 1 else _BANK_W * panel.cell_banks


def _bank_width(panel: Panel) -> int:
    """Returns the width of a bank's bar: that of its part of a cell, so that both are aligned."""
    return _cell_width(panel) // panel.cell_banks


def _panel_width(panel: Panel) -> int:
    cells = min(len(panel.banks[0]), _MOST_COLUMNS)
    text = max(len(panel.verdict), len(panel.title)) * 8
    return (
        max(
            _LEFT + cells * _cell_width(panel),
            _LEFT + panel.bank_count * _bank_width(panel),
            text + 32,
        )
        + 24
    )


def _panel_height(panel: Panel) -> int:
    return 34 + min(len(panel.banks), _MOST_ROWS) * _CELL_H + 40 + _BAR_H + 56


def _svg_panel(panel: Panel, top: int, highest: int) -> str:
    parts = [_text(16, top + 20, panel.title, 14, "bold")]
    top += 32
    for r, row in enumerate(panel.banks[:_MOST_ROWS]):
        y = top + r * _CELL_H
        parts.append(_text(_LEFT - 8, y + 15, f"row {r}", 11, "normal", "end"))
        for c, bank in enumerate(row[:_MOST_COLUMNS]):
            parts.append(_svg_cell(_LEFT + c * _cell_width(panel), y, panel, bank, (r, c)))
    top += min(len(panel.banks), _MOST_ROWS) * _CELL_H
    if panel.cut:
        parts.append(_text(_LEFT, top + 14, panel.cut, 11))
    return "".join(parts) + _svg_bars(panel, top + 24, highest)


def _svg_cell(x: int, y: int, panel: Panel, bank: int, place: tuple[int, int]) -> str:
    red, green, blue = _shade(bank, panel.bank_count)
    is_read, width = place in panel.read, _cell_width(panel)
    edge = "stroke='#000' stroke-width='2.5'" if is_read else "stroke='#fff' stroke-width='1'"
    inset = 1 if is_read else 0
    label = str(bank) if panel.cell_banks == 1 else f"{bank}-{bank + panel.cell_banks - 1}"
    return (
        f"<rect x='{x + inset}' y='{y + inset}' width='{width - 2 * inset}' "
        f"height='{_CELL_H - 2 * inset}' fill='rgb({red},{green},{blue})' {edge}/>"
        + _text(x + width // 2, y + 15, label, 11, "bold" if is_read else "normal", "middle")
    )


def _svg_bars(panel: Panel, top: int, highest: int) -> str:
    """Draws how many words the cells need from each bank: the highest bar is the cost."""
    base = top + _BAR_H + 16
    parts, width = [], _bank_width(panel)
    for bank, words in enumerate(panel.words):
        x = _LEFT + bank * width
        red, green, blue = _shade(bank, panel.bank_count)
        height = round(_BAR_H * words / highest)
        parts.append(
            f"<rect x='{x}' y='{base - height}' width='{width - 4}' height='{height}' "
            f"fill='rgb({red},{green},{blue})' stroke='#333' stroke-width='0.5'/>"
        )
        parts.append(_text(x + width // 2 - 2, base + 13, str(bank), 9, "normal", "middle"))
        if words:
            parts.append(
                _text(x + width // 2 - 2, base - height - 4, str(words), 10, "bold", "middle")
            )
    parts.append(_text(_LEFT - 8, base, "words", 11, "normal", "end"))
    parts.append(_text(_LEFT - 8, base + 13, "bank", 11, "normal", "end"))
    parts.append(_text(16, base + 34, panel.verdict, 13, "bold"))
    return "".join(parts)


def _text(
    x: int, y: int, text: str, size: int, weight: str = "normal", anchor: str = "start"
) -> str:
    return (
        f"<text x='{x}' y='{y}' font-size='{size}' font-weight='{weight}' "
        f"text-anchor='{anchor}' {_FONT}>{escape(text)}</text>"
    )
