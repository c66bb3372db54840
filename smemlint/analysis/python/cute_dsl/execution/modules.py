"""The executed file and those of its tree that it imports from: read, never imported."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Callable

from smemlint.analysis.python.interpreter.values import Scope, Value
from smemlint.facts import Span
from smemlint.frontend.python.imports import Imports
from smemlint.frontend.python.module_files import files_of
from smemlint.frontend.python.python_source import NotPython, PythonText, belong, text_of
from smemlint.limits.budgets import MAX_DSL_FILES, MAX_REEXPORTS
from smemlint.sources.source import Source


class ImportedFiles:
    """The other files that a file is executed with, each parsed once for all of its executions.

    Args:
        home: the file.

    Attributes:
        home: the file.
        left_out: files that were not read for their number.
    """

    def __init__(self, home: PythonText) -> None:
        self.home = home
        self.left_out: set[str] = set()
        self._texts: dict[str, PythonText | None] = {}

    def text(self, path: str) -> PythonText | None:
        """Returns a parsed file; None where it cannot be read or parsed, or for their number."""
        if path not in self._texts:
            if sum(text is not None for text in self._texts.values()) >= MAX_DSL_FILES:
                if self.home.sandbox.stamp(path) is not None:
                    self.left_out.add(path)
                return None
            try:
                data = self.home.sandbox.read(path)
                self._texts[path] = _parsed(Source(path, data, below=self.home.below))
            except OSError:
                self._texts[path] = None
        return self._texts[path]

    def text_of(self, source: Source) -> PythonText | None:
        """Returns a parsed file of the run, however many were read; None where it is no Python."""
        path = posixpath.normpath(source.path)
        if path not in self._texts:
            self._texts[path] = _parsed(source)
        return self._texts[path]


def _parsed(source: Source) -> PythonText | None:
    try:
        text = PythonText.of(source)
    except NotPython:
        return None
    belong(text)
    return text


class Texts:
    """Files by path; a node of another file than the executed one knows which it is of.

    Args:
        files: that are imported, and the one that is executed.
        interpret: gives the scope of an imported file.

    Attributes:
        home: the executed file.
        read: paths that were read or looked for, the file's own left out.
    """

    def __init__(self, files: ImportedFiles, interpret: Callable[[PythonText], Scope]) -> None:
        self.home = files.home
        self._files = files
        self.read: dict[str, None] = {}
        self._interpret = interpret
        self._scopes: dict[str, Scope] = {}

    def text_of(self, node: ast.AST) -> PythonText:
        """Returns the text that a node is of."""
        return text_of(node, self.home)

    def span(self, node: ast.AST) -> Span:
        """Returns the place of a node."""
        return self.text_of(node).span(node)

    def within(self, span: Span) -> str:
        """Returns the text of a place."""
        text = self.home if span.path == self.home.path else self._files.text(span.path)
        return text.within(span) if text is not None else ""

    def define(self, scope: Scope) -> None:
        """Takes note of what the executed file defines, for files that import from it."""
        self._scopes[posixpath.normpath(self.home.path)] = scope

    def member(self, name: str, node: ast.AST) -> Value | None:
        """Returns what a dotted name of an imported module means; None where that is not known."""
        return self._member(name, self.text_of(node).path)

    def _member(self, name: str, home: str, depth: int = 0) -> Value | None:
        last = name.rpartition(".")[2]
        for path in map(posixpath.normpath, files_of(home, name)):
            if path.endswith("__init__.py"):
                package = self._text(path)
                target = Imports.of(package.tree).targets.get(last) if package is not None else None
                if target is not None and depth < MAX_REEXPORTS:
                    return self._member(target, path, depth + 1)
                continue
            scope = self.scope(path)
            if last in scope:
                return scope[last]
        return None

    def scope(self, path: str) -> Scope:
        """Returns what another file defines; nothing where it cannot be read."""
        if path not in self._scopes:
            self._scopes[path] = {}  # ends recursion
            text = self._text(path)
            if text is not None:
                self._scopes[path] = self._interpret(text)
        return self._scopes[path]

    def scope_of(self, text: PythonText) -> Scope:
        """Returns what a text that is no file defines."""
        if text.path not in self._scopes:
            self._scopes[text.path] = self._interpret(text)
        return self._scopes[text.path]

    def _text(self, path: str) -> PythonText | None:
        """Returns another file; None where it cannot be read."""
        self.read[path] = None
        return self._files.text(path)
