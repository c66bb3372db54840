"""Templates of inline PTX: their statements, operands kept as `%0`."""

from __future__ import annotations

import re
from functools import lru_cache

from smemlint.frontend.ptx.lexer import without_block_comments
from smemlint.frontend.ptx.parser import parse_body
from smemlint.frontend.ptx.syntax import Body

_ESCAPE = re.compile(r"\\.|%[%=]")
_MEANT = {"\\n": "\n", "\\t": "\t", "\\r": "\r", "%=": "0"}
"""`%=` is a number that no other statement has, for labels."""
_OPERAND = re.compile(r"%(\d{1,4})")


def instructions(template: str, immediates: dict[int, int]) -> Body:
    """Returns the statements of a template.

    Args:
        template: as the literal spells it, escapes kept.
        immediates: values of operands that the compiler writes as numbers, by their number.
    """
    return _parsed(template, tuple(sorted(immediates.items())))


@lru_cache(maxsize=256)
def _parsed(template: str, immediates: tuple[tuple[int, int], ...]) -> Body:
    numbers = {str(n): str(value) for n, value in immediates}
    text = _OPERAND.sub(lambda found: numbers.get(found[1], found[0]), template)
    text = _ESCAPE.sub(lambda found: _MEANT.get(found[0], found[0][1:]), text)
    return parse_body(without_block_comments(_terminated(text)), 1, {})


def _terminated(text: str) -> str:
    """Adds the semicolon that the last instruction may lack."""
    bare = text.rstrip().rstrip("}").rstrip()
    return text if bare.endswith((";", "{", ":")) or not bare else f"{bare};"
