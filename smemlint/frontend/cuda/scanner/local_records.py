"""Classes that a function's body defines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smemlint.frontend.cuda.lexer.brackets import Brackets
from smemlint.frontend.cuda.lexer.tokens import Token
from smemlint.frontend.cuda.scanner.definition_heads import RecordHead, record_head

_KEYWORDS = ("struct", "class")
_END = frozenset(("{", ";", "(", ")", "=", ",", ">", *_KEYWORDS))
"""What ends the head of a class, or shows that there is none."""


def local_records(
    tokens: Sequence[Token], brackets: Brackets, begin: int, end: int
) -> Iterator[tuple[RecordHead, int, int]]:
    """Yields the classes of a body, with the numbers of their first token and of their `{`."""
    i = begin
    while i < end:
        if tokens[i].text in _KEYWORDS:
            brace = next((j for j in range(i + 1, end) if tokens[j].text in _END), end)
            if brace < end and tokens[brace].text == "{":
                head = record_head(tokens[i:brace], frozenset())
                if head is not None and head.name:
                    yield head, i, brace
                    i = brackets.after(brace)
                    continue
        i += 1
