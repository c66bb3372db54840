"""What statements are to LLVM: branches that stay, loops that are counted, blocks that part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from smemlint.frontend import ir

_OPAQUE = (ir.Unparsed, ir.Lambda, ir.UnparsedType, ir.Goto, ir.Label)
LOOPS = (ir.For, ir.RangeFor, ir.While, ir.DoWhile)
_LEAVING = (ir.Break, ir.Return, ir.Continue)
PLACES = (ir.ArrayRef, ir.UnaryOp, ir.StructRef)


def is_element(node: ir.Node) -> bool:
    """Returns whether an expression is `p[i]` or `*p`."""
    return isinstance(node, ir.ArrayRef) or (isinstance(node, ir.UnaryOp) and node.op == "*")


def is_part(node: ir.Node) -> bool:
    """Returns whether an expression is `p[i]`, `*p` or a member: what memory may hold."""
    return is_element(node) or isinstance(node, ir.StructRef)


def is_opaque(items: Sequence[ir.Node]) -> bool:
    """Returns whether statements hold what is not read: jumps, assembly, unparsed text."""
    return any(
        isinstance(node, _OPAQUE) or (isinstance(node, ir.Assembly) and not _is_move(node))
        for item in items
        for node in item.walk()
    )


def holds_assembly(items: Sequence[ir.Node]) -> bool:
    """Returns whether statements hold assembly."""
    return any(isinstance(node, ir.Assembly) for item in items for node in item.walk())


def _is_move(node: ir.Assembly) -> bool:
    """Returns whether assembly is nothing or reads a register: ptxas sinks loads below it."""
    return not node.template.strip() or node.template.split()[0].startswith("mov.")


def assigned(node: ir.Node) -> tuple[str, ...]:
    """Returns the variable that an assignment changes."""
    match node:
        case ir.Assignment(lvalue=ir.ID(name=name)):
            return (name,)
    return ()


def statements(node: ir.Node) -> Sequence[ir.Node]:
    """Returns the statements of a block, or the one that stands for a block."""
    return node.block_items if isinstance(node, ir.Compound) else (node,)


def branches_of_loops(block: ir.Compound) -> Iterator[tuple[ir.If, ir.Loop]]:
    """Yields the branches that the iterations of a block's loops make, and the loops."""
    for item in block.block_items:
        while isinstance(item, LOOPS):
            yield from ((each, item) for each in statements(item.stmt) if isinstance(each, ir.If))
            item = item.stmt


def is_branch(item: ir.Node) -> bool:
    """Returns whether a statement is a branch that surely stays."""
    return isinstance(item, ir.If) and keeps_branch(item) is not False


def parts_blocks(item: ir.Node) -> bool:
    """Returns whether a statement parts what is before it from what is behind, to ptxas, too."""
    if isinstance(item, ir.If):
        return item.iffalse is not None and is_branch(item)
    return isinstance(item, ir.While | ir.DoWhile | ir.Switch) or is_counted(item)


def is_counted(item: ir.Node) -> bool:
    """Returns whether a statement is a loop that runs as often as a variable says."""
    is_loop = isinstance(item, ir.For | ir.RangeFor)
    match item:
        case ir.For(cond=ir.BinaryOp(right=ir.Constant())):
            return False
    return is_loop


def cases(node: ir.Switch, is_read: Callable[[ir.Node], bool]) -> list[list[ir.Node]]:
    """Returns the statements of a switch, parted where it is left."""
    worklist: list[ir.Node] = [node.stmt]
    found: list[list[ir.Node]] = [[]]
    while worklist:
        item = worklist.pop()
        if isinstance(item, ir.Case | ir.Default):
            worklist += reversed(item.stmts)
        elif isinstance(item, ir.Compound) and (item is node.stmt or is_read(item)):
            worklist += reversed(item.block_items)
        elif isinstance(item, _LEAVING):
            found.append([])
        else:
            found[-1].append(item)
            if any(isinstance(last, _LEAVING) for last in statements(item)[-1:]):
                found.append([])
    return found


def are_equal(a: ir.Node, b: ir.Node) -> bool:
    """Returns whether two conditions are spelled alike."""
    return list(map(_spelled, a.walk())) == list(map(_spelled, b.walk()))


def _spelled(node: ir.Node) -> tuple[object, ...]:
    words = (getattr(node, part, None) for part in ("name", "op", "value", "type"))
    return (type(node), *(word for word in words if isinstance(word, str)))


def leaves(node: ir.Node | None) -> bool:
    """Returns whether a statement ends with a return, or leaves the iteration or the loop."""
    if isinstance(node, ir.Compound) and node.block_items:
        return leaves(node.block_items[-1])
    return isinstance(node, _LEAVING)


def keeps_branch(way: ir.Node) -> bool | None:
    """Returns whether statements write memory or call, which leaves a branch; None: perhaps."""
    is_open = False
    references = {
        node.name for node in way.walk() if isinstance(node, ir.Decl) and _is_reference(node)
    }
    for node in way.walk():
        match node:
            case ir.Compound(block_items=items) | ir.Case(stmts=items) | ir.Default(stmts=items):
                if any(isinstance(item, ir.FuncCall) for item in items):
                    return True
            case ir.Return(expr=ir.Expression()):
                is_open = True  # another way's value is picked, perhaps by a select
            case ir.If(iftrue=ir.FuncCall()) | ir.If(iffalse=ir.FuncCall()) | ir.Return():
                return True
            case (
                ir.Assignment(lvalue=place) | ir.UnaryOp(op="++" | "--" | "p++" | "p--", expr=place)
            ):
                is_reference = isinstance(place, ir.ID) and place.name in references
                if is_reference or isinstance(place, PLACES):
                    return True
            case ir.FuncCall():
                is_open = True
    return isinstance(way, ir.FuncCall) or (None if is_open else isinstance(way, LOOPS))


def returns_value(way: ir.Node) -> bool:
    """Returns whether statements return a value, of which another way has another one."""
    return any(map(is_result, way.walk()))


def is_computed(node: ir.Node) -> bool:
    """Returns whether an assignment is of what arithmetic makes of a value."""
    match node:
        case ir.Assignment(op=op, rvalue=value):
            return op != "=" or isinstance(value, ir.BinaryOp | ir.TernaryOp)
        case ir.Return(expr=value):
            return isinstance(value, ir.BinaryOp | ir.TernaryOp)
    return False


def is_member(node: ir.Node) -> bool:
    """Returns whether a statement assigns to `this->x`, which may be an object in registers."""
    match node:
        case ir.Assignment(lvalue=ir.StructRef(name=ir.ID(name="this"))):
            return True
    return False


def is_result(node: ir.Node) -> bool:
    """Returns whether a statement returns a value from a function."""
    return isinstance(node, ir.Return) and node.expr is not None


def _is_reference(node: ir.Decl) -> bool:
    return isinstance(node.type, ir.PtrDecl) and "&" in node.type.quals


def branches_that_overwrite(block: ir.Compound) -> Iterator[ir.If]:
    """Yields the branches of a block that do nothing but change what was stored before them."""
    before: ir.Node | None = None
    for first, item in pairwise(block.block_items):
        place = before or (first.lvalue if isinstance(first, ir.Assignment) else None)
        found = place_changed(item) if isinstance(item, ir.If) else None
        is_same = isinstance(place, PLACES) and found is not None and are_equal(place, found)
        before = place if is_same else None
        if is_same and isinstance(item, ir.If):
            yield item


def place_changed(item: ir.Node) -> ir.Node | None:
    """Returns the place that branches without other ways come to change, or an assignment."""
    while isinstance(item, ir.If):
        ways = statements(item.iftrue) if item.iftrue is not None else ()
        if item.iffalse is not None or item.is_constexpr or len(ways) != 1:
            return None
        item = ways[0]
    match item:
        case ir.Assignment(lvalue=place):
            return place
        case ir.UnaryOp(op=op, expr=place) if op in ir.STEPS:
            return place
    return None
