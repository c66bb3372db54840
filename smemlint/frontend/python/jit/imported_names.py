"""Constants and functions that kernels of `cupyx.jit` and Numba import from other files.

Constants are folded in their own file. Functions are lowered like the importing file's own, with
the names of theirs; a kernel that another kernel calls is one of them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeAlias

from smemlint.frontend.python.imports import Imports
from smemlint.frontend.python.jit.definitions import Definition, Definitions
from smemlint.frontend.python.module_files import files_of
from smemlint.frontend.python.python_source import NotPython, PythonText, belong
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_IMPORTED_CHARACTERS, MAX_IMPORTED_FILES
from smemlint.sources.source import Source

_LIBRARIES = frozenset(("numba", "numba_cuda", "cupy", "cupyx", "numpy", "math", "typing"))
"""Packages whose members the dialects know, even inside their own source trees."""
Read: TypeAlias = Callable[[str], str | None]
"""Returns the text of a file; None where there is none."""
Constants: TypeAlias = Callable[[PythonText], dict[str, ast.expr]]
"""Returns the names that a module assigns once, each with an expression of its value."""


@dataclass(frozen=True, slots=True, eq=False)
class _Module:
    """A file: its constants as expressions, and its functions."""

    text: PythonText
    constants: dict[str, ast.expr]
    definitions: Definitions


class ImportedNames:
    """The names that a module imports from other files.

    Args:
        read: returns the text of a file; None where there is none.
        constants: returns the constants of a file.
        launches: kernels of other files are launched, else called by those of the module.

    Attributes:
        dependencies: paths that were read, or do not exist.
        functions: definitions of other files that the module or they may call.
    """

    def __init__(self, read: Read, constants: Constants, *, launches: bool = False) -> None:
        self._launches = launches
        self._read = read
        self._constants = constants
        self._files: dict[str, _Module | None] = {}
        self.dependencies: dict[str, None] = {}
        self.functions: list[Definition] = []

    @property
    def texts(self) -> dict[str, PythonText]:
        """Returns the files that were read, by their paths."""
        return {path: found.text for path, found in self._files.items() if found is not None}

    def attach(self, path: str, imports: Imports, definitions: Definitions) -> None:
        """Gives a module's own scope the names that it imports, `module.name` among them."""
        host = definitions.host
        for local, target in imports.targets.items():
            if target.partition(".")[0] in _LIBRARIES:
                continue
            module, _, name = target.rpartition(".")
            found = self._file(path, f"{module}.{name}" if module.strip(".") else "")
            if found is not None and name != "*":
                self._bind(host, local, name, found)
            whole = found if name == "*" else self._file(path, f"{target}.x")
            if whole is not None:
                prefix = "" if name == "*" else f"{local}."
                for member in (*whole.constants, *whole.definitions.host.inner):
                    self._bind(host, prefix + member, member, whole)

    @staticmethod
    def _bind(host: Definition, local: str, name: str, found: _Module) -> None:
        if name in found.definitions.host.inner:
            host.inner.setdefault(local, found.definitions.host.inner[name])
        elif name in found.constants:
            host.assigned.setdefault(local, [found.constants[name]])

    def _file(self, home: str, dotted: str) -> _Module | None:
        for path in files_of(home, dotted) if dotted else ():
            if path == home:
                continue
            if path not in self._files:
                self._files[path] = None  # ends recursion
                self._files[path] = self._load(path)
            if self._files[path] is not None:
                return self._files[path]
        return None

    def _load(self, path: str) -> _Module | None:
        self.dependencies[path] = None
        content = self._read(path) if len(self.texts) < MAX_IMPORTED_FILES else None
        if content is None or len(content) > MAX_IMPORTED_CHARACTERS:
            return None
        try:
            text = PythonText.of(Source(path, content))
        except NotPython:
            return None
        belong(text)
        imports = Imports.of(text.tree)
        definitions = Definitions(text.tree, imports)
        constants = self._constants(text)
        definitions.host.assigned.clear()
        definitions.host.assigned.update({name: [value] for name, value in constants.items()})
        self.attach(path, imports, definitions)
        for found in definitions.all:
            if found is not definitions.host:
                found.unique = f"{found.unique}@{path}"
                found.imports = imports
                found.is_device |= found.dialect is not None and not self._launches
                self.functions.append(found)
        return _Module(text, constants, definitions)
