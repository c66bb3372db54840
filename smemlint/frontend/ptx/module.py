"""A PTX file: its head, variables and functions, whose bodies are read when asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from smemlint.frontend.ptx.lexer import integer, tokens, without_block_comments
from smemlint.frontend.ptx.locations import debug_strings, file_table
from smemlint.frontend.ptx.parser import parse_body, variable_of
from smemlint.frontend.ptx.syntax import Body, Unreadable, Variable
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_FUNCTIONS
from smemlint.reasons import Reason, ReasonCode

_HEAD = re.compile(
    r"^[ \t]*(?:\.(?:visible|weak|extern|common|noreturn)[ \t]+)*\.(entry|func)\b", re.M
)
_BRACE = re.compile(r'[{}]|"[^"\n]*"|//[^\n]*')
_END = re.compile(r'[{;]|"[^"\n]*"|//[^\n]*')
_SHARED = re.compile(r"\.shared\b|\b(?:ld|st)matrix\b")
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_TARGET = re.compile(r"^[ \t]*\.target[ \t]+([\w, \t]+)", re.M)
_TOP_VARIABLE = re.compile(r"^[ \t]*((?:\.\w+[ \t]+)*\.(?:shared|const)\b[^;{=]*)", re.M)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a kernel.

    Attributes:
        type: of an element, e.g. `u64`.
        bytes: its size; of an array, of all of it.
    """

    name: str
    type: str
    bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A kernel or a device function.

    Attributes:
        name: mangled.
        is_kernel: it is an `.entry`.
        line: of its head in the PTX text, from 1.
        head: the text from its name to its body.
        text: between its braces.
        first_line: that `text` begins on.
        is_closed: the text has its closing brace.
    """

    name: str
    is_kernel: bool
    line: int
    head: str
    text: str
    first_line: int
    is_closed: bool

    @property
    def required_block(self) -> tuple[int, int, int] | None:
        """The block shape of `.reqntid`."""
        return self._shape("reqntid")

    @property
    def largest_block(self) -> tuple[int, int, int] | None:
        """The block shape of `.maxntid`: its product bounds the threads of a block."""
        return self._shape("maxntid")

    def _shape(self, directive: str) -> tuple[int, int, int] | None:
        found = re.search(rf"\.{directive}[ \t]+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?", self.head)
        if found is None:
            return None
        x, y, z = (min(int(n or 1), 1 << 20) for n in found.groups())
        return x, y, z

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Its parameters in order."""
        found = []
        for part in re.split(r",(?![^\[,]*\])", self.head):
            if ".param" in part:
                words = [t.text for t in tokens(part[part.index(".param") :])]
                variable = variable_of([w for w in words if w not in "()"], self.line)
                if variable is not None:
                    size = sizeof(variable.type)
                    for extent in variable.extents:
                        size *= extent or 0
                    found.append(Parameter(variable.name, variable.type, size))
        return tuple(found)


@dataclass(frozen=True, eq=False)
class Module:
    """One file of PTX."""

    text: str
    functions: tuple[Function, ...]
    unreadable: Unreadable | None = None

    @property
    def target(self) -> str:
        """The architecture, e.g. `sm_90a`; empty where the text names none."""
        found = _TARGET.search(self.text)
        return (
            next((w for w in re.split(r"[, \t]+", found[1]) if w.startswith("sm_")), "")
            if found
            else ""
        )

    @cached_property
    def files(self) -> dict[int, str]:
        """The source files by number."""
        return file_table(self.text)

    @cached_property
    def sharing(self) -> frozenset[str]:
        """The device functions that access shared memory, by themselves or by what they call."""
        bodies = {f.name: f.text for f in self.functions if not f.is_kernel}
        found = {name for name, text in bodies.items() if _SHARED.search(text)}
        calls = {n: {c for c in _WORD.findall(t) if c in bodies} for n, t in bodies.items()}
        fresh = found
        while fresh:
            fresh = {n for n, called in calls.items() if n not in found and called & fresh}
            found = found | fresh
        return frozenset(found)

    @cached_property
    def strings(self) -> dict[str, str]:
        """The names of inlined functions by label."""
        return debug_strings(self.text)

    @cached_property
    def variables(self) -> dict[str, Variable]:
        """Variables of the whole file in shared and constant memory, in order."""
        found = {}
        for text in self._between_functions():
            for declared in _TOP_VARIABLE.finditer(text):
                words = [t.text for t in tokens(declared[1])]
                variable = variable_of(words, 0)
                if variable is not None:
                    found[variable.name] = variable
        return found

    def _between_functions(self) -> Iterator[str]:
        lines = self.text.split("\n")
        at = 0
        for function in self.functions:
            yield "\n".join(lines[at : function.line - 1])
            at = function.first_line + function.text.count("\n")
        yield "\n".join(lines[at:])

    def body(self, function: Function) -> Body:
        """Reads the statements of a function."""
        return parse_body(function.text, function.first_line, self.strings, self.files)


def parse_module(text: str) -> Module:
    """Cuts a file into functions; whatever it holds, something is returned."""
    text = without_block_comments(text.replace("\r\n", "\n").replace("\r", "\n"))
    functions: list[Function] = []
    position, line = 0, 1
    for head in _HEAD.finditer(text):
        if head.start() < position:
            continue
        line += text.count("\n", position, head.start())
        position = head.start()
        if len(functions) >= MAX_FUNCTIONS:
            return Module(
                text,
                tuple(functions),
                Unreadable(line, Reason(ReasonCode.TOO_LARGE, "too many functions")),
            )
        opening = _end_of_head(text, head.end())
        if opening is None:
            break
        if text[opening] == ";":
            line += text.count("\n", position, opening)
            position = opening
            continue
        end, is_closed = _closing(text, opening)
        name = _name(text[head.end() : opening])
        declared = text[head.end() : opening]
        first_line = line + text.count("\n", position, opening)
        body = text[opening + 1 : end]
        functions.append(
            Function(name, head[1] == "entry", line, declared, body, first_line, is_closed)
        )
        line += text.count("\n", position, end)
        position = end
    return Module(text, tuple(functions))


def _end_of_head(text: str, start: int) -> int | None:
    """Returns where the body begins, or a declaration without one ends; None for neither."""
    ends = (found for found in _END.finditer(text, start) if found[0] in "{;")
    return next((found.start() for found in ends), None)


def _closing(text: str, opening: int) -> tuple[int, bool]:
    """Returns where the brace closes that opens there, and whether it does."""
    depth = 0
    for found in _BRACE.finditer(text, opening):
        if found[0] == "{":
            depth += 1
        elif found[0] == "}":
            depth -= 1
            if depth == 0:
                return found.start(), True
    return len(text), False


def _name(head: str) -> str:
    """Returns the name of a function, past the parameter that it returns."""
    words = [t.text for t in tokens(head)]
    if words[:1] == ["("] and ")" in words:
        words = words[words.index(")") + 1 :]
    return words[0] if words else ""


_SIZES = {"pred": 1, "b128": 16, "f16x2": 4, "bf16x2": 4, "bf16": 2, "tf32": 4}


def sizeof(type_: str) -> int:
    """Returns the bytes of an element of a PTX type; 4 for one that is not known."""
    bits = integer(type_[1:]) if type_[:1] in "bsuf" else None
    return _SIZES.get(type_) or (bits // 8 if bits and bits >= 8 else 4)
