"""Texts of kernels that Python fills in with values that are not known.

Each open part becomes a name that the text declares nowhere, so that only what depends on it stays
undecided. Lines of their own outside of functions become an include that is not found; lines of
their own inside of a function may be any statements, and leave the text unknown.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import field, replace

from smemlint.analysis.python.cupy.source_map import MappedText, Position, joined
from smemlint.analysis.python.interpreter.values import Unknown
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.sizes import require_pieces

_LINES = '#include "the text of {}"'
_NO_CODE = re.compile(
    r"""//[^\n]*+|/\*.*?\*/|"(?:\\.|[^"\\\n])*+"|'(?:\\.|[^'\\\n])*+'"""
    r"""|^[ \t]*+#(?:\\\r?\n|[^\n])*+""",
    re.S | re.M,
)
_LABEL = re.compile(r"\bcase\b[^;{}?]{0,200}:\Z|\bdefault\s*+:\Z")
_WRITTEN_AFTER = re.compile(r"(?:\+\+|--|[(,=]\s*+&)\s*+\Z")
_WRITTEN_BEFORE = re.compile(r"\s*+(?:\+\+|--)")
_WORD = re.compile(r"\w+")
_DECLARATION = re.compile(
    r"\s*(?:#|(?:extern|static|inline|template|typedef|struct|using|__global__|__device__)\b)"
)
_DECLARATOR = re.compile(
    r"(?:\w*\s*+::|\w*\s*+<)|\w*+\s*+(?:const\b\s*+)?[*&\s]*+\w++\s*+"
    r"(?:=(?!=)|(?:\[[^\[\]]*+\]\s*+)*+(?:[;,]|=\s*+\{))"
)
_TYPES = re.compile(
    r"\b(?:const|volatile|static|extern|unsigned|signed|bool|char|short|int|long|half|float|double|void|"
    r"size_t|u?int\d+_t|(?:u?(?:char|short|int|long)|float|double)[1-4]|auto|struct|class|enum|typename|using|"
    r"__\w+__|return|case|sizeof|goto|throw|new|else|do)\Z"
)
_OPERATOR = re.compile(r"[\[=+\-*/%&|^?!~]\Z")
_OPERAND = re.compile(r"\s+[\w(]")
_CONDITION = re.compile(r"^[ \t]*+#[ \t]*+(?:el)?if[^\n]*+", re.M)
_TESTED = re.compile(r"^[ \t]*+#[ \t]*+(?:el)?if(?!n?def)[^\n]*+", re.M)
_GUARD = re.compile(r"^[ \t]*+#[ \t]*+ifndef[ \t]++(\w++)", re.M)
_DEFINE = re.compile(r"^[ \t]*+#[ \t]*+(?:define|undef)[ \t]++(\w++)((?:\\\r?\n|[^\n])*+)", re.M)


@dataclass(frozen=True, slots=True)
class OpenPart:
    """A part of a text that is not known.

    Attributes:
        name: what the Python code calls it.
        place: where it stands in the Python file.
        is_integer: it is a decimal integer.
        origin: the evaluation that puts the text together; parts of one name and origin are equal.
    """

    name: str
    place: Position | None = field(default=None, compare=False)
    is_integer: bool = False
    origin: object = field(default_factory=object)


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
        text = joined(found)
        return None if _decides_lines(str(text), set(names.values())) else text

    def _gaps(self) -> Iterator[tuple[OpenPart, str, str]]:
        """Yields each part with the pieces before and behind it."""
        yield from zip(self.parts, self.pieces, self.pieces[1:], strict=False)

    def _names(self) -> dict[OpenPart, str]:
        """Returns a name for each part that no text and no library has, alike for equal parts."""
        taken = {word for piece in self.pieces for word in _WORD.findall(piece)}
        names: dict[OpenPart, str] = {}
        numbers: dict[str, int] = {}
        for part in dict.fromkeys(self.parts):
            stem = f"open_{part.name}"
            name = stem
            while name in taken:
                numbers[stem] = numbers.get(stem, 1) + 1
                name = f"{stem}_{numbers[stem]}"
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


def part_of(node: ast.expr, place: Position | None, origin: object) -> OpenPart:
    """Returns the open part that an expression of Python gives, named after it.

    Args:
        node: the expression; a name gives the same value wherever else it stands.
        place: where the part stands.
        origin: the evaluation of the text.
    """
    match node:
        case ast.Call(func=ast.Name(id="str" | "int" | "len" as function), args=[only]):
            inner = part_of(only, place, origin)
            return replace(inner, is_integer=function != "str" or inner.is_integer)
        case ast.Name(id=name):
            return OpenPart(name, place, origin=origin)
        case ast.Attribute(attr=name) | ast.Call(func=ast.Name(id=name)):
            return OpenPart(name, place)
        case ast.Subscript(slice=ast.Constant(value=str(name))) if name.isidentifier():
            return OpenPart(name, place)
    return OpenPart("value", place)


def _depth(text: str) -> int:
    """Returns how many more braces a piece of code opens than it closes."""
    code = _NO_CODE.sub("", text)
    return code.count("{") - code.count("}")


def _decides_lines(text: str, names: set[str]) -> bool:
    """Returns whether an open part may decide which lines of a text count."""
    bodies = {m[1]: set(_WORD.findall(m[2])) for m in _DEFINE.finditer(text)}
    users: dict[str, set[str]] = {}
    for macro, words in bodies.items():
        for word in words:
            users.setdefault(word, set()).add(macro)
    found, reached = list(names), set(names)
    while found:
        new = users.get(found.pop(), set()) - reached
        reached |= new
        found += new
    tested = (word for m in _TESTED.finditer(text) for word in _WORD.findall(m[0]))
    if not reached.isdisjoint(tested):
        return True
    lines = text.find(_LINES.partition("{")[0])
    behind = text[lines:] if lines >= 0 else ""
    return any(
        word not in bodies and word[:1].isalpha()
        for m in _CONDITION.finditer(behind)
        for word in _WORD.findall(re.sub(r"#\s*\w+|\bdefined\b", "", m[0]))
    ) or any(m[1] in bodies for m in _GUARD.finditer(behind))


def _role(before: str, after: str, depth: int) -> str | None:
    """Returns what stands for a part, with its name in `{}`; None where it may be statements."""
    line, code = before.rpartition("\n")[2], before.rstrip()
    ends_line = not after.partition("\n")[0].strip()
    if line.lstrip().startswith("#"):
        return _role_in_directive(line, after)
    if not line.strip() and ends_line:
        return _LINES if depth <= 0 and not code.endswith("\\") else None
    begins = not code or code.endswith((";", "{", "}")) or bool(_LABEL.search(code))
    if begins and depth <= 0 and (ends_line or _DECLARATION.match(after)):
        return f"\n{_LINES}\n"
    if begins:
        return "{}" if depth <= 0 or (_DECLARATOR.match(after) and not ends_line) else None
    is_written = _WRITTEN_AFTER.search(code) or _WRITTEN_BEFORE.match(after)
    if is_written or _is_alone_in_body(code, after, ends_line=ends_line):
        return None
    return "{}" if depth <= 0 or not _may_be_operator(before, after) else None


def _role_in_directive(line: str, after: str) -> str | None:
    """Returns what stands for a part of a directive; None where conditions depend on it."""
    directive = line.lstrip(" \t#")
    if directive.startswith("include"):
        return "the text of {}"
    known = re.match(r"define[ \t]++\w++(?:\([^()]*+\))?", directive)
    if known is None:
        return "{}" if directive.startswith(("pragma", "error", "line")) else None
    body = directive[known.end() :]
    return None if body.strip() and _may_be_operator(body, after) else "{}"


def _may_be_operator(before: str, after: str) -> bool:
    """Returns whether a part between these may be, or have at an end, an operator."""
    code = before.rstrip()
    if re.match(r"\w", after) or code != before.rstrip(" \t") or not code:
        return False
    if code[-1] in "([,<{;" and code[-1] != "[":
        return False
    if _OPERATOR.search(code):
        return _OPERAND.match(after) is not None
    if code[-1] == ")":
        return _OPERAND.match(after) is not None
    if code == before and re.search(r"\w\Z", code):
        return False
    return re.search(r"[\w\]\"']\Z", code) is not None and not _TYPES.search(code)


def _is_alone_in_body(code: str, after: str, *, ends_line: bool) -> bool:
    """Returns whether a part may be the only statement behind a condition."""
    if not ends_line and not after.lstrip().startswith(";"):
        return False
    if re.search(r"\b(?:else|do)\Z", code):
        return True
    if not code.endswith(")") or ends_line:
        return code.endswith(")")
    depth = 0
    for at in range(len(code) - 1, -1, -1):
        depth += (code[at] == ")") - (code[at] == "(")
        if not depth:
            return re.search(r"\b(?:if|constexpr|while|for|switch)\s*\Z", code[:at]) is not None
    return True
