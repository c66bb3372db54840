"""Helpers that CuTe DSL kernels import from files of their tree: mostly layouts of some type.

Their files are interpreted like the kernel's own; a node of theirs knows which text it is of.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import lru_cache

from smemlint.analysis.python.interpreter.values import Function, Scope
from smemlint.facts import Span
from smemlint.files.sandbox import Sandbox
from smemlint.frontend.python.module_files import files_of
from smemlint.frontend.python.python_source import NotPython, PythonText, belong, text_of
from smemlint.limits.budgets import MAX_LAYOUT_FILES
from smemlint.sources.source import Source

MAKER = "make_swizzle("
_IMPORT = re.compile(
    r"^[ \t]*+(?:from\s+(?P<module>(?!cutlass|torch|cuda|typing)[\w.]++)\s++import\s++"
    r"(?P<names>[\w, ]*)"
    r"|import\s++(?P<plain>(?!cutlass|torch|cuda|typing)[\w.]+))",
    re.M,
)


def find_imported_maker(source: Source) -> tuple[bool, dict[str, None]]:
    """Returns whether a file imports from one of its tree that makes swizzles.

    Returns:
        The answer, and the files that it depends on: they were read or do not exist.
    """
    reads: dict[str, None] = {}
    for match in _IMPORT.finditer(source.text):
        module = match["module"] or match["plain"]
        names = [module] if match["plain"] else [module, *_names(module, match["names"])]
        for name in names:
            for path in files_of(source.path, f"{name}.x"):
                reads[path] = None
                if _makes_swizzles(path, source.sandbox):
                    return True, reads
    return False, reads


def _names(module: str, listed: str) -> list[str]:
    """Returns the modules that `from module import listed` may mean."""
    dot = "" if module.endswith(".") else "."
    return [f"{module}{dot}{name}" for name in re.findall(r"\w+", listed)]


def _makes_swizzles(path: str, sandbox: Sandbox) -> bool:
    stamp = sandbox.stamp(path)
    return stamp is not None and _holds_maker(path, stamp, sandbox)


@lru_cache(maxsize=4096)
def _holds_maker(path: str, stamp: tuple[int, int], sandbox: Sandbox) -> bool:
    del stamp  # a file that was edited is read again
    return MAKER in (sandbox.text(path) or "")


class Siblings:
    """The file that is interpreted and those that it imports constructors of swizzles from.

    Attributes:
        read: paths that were read or looked for, the file's own left out.
        left_out: files that were not read for their number.
    """

    def __init__(self, home: PythonText, interpret: Callable[[PythonText], Scope]) -> None:
        self._home = home
        self._interpret = interpret
        self._scopes: dict[str, Scope] = {}
        self.read: dict[str, None] = {}
        self._interpreted: set[str] = set()
        self.left_out: set[str] = set()

    def text_of(self, node: ast.AST) -> PythonText:
        """Returns the text that a node is of."""
        return text_of(node, self._home)

    def span(self, node: ast.AST) -> Span:
        """Returns the place of a node."""
        return self.text_of(node).span(node)

    def segment(self, node: ast.AST) -> str:
        """Returns the text of a node."""
        return self.text_of(node).segment(node)

    def function(self, name: str, node: ast.AST) -> Function | None:
        """Returns the function of another file that a dotted name means, if that makes swizzles.

        Args:
            name: with a dot in front for each level of a relative import.
            node: where it stands.
        """
        for path in files_of(self.text_of(node).path, name):
            if path == self._home.path:
                continue
            found = self._scope(path).get(name.rpartition(".")[2])
            if isinstance(found, Function):
                return found
        return None

    def _scope(self, path: str) -> Scope:
        if path not in self._scopes:
            self._scopes[path] = {}  # ends recursion
            if len(self._interpreted) >= MAX_LAYOUT_FILES:
                if _makes_swizzles(path, self._home.sandbox):
                    self.left_out.add(path)
                return {}
            self.read[path] = None
            try:
                source = Source(path, self._home.sandbox.read(path), below=self._home.below)
            except OSError:
                return {}
            if MAKER not in source.text:
                return {}
            try:
                text = PythonText.of(source)
            except NotPython:
                return {}
            belong(text)
            self._interpreted.add(path)
            self._scopes[path] = self._interpret(text)
        return self._scopes[path]
