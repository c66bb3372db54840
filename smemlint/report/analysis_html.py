"""`smemlint analyze` as a page: what each kernel and each line of it takes, in sortable tables."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from smemlint.lint.cost import total
from smemlint.report.table import HEAD, row, title, total_text
from smemlint.report.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from smemlint.facts import Facts, KernelFacts

_PLAIN = Terminal()
_SORT = """
for (const head of document.querySelectorAll("th")) head.addEventListener("click", () => {
  const body = head.closest("table").tBodies[0], column = head.cellIndex;
  const down = head.dataset.down = head.dataset.down === "1" ? "0" : "1";
  const value = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
  const rows = [...body.rows].sort((a, b) => {
    const [x, y] = [value(a), value(b)], [n, m] = [parseFloat(x), parseFloat(y)];
    return isNaN(n) || isNaN(m) ? x.localeCompare(y) : n - m;
  });
  body.append(...(down === "1" ? rows.reverse() : rows));
});
"""
"""A click on the head of a column sorts by it; without a script the tables are as they are."""


def analysis_html(parts: Mapping[str, Facts]) -> str:
    """Returns the page: all kernels by what they waste, then the accesses of each.

    Args:
        parts: the facts by target.
    """
    style = (Path(__file__).parent / "html.css").read_text(encoding="utf-8")
    kernels = [k for facts in parts.values() for k in facts.kernels if k.accesses]
    kernels.sort(key=lambda k: total(k).ideal - total(k).wavefronts)
    name = "smemlint: kernels and their shared-memory accesses"
    return "\n".join(
        (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{name}</title>\n<style>\n{style}th {{ cursor: pointer; }}</style>",
            f"</head>\n<body>\n<h1>{name}</h1>\n<p class='quiet'>{escape(', '.join(parts))}</p>",
            *_overview(kernels),
            *(part for number, kernel in enumerate(kernels) for part in _kernel(number, kernel)),
            f"<script>{_SORT}</script>\n</body>\n</html>",
        )
    )


def _overview(kernels: Sequence[KernelFacts]) -> Iterator[str]:
    """Yields a row for each kernel instance, which leads to its accesses."""
    rows = []
    for number, kernel in enumerate(kernels):
        all_of_it = total(kernel)
        link = f"<a href='#k{number}'>{_text(kernel.instance.title)}</a>"
        rows.append(
            f"<tr><td>{link}<td>{all_of_it.wavefronts:.6g}<td>{all_of_it.ideal:.6g}"
            f"<td>{all_of_it.wavefronts - all_of_it.ideal:.6g}<td>{all_of_it.efficiency:.0%}"
        )
    head = ("kernel", "wavefronts a block", "ideal", "wasted", "efficiency")
    yield _table(head, rows)


def _kernel(number: int, kernel: KernelFacts) -> Iterator[str]:
    """Yields the accesses of a kernel instance, line by line."""
    everything = total(kernel)
    yield f"<article id='k{number}'><h2>{_text(title(kernel.instance))}</h2>"
    yield f"<p>{_text(total_text(kernel))}</p>"
    rows = []
    for access in kernel.accesses:
        place, *cells = row(access, everything)
        order = f"{access.span.line}.{access.span.column:04}"
        first = f"<td data-value='{order}'>{_text(place)}"
        rows.append("<tr>" + first + "".join(f"<td>{_text(cell)}" for cell in cells))
    yield _table(HEAD, rows) + "</article>"


def _table(head: Iterable[str], rows: Iterable[str]) -> str:
    cells = "".join(f"<th>{name}" for name in head)
    return f"<table><thead><tr>{cells}</thead><tbody>{''.join(rows)}</tbody></table>"


def _text(text: str) -> str:
    return escape(_PLAIN.visible(text))
