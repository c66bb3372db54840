"""Follows host code that makes and launches CuPy kernels, with strings that know their places."""

from __future__ import annotations

import ast
import posixpath
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from smemlint.analysis.python.cupy.model import (
    MOST_TEXT,
    Choice,
    CupyLibrary,
    Kernel,
    Module,
    OpenFile,
    Partly,
    RawText,
)
from smemlint.analysis.python.cupy.source_map import Place, Text, literal
from smemlint.analysis.python.cupy.string_methods import percent
from smemlint.analysis.python.interpreter.path_sensitive import PathFollower
from smemlint.analysis.python.interpreter.statements import OverBudget
from smemlint.analysis.python.interpreter.values import UNKNOWN, Function, Symbol, Unknown, Value
from smemlint.frontend.python.module_files import files_of
from smemlint.frontend.python.python_source import NotPython, PythonText
from smemlint.limits.sizes import decimal, require_text
from smemlint.sources.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MOST_STEPS_BESIDE = 6_000
"""Steps in functions of other files; further calls of them give what is not known."""
_MOST_TEXTS = 4
"""Texts that a function may return and all of them are looked at."""


class CupyFollower(PathFollower):
    """Follows host code with strings that know where they stand."""

    def __init__(self, text: PythonText, program: Files) -> None:
        super().__init__(CupyLibrary(text, program), ())
        self._text = text
        self._program = program

    def _value_of(self, node: ast.expr, scopes: tuple[dict[str, Value], ...]) -> Value:
        """The value of an expression; strings with the places of their characters."""
        match node:
            case ast.Name() | ast.Attribute():
                held = super()._value_of(node, scopes)
                is_named = isinstance(held, Symbol) and not held.path.startswith("builtins.")
                return self._program.constant(self._text, held) if is_named else held
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
                        node, None, [decimal(v) if isinstance(v, int) else v for v in values]
                    )
                return _partly(node, iter(values))
            case ast.Call(func=ast.Name(id="open"), args=[path, *_]):
                held = self.value(path, scopes)
                return OpenFile(str(held)) if isinstance(held, str) else UNKNOWN
            case ast.BinOp(op=ast.Mod()):
                left = self.value(node.left, scopes)
                if isinstance(left, Text):
                    return percent(left, self.value(node.right, scopes))
        return super()._value_of(node, scopes)

    def _literal(self, node: ast.expr, held: str | None, values: Sequence[str]) -> Value:
        if held is not None and len(held) > MOST_TEXT:
            return UNKNOWN
        span = self._text.span(node)
        start = Place(span.path, span.line, span.column)
        made = literal(self._text.segment(node), start, values)
        if made is not None and (held is None or str(made) == held):
            return made
        return Text.at(held, start) if held is not None else UNKNOWN

    def returned(self, values: Sequence[Value]) -> Value:
        """See `Follower`; of a few texts, all are known."""
        texts = dict.fromkeys(v for v in values if isinstance(v, Text))
        if 1 < len(texts) <= _MOST_TEXTS and all(isinstance(v, Text) for v in values):
            return Choice(tuple(texts))
        return super().returned(values)

    def either(self, one: Value, other: Value) -> Value:
        """See `Follower`; of a few texts or kernels, all are known."""
        if one is not other:
            if isinstance(one, Kernel) and isinstance(other, Kernel):
                return Kernel(tuple(dict.fromkeys((*one.parts, *other.parts))))
            if isinstance(one, Module) and isinstance(other, Module):
                return Module(tuple(dict.fromkeys((*one.raws, *other.raws))))
        return super().either(one, other)

    def _statement(self, node: ast.stmt, scopes: tuple[dict[str, Value], ...]) -> bool:
        if isinstance(node, ast.ImportFrom) and node.level:
            module = "." * node.level + (f"{node.module}." if node.module else "")
            for alias in node.names:
                scopes[-1][alias.asname or alias.name] = Symbol(module + alias.name)
            return True
        if isinstance(node, ast.With):
            for item in node.items:
                value = self.value(item.context_expr, scopes)
                if item.optional_vars is not None:
                    self.assign(item.optional_vars, value, scopes)
        return super()._statement(node, scopes)


def _partly(node: ast.JoinedStr, values: Iterator[Value]) -> Partly:
    """An f-string of which some values are not known."""
    pieces = [""]
    for part in node.values:
        value: Value = part.value if isinstance(part, ast.Constant) else next(values)
        is_as_it_is = isinstance(part, ast.Constant) or (
            isinstance(part, ast.FormattedValue)
            and part.format_spec is None
            and part.conversion == -1
        )
        if is_as_it_is and isinstance(value, str | int):
            require_text((len(pieces[-1]), len(value) if isinstance(value, str) else 0))
            pieces[-1] += value if isinstance(value, str) else decimal(value)
        else:
            pieces.append("")
    return Partly(pieces=tuple(pieces))


def _source(path: str, home: PythonText) -> Source:
    """A file that another one names; empty where that cannot be read."""
    try:
        return Source(path, home.sandbox.read(path), below=home.below)
    except OSError:
        return Source(path, "")


@dataclass(eq=False)
class _Module:
    """A file whose statements were followed."""

    text: PythonText
    follower: CupyFollower
    scope: dict[str, Value]


class Files:
    """The file that is followed, those beside it that it imports from, and those that it opens.

    Attributes:
        raws, snippets: see `cupy_library.Program`.
        read_along: files that were read or looked for, the first one left out.
        steps_beside: what following functions of other files took since somebody counts.
    """

    def __init__(self) -> None:
        self.raws: dict[tuple[str, int, int, str], RawText] = {}
        self.snippets: list[tuple[ast.Call, str]] = []
        self.read_along: dict[str, None] = {}
        self.steps_beside = 0
        self._modules: dict[str, _Module | None] = {}
        self._sources: dict[str, Source] = {}

    def called(
        self, home: PythonText, name: Symbol, arguments: list[Value], named: dict[str, Value]
    ) -> Value:
        """See `cupy_library.Program`."""
        module = self._module_of(home, name, "def ")
        function = module.scope.get(name.name) if module is not None else None
        if module is None or not isinstance(function, Function):
            return UNKNOWN
        if self.steps_beside > _MOST_STEPS_BESIDE:
            return UNKNOWN
        follower = module.follower
        follower.steps = self.steps_beside
        try:
            return follower.call(function, arguments, named)
        except OverBudget:
            return UNKNOWN
        finally:
            self.steps_beside = follower.steps

    def constant(self, home: PythonText, name: Symbol) -> Value:
        """What a file beside assigns to an imported name; the name itself for everything else."""
        module = self._module_of(home, name, "")
        value = module.scope.get(name.name, name) if module is not None else name
        return name if isinstance(value, Function | Unknown) else value

    def read(self, home: PythonText, path: str) -> Text | None:
        """See `cupy_library.Program`."""
        folder = posixpath.dirname(home.path)
        full = posixpath.normpath(path if path.startswith("/") else posixpath.join(folder, path))
        if not path.startswith("/") and home.sandbox.stamp(full) is None:
            full = posixpath.normpath(path)
        self.read_along[full] = None
        text = home.sandbox.text(full, MOST_TEXT)
        return Text.in_file(text, full) if text is not None else None

    def _module_of(self, home: PythonText, name: Symbol, keyword: str) -> _Module | None:
        """The file that an imported name comes from, if it plainly defines it."""
        for path in files_of(home.path, name.path):
            if path == home.path:
                continue
            self.read_along[path] = None
            if path not in self._sources:
                self._sources[path] = _source(path, home)
            defines = rf"^{keyword}{re.escape(name.name)}\b\s*[(:=]"
            if re.search(defines, self._sources[path].text, re.M) is not None:
                return self._followed(path)
        return None

    def _followed(self, path: str) -> _Module | None:
        if path not in self._modules:
            self._modules[path] = None  # ends recursion
            try:
                text = PythonText.of(self._sources[path])
            except NotPython:
                return None
            follower = CupyFollower(text, self)
            scope: dict[str, Value] = {"__file__": path}
            with suppress(OverBudget, RecursionError):
                follower.run(text.tree.body, (scope,))
            self._modules[path] = _Module(text, follower, scope)
        return self._modules[path]
