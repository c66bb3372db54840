"""What texts of files tell of a function before they are read: calls, and uses as a value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from smemlint.analysis.simt.types.overloads import signature_of
from smemlint.facts import Span
from smemlint.frontend.program import Function
from smemlint.limits.budgets import MAX_WRITTEN_CALL
from smemlint.reasons import Line

_PIECE = re.compile(r"[()\[\]{},]|[^()\[\]{},]+")
_BEHIND_VALUE = r"\b{}\s*+(?:<[^;{{}}]{{0,200}}?>\s*+)?(?:[,;)}}\]:]|\.\.\.)"
"""A function's name where it is neither called nor launched, nor declared."""


def written_calls(text: str, name: str) -> Iterator[list[str]]:
    """Yields the texts of the arguments of each call of a function, and of its declarations.

    Args:
        text: of a file; comments and strings in a call count as what they look like.
        name: of the function, without qualification.
    """
    for found in re.finditer(rf"\b{re.escape(name)}\s*+(?:<[^;{{}}()]{{0,500}}>\s*+)?\(", text):
        yield _arguments(text[found.end() : found.end() + MAX_WRITTEN_CALL])


def _arguments(text: str) -> list[str]:
    """Returns what stands between the commas up to the closing parenthesis."""
    parts = [""]
    depth = 0
    for piece in _PIECE.findall(text):
        depth += (piece in "([{") - (piece in ")]}")
        if depth < 0:
            break
        if piece == "," and not depth:
            parts.append("")
        else:
            parts[-1] += piece
    return [part.strip() for part in parts]


def may_launch(
    kernel: Function, unnamed: Mapping[Span, int | None], texts: Iterable[str]
) -> tuple[Line, ...]:
    """Returns the places of launches that may be of a kernel, which its name does not tell.

    They pass as much as it takes, and its name is a value somewhere.
    """
    signature = signature_of(kernel)
    fitting = [n for n, k in unnamed.items() if k is None or signature.least <= k <= signature.most]
    if not fitting:
        return ()
    pattern = re.compile(_BEHIND_VALUE.format(re.escape(kernel.name)))  # costs milliseconds
    if not any(map(pattern.search, texts)):
        return ()
    return tuple(dict.fromkeys(Line(span.path, span.line) for span in fitting))
