"""Where a comment line may be written into a Python file.

The file is read with libcst, which keeps the place of every token; what a file is checked for is
read with `ast`, which is imported in a tenth of the time.
"""

from __future__ import annotations

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

_STRINGS = (cst.SimpleString, cst.FormattedString)


def lines_in_strings(text: str) -> frozenset[int]:
    """Lines that begin inside a string literal: what is written there becomes part of it.

    Args:
        text: a Python module.

    Raises:
        ValueError: the text is no module that libcst reads.
    """
    readable = text.encode("utf-8", "replace").decode("utf-8")  # bytes of other encodings
    try:
        wrapper = MetadataWrapper(cst.parse_module(readable), unsafe_skip_copy=True)
    except (cst.ParserSyntaxError, UnicodeError, RecursionError) as error:
        raise ValueError(f"no Python that libcst reads: {error}") from error
    found: set[int] = set()
    for node, place in wrapper.resolve(PositionProvider).items():
        if isinstance(node, _STRINGS):
            found.update(range(place.start.line + 1, place.end.line + 1))
    return frozenset(found)
