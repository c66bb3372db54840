"""Texts of kernels that Python fills in with values that are not known.

Each open part becomes a name that the text declares nowhere, so that only what depends on it stays
undecided. Lines of their own outside of functions become an include that is not found; lines of
their own inside of a function may be any statements, and leave the text unknown.
"""

from __future__ import annotations

import ast
import re
from dataclasses import field, replace
from typing import TYPE_CHECKING

from smemlint.analysis.python.cupy.source_map import MappedText, Position, joined
from smemlint.analysis.python.interpreter.values import Unknown
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.sizes import require_pieces

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LINES = '#include "the text of {}"'
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_WORD = re.compile(r"\w+")
_DECLARATION = re.compile(
    r"\s*(?:#|(?:extern|static|inline|template|typedef|struct|using|__global__|__device__)\b)"
)
_OPERAND = re.compile(r"\s*(?:[\w*&<\[=.+-]|::)")


@dataclass(frozen=True, slots=True)
class OpenPart:
    """A part of a text that is not known.

    Attributes:
        name: what the Python code calls it.
        place: where it stands in the Python file.
        is_integer: it is a decimal integer.
        origin: where the text is put together; parts of one name and origin are equal.
    """

    name: str
    place: Position | None = field(default=None, compare=False)
    is_integer: bool = False
    origin: Position | None = None


@dataclass(frozen=True, slots=True)
class PartialText(Unknown):
    """A string of which only pieces are known, in order, with something between any two.

    Attributes:
        pieces: what is known of it.
        parts: what is between neighbouring pieces; empty where nobody asks.
    """

    pieces: tuple[str, ...] = ()
    parts: tuple[OpenPart, ...] = ()

    def fits(self, text: str) -> bool:
        """Returns whether it can be this text."""
        first, *others = map(re.escape, self.pieces)
        *inner, last = others or [""]
        between = "".join(f"(?>.*?{piece})" for piece in inner)
        tail = f"{between}.*{last}" if others else ""
        return re.fullmatch(first + tail, text, re.S) is not None

    def completed(self) -> MappedText | None:
        """Returns the text with a name for each part; None where one may be statements."""
        names = self._names()
        found: list[str] = [f"extern __constant__ int {names[p]};" for p in self._integers()]
        found += ["\n"] * bool(found)
        found.append(self.pieces[0])
        depth = _depth(self.pieces[0])
        for part, before, after in self._gaps():
            role = _role(before, after, depth)
            if role is None:
                return None
            found += [MappedText.at(role.format(names[part]), part.place), after]
            depth += _depth(after)
        return joined(found)

    def _gaps(self) -> Iterator[tuple[OpenPart, str, str]]:
        """Yields each part with the pieces before and behind it."""
        yield from zip(self.parts, self.pieces, self.pieces[1:], strict=False)

    def _names(self) -> dict[OpenPart, str]:
        """Returns a name for each part that is no word of the text, alike for equal parts."""
        taken = {word for piece in self.pieces for word in _WORD.findall(piece)}
        names: dict[OpenPart, str] = {}
        for part in dict.fromkeys(self.parts):
            number, name = 1, part.name
            while name in taken:
                number += 1
                name = f"{part.name}_{number}"
            taken.add(name)
            names[part] = name
        return names

    def _integers(self) -> dict[OpenPart, None]:
        """Returns the parts that are integers wherever they stand, as tokens of their own."""
        glued = {
            part
            for part, before, after in self._gaps()
            if re.search(r"[\w.]\Z", before) or re.match(r"[\w.]", after)
        }
        return {p: None for p in self.parts if p.is_integer and p not in glued}


def assembled(pieces: Sequence[str | OpenPart | PartialText]) -> MappedText | PartialText:
    """Returns what pieces and open parts make, one behind the other."""
    texts: list[list[str]] = [[]]
    parts: list[OpenPart] = []
    for piece in pieces:
        if isinstance(piece, str):
            texts[-1].append(piece)
        elif isinstance(piece, OpenPart):
            parts.append(piece)
            texts.append([])
        else:
            texts[-1].append(piece.pieces[0])
            parts += piece.parts
            texts += [[text] for text in piece.pieces[1:]]
        require_pieces(len(parts))
    known = tuple(map(joined, texts))
    return PartialText(pieces=known, parts=tuple(parts)) if parts else known[0]


def part_of(node: ast.expr, place: Position | None) -> OpenPart:
    """Returns the open part that an expression of Python gives, named after it."""
    match node:
        case ast.Call(func=ast.Name(id="str" | "int" | "len" as function), args=[only]):
            inner = part_of(only, place)
            return replace(inner, is_integer=function != "str" or inner.is_integer)
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Call(func=ast.Name(id=name)):
            return OpenPart(name, place)
        case ast.Subscript(slice=ast.Constant(value=str(name))) if name.isidentifier():
            return OpenPart(name, place)
    return OpenPart("value", place)


def _depth(text: str) -> int:
    """Returns how many more braces a piece of code opens than it closes."""
    code = _COMMENT.sub("", text)
    return code.count("{") - code.count("}")


def _role(before: str, after: str, depth: int) -> str | None:
    """Returns what stands for a part, with its name in `{}`; None where it may be statements."""
    line, code = before.rpartition("\n")[2], before.rstrip()
    ends_line = not after.partition("\n")[0].strip()
    if line.lstrip().startswith("#"):
        return "{}"
    if not line.strip() and ends_line:
        return _LINES if depth <= 0 and not code.endswith("\\") else None
    begins = not code or code.endswith((";", "{", "}"))
    if begins and depth <= 0 and (ends_line or _DECLARATION.match(after)):
        return f"\n{_LINES}\n"
    if begins:
        return "{}" if _OPERAND.match(after) and not ends_line else None
    if re.search(r"(?:\)|\belse|\bdo)\Z", code) and ends_line:
        return None
    return "{}"
