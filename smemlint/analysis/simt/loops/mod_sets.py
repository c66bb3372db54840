"""Statements that a dry run may skip: they leave every followed local variable as it is.

A dry run of a loop only looks for the integers and pointers that an iteration changes. Stores to
shared and global memory, floating-point work and calls that are given nothing followed cannot
change one. What a statement's text may write is read once from its tree; what its names stand for
is looked up each time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from smemlint.analysis.simt.loops.float_effects import root_of
from smemlint.frontend import ir

if TYPE_CHECKING:
    from collections.abc import Iterable

_PLAIN = (
    ir.Compound, ir.If, ir.DeclList, ir.Pragma, ir.EmptyStatement, ir.BinaryOp,
    ir.ArrayRef, ir.Constant, ir.Cast, ir.TernaryOp, ir.ExprList, ir.ID,
    ir.Typename, ir.TypeDecl, ir.PtrDecl, ir.ArrayDecl, ir.IdentifierType,
    ir.InitList, ir.Case, ir.Default, ir.TypeArgument, ir.SizeofPack, ir.New, ir.Unparsed,
    ir.UnparsedType, ir.FloorDivision, ir.FloorModulo, ir.WrappedIndex,
)  # fmt: skip
_LOOPS = (ir.For, ir.RangeFor, ir.While, ir.DoWhile, ir.Switch)

_CALLS = (
    ir.FuncCall, ir.Construct, ir.Assembly, ir.BraceList, ir.Fold, ir.PackExpansion, ir.Launch,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Escape:
    """A variable that a call may write: it is named in an argument.

    Attributes:
        callee, index: the function as spelled, empty for none, and which argument.
        name: the variable.
        is_lvalue: the argument names the variable's bytes, so a reference could bind to them.
        is_address: the argument is their address.
        is_output: the argument is an output of inline PTX, whose value is not known afterwards.
    """

    callee: str
    index: int
    name: str
    is_lvalue: bool
    is_address: bool
    is_output: bool = False


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


def mod_set_of(node: ir.Node) -> ModSet | None:
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

    def reads(self, node: ir.Node, *, inside_loop: bool) -> bool:
        """Takes in a tree; False where it may do more than `Writes` can say."""
        match node:
            case ir.Assignment():
                return self._assigns(node.lvalue) and self._children(node, inside_loop)
            case ir.UnaryOp(op="++" | "--" | "p++" | "p--"):
                return self._assigns(node.expr) and self._children(node, inside_loop)
            case ir.UnaryOp():
                return self._children(node, inside_loop)
            case ir.Decl():
                if not node.name or set(node.storage) - {"const", "constexpr"}:
                    return False
                self.declared.add(node.name)
                return self._children(node, inside_loop)
            case ir.StructRef():
                return self.reads(node.name, inside_loop=inside_loop)
            case ir.FuncCall():
                return self._calls(node, inside_loop)
            case ir.Construct() | ir.DirectInit() | ir.BraceList() | ir.Fold():
                return self._passes("", node.args, inside_loop)
            case ir.PackExpansion() | ir.BindingElement() | ir.RangeElement():
                return self._passes("", node.children(), inside_loop)
            case ir.StaticAssert():
                return True
            case ir.Assembly():
                written = [operand.expr for operand in node.outputs]
                return self._passes("", written, inside_loop, is_output=True)
            case ir.Break() | ir.Continue():
                return inside_loop
            case _ if isinstance(node, _LOOPS):
                return self._children(node, True)
            case _ if isinstance(node, _PLAIN):
                return self._children(node, inside_loop)
        return False

    def _children(self, node: ir.Node, inside_loop: bool) -> bool:
        return all(self.reads(child, inside_loop=inside_loop) for child in node.children())

    def _assigns(self, target: ir.Node) -> bool:
        if isinstance(target, ir.ID):
            self.whole.add(target.name)
        root = root_of(target)
        if root is not None:
            self.names.add(root)
            return True
        while isinstance(target, ir.ArrayRef | ir.StructRef | ir.Cast):
            target = target.expr if isinstance(target, ir.Cast) else target.name
        if not (isinstance(target, ir.UnaryOp) and target.op == "*"):
            return False
        self.given += (Escape("*", 0, n, False, False) for n in _named(target.expr))
        return True

    def _calls(self, node: ir.FuncCall, inside_loop: bool) -> bool:
        called = node.name
        if isinstance(called, ir.StructRef) and self._assigns(called.name):  # `this` may change
            callee = called.field.name
        elif isinstance(called, ir.ID):
            callee = called.name
        else:
            return False
        return self._passes(callee, node.args, inside_loop)

    def _passes(
        self,
        callee: str,
        arguments: Iterable[ir.Node],
        inside_loop: bool,
        is_output: bool = False,
    ) -> bool:
        """Takes in what a call is given."""
        for index, argument in enumerate(arguments):
            if not self.reads(argument, inside_loop=inside_loop):
                return False
            root = root_of(argument)
            if root is not None:
                address = isinstance(argument, ir.UnaryOp) and argument.op == "&"
                self.given.append(Escape(callee, index, root, True, address, is_output))
            else:
                self.given += (Escape(callee, index, n, False, False) for n in _named(argument))
        return True


def _named(node: ir.Node) -> list[str]:
    """Variables of an expression, those of calls in it left to the calls, subscripts left out."""
    if isinstance(node, _CALLS):
        return []
    if isinstance(node, ir.ArrayRef):
        return _named(node.name)
    own = [node.name] if isinstance(node, ir.ID) else []
    return own + [name for child in node.children() for name in _named(child)]
