"""Where a C tree declares the names that a Python function assigns.

Python's names live as long as their function, C's as long as their block. A block is the list of
its statements, which stands for itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from smemlint.frontend.python.syntax_walk import is_definition, suites

Block: TypeAlias = list[ast.stmt]
Path: TypeAlias = tuple[Block, ...]


def declaring_blocks(body: Block) -> Mapping[str, Block | None]:
    """Returns the block that declares each assigned name; None for the head of the function.

    A block declares a name when its first mention is an assignment that is a statement of the block
    itself, and all other mentions are inside. The body of a loop declares its counter.
    """
    found = _Declarations()
    found.visit(body, (body,))
    return found.blocks


class _Declarations:
    def __init__(self) -> None:
        self.blocks: dict[str, Block | None] = {}
        self._counters: set[str] = set()  # names that only loops around them mention so far

    def visit(self, block: Block, path: Path) -> None:
        """Adds the names of a block's statements, in order."""
        for statement in block:
            if is_definition(statement):
                continue
            counter = _counter(statement)
            is_counter = counter is not None and counter.id in self._counters
            if is_counter and counter is not None and not _is_in(self.blocks[counter.id], path):
                del self.blocks[counter.id]  # one more loop with a counter of this name
            self._mentioned(statement, path, counter)
            for name in _targets(statement):
                if name not in self.blocks:
                    is_plain = isinstance(statement, ast.Assign | ast.AnnAssign)
                    self.blocks[name] = block if is_plain else None
                    if isinstance(statement, ast.For) and counter is not None:
                        self.blocks[name] = statement.body
                        self._counters.add(name)
            for suite in suites(statement):
                self.visit(suite, (*path, suite))

    def _mentioned(self, statement: ast.stmt, path: Path, counter: ast.Name | None) -> None:
        for node in _heads(statement):
            if not isinstance(node, ast.Name) or node is counter or node.id not in self.blocks:
                continue
            declaring = self.blocks[node.id]
            if declaring is not None and not _is_in(declaring, path):
                self.blocks[node.id] = None
                self._counters.discard(node.id)


def _is_in(declaring: Block | None, path: Path) -> bool:
    return any(declaring is block for block in path)


def _heads(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yields the expressions of a statement outside of its blocks, with all that is in them."""
    for child in ast.iter_child_nodes(statement):
        if not isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from ast.walk(child)


def _counter(statement: ast.stmt) -> ast.Name | None:
    """Returns the name that a `for` counts with."""
    if isinstance(statement, ast.For) and isinstance(statement.target, ast.Name):
        return statement.target
    return None


def _targets(statement: ast.stmt) -> Iterator[str]:
    """Yields names that a statement assigns itself."""
    found: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        found = list(statement.targets)
    elif isinstance(statement, ast.AnnAssign | ast.AugAssign | ast.For):
        found = [statement.target]
    while found:
        target = found.pop()
        if isinstance(target, ast.Name):
            yield target.id
        elif isinstance(target, ast.Tuple | ast.List):
            found += target.elts
