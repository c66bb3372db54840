"""Reads the body of a PTX function, statement by statement."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from smemlint.frontend.ptx.lexer import Token, integer, tokens
from smemlint.frontend.ptx.locations import LocationReader
from smemlint.frontend.ptx.syntax import (
    Address,
    Body,
    Immediate,
    Label,
    Name,
    Negated,
    Operand,
    Operation,
    Pair,
    Registers,
    Scope,
    Statement,
    Sum,
    Targets,
    Unreadable,
    Variable,
    Vector,
)
from smemlint.limits.budgets import MAX_OPERAND_DEPTH, MAX_STATEMENTS
from smemlint.reasons import Reason, ReasonCode

_SPACES = ("shared", "local", "const", "global", "param")
_NAME = re.compile(r"[%$\w.]")
_OPEN, _CLOSE = frozenset("{[("), frozenset("}])")


class _SyntaxProblem(Exception):
    """Text that is no statement."""


def parse_body(
    text: str, first_line: int, strings: dict[str, str], files: Mapping[int, str] | None = None
) -> Body:
    """Reads what stands between the braces of a function."""
    found: list[Statement] = []
    reader = _Reader(tokens(text, first_line), LocationReader.of(strings, files or {}))
    try:
        for statement in reader.statements():
            found.append(statement)
            if len(found) > MAX_STATEMENTS:
                raise _SyntaxProblem(f"more than {MAX_STATEMENTS} statements")
    except _SyntaxProblem as problem:
        return Body(tuple(found), Unreadable(reader.line, Reason(ReasonCode.SYNTAX, str(problem))))
    return Body(tuple(found))


class _Reader:
    """Takes tokens together to statements."""

    def __init__(self, source: Iterator[Token], locations: LocationReader) -> None:
        self._source = source
        self._locations = locations
        self._next: Token | None = next(source, None)
        self.line = self._next.line if self._next is not None else 0

    def _take(self) -> str:
        token = self._next
        if token is None:
            raise _SyntaxProblem("the text ends inside of a statement")
        self.line = token.line
        self._next = next(self._source, None)
        return token.text

    def _peek(self) -> str:
        return self._next.text if self._next is not None else ""

    def statements(self) -> Iterator[Statement]:
        """Yields the statements to the end of the text."""
        while self._next is not None:
            first = self._take()
            if first in ("{", "}"):
                yield Scope(first == "{")
            elif first in (".loc", ".file"):
                words = self._rest_of_line()
                if first == ".loc":
                    self._locations.read(words)
            elif first.startswith("."):
                yield from self._directive(first)
            elif self._peek() == ":" and first not in ("@", ";"):
                self._take()
                yield from self._labelled(first)
            elif first != ";":
                yield self._operation(first)

    def _rest_of_line(self) -> list[str]:
        line, words = self.line, []
        while self._next is not None and self._next.line == line:
            words.append(self._take())
        return words

    def _to_semicolon(self) -> list[str]:
        words: list[str] = []
        while (word := self._take()) != ";":
            words.append(word)
        return words

    def _labelled(self, name: str) -> Iterator[Statement]:
        if self._peek() != ".branchtargets":
            yield Label(name)
            return
        words = self._to_semicolon()
        yield Targets(name, tuple(w for w in words[1:] if w != ","))

    def _directive(self, first: str) -> Iterator[Statement]:
        line, location = self.line, self._locations.current
        words = [first, *self._to_semicolon()]
        if first == ".reg":
            yield registers_of(words[1:])
            return
        variable = variable_of(words, line)
        if variable is not None:
            yield replace(variable, location=location)

    def _operation(self, first: str) -> Operation:
        guard, is_negated = "", False
        if first == "@":
            guard = self._take()
            if guard == "!":
                guard, is_negated = self._take(), True
            first = self._take()
        line = self.line
        if not (first[0].isalpha() or first[0] == "_"):
            raise _SyntaxProblem(f"`{first[:20]}` begins no statement")
        operands = tuple(_operand(part) for part in _split(self._to_semicolon()))
        opcode = tuple(first.split("."))
        if opcode[0] != "call" and Vector(()) in operands:  # only lists of arguments are empty
            raise _SyntaxProblem("a vector has no elements")
        here, call = self._locations.current, self._locations.first
        self._locations.first = ()
        call = call if call != here else ()
        return Operation(opcode, operands, guard, is_negated, line, here, call)


def _split(words: Sequence[str]) -> list[list[str]]:
    """Cuts at the commas that stand outside of all brackets."""
    parts: list[list[str]] = []
    current: list[str] = []
    depth = 0
    for word in words:
        if word in _OPEN:
            depth += 1
        elif word in _CLOSE:
            depth -= 1
        if word == "," and depth == 0:
            parts.append(current)
            current = []
        else:
            current.append(word)
    if current:
        parts.append(current)
    return parts


def _operand(words: Sequence[str], depth: int = 0) -> Operand:
    if not words or depth > MAX_OPERAND_DEPTH:
        raise _SyntaxProblem("an operand is missing")
    first = words[0]
    if len(words) == 1:
        number = integer(first)
        if number is None and not _NAME.match(first):
            raise _SyntaxProblem(f"`{first[:20]}` is no operand")
        return Name(first) if number is None else Immediate(number)
    if first in ("{", "("):
        return Vector(tuple(_operand(part, depth + 1) for part in _split(words[1:-1])))
    if first == "[":
        return _address(words, depth)
    if first == "!":
        return Negated(Name(words[1]))
    if first == "-":
        return Immediate(-_number(words[1]))
    if words[1] == "|" and len(words) == 3:
        return Pair(Name(first), Name(words[2]))
    if words[1] in ("+", "-"):
        return Sum(Name(first), _offset(words[1:]))
    if words[1] in ("[", "<"):  # a vector's element or a function's attributes
        return Name("".join(words))
    raise _SyntaxProblem(f"`{' '.join(words)[:40]}` is no operand")


def _address(words: Sequence[str], depth: int) -> Operand:
    end = words.index("]") if "]" in words else len(words)
    parts = _split(words[1:end])
    if not parts:
        raise _SyntaxProblem("an address is empty")
    rest = tuple(_operand(part, depth + 1) for part in parts[1:])
    first = _operand(parts[0], depth + 1)
    if isinstance(first, Sum):
        return Address(first.name, first.offset, rest)
    if isinstance(first, (Name, Immediate)):
        return Address(first, 0, rest)
    raise _SyntaxProblem(f"`{' '.join(words)[:40]}` is no address")


def _offset(words: Sequence[str]) -> int:
    """Returns the sum of `+ 8`, `- 8` or `+ -8`."""
    sign = 1
    for word in words[:-1]:
        sign = -sign if word == "-" else sign
    return sign * _number(words[-1])


def _number(word: str) -> int:
    number = integer(word)
    if number is None:
        raise _SyntaxProblem(f"`{word[:20]}` is no number")
    return number


def registers_of(words: Sequence[str]) -> Registers:
    """Reads what follows `.reg`: a type and names, of which `%r<13>` stands for 13."""
    type_, names, counted = "b32", [], []
    for part in _split([w for w in words if w not in (".v2", ".v4")]):
        if part and part[0].startswith("."):
            type_, part = part[0][1:], part[1:]
        if len(part) == 1:
            names.append(part[0])
        elif len(part) == 4 and part[1] == "<":
            counted.append((part[0], min(_number(part[2]), MAX_STATEMENTS)))
    return Registers(type_, tuple(names), tuple(counted))


def variable_of(words: Sequence[str], line: int) -> Variable | None:
    """Reads the declaration of a variable; None for other directives."""
    directives = []
    at = 0
    while at < len(words) and words[at].startswith("."):
        directives.append(words[at][1:])
        at += 1
        if directives[-1] == "align" and at < len(words):
            directives.append(words[at])
            at += 1
    space = next((d.split("::")[0] for d in directives if d.split("::")[0] in _SPACES), "")
    if not space or at >= len(words):
        return None
    alignment = 0
    if "align" in directives:
        alignment = integer(directives[directives.index("align") + 1]) or 0
    name, extents = words[at], []
    at += 1
    while at < len(words) and words[at] == "[":
        is_empty = at + 1 < len(words) and words[at + 1] == "]"
        extents.append(None if is_empty or at + 1 >= len(words) else integer(words[at + 1]))
        at += 2 if is_empty else 3
    type_ = next((d for d in reversed(directives) if d[:1] in "bsuf" and d[1:].isdigit()), "b8")
    return Variable(name, space, type_, tuple(extents), alignment, "extern" in directives, line)
