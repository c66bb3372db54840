"""What the names of CuPy mean, as far as they make CUDA kernels and launch them."""

from __future__ import annotations

import ast
import posixpath
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from smemlint.analysis.python.cupy import generated_kernels, string_methods
from smemlint.analysis.python.cupy.embedded_cuda import KernelCall
from smemlint.analysis.python.cupy.source_map import Text
from smemlint.analysis.python.interpreter.values import (
    UNKNOWN,
    Method,
    Symbol,
    Unknown,
    Value,
    is_known,
)

if TYPE_CHECKING:
    from smemlint.frontend.python.python_source import PythonText

_CASTS = frozenset(
    ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "intp", "int_")
)
_TYPES = _CASTS - {"intp", "int_"} | {
    "float16", "float32", "float64", "complex64", "complex128", "bool_"
}  # fmt: skip
MOST_TEXT = 1 << 20
"""Characters; longer texts are not followed."""


@dataclass(eq=False)
class RawText:
    """A text that the GPU compiler gets.

    Attributes:
        text: with places; None where it is not known.
        node: the call that it is given to.
        home: the file of the call.
        options: of the compiler.
        names: kernels that it is compiled for, template arguments included.
        calls: launches of its kernels.
    """

    text: Text | None
    node: ast.Call
    home: PythonText
    options: tuple[str, ...]
    names: tuple[str, ...] = ()
    calls: list[KernelCall] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class Module:
    """What `RawModule` makes of a text; of each text that it may be."""

    raws: tuple[RawText, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """A kernel, or one of several.

    Attributes:
        parts: each text with the kernel's name; None where any that it is compiled for may be
            meant.
    """

    parts: tuple[tuple[RawText, str | None], ...]

    @staticmethod
    def of(raws: tuple[RawText, ...], name: Value) -> Kernel:
        """The kernel of this name in each text."""
        if isinstance(name, Partly):
            return Kernel(tuple((raw, n) for raw in raws for n in raw.names if name.fits(n)))
        known = str(name) if isinstance(name, str) else None
        return Kernel(tuple((raw, known) for raw in raws))


@dataclass(frozen=True, slots=True)
class Partly(Unknown):
    """A string of which only pieces are known, in order, with something between any two."""

    pieces: tuple[str, ...] = ()

    def fits(self, text: str) -> bool:
        """Whether it can be this text."""
        return re.fullmatch(".*".join(map(re.escape, self.pieces)), text, re.S) is not None


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several texts, whichever way the program goes."""

    texts: tuple[Text, ...]


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A file that the program opened, or its path object."""

    path: str


@dataclass(frozen=True, slots=True)
class Template:
    """`string.Template`."""

    text: Text


class Program(Protocol):
    """The file that is followed and those beside it.

    Attributes:
        raws: the texts that were made, by the place of the call and what is in them.
        snippets: calls that were given pieces of a kernel, with what is known of these.
    """

    raws: dict[tuple[str, int, int, str], RawText]
    snippets: list[tuple[ast.Call, str]]

    def called(
        self, home: PythonText, name: Symbol, arguments: list[Value], named: dict[str, Value]
    ) -> Value:
        """The result of a function of another file; not known where that is not at hand."""

    def read(self, home: PythonText, path: str) -> Text | None:
        """The text of a file that the code of `home` opens."""


class CupyLibrary:
    """Makes kernels of texts, and launches of calls."""

    def __init__(self, text: PythonText, program: Program) -> None:
        self._text = text
        self._program = program

    # ---- the protocol of `follow.Library`

    def call(
        self, callee: Value, arguments: list[Value], named: dict[str, Value], node: ast.Call
    ) -> Value:
        """The result of calling an imported name, a method or a kernel."""
        if isinstance(callee, Kernel):
            self._launch(callee, arguments, named, node)
            return UNKNOWN
        if isinstance(callee, Method):
            return self._method(callee, arguments, named, node)
        if not isinstance(callee, Symbol):
            return UNKNOWN
        name = callee.name
        if name in ("RawKernel", "RawModule"):
            return self._made(name, arguments, named, node)
        if name in generated_kernels.NAMES:
            self._assemble(generated_kernels.made_of(name, arguments, named), named, node)
            return UNKNOWN
        if name in _CASTS or callee.path == "math.prod":
            return arguments[0] if len(arguments) == 1 else UNKNOWN
        if callee.path in ("math.ceil", "math.floor"):
            return UNKNOWN
        return self._standard(callee, arguments, named)

    def attribute(self, owner: Value, name: str, node: ast.expr) -> Value:
        """An attribute of a value."""
        if isinstance(owner, Symbol):
            return owner
        if isinstance(owner, Unknown):
            return owner
        if isinstance(owner, OpenFile) and name == "parent":
            return OpenFile(posixpath.dirname(owner.path))
        return Method(owner, name)

    def subscript(self, owner: Value, key: ast.expr, value: Value) -> Value:
        """Nothing is known of what others hold."""
        return UNKNOWN

    def combined(self, operation: ast.AST, one: Value, other: Value) -> Value:
        """Paths are put together by `/`; types of one library are the same by name."""
        if isinstance(operation, ast.Eq | ast.NotEq) and _are_types(one, other):
            return (one == other) == isinstance(operation, ast.Eq)
        if isinstance(operation, ast.Add) and isinstance(one, Choice) and isinstance(other, str):
            return Choice(tuple(text + other for text in one.texts))
        if isinstance(operation, ast.Add) and isinstance(other, Choice) and isinstance(one, str):
            return Choice(tuple(one + text for text in other.texts))
        is_path = isinstance(operation, ast.Div) and isinstance(one, OpenFile)
        if is_path and isinstance(other, str):
            return OpenFile(posixpath.normpath(posixpath.join(one.path, str(other))))
        return UNKNOWN

    # ---- kernels and launches

    def _made(
        self, kind: str, arguments: list[Value], named: dict[str, Value], node: ast.Call
    ) -> Value:
        code = named.get("code", arguments[0] if arguments else UNKNOWN)
        path = named.get("path")
        if "code" not in named and isinstance(path, str):
            code = self._read(str(path)) if str(path).endswith((".cu", ".cuh")) else UNKNOWN
        options = _options(
            named.get("options", arguments[2] if kind == "RawKernel" and len(arguments) > 2 else ())
        )
        listed = named.get("name_expressions", ())
        is_list = isinstance(listed, tuple | list) and is_known(listed)
        names = tuple(map(str, listed)) if is_list else ()
        texts = code.texts if isinstance(code, Choice) else (code,)
        raws = []
        for each in texts:
            text = each if isinstance(each, Text) and len(each) <= MOST_TEXT else None
            raws.append(self._raw(text, options, names, node))
        if kind == "RawModule":
            return Module(tuple(raws))
        name = named.get("name", arguments[1] if len(arguments) > 1 else UNKNOWN)
        return Kernel.of(tuple(raws), name) if isinstance(name, str) else UNKNOWN

    def _raw(
        self, text: Text | None, options: tuple[str, ...], names: tuple[str, ...], node: ast.Call
    ) -> RawText:
        """The text of a call; the same one for each time that the call is followed."""
        where = (self._text.path, node.lineno, node.col_offset)
        key = (*where, f"{text if text is None else str(text)}{options}")
        made = RawText(text, node, self._text, options, names)
        return self._program.raws.setdefault(key, made)

    def _assemble(
        self, pieces: generated_kernels.Snippets, named: dict[str, Value], node: ast.Call
    ) -> None:
        """A kernel of pieces; CuPy launches it over any number of elements."""
        self._program.snippets.append((node, pieces.known))
        if pieces.text is None or len(pieces.text) > MOST_TEXT:
            return
        raw = self._raw(pieces.text, _options(named.get("options", ())), (pieces.name,), node)
        if pieces.block is not None:
            span = self._text.span(node)
            raw.calls.append(KernelCall(pieces.name, (None,), (pieces.block,), 0, (), span))

    def _launch(
        self, kernel: Kernel, arguments: list[Value], named: dict[str, Value], node: ast.Call
    ) -> None:
        given = dict(zip(("grid", "block", "args"), arguments, strict=False)) | named
        block, grid = _extents(given.get("block")), _extents(given.get("grid"))
        if block is None or not any(block):
            return
        passed = given.get("args", ())
        numbers = passed if isinstance(passed, tuple | list) else ()
        shared = given.get("shared_mem", 0)
        for raw, known in kernel.parts:
            raw.calls += (
                KernelCall(
                    name,
                    grid or (None,),
                    block,
                    shared if isinstance(shared, int) else None,
                    tuple(n if type(n) is int else None for n in numbers),
                    self._text.span(node),
                )
                for name in (raw.names if known is None else (known,))
            )

    def _read(self, path: str) -> Value:
        held = self._program.read(self._text, path)
        return UNKNOWN if held is None else held

    # ---- methods

    def _method(
        self, method: Method, arguments: list[Value], named: dict[str, Value], node: ast.Call
    ) -> Value:
        owner, name = method.owner, method.name
        if isinstance(owner, Module):
            if name != "get_function" or not arguments:
                return UNKNOWN
            return Kernel.of(owner.raws, arguments[0])
        if isinstance(owner, OpenFile):
            if name in ("read", "read_text", "readlines"):
                held = self._read(owner.path)
                is_whole = name != "readlines" or not isinstance(held, Text)
                return held if is_whole else string_methods.lines(held, keeps_ends=True)
            return owner
        if isinstance(owner, Template):
            return string_methods.substituted(owner.text, arguments, named)
        if isinstance(owner, dict) and name in ("items", "keys", "values"):
            return list({"items": owner.items(), "keys": owner, "values": owner.values()}[name])
        if isinstance(owner, str):
            return string_methods.method(owner, name, arguments, named)
        return UNKNOWN

    def _standard(self, callee: Symbol, arguments: list[Value], named: dict[str, Value]) -> Value:
        """Functions of the standard library, and of files beside this one."""
        first = arguments[0] if arguments else UNKNOWN
        match callee.path:
            case "pathlib.Path" if isinstance(first, str):
                return OpenFile(str(first))
            case "os.path.join" if arguments and all(isinstance(a, str) for a in arguments):
                return posixpath.join(*map(str, arguments))
            case "os.path.dirname" if isinstance(first, str):
                return posixpath.dirname(str(first))
            case "os.path.abspath" | "os.path.realpath" | "os.path.normpath":
                return first
            case "textwrap.dedent" if isinstance(first, Text):
                return string_methods.dedented(first)
            case "string.Template" if isinstance(first, Text):
                return Template(first)
        return self._program.called(self._text, callee, arguments, named)


def _options(given: Value) -> tuple[str, ...]:
    is_list = isinstance(given, tuple | list) and is_known(given)
    return tuple(map(str, given)) if is_list else ()


def _extents(value: Value) -> tuple[int | None, ...] | None:
    if isinstance(value, int):
        value = (value,)
    if not isinstance(value, tuple | list) or not 1 <= len(value) <= 3:
        return None
    return tuple(v if type(v) is int and v > 0 else None for v in value)


def _are_types(one: Value, other: Value) -> bool:
    """Whether both are element types of NumPy or CuPy, which call them alike."""
    symbols = [v for v in (one, other) if isinstance(v, Symbol)]
    return (
        len(symbols) == 2
        and all(
            s.name in _TYPES and s.path in (f"cupy.{s.name}", f"numpy.{s.name}") for s in symbols
        )
        and symbols[0].path.split(".")[0] == symbols[1].path.split(".")[0]
    )
