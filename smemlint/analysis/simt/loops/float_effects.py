"""Loops that only compute floating-point numbers: they are not run iteration by iteration.

Register tiles are updated in loops of hundreds of iterations whose values nothing here depends on.
What a loop's text may do is read once from its tree; what its names stand for is looked up each
time.
"""

from __future__ import annotations

from dataclasses import dataclass

from pycparser import c_ast

_STATEMENTS = (
    c_ast.Compound, c_ast.For, c_ast.DeclList, c_ast.Pragma, c_ast.EmptyStatement, c_ast.If,
)  # fmt: skip
_EXPRESSIONS = (
    c_ast.BinaryOp, c_ast.ArrayRef, c_ast.StructRef, c_ast.Constant, c_ast.Cast, c_ast.TernaryOp,
    c_ast.ExprList, c_ast.ID, c_ast.Typename, c_ast.TypeDecl, c_ast.PtrDecl, c_ast.IdentifierType,
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


def effects_of(node: c_ast.Node, pure: frozenset[str]) -> Effects | None:
    """Returns what a loop names; None when it does more than compute and assign.

    Args:
        node: the loop.
        pure: functions that only give a number.
    """
    reads: set[str] = set()
    writes: set[str] = set()
    declared: set[str] = set()
    work: list[c_ast.Node] = [node]
    while work:
        current = work.pop()
        match current:
            case c_ast.Assignment():
                root = root_of(current.lvalue)
                if root is None:
                    return None
                writes.add(root)
            case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--"):
                root = root_of(current.expr)
                if root is None:
                    return None
                writes.add(root)
            case c_ast.UnaryOp(op="-" | "+" | "!" | "~" | "&" | "*"):
                pass
            case c_ast.Decl() if not (current.storage or current.name is None):
                declared.add(current.name)
            case c_ast.FuncCall(name=c_ast.ID()) if current.name.name in pure:
                work.extend(current.args.exprs if current.args is not None else ())
                continue
            case c_ast.ID():
                reads.add(current.name)
            case c_ast.StructRef():
                work.append(current.name)  # the member's name is no variable
                continue
            case _ if isinstance(current, _STATEMENTS + _EXPRESSIONS):
                pass
            case _:
                return None
        work.extend(child for _, child in current.children())
    return Effects(frozenset(reads - declared), frozenset(writes - declared))


def root_of(node: c_ast.Node) -> str | None:
    """Returns the variable whose bytes an lvalue names."""
    while True:
        match node:
            case c_ast.ArrayRef() | c_ast.StructRef(type="."):
                node = node.name
            case c_ast.Cast() | c_ast.UnaryOp(op="&" | "*"):
                node = node.expr
            case c_ast.ID():
                return str(node.name)
            case _:
                return None
