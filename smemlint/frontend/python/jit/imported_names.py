"""What kernels of `cupyx.jit` and Numba take from files beside theirs: constants and functions.

Constants are worked out where they stand. Functions are lowered like the file's own, with the
names of their own file; a kernel that another kernel calls is one of them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from smemlint.analysis.python.interpreter.statements import Follower, OverBudget
from smemlint.analysis.python.interpreter.values import UNKNOWN, Symbol, Value
from smemlint.frontend.python.imports import Imports
from smemlint.frontend.python.jit.definitions import Definition, Definitions
from smemlint.frontend.python.module_files import files_of
from smemlint.frontend.python.python_source import NotPython, PythonText, belong
from smemlint.sources.source import Source

_MOST_FILES = 8
_MOST_TEXT = 1 << 18
"""Characters; longer files hold more than constants and helpers."""
_LIBRARIES = frozenset(("numba", "numba_cuda", "cupy", "cupyx", "numpy", "math", "typing"))
"""Packages whose members the dialects know, even inside their own source trees."""
Read = Callable[[str], str | None]


@dataclass(frozen=True, slots=True, eq=False)
class _Beside:
    """A file: its constants as expressions, and its functions."""

    text: PythonText
    constants: dict[str, ast.expr]
    definitions: Definitions


class JitSiblings:
    """The files that a module imports from.

    Attributes:
        looked_for: paths that were read, or are not there.
        functions: definitions of other files that the module or they may call.
    """

    def __init__(self, read: Read) -> None:
        self._read = read
        self._files: dict[str, _Beside | None] = {}
        self.looked_for: dict[str, None] = {}
        self.functions: list[Definition] = []

    @property
    def texts(self) -> dict[str, PythonText]:
        """The files that were read, by their paths."""
        return {path: found.text for path, found in self._files.items() if found is not None}

    def attach(self, path: str, imports: Imports, definitions: Definitions) -> None:
        """Gives a module's own scope the names that it imports, `module.name` among them."""
        host = definitions.host
        for local, target in imports.targets.items():
            if target.partition(".")[0] in _LIBRARIES:
                continue
            module, _, name = target.rpartition(".")
            found = self._file(path, f"{module}.{name}" if module.strip(".") else "")
            if found is not None:
                self._bind(host, local, name, found)
            whole = self._file(path, f"{target}.x")
            if whole is not None:
                for member in (*whole.constants, *whole.definitions.host.inner):
                    self._bind(host, f"{local}.{member}", member, whole)

    @staticmethod
    def _bind(host: Definition, local: str, name: str, found: _Beside) -> None:
        if name in found.definitions.host.inner:
            host.inner.setdefault(local, found.definitions.host.inner[name])
        elif name in found.constants:
            host.assigned.setdefault(local, [found.constants[name]])

    def _file(self, home: str, dotted: str) -> _Beside | None:
        for path in files_of(home, dotted) if dotted else ():
            if path == home:
                continue
            if path not in self._files:
                self._files[path] = None  # ends recursion
                self._files[path] = self._load(path)
            if self._files[path] is not None:
                return self._files[path]
        return None

    def _load(self, path: str) -> _Beside | None:
        self.looked_for[path] = None
        held = self._read(path) if len(self.texts) < _MOST_FILES else None
        if held is None or len(held) > _MOST_TEXT:
            return None
        try:
            text = PythonText.of(Source(path, held))
        except NotPython:
            return None
        belong(text)
        imports = Imports.of(text.tree)
        definitions = Definitions(text.tree, imports)
        constants = dict(_constants(text))
        definitions.host.assigned.clear()
        definitions.host.assigned.update({name: [value] for name, value in constants.items()})
        self.attach(path, imports, definitions)
        for found in definitions.all:
            if found is not definitions.host:
                found.unique = f"{found.unique}@{path}"
                found.imports = imports
                found.is_device = found.dialect is not None
                self.functions.append(found)
        return _Beside(text, constants, definitions)


class NoLibrary:
    """A library of no names."""

    def call(
        self, callee: Value, arguments: list[Value], named: dict[str, Value], node: ast.Call
    ) -> Value:
        """Not known."""
        return UNKNOWN

    def attribute(self, owner: Value, name: str, node: ast.expr) -> Value:
        """A member of a module is its name."""
        return owner if isinstance(owner, Symbol) else UNKNOWN

    def subscript(self, owner: Value, key: ast.expr, value: Value) -> Value:
        """Not known."""
        return UNKNOWN

    def combined(self, operation: ast.AST, one: Value, other: Value) -> Value:
        """Not known."""
        return UNKNOWN


def _constants(text: PythonText) -> Iterator[tuple[str, ast.expr]]:
    """Names that a file assigns once, each with an expression of its value."""
    scope: dict[str, Value] = {}
    with suppress(OverBudget, RecursionError):
        Follower(NoLibrary(), ()).run(text.tree.body, (scope,))
    counts: dict[str, list[ast.expr]] = {}
    for node in ast.walk(text.tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            counts.setdefault(node.id, []).append(node)
    for name, places in counts.items():
        value = _expression(scope.get(name, UNKNOWN))
        if len(places) == 1 and value is not None:
            for node in ast.walk(value):
                ast.copy_location(node, places[0])
                belong(text, node)
            yield name, value


def _expression(value: Value) -> ast.expr | None:
    """What a value is written as; None for one that is not known."""
    match value:
        case bool() | int() | float() | str():
            return ast.Constant(value)
        case tuple() | list():
            parts = [_expression(v) for v in value]
            known = [p for p in parts if p is not None]
            return ast.Tuple(known, ast.Load()) if len(known) == len(parts) else None
        case Symbol() if not value.path.startswith("."):
            return ast.parse(value.path, mode="eval").body
    return None
