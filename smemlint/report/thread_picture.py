"""Which lane holds which chunk of which row of a CuTe tensor, as text and as SVG."""

from __future__ import annotations

from collections.abc import Iterator

from smemlint.facts import Access
from smemlint.hardware.arch import BANKS
from smemlint.lint.thread_values import ThreadValues, thread_values

_TEXT_ROWS, _TEXT_COLUMNS = 8, 16
_DRAWN_ROWS, _DRAWN_COLUMNS = 32, 32
_CELL_W, _CELL_H, _LEFT, _TOP = 26, 16, 58, 40


def picture_of(access: Access | None) -> ThreadValues | None:
    """Returns what an access's costliest instruction reaches; None where there is no picture."""
    worst = access.worst if access is not None else None
    return thread_values(access, worst) if access is not None and worst is not None else None


def text_picture(values: ThreadValues) -> Iterator[str]:
    """Yields a heading, then a line for each row: lanes at their chunks, and the banks of these."""
    columns, rows = values.columns[:_TEXT_COLUMNS], values.rows
    yield _heading(values)
    for row in rows[:_TEXT_ROWS]:
        cells = "".join(_cell(values.lanes.get((row, column), ())) for column in columns)
        more = ".." if len(columns) < len(values.columns) else ""
        banks = [values.banks[row, c] for c in values.columns if (row, c) in values.banks]
        shown = ", ".join(map(str, banks[:4])) + (", .." if len(banks) > 4 else "")
        yield f"row {row:3} |{cells}{more}| bank{'s' if len(banks) > 1 else ''} {shown}"
    if len(rows) > _TEXT_ROWS:
        yield f"and {len(rows) - _TEXT_ROWS} more rows"


def svg_picture(values: ThreadValues) -> str:
    """Returns the chunks of the rows that are reached, coloured by bank, with their lanes."""
    columns, rows = values.columns[:_DRAWN_COLUMNS], values.rows[:_DRAWN_ROWS]
    width = max(_LEFT + len(columns) * _CELL_W, 420) + 14
    height = _TOP + len(rows) * _CELL_H + 22
    body = [_text(4, 14, _heading(values), "start")]
    body += [
        _text(_LEFT + (k + 0.5) * _CELL_W, _TOP - 6, str(column))
        for k, column in enumerate(columns)
        if k % 2 == 0
    ]
    for r, row in enumerate(rows):
        y = _TOP + r * _CELL_H
        body.append(_text(_LEFT - 6, y + 12, f"row {row}", "end"))
        for k, column in enumerate(columns):
            lanes = values.lanes.get((row, column), ())
            hue = values.banks[row, column] * 360 // BANKS if lanes else 0
            fill = f"fill='hsl({hue} 70% 70%)'" if lanes else "class='grid'"
            x = _LEFT + k * _CELL_W
            box = f"x='{x}' y='{y}' width='{_CELL_W - 1}' height='{_CELL_H - 1}'"
            body.append(f"<rect {box} {fill}/>")
            if lanes:
                label = _cell(lanes).strip()
                middle = x + _CELL_W / 2
                body.append(
                    f"<text x='{middle}' y='{y + 12}' text-anchor='middle' "
                    f"style='fill:#000'>{label}</text>"
                )
    left_out = len(values.rows) - len(rows), len(values.columns) - len(columns)
    if any(left_out):
        y = height - 6
        body.append(_text(_LEFT, y, f"{left_out[0]} rows, {left_out[1]} chunks more", "start"))
    return (
        f"<svg class='map' viewBox='0 0 {width} {height}' width='{width}' height='{height}' "
        f"role='img' aria-label='{_heading(values)}'>{''.join(body)}</svg>"
    )


def _heading(values: ThreadValues) -> str:
    unit = f"{values.elements} elements" if values.elements > 1 else "element"
    lanes = f"lanes {values.first} to {values.last}, each at the {unit} that it reaches"
    return f"{lanes}; lanes of one bank wait for each other"


def _cell(lanes: tuple[int, ...]) -> str:
    """Returns the lane, or the first of several that share the chunk."""
    if not lanes:
        return "  ."
    return f"{lanes[0]:3}" if len(lanes) == 1 else f"{lanes[0]:2}+"


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f"<text x='{x}' y='{y}' text-anchor='{anchor}'>{text}</text>"
