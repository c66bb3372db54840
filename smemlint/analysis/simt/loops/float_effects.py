"""Loops that only compute floating-point numbers: they are not run iteration by iteration.

Register tiles are updated in loops of hundreds of iterations whose values nothing here depends on.
What a loop's text may do is read once from its tree; what its names stand for is looked up each
time.
"""

from __future__ import annotations

from dataclasses import dataclass

from smemlint.frontend import ir

_STATEMENTS = (
    ir.Compound, ir.For, ir.DeclList, ir.Pragma, ir.EmptyStatement, ir.If,
)  # fmt: skip
_EXPRESSIONS = (
    ir.BinaryOp, ir.ArrayRef, ir.StructRef, ir.Constant, ir.Cast, ir.TernaryOp,
    ir.ExprList, ir.ID, ir.Unparsed, ir.Typename, ir.TypeDecl, ir.PtrDecl, ir.IdentifierType,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Effects:
    """Names that a loop uses.

    Attributes:
        reads: variables that are named, apart from those declared inside.
        writes: those of them that are assigned.
    """

    reads: frozenset[str]
    writes: frozenset[str]


def effects_of(node: ir.Node, pure: frozenset[str]) -> Effects | None:
    """Returns what a loop names; None when it does more than compute and assign.

    Args:
        node: the loop.
        pure: functions that only give a number.
    """
    reads: set[str] = set()
    writes: set[str] = set()
    declared: set[str] = set()
    work: list[ir.Node] = [node]
    while work:
        current = work.pop()
        match current:
            case ir.Assignment():
                root = root_of(current.lvalue)
                if root is None:
                    return None
                writes.add(root)
            case ir.UnaryOp(op="++" | "--" | "p++" | "p--"):
                root = root_of(current.expr)
                if root is None:
                    return None
                writes.add(root)
            case ir.UnaryOp(op="-" | "+" | "!" | "~" | "&" | "*"):
                pass
            case ir.Decl() if current.name and not current.storage:
                declared.add(current.name)
            case ir.FuncCall(name=ir.ID(name=name)) if name in pure:
                work += current.args
                continue
            case ir.ID():
                reads.add(current.name)
            case ir.StructRef():
                work.append(current.name)  # the member's name is no variable
                continue
            case _ if isinstance(current, _STATEMENTS + _EXPRESSIONS):
                pass
            case _:
                return None
        work += current.children()
    return Effects(frozenset(reads - declared), frozenset(writes - declared))


def root_of(node: ir.Node) -> str | None:
    """Returns the variable whose bytes an lvalue names."""
    while True:
        match node:
            case ir.ArrayRef() | ir.StructRef(type="."):
                node = node.name
            case ir.Cast() | ir.UnaryOp(op="&" | "*"):
                node = node.expr
            case ir.ID():
                return node.name
            case _:
                return None
