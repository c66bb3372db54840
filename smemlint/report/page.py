"""What the HTML pages share: one file, nothing loaded from elsewhere, dark and light."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path

from smemlint.report.terminal import Terminal

_PLAIN = Terminal()


def page(title: str, parts: Iterable[str]) -> str:
    """Returns a page with `parts` as its body.

    Its script sorts tables by the column whose head is clicked, and filters the table of contents
    and what it links to; without the script, all is there in the order in which it was written.
    """
    style, script = (
        (Path(__file__).parent / name).read_text(encoding="utf-8")
        for name in ("page.css", "page.js")
    )
    return "\n".join(
        (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>",
            *parts,
            f"<script>\n{script}</script>\n</body>\n</html>",
        )
    )


def table(head: Iterable[str], rows: Iterable[str], *, is_contents: bool = False) -> str:
    """Returns a table; a row is the text of its cells, each begun by `cell`."""
    begin = "<table class='contents'>" if is_contents else "<table>"
    cells = "".join(f"<th>{name}" for name in head)
    body = "\n".join(f"<tr>{row}" for row in rows)
    return f"{begin}<thead><tr>{cells}</thead><tbody>{body}</tbody></table>"


def cell(content: str, order: object = None) -> str:
    """Returns a cell; `order` is what its column is sorted by, without it what the cell shows."""
    value = f" data-value='{escape(str(order))}'" if order is not None else ""
    return f"<td{value}>{content}"


def plain(text: str) -> str:
    """Returns text of linted sources, escaped, without what would steer a terminal."""
    return escape(_PLAIN.visible(text))
