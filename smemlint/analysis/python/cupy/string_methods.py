"""Methods of strings that the texts of kernels go through; places are kept."""

from __future__ import annotations

import re
import textwrap
from itertools import zip_longest

from smemlint.analysis.python.cupy.partial_texts import OpenPart, PartialText, assembled
from smemlint.analysis.python.cupy.source_map import MappedText, joined
from smemlint.analysis.python.interpreter.values import UNKNOWN, Scope, Value
from smemlint.limits.sizes import decimal, require_items, require_pieces


def method(owner: str | PartialText, name: str, arguments: list[Value], named: Scope) -> Value:
    """Returns the result of a method of a string; not known for those that kernels do not need."""
    if isinstance(owner, PartialText):
        return _method_of_partial(owner, name, arguments)
    text = owner if isinstance(owner, MappedText) else MappedText.at(owner, None)
    texts = [a for a in arguments if isinstance(a, str)]
    match name:
        case "replace" if len(arguments) == 2 and texts and arguments[0] is texts[0] != "":
            return _replaced(text, texts[0], _given_text(texts[0], arguments[1]))
        case "format":
            return formatted(text, arguments, named)
        case "join" if len(arguments) == 1:
            return _joined(text, arguments[0])
        case "strip" | "lstrip" | "rstrip" if not arguments:
            return _stripped(text, name)
        case "splitlines" if not texts or texts == ["\n"]:
            return lines(text, keeps_ends=bool(arguments and arguments[0]))
        case "split" if texts == ["\n"]:
            return lines(text, keeps_ends=False)
        case "encode" | "decode":
            return text
        case "upper" | "lower" | "title":
            return MappedText.at(getattr(str(text), name)(), text.place(0))
    return UNKNOWN


def _method_of_partial(text: PartialText, name: str, arguments: list[Value]) -> Value:
    """Returns the result of a method of a string of which parts are open."""
    match name:
        case "replace" if len(arguments) == 2 and isinstance(old := arguments[0], str) and old:
            pieces: list[str | OpenPart | PartialText] = []
            new = _given_text(old, arguments[1])
            for piece, part in zip_longest(text.pieces, text.parts):
                known = piece if isinstance(piece, MappedText) else MappedText.at(piece, None)
                pieces += [_replaced(known, old, new), part]
            return assembled(pieces[:-1])
        case "encode" | "strip" | "lstrip" | "rstrip" if not arguments:
            return text
    return UNKNOWN


def _given_text(old: str, new: Value) -> str | OpenPart | PartialText:
    """Returns what replaces a text: an open part where that is not known."""
    return new if isinstance(new, str | PartialText) else OpenPart(_identifier(old))


def _replaced(
    text: MappedText, old: str, new: str | OpenPart | PartialText
) -> MappedText | PartialText:
    """Returns `text.replace(old, new)`."""
    if isinstance(new, str):
        return text.replaced(re.compile(re.escape(old)), {str(old): new})
    pieces: list[str | OpenPart | PartialText] = []
    at = 0
    for match in re.finditer(re.escape(old), str(text)):
        pieces += [text.part(at, match.start()), new]
        at = match.end()
        require_pieces(len(pieces))
    return assembled([*pieces, text.part(at, len(text))])


def _identifier(text: str) -> str:
    """Returns a text as an identifier: `{{ n }}` as `n`."""
    name = re.sub(r"\W+", "_", text).strip("_")
    return name if name[:1].isalpha() else f"value_{name}".strip("_")


def _joined(text: MappedText, items: Value) -> Value:
    if not isinstance(items, list | tuple):
        return UNKNOWN
    known = [item for item in items if isinstance(item, str | PartialText)]
    pieces = [piece for item in known for piece in (text, item)][1:]
    return assembled(pieces) if len(known) == len(items) else UNKNOWN


def _stripped(text: MappedText, method: str) -> MappedText:
    start = 0 if method == "rstrip" else len(str(text)) - len(str(text).lstrip())
    end = len(text) if method == "lstrip" else len(str(text).rstrip())
    return text.part(start, max(start, end))


def lines(text: MappedText, *, keeps_ends: bool) -> list[Value]:
    """Returns the lines of a text; only a line feed ends one."""
    require_items(text.count("\n"))
    found: list[Value] = []
    at = 0
    while at < len(text):
        end = str(text).find("\n", at)
        after = len(text) if end < 0 else end + 1
        found.append(text.part(at, after if keeps_ends or end < 0 else end))
        at = after
    return found


_FIELD = re.compile(r"\{\{|\}\}|\{(\w*)(?::([ds]))?\}")


def formatted(text: MappedText, arguments: list[Value], named: Scope) -> Value:
    """Returns the result of `str.format` with plain fields."""
    if re.search(r"(?<!\{)\{(?!:[ds]\})[^{}\w]|\{\w+(?!:[ds]\})[.!:\[]", str(text)):
        return UNKNOWN
    pieces: list[str | OpenPart | PartialText] = []
    at, count, origin = 0, 0, object()
    for match in _FIELD.finditer(str(text)):
        pieces.append(text.part(at, match.start()))
        at = match.end()
        if match[0] in ("{{", "}}"):
            pieces.append(text.part(match.start(), match.start() + 1))
            continue
        key = match[1] or str(count)
        count += not match[1]
        value: Value = named.get(key, UNKNOWN)
        if key.isdigit() and int(key) < len(arguments):
            value = arguments[int(key)]
        place = text.place(match.start())
        pieces.append(_filled_in(value, OpenPart(_identifier(key), place, match[2] == "d", origin)))
    return assembled([*pieces, text.part(at, len(text))])


def _filled_in(value: Value, part: OpenPart) -> str | OpenPart | PartialText:
    """Returns what stands in a text for a value: the part where it is not known."""
    if isinstance(value, MappedText | PartialText):
        return value
    if isinstance(value, bool):
        return str(int(value)) if part.is_integer else str(value)
    if isinstance(value, str | int | float):
        return MappedText.at(_spelled(value), part.place)
    return part


_PERCENT = re.compile(r"%(?:\((\w+)\))?([sdif%])")


def percent(text: MappedText, value: Value) -> Value:
    """Returns `text % values` with plain conversions."""
    given = list(value) if isinstance(value, tuple) else [value]
    pieces: list[str | OpenPart | PartialText] = []
    at, origin = 0, object()
    for match in _PERCENT.finditer(str(text)):
        pieces.append(text.part(at, match.start()))
        at = match.end()
        if match[2] == "%":
            pieces.append(text.part(match.start(), match.start() + 1))
            continue
        if match[1]:
            operand = value.get(match[1], UNKNOWN) if isinstance(value, dict) else UNKNOWN
        else:
            operand = given.pop(0) if given else UNKNOWN
        name = match[1] or f"value_{len(pieces)}"
        place = text.place(match.start())
        pieces.append(_filled_in(operand, OpenPart(name, place, match[2] in "di", origin)))
    if "%" in str(text)[at:]:
        return UNKNOWN
    return assembled([*pieces, text.part(at, len(text))])


def _spelled(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return decimal(value) if isinstance(value, int) else repr(value)


_FIELDS = {
    "string": re.compile(r"\$(?:\{(\w+)\}|(\w+))"),
    "mako": re.compile(r"\$\{([^{}'\"]*+)\}"),
    "jinja2": re.compile(r"\{\{(?!-)((?:(?!\}\}|-\}).)*+)\}\}"),
}
_CONTROL = {
    "string": re.compile(r"\$\$"),
    "mako": re.compile(r"</?%|\$\{|^[ \t]*+(?:%|##)", re.M),
    "jinja2": re.compile(r"\{[{%#]"),
}
"""What else the engine acts on: such templates are programs, whose texts are not known."""


def rendered(text: MappedText, engine: str, arguments: list[Value], named: Scope) -> Value:
    """Returns a template of an engine with its fields filled in; not known if it has statements."""
    table = arguments[0] if arguments and isinstance(arguments[0], dict) else {}
    values: Scope = {**{str(key): value for key, value in table.items()}, **named}
    pieces: list[str | OpenPart | PartialText] = []
    at, origin = 0, object()
    for match in _FIELDS[engine].finditer(str(text)):
        name = next(g for g in match.groups() if g is not None).strip()
        part = OpenPart(_identifier(name), text.place(match.start()), origin=origin)
        pieces += [text.part(at, match.start()), _filled_in(values.get(name, UNKNOWN), part)]
        at = match.end()
        require_pieces(len(pieces))
    if _CONTROL[engine].search(_FIELDS[engine].sub("", str(text))):
        return UNKNOWN
    return assembled([*pieces, text.part(at, len(text))])


def dedented(text: MappedText) -> MappedText:
    """Returns the result of `textwrap.dedent`, each line with its positions."""
    pieces: list[str] = []
    at = 0
    for line in textwrap.dedent(str(text)).splitlines(keepends=True):
        end = str(text).find("\n", at)
        row = text.part(at, len(text) if end < 0 else end + 1)
        at += len(row)
        pieces.append(row.part(len(row) - len(line), len(row)) if line.strip() else line)
    return joined(pieces)
