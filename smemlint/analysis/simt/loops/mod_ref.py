"""Mod/ref: the variables that a statement may change and those that it names.

A dry run of a loop only looks for the integers and pointers that an iteration changes: stores to
shared and global memory, floating-point work and calls that are given nothing followed cannot
change one. A loop that only computes floating-point numbers is not run iteration by iteration.
Both are decided by one pass over the tree, once a node; what its names stand for is looked up
each time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from smemlint.frontend import ir
from smemlint.lazy_dataclasses import dataclass

_PLAIN = (
    ir.Compound, ir.If, ir.DeclList, ir.EmptyStatement, ir.Using, ir.BinaryOp,
    ir.ArrayRef, ir.Constant, ir.Cast, ir.TernaryOp, ir.ExprList, ir.ID,
    ir.Typename, ir.TypeDecl, ir.PtrDecl, ir.ArrayDecl, ir.IdentifierType,
    ir.InitList, ir.Case, ir.Default, ir.TypeArgument, ir.SizeofPack, ir.Unparsed,
    ir.UnparsedType, ir.Requires, ir.FloorDivision, ir.FloorModulo, ir.WrappedIndex, ir.Extent,
)  # fmt: skip
_LOOPS = (ir.For, ir.RangeFor, ir.While, ir.DoWhile, ir.Switch)

_ARITHMETIC = (
    ir.Compound, ir.For, ir.DeclList, ir.EmptyStatement, ir.Using, ir.If, ir.Assignment,
    ir.BinaryOp, ir.ArrayRef, ir.StructRef, ir.Constant, ir.Cast, ir.TernaryOp, ir.ExprList, ir.ID,
    ir.Unparsed, ir.Typename, ir.TypeDecl, ir.PtrDecl, ir.IdentifierType,
)  # fmt: skip
"""What computes and assigns, and does nothing else."""
_SIGNS = ("-", "+", "!", "~", "&", "*")
_CALLS = (
    ir.FuncCall, ir.Construct, ir.Opaque, ir.Assembly, ir.BraceList, ir.Fold, ir.PackExpansion,
    ir.Launch,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Escape:
    """A variable that a call may write: it is named in an argument.

    Attributes:
        callee, index: the function as spelled, empty for none, and which argument.
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
class ModRef:
    """What a statement may change and what it names, variables declared inside left out.

    Attributes:
        modified: variables that are assigned, or what lies in or behind them.
        rebound: those of them that are assigned themselves.
        escapes: variables that calls are given.
        callees: functions that it calls, where it is arithmetic.
        is_arithmetic: it computes, assigns and calls functions by their names, and does nothing
            else.
        elements: what it calls to assign to what that gives, as elements of tensors: `t(i, j) = x`.
    """

    modified: frozenset[str]
    rebound: frozenset[str]
    referenced: frozenset[str]
    escapes: tuple[Escape, ...]
    callees: frozenset[str]
    is_arithmetic: bool
    elements: frozenset[str]


def mod_ref_of(node: ir.Node) -> ModRef | None:
    """Returns what a statement may change and names.

    None where its text does not tell, or control may leave it.
    """
    reader = _Reader()
    if not reader.reads(node, inside_loop=False):
        return None
    reader.follow_aliases()
    inside = reader.declared
    return ModRef(
        frozenset(reader.modified - inside),
        frozenset(reader.rebound - inside),
        frozenset(reader.referenced - inside),
        tuple(e for e in dict.fromkeys(reader.escapes) if e.name not in inside),
        frozenset(reader.callees),
        reader.is_arithmetic,
        frozenset(reader.elements),
    )


class _Reader:
    """Collects what the nodes of a tree do."""

    def __init__(self) -> None:
        self.modified: set[str] = set()
        self.rebound: set[str] = set()
        self.referenced: set[str] = set()
        self.declared: set[str] = set()
        self.aliases: dict[str, list[ir.Node]] = defaultdict(list)
        """What pointers and references that are declared inside are set to."""
        self.escapes: list[Escape] = []
        self.callees: set[str] = set()
        self.elements: set[str] = set()
        self.is_arithmetic = True

    def reads(self, node: ir.Node, *, inside_loop: bool) -> bool:
        """Takes in a tree; False where it may do more than `ModRef` can say."""
        match node:
            case ir.ID(name=name):
                self.referenced.add(name)
                return True
            case ir.UnaryOp(op=op) if op not in ir.STEPS:
                self.is_arithmetic &= op in _SIGNS
                return self._children(node, inside_loop)
            case ir.Assignment(lvalue=ir.ID(name=name), rvalue=source) if name in self.aliases:
                self.aliases[name].append(source)
                return self._assigns(node.lvalue) and self._children(node, inside_loop)
            case ir.Assignment(lvalue=target) | ir.UnaryOp(expr=target):
                return self._assigns(target) and self._children(node, inside_loop)
            case ir.Decl():
                return self._declares(node, inside_loop)
            case ir.StructRef():
                return self.reads(node.name, inside_loop=inside_loop)
            case ir.FuncCall():
                return self._calls(node, inside_loop)
            case ir.Break() | ir.Continue() | ir.StaticAssert():
                self.is_arithmetic = False
                return inside_loop or isinstance(node, ir.StaticAssert)
            case _ if isinstance(node, _LOOPS):
                self.is_arithmetic &= isinstance(node, _ARITHMETIC)
                return self._children(node, True)
            case _ if isinstance(node, _PLAIN):
                self.is_arithmetic &= isinstance(node, _ARITHMETIC)
                return self._children(node, inside_loop)
        self.is_arithmetic = False
        return self._passes_on(node, inside_loop)

    def _passes_on(self, node: ir.Node, inside_loop: bool) -> bool:
        """Takes in what gives its operands to a function without a name."""
        match node:
            case ir.Construct() | ir.Opaque() | ir.DirectInit() | ir.BraceList() | ir.Fold():
                return self._passes("", node.args, inside_loop)
            case ir.New(args=given):
                return self._passes("", given, inside_loop)
            case ir.PackExpansion() | ir.BindingElement() | ir.RangeElement():
                return self._passes("", node.children(), inside_loop)
            case ir.Assembly():
                written = [operand.expr for operand in node.outputs]
                return self._passes("", written, inside_loop, is_output=True)
        return False

    def _declares(self, node: ir.Decl, inside_loop: bool) -> bool:
        if not node.name or set(node.storage) - {"const", "constexpr"}:
            return False
        self.is_arithmetic &= not node.storage
        self.declared.add(node.name)
        if _may_be_alias(node.type):
            self.aliases[node.name] += [node.init] if node.init is not None else []
        return self._children(node, inside_loop)

    def follow_aliases(self) -> None:
        """Takes what is written through pointers and references for what they were set to."""
        escaped = {escape.name for escape in self.escapes}
        for name in reversed(self.aliases):
            if name not in self.modified and name not in escaped:
                continue
            for source in self.aliases[name]:
                root = root_of(source)
                if root is not None:
                    self.modified.add(root)
                elif named := _named(source):
                    self.is_arithmetic = False
                    escaped.update(named)
                    self.escapes += (Escape("*", 0, n, False, False) for n in named)

    def _children(self, node: ir.Node, inside_loop: bool) -> bool:
        return all(self.reads(child, inside_loop=inside_loop) for child in node.children())

    def _assigns(self, target: ir.Node) -> bool:
        if isinstance(target, ir.ID):
            self.rebound.add(target.name)
        root = root_of(target)
        if root is not None:
            self.modified.add(root)
            return True
        if isinstance(target, ir.FuncCall) and isinstance(target.name, ir.ID):
            self.elements.add(target.name.name)
            self.modified.add(target.name.name)
            return True
        while isinstance(target, ir.ArrayRef | ir.StructRef | ir.Cast):
            target = target.expr if isinstance(target, ir.Cast) else target.name
        if not (isinstance(target, ir.UnaryOp) and target.op == "*"):
            return False
        self.is_arithmetic = False
        self.escapes += (Escape("*", 0, n, False, False) for n in _named(target.expr))
        return True

    def _calls(self, node: ir.FuncCall, inside_loop: bool) -> bool:
        called = node.name
        if isinstance(called, ir.StructRef) and self._assigns(called.name):  # `this` may change
            callee, self.is_arithmetic = called.field.name, False
        elif isinstance(called, ir.ID):
            callee = called.name
            self.callees.add(callee)
        else:
            return False
        return self._passes(callee, node.args, inside_loop)

    def _passes(
        self, callee: str, arguments: Iterable[ir.Node], inside_loop: bool, is_output: bool = False
    ) -> bool:
        """Takes in what a call is given."""
        for index, argument in enumerate(arguments):
            if not self.reads(argument, inside_loop=inside_loop):
                return False
            root = root_of(argument)
            if root is not None:
                address = isinstance(argument, ir.UnaryOp) and argument.op == "&"
                self.escapes.append(Escape(callee, index, root, True, address, is_output))
            else:
                self.escapes += (Escape(callee, index, n, False, False) for n in _named(argument))
        return True


def _may_be_alias(kind: ir.Node) -> bool:
    """Returns whether a variable of a type may be a pointer or a reference."""
    words = kind.type if isinstance(kind, ir.TypeDecl) else None
    is_auto = isinstance(words, ir.IdentifierType) and words.names == ("auto",)
    return isinstance(kind, ir.PtrDecl) or is_auto


def _named(node: ir.Node) -> list[str]:
    """Returns the variables of an expression without those of calls and subscripts."""
    if isinstance(node, _CALLS):
        return []
    if isinstance(node, ir.ArrayRef):
        return _named(node.name)
    own = [node.name] if isinstance(node, ir.ID) else []
    return own + [name for child in node.children() for name in _named(child)]


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
