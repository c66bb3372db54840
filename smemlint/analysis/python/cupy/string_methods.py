"""Methods of strings that the texts of kernels go through; places are kept."""

from __future__ import annotations

import re
import textwrap

from smemlint.analysis.python.cupy.source_map import MappedText, joined
from smemlint.analysis.python.interpreter.values import UNKNOWN, Scope, Value
from smemlint.limits.sizes import decimal, require_items


def method(owner: str, name: str, arguments: list[Value], named: Scope) -> Value:
    """Returns the result of a method of a string; not known for those that kernels do not need."""
    text = owner if isinstance(owner, MappedText) else MappedText.at(owner, None)
    texts = [a for a in arguments if isinstance(a, str)]
    match name:
        case "replace" if len(texts) == len(arguments) == 2 and texts[0]:
            return text.replaced(re.compile(re.escape(texts[0])), {str(texts[0]): texts[1]})
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
        case "encode":
            return text
        case "upper" | "lower" | "title":
            return MappedText.at(getattr(str(text), name)(), text.place(0))
    return UNKNOWN


def _joined(text: MappedText, items: Value) -> Value:
    if not isinstance(items, list | tuple):
        return UNKNOWN
    known = [item for item in items if isinstance(item, str)]
    pieces = [piece for item in known for piece in (text, item)][1:]
    return joined(pieces) if len(known) == len(items) else UNKNOWN


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


_FIELD = re.compile(r"\{\{|\}\}|\{(\w*)\}")


def formatted(text: MappedText, arguments: list[Value], named: Scope) -> Value:
    """Returns the result of `str.format` with plain fields."""
    if re.search(r"(?<!\{)\{[^{}\w]|\{\w+[.!:\[]", str(text)):
        return UNKNOWN
    pieces: list[str] = []
    at = count = 0
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
        if not isinstance(value, str | int):
            return UNKNOWN
        place = text.place(match.start())
        pieces.append(
            value if isinstance(value, MappedText) else MappedText.at(_spelled(value), place)
        )
    return joined([*pieces, text.part(at, len(text))])


_PERCENT = re.compile(r"%(?:\((\w+)\))?([sdif%])")


def percent(text: MappedText, value: Value) -> Value:
    """Returns `text % values` with plain conversions."""
    given = list(value) if isinstance(value, tuple) else [value]
    pieces: list[str] = []
    at = 0
    for match in _PERCENT.finditer(str(text)):
        pieces.append(text.part(at, match.start()))
        at = match.end()
        if match[2] == "%":
            pieces.append(text.part(match.start(), match.start() + 1))
            continue
        if match[1]:
            operand = value.get(match[1]) if isinstance(value, dict) else UNKNOWN
        else:
            operand = given.pop(0) if given else UNKNOWN
        if not isinstance(operand, str | int):
            return UNKNOWN
        pieces.append(
            operand if isinstance(operand, MappedText) else MappedText.at(_spelled(operand), None)
        )
    if "%" in str(text)[at:]:
        return UNKNOWN
    return joined([*pieces, text.part(at, len(text))])


def _spelled(value: str | int) -> str:
    return value if isinstance(value, str) else decimal(value)


_DOLLAR = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


def substituted(text: MappedText, arguments: list[Value], named: Scope) -> Value:
    """Returns the result of `Template.substitute`."""
    table = arguments[0] if arguments and isinstance(arguments[0], dict) else {}
    values = {
        name: _spelled(value)
        for name, value in (*table.items(), *named.items())
        if isinstance(name, str) and isinstance(value, str | int)
    }
    result = text.replaced(_DOLLAR, values)
    return UNKNOWN if _DOLLAR.search(str(result)) else result


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
