"""The functions of a Python module: kernels, device functions, and host code that may launch."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from smemlint.frontend.python.dialects import DIALECTS, Dialect
from smemlint.frontend.python.imports import dotted
from smemlint.frontend.python.tree import statements, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from smemlint.frontend.python.imports import Imports

_MODULE = "<module>"
Body = cst.FunctionDef | cst.Module


@dataclass(eq=False)
class Definition:
    """A function, or the module's own statements.

    Attributes:
        node: its tree.
        outer: the function around it; None for the module.
        dialect: how its kernel code is read; None for host code.
        is_device: called by kernels, not launched.
        unique: the name that trees use for it, which no other definition has.
    """

    node: Body
    outer: Definition | None
    dialect: Dialect | None = None
    is_device: bool = False
    unique: str = ""
    inner: dict[str, Definition] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """As the source writes it."""
        return self.node.name.value if isinstance(self.node, cst.FunctionDef) else _MODULE

    @property
    def is_kernel(self) -> bool:
        """Whether it can be launched."""
        return self.dialect is not None and not self.is_device

    @cached_property
    def assigned(self) -> dict[str, list[cst.BaseExpression | None]]:
        """Names that the body assigns, each with the values that are plainly given to it."""
        found: dict[str, list[cst.BaseExpression | None]] = {}
        for node in self.own_nodes():
            if isinstance(node, cst.Assign):
                for target in node.targets:
                    for name, value in _bound(target.target, node.value):
                        found.setdefault(name, []).append(value)
            elif isinstance(node, cst.AnnAssign) and node.value is not None:
                for name, value in _bound(node.target, node.value):
                    found.setdefault(name, []).append(value)
            elif isinstance(node, cst.AugAssign | cst.For | cst.NamedExpr):
                for name, _ in _bound(node.target, None):
                    found.setdefault(name, []).append(None)
        return found

    @cached_property
    def parameters(self) -> tuple[cst.Param, ...]:
        """Parameters that are passed by position or name."""
        if isinstance(self.node, cst.Module):
            return ()
        given = self.node.params
        return (*given.posonly_params, *given.params, *given.kwonly_params)

    def own_nodes(self) -> Iterator[cst.CSTNode]:
        """Nodes of the body, in order, those of inner functions and classes left out."""
        for statement in (
            self.node.body.body if isinstance(self.node, cst.FunctionDef) else self.node.body
        ):
            if not isinstance(statement, cst.FunctionDef | cst.ClassDef):
                yield from walk(
                    statement, into=lambda n: not isinstance(n, cst.FunctionDef | cst.ClassDef)
                )

    def lookup(self, name: str) -> Definition | None:
        """The definition that a name means here."""
        scope: Definition | None = self
        while scope is not None:
            if name in scope.inner:
                return scope.inner[name]
            scope = scope.outer
        return None


class Definitions:
    """All definitions of a module; `host` is the module's own code."""

    def __init__(self, module: cst.Module, imports: Imports) -> None:
        self._imports = imports
        self.host = Definition(module, None, unique=_MODULE)
        self.all: list[Definition] = []
        self._collect(module, self.host)
        self._find_wrapped(module)
        counts = Counter(d.name for d in self.all)
        for number, found in enumerate(self.all):
            found.unique = found.name if counts[found.name] == 1 else f"{found.name}@{number}"
        self.all.append(self.host)

    def _collect(self, node: cst.CSTNode, scope: Definition) -> None:
        for child in _nested(node):
            if isinstance(child, cst.ClassDef):
                self._collect(child.body, scope)  # a method's name is taken for a function's
                continue
            assert isinstance(child, cst.FunctionDef)
            found = Definition(child, scope)
            for decorator in child.decorators:
                self._mark(found, decorator.decorator)
            scope.inner[found.name] = found
            self.all.append(found)
            self._collect(child.body, found)

    def _mark(self, found: Definition, decorator: cst.BaseExpression) -> bool:
        """Reads `@cuda.jit`, `@cuda.jit(..)` or `@cuda.jit(..)(..)`."""
        call = decorator if isinstance(decorator, cst.Call) else None
        name = self._imports.resolve(call.func if call is not None else decorator)
        for dialect in DIALECTS:
            if dialect.member(name) in dialect.decorators:
                found.dialect = dialect
                found.is_device = call is not None and _says_device(call)
                return True
        return False

    def _find_wrapped(self, module: cst.Module) -> None:
        """Functions that are made kernels by a call: `k = cuda.jit(f)`."""
        by_name = {d.name: d for d in self.all}
        for node in walk(module):
            if isinstance(node, cst.Call) and len(node.args) == 1:
                found = by_name.get(dotted(node.args[0].value) or "")
                if found is None or found.dialect is not None:
                    continue
                inner = node.func if isinstance(node.func, cst.Call) else node
                self._mark(found, inner)


def _says_device(call: cst.Call) -> bool:
    return any(
        argument.keyword is not None
        and argument.keyword.value == "device"
        and dotted(argument.value) == "True"
        for argument in call.args
    )


def _nested(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Functions and classes below a node, none inside another."""
    for child in statements(node):
        if isinstance(child, cst.FunctionDef | cst.ClassDef):
            yield child
        elif isinstance(child, cst.BaseCompoundStatement):
            for part in child.children:
                yield from _nested_in(part)


def _nested_in(part: cst.CSTNode) -> Iterator[cst.CSTNode]:
    if isinstance(part, cst.BaseSuite):
        yield from _nested(part)
    else:
        for child in part.children:
            if isinstance(child, _PARTS):
                yield from _nested_in(child)


_PARTS = cst.BaseSuite | cst.Else | cst.If | cst.ExceptHandler | cst.Finally
"""What holds further statements of a compound statement."""


def _bound(
    target: cst.BaseExpression, value: cst.BaseExpression | None
) -> Iterator[tuple[str, cst.BaseExpression | None]]:
    """Names that an assignment binds, with the value where it is written out."""
    if isinstance(target, cst.Name):
        yield target.value, value
    elif isinstance(target, cst.Tuple | cst.List):
        parts: list[cst.BaseExpression | None] = [None] * len(target.elements)
        if isinstance(value, cst.Tuple | cst.List) and len(value.elements) == len(parts):
            parts = [e.value for e in value.elements]
        for element, part in zip(target.elements, parts, strict=True):
            yield from _bound(element.value, part)
