"""Statements that a dry run may skip: they leave every followed local variable as it is.

A dry run of a loop only looks for the integers and pointers that an iteration changes. Stores to
shared and global memory, floating-point work and calls that are given nothing followed cannot
change one. What a statement's text may write is read once from its tree; what its names stand for
is looked up each time.
"""

from __future__ import annotations

from dataclasses import dataclass

from pycparser import c_ast

from smemlint.analysis.simt.loops.float_effects import root_of

_PLAIN = (
    c_ast.Compound, c_ast.If, c_ast.DeclList, c_ast.Pragma, c_ast.EmptyStatement, c_ast.BinaryOp,
    c_ast.ArrayRef, c_ast.Constant, c_ast.Cast, c_ast.TernaryOp, c_ast.ExprList, c_ast.ID,
    c_ast.Typename, c_ast.TypeDecl, c_ast.PtrDecl, c_ast.ArrayDecl, c_ast.IdentifierType,
    c_ast.InitList, c_ast.Case, c_ast.Default,
)  # fmt: skip
_LOOPS = (c_ast.For, c_ast.While, c_ast.DoWhile, c_ast.Switch)
_SPECIAL = ("__lambda", "__init", "__unparsed")


@dataclass(frozen=True, slots=True)
class Escape:
    """A variable that a call may write: it is named in an argument.

    Attributes:
        callee, index: the function as spelled, and which argument.
        name: the variable.
        is_lvalue: the argument names the variable's bytes, so a reference could bind to them.
        is_address: the argument is their address.
    """

    callee: str
    index: int
    name: str
    is_lvalue: bool
    is_address: bool


@dataclass(frozen=True, slots=True)
class ModSet:
    """What a statement may change outside of itself.

    Attributes:
        names: variables that are assigned, apart from those declared inside.
        whole: those of them that are assigned themselves, not what lies in or behind them.
        given: variables that calls are given.
    """

    names: frozenset[str]
    whole: frozenset[str]
    given: tuple[Escape, ...]


def mod_set_of(node: c_ast.Node) -> ModSet | None:
    """What a statement may change; None where its text does not tell, or control may leave it."""
    reader = _Reader()
    if not reader.reads(node, inside_loop=False):
        return None
    given = tuple(g for g in dict.fromkeys(reader.given) if g.name not in reader.declared)
    names, whole = (frozenset(n - reader.declared) for n in (reader.names, reader.whole))
    return ModSet(names, whole, given)


class _Reader:
    def __init__(self) -> None:
        self.names: set[str] = set()
        self.whole: set[str] = set()
        self.declared: set[str] = set()
        self.given: list[Escape] = []

    def reads(self, node: c_ast.Node, *, inside_loop: bool) -> bool:
        """Takes in a tree; False where it may do more than `Writes` can say."""
        match node:
            case c_ast.Assignment():
                return self._assigns(node.lvalue) and self._children(node, inside_loop)
            case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--"):
                return self._assigns(node.expr) and self._children(node, inside_loop)
            case c_ast.UnaryOp():
                return self._children(node, inside_loop)
            case c_ast.Decl():
                if node.name is None or set(node.storage or ()) - {"const", "constexpr"}:
                    return False
                self.declared.add(node.name)
                return self._children(node, inside_loop)
            case c_ast.StructRef():
                return self.reads(node.name, inside_loop=inside_loop)
            case c_ast.FuncCall():
                return self._calls(node, inside_loop)
            case c_ast.Break() | c_ast.Continue():
                return inside_loop
            case _ if isinstance(node, _LOOPS):
                return self._children(node, True)
            case _ if isinstance(node, _PLAIN):
                return self._children(node, inside_loop)
        return False

    def _children(self, node: c_ast.Node, inside_loop: bool) -> bool:
        return all(self.reads(child, inside_loop=inside_loop) for _, child in node.children())

    def _assigns(self, target: c_ast.Node) -> bool:
        if isinstance(target, c_ast.ID):
            self.whole.add(str(target.name))
        root = root_of(target)
        if root is not None:
            self.names.add(root)
            return True
        while isinstance(target, c_ast.ArrayRef | c_ast.StructRef | c_ast.Cast):
            target = target.expr if isinstance(target, c_ast.Cast) else target.name
        if not (isinstance(target, c_ast.UnaryOp) and target.op == "*"):
            return False
        self.given += (Escape("*", 0, n, False, False) for n in _named(target.expr))
        return True

    def _calls(self, node: c_ast.FuncCall, inside_loop: bool) -> bool:
        called = node.name
        if isinstance(called, c_ast.StructRef) and self._assigns(called.name):  # `this` may change
            callee = called.field.name
        elif isinstance(called, c_ast.ID) and not called.name.startswith(_SPECIAL):
            callee = called.name
        else:
            return False
        if callee == "__in":
            return True
        arguments = list(node.args.exprs) if node.args is not None else []
        for index, argument in enumerate(arguments):
            if not self.reads(argument, inside_loop=inside_loop):
                return False
            root = root_of(argument)
            if root is not None:
                address = isinstance(argument, c_ast.UnaryOp) and argument.op == "&"
                self.given.append(Escape(callee, index, root, True, address))
            else:
                self.given += (Escape(callee, index, n, False, False) for n in _named(argument))
        return True


def _named(node: c_ast.Node) -> list[str]:
    """Variables of an expression, those of calls in it left to the calls, subscripts left out."""
    if isinstance(node, c_ast.FuncCall):
        return []
    if isinstance(node, c_ast.ArrayRef):
        return _named(node.name)
    own = [str(node.name)] if isinstance(node, c_ast.ID) else []
    return own + [name for _, child in node.children() for name in _named(child)]
