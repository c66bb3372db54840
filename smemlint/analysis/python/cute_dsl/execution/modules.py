"""The executed file and those of its tree that it imports from: read, never imported."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from smemlint.frontend.python.module_files import files_of
from smemlint.frontend.python.python_source import NotPython, PythonText, belong, text_of
from smemlint.limits.budgets import MAX_DSL_FILES
from smemlint.sources.source import Source

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable

    from smemlint.analysis.python.interpreter.values import Scope, Value
    from smemlint.facts import Span


class ImportedFiles:
    """The files that a file imports from, each parsed once for all executions of the file.

    Args:
        home: the file.
    """

    def __init__(self, home: PythonText) -> None:
        self.home = home
        self._texts: dict[str, PythonText | None] = {}

    def text(self, path: str) -> PythonText | None:
        """Returns a parsed file; None where it cannot be read or parsed."""
        if path in self._texts:
            return self._texts[path]
        text = self._parsed(path)
        if len(self._texts) < MAX_DSL_FILES:
            self._texts[path] = text
        return text

    def _parsed(self, path: str) -> PythonText | None:
        try:
            source = Source(path, self.home.sandbox.read(path), below=self.home.below)
            text = PythonText.of(source)
        except (OSError, NotPython):
            return None
        belong(text)
        return text


class Texts:
    """Files by path; a node of another file than the executed one knows which it is of.

    Args:
        files: that are imported, and the one that is executed.
        interpret: gives the scope of an imported file.

    Attributes:
        read: paths that were read or looked for, the file's own left out.
        left_out: files that were not read for their number.
    """

    def __init__(self, files: ImportedFiles, interpret: Callable[[PythonText], Scope]) -> None:
        self.home = home = files.home
        self._files = files
        self.read: dict[str, None] = {}
        self.left_out: set[str] = set()
        self._interpret = interpret
        self._scopes: dict[str, Scope] = {}
        self._texts: dict[str, PythonText] = {home.path: home}

    def text_of(self, node: ast.AST) -> PythonText:
        """Returns the text that a node is of."""
        return text_of(node, self.home)

    def span(self, node: ast.AST) -> Span:
        """Returns the place of a node."""
        return self.text_of(node).span(node)

    def within(self, span: Span) -> str:
        """Returns the text of a place."""
        text = self._texts.get(span.path)
        return text.within(span) if text is not None else ""

    def member(self, name: str, node: ast.AST) -> Value | None:
        """Returns what a dotted name of an imported module means; None where that is not known."""
        for path in files_of(self.text_of(node).path, name):
            scope = self._scope(path)
            last = name.rpartition(".")[2]
            if last in scope:
                return scope[last]
        return None

    def _scope(self, path: str) -> Scope:
        path = posixpath.normpath(path)
        if path == self.home.path:
            return {}
        if path not in self._scopes:
            self._scopes[path] = {}  # ends recursion
            if len(self.read) >= MAX_DSL_FILES:
                if self.home.sandbox.stamp(path) is not None:
                    self.left_out.add(path)
                return {}
            self.read[path] = None
            text = self._files.text(path)
            if text is None:
                return {}
            self._texts[path] = text
            self._scopes[path] = self._interpret(text)
        return self._scopes[path]
