"""How a text names an array: does all of it follow when a row of the array gets longer?

The type of `tile[i][j]` follows the declaration. A pointer into the array, or the bare name, may
meet code that counts on the old pitch.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from smemlint.facts import Span
from smemlint.fix.declarator import Declarator, subscripts
from smemlint.frontend.cuda.lexer.tokens import LineMap, Token, lex
from smemlint.lazy_dataclasses import dataclass
from smemlint.sources.languages import is_python_path

_DEFINITION = re.compile(r"^[ \t]*#[ \t]*define\b(?:[^\\\r\n]|\\(?:\r\n|[\s\S]))*", re.M)
_CONVERSION = "__cvta_generic_to_shared"
_MEMBER = frozenset((".", "->", "::"))


@dataclass(frozen=True, slots=True)
class Mentions:
    """How the array is named, always with all of its subscripts.

    Attributes:
        pointers: where the address of an element is taken, for whatever use.
        is_converted: whether one is made an address of PTX, which only accesses can be made with.
    """

    pointers: tuple[Span, ...]
    is_converted: bool

    @property
    def is_typed(self) -> bool:
        """Whether the type alone decides which element is meant, everywhere."""
        return not self.pointers and not self.is_converted


def mentions(found: Declarator, path: str) -> Mentions | None:
    """Returns how the array is named after its declaration; None where it is used in another way.

    Looked at is the rest of the block that declares the array, and every macro of the file. Another
    way is the name with fewer subscripts than the array has extents, other than in `sizeof(name)`;
    so is a declaration outside of any block, which the whole program may name.
    """
    block = _rest_of_block(lex(found.text[found.end :]))
    if block is None or (is_python_path(path) and _has_escapes(found, block)):
        return None
    lines = LineMap(found.text)
    pointers: list[Span] = []
    is_converted = False
    for at in _elements(block, found.name, len(found.extents)):
        if at is None:
            return None
        if block[at - 1].text != "&":
            continue
        if [t.text for t in block[max(at - 3, 0) : at - 1]] == [_CONVERSION, "("]:
            is_converted = True
            continue
        start = found.end + block[at].start
        pointers.append(Span(path, *lines(start), *lines(start + len(found.name))))
    for definition in _DEFINITION.finditer(found.text):
        body = lex(definition[0])
        for at in _elements(body, found.name, len(found.extents)):
            if at is None or body[at - 1].text == "&":
                return None
    return Mentions(tuple(pointers), is_converted)


def _rest_of_block(tokens: Sequence[Token]) -> Sequence[Token] | None:
    """Returns the tokens up to the end of the block around the first; None without one."""
    depth = 0
    for at, token in enumerate(tokens):
        depth += (token.text == "{") - (token.text == "}")
        if depth < 0:
            return tokens[:at]
    return None


def _has_escapes(found: Declarator, block: Sequence[Token]) -> bool:
    r"""Returns whether a string of Python escapes a part of the block, such as `\n`."""
    return bool(block) and "\\" in found.text[found.end : found.end + block[-1].end]


def _elements(tokens: Sequence[Token], name: str, rank: int) -> list[int | None]:
    """Returns positions of the name with all its subscripts; None for a use in another way."""
    found: list[int | None] = []
    for at, token in enumerate(tokens):
        if token.text != name or token.kind != "identifier":
            continue
        before = [t.text for t in tokens[max(at - 2, 0) : at]]
        if before[-1:] and before[-1] in _MEMBER:
            continue
        if len(subscripts(tokens, at + 1)) >= rank:
            found.append(at)
        elif before != ["sizeof", "("]:
            found.append(None)
    return found
