"""What the names of CuPy mean, as far as they make CUDA kernels and launch them."""

from __future__ import annotations

import ast
import posixpath
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from smemlint.frontend.python.abstract import (
    UNKNOWN,
    Function,
    Method,
    Symbol,
    Unknown,
    Value,
    is_known,
)
from smemlint.frontend.python.embedded import KernelCall
from smemlint.frontend.python.follow import Follower
from smemlint.frontend.python.origins import Place, Text, joined, literal
from smemlint.frontend.python.text import NotPython, PythonText
from smemlint.source import MAX_BYTES, Source

_CASTS = frozenset(
    ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "intp", "int_")
)
_MOST_TEXT = 1 << 20
_MOST_PATHS = 16
"""Open conditions of one call whose ways are followed to the end."""


@dataclass(eq=False)
class RawText:
    """A text that the GPU compiler gets.

    Attributes:
        text: with places; None where it is not known.
        node: the call that it is given to.
        options: of the compiler.
        names: kernels that it is compiled for, template arguments included.
        calls: launches of its kernels.
    """

    text: Text | None
    node: ast.Call
    options: tuple[str, ...]
    names: tuple[str, ...] = ()
    calls: list[KernelCall] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """A kernel of a text, by name; several where only the text's list of names is known."""

    raw: RawText
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A file that the program opened, or its path object."""

    path: str


@dataclass(frozen=True, slots=True)
class Template:
    """`string.Template`."""

    text: Text


class CupyFollower(Follower):
    """Follows host code with strings that know where they stand."""

    def __init__(self, library: CupyLibrary, text: PythonText) -> None:
        super().__init__(library, ())
        self._text = text
        self._paths_left = 0

    def value(self, node: ast.expr, scopes: tuple[dict[str, Value], ...]) -> Value:
        """The value of an expression; strings with the places of their characters."""
        match node:
            case ast.Constant(value=str(held)):
                return self._literal(node, held, ())
            case ast.JoinedStr():
                values = [
                    self.value(part.value, scopes)
                    for part in node.values
                    if isinstance(part, ast.FormattedValue)
                ]
                if all(isinstance(v, str | int) for v in values):
                    return self._literal(
                        node, None, [str(v) if isinstance(v, int) else v for v in values]
                    )
                return UNKNOWN
            case ast.Call(func=ast.Name(id="open"), args=[path, *_]):
                held = self.value(path, scopes)
                return OpenFile(str(held)) if isinstance(held, str) else UNKNOWN
            case ast.BinOp(op=ast.Mod()):
                left = self.value(node.left, scopes)
                if isinstance(left, Text):
                    return _percent(left, self.value(node.right, scopes))
        return super().value(node, scopes)

    def _literal(self, node: ast.expr, held: str | None, values: Sequence[str]) -> Value:
        span = self._text.span(node)
        start = Place(span.path, span.line, span.column)
        made = literal(self._text.segment(node), start, values)
        if made is not None and (held is None or str(made) == held):
            return made
        return Text.at(held, start) if held is not None else UNKNOWN

    def call(
        self, function: Function, arguments: Sequence[Value], named: dict[str, Value]
    ) -> Value:
        """The value that a function returns; an open condition parts its paths to their ends."""
        self._paths_left, before = _MOST_PATHS, self._paths_left
        try:
            return super().call(function, arguments, named)
        finally:
            self._paths_left = before

    def run(self, body: Sequence[ast.stmt], scopes: tuple[dict[str, Value], ...]) -> bool:
        """Runs statements in order; what follows an open condition is run after each way."""
        for i, node in enumerate(body):
            is_open = isinstance(node, ast.If) and self._paths_left > 0 and len(scopes) > 1
            if isinstance(node, ast.If) and is_open and self.truth(node.test, scopes) is None:
                self._paths_left -= 1
                before = dict(scopes[-1])
                reaches = self.run([*node.body, *body[i + 1 :]], scopes)
                scopes[-1].clear()
                scopes[-1].update(before)
                return self.run([*node.orelse, *body[i + 1 :]], scopes) or reaches
            if not self._statement(node, scopes):
                return False
        return True

    def _statement(self, node: ast.stmt, scopes: tuple[dict[str, Value], ...]) -> bool:
        if isinstance(node, ast.ClassDef):
            self.run(node.body, (*scopes, {}))
        if isinstance(node, ast.With):
            for item in node.items:
                value = self.value(item.context_expr, scopes)
                if item.optional_vars is not None:
                    self._assign(item.optional_vars, value, scopes)
        return super()._statement(node, scopes)


class CupyLibrary:
    """Makes kernels of texts, and launches of calls."""

    def __init__(self, text: PythonText) -> None:
        self._text = text
        self.raws: dict[tuple[int, int, str], RawText] = {}
        self._siblings: dict[str, dict[str, Value] | None] = {}

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
        """Paths are put together by `/`."""
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
        given = named.get(
            "options", arguments[2] if kind == "RawKernel" and len(arguments) > 2 else ()
        )
        options = (
            tuple(map(str, given)) if isinstance(given, tuple | list) and is_known(given) else ()
        )
        text = code if isinstance(code, Text) and len(code) <= _MOST_TEXT else None
        key = (node.lineno, node.col_offset, f"{text if text is None else str(text)}{options}")
        listed = named.get("name_expressions", ())
        is_list = isinstance(listed, tuple | list) and is_known(listed)
        names = tuple(map(str, listed)) if is_list else ()
        raw = self.raws.setdefault(key, RawText(text, node, options, names))
        if kind == "RawModule":
            return Method(raw, "module")
        name = named.get("name", arguments[1] if len(arguments) > 1 else UNKNOWN)
        return Kernel(raw, (str(name),)) if isinstance(name, str) else UNKNOWN

    def _launch(
        self, kernel: Kernel, arguments: list[Value], named: dict[str, Value], node: ast.Call
    ) -> None:
        given = dict(zip(("grid", "block", "args"), arguments, strict=False)) | named
        block, grid = _extents(given.get("block")), _extents(given.get("grid"))
        if block is None or None in block:
            return
        passed = given.get("args", ())
        numbers = passed if isinstance(passed, tuple | list) else ()
        shared = given.get("shared_mem", 0)
        kernel.raw.calls += (
            KernelCall(
                name,
                grid or (None,),
                tuple(b for b in block if b is not None),
                shared if isinstance(shared, int) else None,
                tuple(n if type(n) is int else None for n in numbers),
                self._text.span(node),
            )
            for name in kernel.names
        )

    # ---- methods

    def _method(
        self, method: Method, arguments: list[Value], named: dict[str, Value], node: ast.Call
    ) -> Value:
        owner, name = method.owner, method.name
        if isinstance(owner, Method) and isinstance(owner.owner, RawText):
            if name != "get_function" or not arguments:
                return UNKNOWN
            wanted, raw = arguments[0], owner.owner
            return Kernel(raw, (str(wanted),) if isinstance(wanted, str) else raw.names)
        if isinstance(owner, OpenFile):
            return self._read(owner.path) if name in ("read", "read_text") else owner
        if isinstance(owner, Template):
            return _substituted(owner.text, arguments, named)
        if isinstance(owner, dict) and name in ("items", "keys", "values"):
            return list({"items": owner.items(), "keys": owner, "values": owner.values()}[name])
        if isinstance(owner, str):
            return _of_text(owner, name, arguments, named)
        return UNKNOWN

    def _standard(self, callee: Symbol, arguments: list[Value], named: dict[str, Value]) -> Value:
        """Functions of the standard library, and of files beside this one."""
        first = arguments[0] if arguments else UNKNOWN
        match callee.path:
            case "pathlib.Path" if isinstance(first, str):
                return OpenFile(str(first))
            case "os.path.join" if all(isinstance(a, str) for a in arguments):
                return posixpath.join(*map(str, arguments))
            case "os.path.dirname" if isinstance(first, str):
                return posixpath.dirname(str(first))
            case "os.path.abspath" | "os.path.realpath" | "os.path.normpath":
                return first
            case "textwrap.dedent" if isinstance(first, Text):
                return _dedented(first)
            case "string.Template" if isinstance(first, Text):
                return Template(first)
        function = self._beside(callee.path)
        if function is None:
            return UNKNOWN
        follower, held = function
        return follower.call(held, arguments, named)

    def _beside(self, path: str) -> tuple[CupyFollower, Function] | None:
        """A function that is imported from a file in the same folder."""
        module, _, name = path.strip(".").rpartition(".")
        if not module or "." in module:
            return None
        file = posixpath.join(posixpath.dirname(self._text.path), module + ".py")
        source = Source(file)
        if not Path(file).is_file():
            return None
        try:
            text = PythonText.of(source)
        except NotPython:
            return None
        follower = CupyFollower(self, text)
        if file not in self._siblings:
            self._siblings[file] = None  # ends recursion
            scope: dict[str, Value] = {"__file__": file}
            follower.run(text.tree.body, (scope,))
            self._siblings[file] = scope
        held = (self._siblings[file] or {}).get(name)
        return (follower, held) if isinstance(held, Function) else None

    def _read(self, path: str) -> Value:
        """A file that the linted program reads, if it lies below its folder's parent."""
        folder = posixpath.dirname(self._text.path)
        full = posixpath.normpath(path if path.startswith("/") else posixpath.join(folder, path))
        if not path.startswith("/") and not Path(full).is_file():
            full = posixpath.normpath(path)
        home = Path(folder or ".").resolve().parent
        try:
            if home not in Path(full).resolve().parents or Path(full).stat().st_size > MAX_BYTES:
                return UNKNOWN
            return Text.in_file(Path(full).read_text(encoding="utf-8", errors="replace"), full)
        except OSError:
            return UNKNOWN


def _extents(value: Value) -> tuple[int | None, ...] | None:
    if isinstance(value, int):
        value = (value,)
    if not isinstance(value, tuple | list) or not 1 <= len(value) <= 3:
        return None
    return tuple(v if type(v) is int and v > 0 else None for v in value)


def _of_text(owner: str, name: str, arguments: list[Value], named: dict[str, Value]) -> Value:
    """Methods of strings that texts of kernels go through."""
    text = owner if isinstance(owner, Text) else Text.at(owner, None)
    texts = [a for a in arguments if isinstance(a, str)]
    match name:
        case "replace" if len(texts) == len(arguments) == 2 and texts[0]:
            return text.replaced(re.compile(re.escape(texts[0])), {str(texts[0]): texts[1]})
        case "format":
            return _formatted(text, arguments, named)
        case "join" if len(arguments) == 1 and isinstance(arguments[0], list | tuple):
            pieces = [p for item in arguments[0] for p in (text, item)][1:]
            return joined(pieces) if all(isinstance(p, str) for p in pieces) else UNKNOWN
        case "strip" | "lstrip" | "rstrip" if not arguments:
            start = 0 if name == "rstrip" else len(str(text)) - len(str(text).lstrip())
            end = len(text) if name == "lstrip" else len(str(text).rstrip())
            return text.part(start, max(start, end))
        case "encode":
            return text
        case "upper" | "lower" | "title":
            return Text.at(getattr(str(text), name)(), text.places[0] if text.places else None)
    return UNKNOWN


_FIELD = re.compile(r"\{\{|\}\}|\{(\w*)\}")


def _formatted(text: Text, arguments: list[Value], named: dict[str, Value]) -> Value:
    """`str.format` with plain fields."""
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
        place = text.places[match.start()]
        pieces.append(value if isinstance(value, Text) else Text.at(str(value), place))
    return joined([*pieces, text.part(at, len(text))])


_PERCENT = re.compile(r"%(?:\((\w+)\))?([sdif%])")


def _percent(text: Text, value: Value) -> Value:
    """`text % values` with plain conversions."""
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
            held = value.get(match[1]) if isinstance(value, dict) else UNKNOWN
        else:
            held = given.pop(0) if given else UNKNOWN
        if not isinstance(held, str | int):
            return UNKNOWN
        pieces.append(held if isinstance(held, Text) else Text.at(str(held), None))
    if "%" in str(text)[at:]:
        return UNKNOWN
    return joined([*pieces, text.part(at, len(text))])


_DOLLAR = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


def _substituted(text: Text, arguments: list[Value], named: dict[str, Value]) -> Value:
    """`Template.substitute`."""
    table = dict(arguments[0]) if arguments and isinstance(arguments[0], dict) else {}
    values = {k: v if isinstance(v, str) else str(v) for k, v in (table | named).items()
              if isinstance(v, str | int)}  # fmt: skip
    made = text.replaced(_DOLLAR, values)
    return UNKNOWN if _DOLLAR.search(str(made)) else made


def _dedented(text: Text) -> Text:
    """`textwrap.dedent`: what is left of each line, with its places."""
    pieces: list[str] = []
    at = 0
    for line in textwrap.dedent(str(text)).splitlines(keepends=True):
        end = str(text).find("\n", at)
        whole = text.part(at, len(text) if end < 0 else end + 1)
        at += len(whole)
        pieces.append(whole.part(len(whole) - len(line), len(whole)) if line.strip() else line)
    return joined(pieces)
