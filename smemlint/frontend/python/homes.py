"""Where a C tree declares the names that a Python function assigns.

Python's names live as long as their function, C's as long as their block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from smemlint.frontend.python.tree import statements, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Path = tuple[cst.CSTNode, ...]


def homes_of(function: cst.CSTNode) -> Mapping[str, cst.CSTNode | None]:
    """The block that declares each assigned name; None: the head of the function.

    A block is the home of a name when its first mention is an assignment that is a statement of
    the block itself, and all other mentions are inside. The home of a loop's counter is its body.
    """
    body = function.body if isinstance(function, cst.FunctionDef) else function
    found = _Homes()
    found.visit(body, (body,))
    return found.homes


class _Homes:
    def __init__(self) -> None:
        self.homes: dict[str, cst.CSTNode | None] = {}
        self._counters: set[str] = set()  # names that only loops around them mention so far

    def visit(self, block: cst.CSTNode, path: Path) -> None:
        """Takes in a block's statements, in order."""
        for statement in statements(block):
            if isinstance(statement, cst.FunctionDef | cst.ClassDef):
                continue
            counter = _counter(statement)
            is_counter = counter is not None and counter.value in self._counters
            if is_counter and counter is not None and self.homes[counter.value] not in path:
                del self.homes[counter.value]  # one more loop with a counter of this name
            self._mentioned(statement, path, counter)
            for name in _targets(statement):
                if name not in self.homes:
                    is_plain = isinstance(statement, cst.Assign | cst.AnnAssign)
                    self.homes[name] = block if is_plain else None
                    if isinstance(statement, cst.For) and counter is not None:
                        self.homes[name] = statement.body
                        self._counters.add(name)
            for suite in _suites(statement):
                self.visit(suite, (*path, suite))

    def _mentioned(self, statement: cst.CSTNode, path: Path, counter: cst.Name | None) -> None:
        for node in walk(statement, into=lambda n: not isinstance(n, cst.BaseSuite)):
            if not isinstance(node, cst.Name) or node is counter or node.value not in self.homes:
                continue
            home = self.homes[node.value]
            if home is not None and home not in path:
                self.homes[node.value] = None
                self._counters.discard(node.value)


def _counter(statement: cst.CSTNode) -> cst.Name | None:
    """The name that a `for` counts with."""
    if isinstance(statement, cst.For) and isinstance(statement.target, cst.Name):
        return statement.target
    return None


def _suites(statement: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The blocks directly below a statement, those of `elif` and `else` too."""
    for child in statement.children:
        if isinstance(child, cst.BaseSuite):
            yield child
        elif isinstance(child, cst.If | cst.Else | cst.ExceptHandler | cst.Finally):
            yield from _suites(child)


def _targets(statement: cst.CSTNode) -> Iterator[str]:
    """Names that a statement assigns itself."""
    found: list[cst.BaseExpression] = []
    if isinstance(statement, cst.Assign):
        found = [t.target for t in statement.targets]
    elif isinstance(statement, cst.AnnAssign | cst.AugAssign | cst.For):
        found = [statement.target]
    while found:
        target = found.pop()
        if isinstance(target, cst.Name):
            yield target.value
        elif isinstance(target, cst.Tuple | cst.List):
            found += [e.value for e in target.elements]
