"""The state of lowering one function, and the dispatch of expressions to their handlers."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import TypeVar

from smemlint.frontend import ir
from smemlint.frontend.program import Dropped
from smemlint.frontend.python.imports import Imports, dotted
from smemlint.frontend.python.jit.definitions import Definition
from smemlint.frontend.python.jit.dialects import Dialect
from smemlint.frontend.python.jit.ir_builder import Builder
from smemlint.frontend.python.syntax_walk import walk
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import Reason, ReasonCode
from smemlint.registration import registers

_Handler = TypeVar("_Handler", bound="Callable[..., ir.Expression]")
_EXPRESSIONS: dict[type[ast.expr], Callable[..., ir.Expression]] = {}


def lowers(*nodes: type[ast.expr]) -> Callable[[_Handler], _Handler]:
    """Registers a function that lowers expressions of these types."""
    return registers(_EXPRESSIONS, nodes)


class CannotLower(Exception):
    """A construct that has no C tree."""

    def __init__(self, node: ast.AST, what: str) -> None:
        super().__init__(what)
        self.node = node
        self.what = what


@dataclass(frozen=True, slots=True)
class LocalArray:
    """A shared or local array that the function declares; extents are Python expressions.

    Attributes:
        is_dynamic: the launch decides its size.
        may_have_rows: the one extent may stand for several.
    """

    extents: tuple[ast.expr, ...]
    is_dynamic: bool
    may_have_rows: bool = False
    is_shared: bool = False

    def extent(self, depth: int) -> ast.expr | None:
        """Returns what an index counts up to; None where that is not declared."""
        is_known = not self.is_dynamic and depth < len(self.extents)
        return self.extents[depth] if is_known else None


@dataclass(eq=False)
class Lowering:
    """Lowers the expressions of one function.

    Attributes:
        arrays: shared and local arrays that it declares.
        hidden: numbers that only an argument's shape gives, as spelled: unknown parameters.
        looped: names that the loops around the current statement assign.
        strided: parameters whose elements it addresses by strides: how many dimensions they have.
        lost: statements and views that have no C tree.
    """

    definition: Definition
    imports: Imports
    make: Builder
    arrays: dict[str, LocalArray] = field(default_factory=dict)
    hidden: dict[str, None] = field(default_factory=dict)
    looped: frozenset[str] = frozenset()
    strided: dict[str, int] = field(default_factory=dict)
    lost: list[Dropped] = field(default_factory=list)

    @property
    def dialect(self) -> Dialect | None:
        """Returns how its kernel code is read; None for host code."""
        return self.definition.dialect

    @property
    def wide(self) -> bool:
        """Returns whether every integer has 64 bits."""
        return self.dialect is None or self.dialect.has_wide_integers

    def expression(self, node: ast.expr) -> ir.Expression:
        """Returns the C tree of an expression; what has none is opaque."""
        handler = _EXPRESSIONS.get(type(node))
        if handler is not None:
            return handler(self, node)
        parts = [p for p in ast.iter_child_nodes(node) if isinstance(p, ast.expr)]
        return self.opaque(node, parts)

    def opaque(self, node: ast.AST, parts: Sequence[ast.expr] = ()) -> ir.Expression:
        """Returns an expression of which only the operands are followed."""
        operands = tuple(self.expression(p) for p in parts)
        return ir.Opaque(self.make.spelling(node), operands, at=self.make.place(node))

    def lose(self, node: ast.AST, what: str) -> None:
        """Notes what has no C tree."""
        reason = Reason(ReasonCode.NOT_MODELLED, f"{what} is not followed")
        self.lost.append(Dropped(self.make.tree_span(node), reason))

    def is_local(self, name: str) -> bool:
        """Returns whether the function itself gives the name a value."""
        own = self.definition
        return name in own.assigned or any(p.name == name for p in own.parameters)

    def member(self, node: ast.expr) -> str:
        """Returns the dialect's member that an expression names; empty for anything else.

        The name may be of one that is given another name: `t = cuda.threadIdx`, then `t.x`.
        """
        if self.dialect is None:
            return ""
        head, dot, rest = (dotted(node) or "").partition(".")
        value = self.definition.only_value(head) if dot else None
        whole = self.imports.resolve(value) if value is not None else ""
        return self.dialect.member(whole + dot + rest if whole else self.imports.resolve(node))

    def counts(self, node: ast.expr) -> bool:
        """Returns whether a loop around an expression changes a name in it."""
        return any(isinstance(n, ast.Name) and n.id in self.looped for n in walk(node))

    def argument_property(self, text: str, node: ast.AST) -> ir.Expression:
        """Returns a number that an argument brings along: one unknown for the entire kernel."""
        self.hidden.setdefault(text)
        return self.make.name(text, node)
