"""Names as their source has them, read from mangled ones (Itanium C++ ABI, what kernels use of it).

Every kernel instance needs template arguments of its own: sources are matched by them, and two
instances of one spelling would be one. Qualifiers of names are left out; an argument that is too
long to show keeps its beginning and a digest of all of it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

_LENGTH = re.compile(r"\d{1,5}")
_NUMBER = re.compile(r"n?[0-9a-f]+")
_SUBSTITUTION = re.compile(r"S([0-9A-Z]*)_")
_PARAMETER = re.compile(r"T\d*_")
_EXTENT = re.compile(r"A(\d*)_")
_UNREAD = ".."
_SHOWN = 60
_BUILTIN = {
    "v": "void", "w": "wchar_t", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char",
    "s": "short", "t": "unsigned short", "i": "int", "j": "unsigned int", "l": "long",
    "m": "unsigned long", "x": "long long", "y": "unsigned long long", "n": "__int128",
    "o": "unsigned __int128", "f": "float", "d": "double", "e": "long double", "g": "__float128",
    "z": "...", "Dn": "nullptr_t", "Dh": "half", "Di": "char32_t", "Ds": "char16_t",
    "Du": "char8_t", "Da": "auto",
}  # fmt: skip
_QUALIFIED: dict[str, Callable[[str], str]] = {
    "P": lambda inner: f"{inner}*",
    "R": lambda inner: f"{inner}&",
    "O": lambda inner: f"{inner}&&",
    "K": lambda inner: f"const {inner}",
    "V": lambda inner: f"volatile {inner}",
    "r": lambda inner: inner,
}
_STANDARD = {"Sa": "allocator", "Sb": "basic_string", "Ss": "string", "Si": "istream",
             "So": "ostream", "Sd": "iostream"}  # fmt: skip


class _Unread(Exception):
    """The text goes on in a way that is not read."""


def kernel_name(mangled: str) -> tuple[str, tuple[str, ...]]:
    """Returns the name of a function and its template arguments, as far as they are read.

    Returns:
        E.g. `("reduce6", ("int", "256", "true"))`; a name that is not mangled as it is.
    """
    if not mangled.startswith("_Z"):
        return mangled, ()
    reader = _Reader(mangled, 2)
    try:
        reader.function()
    except (_Unread, RecursionError):
        reader.arguments.append(_UNREAD)
    if not reader.name:
        return mangled, ()
    return reader.name, tuple(map(_shown, reader.arguments))


def _shown(argument: str) -> str:
    if len(argument) <= _SHOWN:
        return argument
    return f"{argument[:_SHOWN]}..{hashlib.sha256(argument.encode()).hexdigest()[:6]}"


def variable_name(mangled: str) -> str:
    """Returns the name of a variable: of one in a function, `_ZZ6kernelvE4tile`, its own."""
    if mangled.startswith("_ZZ"):
        for found in reversed(list(re.finditer(r"E(\d+)", mangled))):
            name = mangled[found.end() : found.end() + int(found[1][:4])]
            if len(name) == int(found[1][:4]) and name.isidentifier():
                return name
        return mangled
    return kernel_name(mangled)[0]


class _Reader:
    """Reads from a position on, and keeps what later parts may refer to.

    Attributes:
        name: of the function: the last part of it that was read.
    """

    def __init__(self, text: str, at: int) -> None:
        self._text = text
        self._at = at
        self._known: list[str] = []
        self.name = ""
        self.arguments: list[str] = []

    # ---- names

    def function(self) -> None:
        """Reads the name of a function with its template arguments."""
        if self._take("N"):
            self._nested(is_type=False)
            return
        self._take("L")
        self.name = "" if not self._peek().isdigit() else self._source_name()
        if self._peek() == "I":
            self._remember(self.name)
            self._read_arguments(self.arguments)

    def _nested(self, *, is_type: bool) -> str:
        """Returns a qualified name up to its end; each of its prefixes may be referred to."""
        found = ""
        while not self._take("E"):
            letter = self._peek()
            if letter == "I":
                arguments: list[str] = []
                if not is_type:
                    self.arguments = arguments
                self._read_arguments(arguments)
                found = f"{found}<{', '.join(arguments)}>"
            elif letter == "S":
                found = self._substituted()
                continue
            elif letter and letter in "KVrL":
                self._at += 1
                continue
            elif letter.isdigit():
                found = self._source_name()
                if not is_type:
                    self.name, self.arguments = found, []
            elif letter == "U":
                found = self._closure()
            else:
                raise _Unread
            self._remember(found)
        return found

    def _source_name(self) -> str:
        length = _LENGTH.match(self._text, self._at)
        if length is None:
            raise _Unread
        start = length.end()
        self._at = start + int(length[0])
        return self._text[start : self._at]

    def _closure(self) -> str:
        """Returns a lambda, `Ul` types `E` number `_`."""
        if not self._take("Ul"):
            raise _Unread
        types = self._until_end()
        digits = re.compile(r"\d*_").match(self._text, self._at)
        if digits is None:
            raise _Unread
        self._at = digits.end()
        return f"lambda({', '.join(types)})#{digits[0].rstrip('_')}"

    def _substituted(self) -> str:
        if self._take("St"):
            return ""
        two = self._text[self._at : self._at + 2]
        if two in _STANDARD:
            self._at += 2
            return _STANDARD[two]
        match = _SUBSTITUTION.match(self._text, self._at)
        number = int(match[1], 36) + 1 if match is not None and match[1] else 0
        if match is None or number >= len(self._known):
            raise _Unread
        self._at = match.end()
        return self._known[number]

    # ---- types and template arguments

    def _type(self) -> str:
        letter = self._peek()
        two = self._text[self._at : self._at + 2]
        for code in (letter, two):
            if code in _BUILTIN:
                self._at += len(code)
                return _BUILTIN[code]
        if letter in _QUALIFIED and letter:
            self._at += 1
            return self._remember(_QUALIFIED[letter](self._type()))
        if letter == "S" and two != "St":
            return self._with_arguments(self._substituted(), is_known=True)
        if letter == "N":
            self._at += 1
            return self._nested(is_type=True)
        if letter.isdigit() or self._take("St"):
            return self._with_arguments(self._source_name(), is_known=False)
        return self._remember(self._compound(letter))

    def _compound(self, letter: str) -> str:
        """Returns a function, an array, a template parameter or a local type."""
        if self._take("F"):
            self._take("Y")
            return f"({', '.join(self._until_end())})"
        for pattern in (_EXTENT, _PARAMETER):
            if match := pattern.match(self._text, self._at):
                self._at = match.end()
                return f"{self._type()}[{match[1]}]" if letter == "A" else match[0]
        if self._take("Dp"):
            return f"{self._type()}..."
        if self._take("M"):
            return f"{self._type()}::{self._type()}"
        if self._take("Z"):
            self._encoding()
            return self._closure() if self._peek() == "U" else self._source_name()
        raise _Unread

    def _encoding(self) -> None:
        """Reads a whole function within a name, up to the `E` behind its parameters."""
        outer, arguments = self.name, self.arguments
        self.arguments = []
        self.function()
        self._until_end()
        self.name, self.arguments = outer, arguments

    def _with_arguments(self, name: str, *, is_known: bool) -> str:
        if not is_known:
            self._remember(name)
        if self._peek() != "I":
            return name
        arguments: list[str] = []
        self._read_arguments(arguments)
        return self._remember(f"{name}<{', '.join(arguments)}>")

    def _read_arguments(self, into: list[str]) -> None:
        """Reads `I` arguments `E`, packs flattened; what was read before a stop is kept."""
        self._at += 1
        while not self._take("E"):
            if self._take("J"):
                while not self._take("E"):
                    into.append(self._argument())
            else:
                into.append(self._argument())

    def _argument(self) -> str:
        if not self._take("L"):
            return self._type()
        type_ = self._type()
        number = _NUMBER.match(self._text, self._at)
        if number is None:
            raise _Unread
        self._at = number.end()
        if not self._take("E"):
            raise _Unread
        if type_ == "bool":
            return "true" if number[0] != "0" else "false"
        return number[0].replace("n", "-")

    def _until_end(self) -> list[str]:
        types = []
        while not self._take("E"):
            types.append(self._type())
        return types

    # ---- text

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self, word: str) -> bool:
        is_there = self._text.startswith(word, self._at)
        self._at += len(word) if is_there else 0
        return is_there

    def _remember(self, found: str) -> str:
        self._known.append(found)
        return found
