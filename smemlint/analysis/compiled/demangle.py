"""Names as their source has them, read from mangled ones (Itanium C++ ABI, the common part)."""

from __future__ import annotations

import re

_LENGTH = re.compile(r"\d+")
_LITERAL = re.compile(r"L([a-z])(n?)(\d+)E")
_UNREAD = ".."
_BUILTIN = {
    "v": "void", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short",
    "t": "unsigned short", "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long",
    "x": "long long", "y": "unsigned long long", "f": "float", "d": "double",
}  # fmt: skip


def kernel_name(mangled: str) -> tuple[str, tuple[str, ...]]:
    """The name of a function and its template arguments, as far as they are read.

    Returns:
        E.g. `("reduce6", ("int", "256", "true"))`; a name that is not mangled as it is.
    """
    if not mangled.startswith("_Z"):
        return mangled, ()
    reader = _Reader(mangled, 2)
    name = reader.name()
    if not name:
        return mangled, ()
    return name, tuple(reader.template_arguments())


def variable_name(mangled: str) -> str:
    """The name of a variable: of one in a function, `_ZZ6kernelvE4tile`, its own."""
    if mangled.startswith("_ZZ"):
        for found in reversed(list(re.finditer(r"E(\d+)", mangled))):
            name = mangled[found.end() : found.end() + int(found[1][:4])]
            if len(name) == int(found[1][:4]) and name.isidentifier():
                return name
        return mangled
    if mangled.startswith("_Z"):
        return _Reader(mangled, 2).name() or mangled
    return mangled


class _Reader:
    """Reads names from a position on; what it does not know ends it."""

    def __init__(self, text: str, at: int) -> None:
        self._text = text
        self._at = at

    def name(self) -> str:
        """The last part of a possibly qualified name; empty where it cannot be read."""
        if self._text.startswith(("N", "L"), self._at):
            is_nested = self._text[self._at] == "N"
            self._at += 1
            if not is_nested:
                return self._source_name()
            found = ""
            while True:
                while self._text.startswith(("K", "V", "r", "L"), self._at):
                    self._at += 1
                part = self._source_name()
                if not part:
                    return found
                found = part
        return self._source_name()

    def _source_name(self) -> str:
        length = _LENGTH.match(self._text, self._at)
        if length is None or len(length[0]) > 4:
            return ""
        start = length.end()
        self._at = start + int(length[0])
        return self._text[start : self._at]

    def template_arguments(self) -> list[str]:
        """The template arguments that follow; dots where they cannot be read on."""
        if not self._text.startswith("I", self._at):
            return []
        self._at += 1
        found: list[str] = []
        while not self._text.startswith("E", self._at):
            argument = self._argument()
            if not argument:
                return [*found, _UNREAD]
            found.append(argument)
        return found

    def _argument(self) -> str:
        literal = _LITERAL.match(self._text, self._at)
        if literal is not None:
            self._at = literal.end()
            if literal[1] == "b":
                return "true" if literal[3] != "0" else "false"
            return f"{'-' if literal[2] else ''}{literal[3]}"
        letter = self._text[self._at : self._at + 1]
        if letter in _BUILTIN:
            self._at += 1
            return _BUILTIN[letter]
        if letter in ("P", "R", "K"):
            self._at += 1
            inner = self._argument()
            return inner and {"P": f"{inner}*", "R": f"{inner}&", "K": f"const {inner}"}[letter]
        if letter.isdigit():
            name = self._source_name()
            return name + self.template_arguments_within() if name else ""
        return ""

    def template_arguments_within(self) -> str:
        """Template arguments of an argument, with the letter that ends them."""
        if not self._text.startswith("I", self._at):
            return ""
        found = self.template_arguments()
        if _UNREAD not in found:
            self._at += 1
        return f"<{', '.join(found)}>"
