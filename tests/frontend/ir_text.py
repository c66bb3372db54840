"""Prints nodes as C, with all operands in parentheses that are no names, calls or elements."""

from __future__ import annotations

from functools import singledispatch

from smemlint.frontend import ir

_SIMPLE = (
    ir.ID,
    ir.Constant,
    ir.ArrayRef,
    ir.StructRef,
    ir.FuncCall,
    ir.Construct,
    ir.Launch,
    ir.Fold,
    ir.SizeofPack,
)


def printed(node: ir.Node | None) -> str:
    """Returns a node as C on one line."""
    assert node is not None
    return " ".join(_text(node).split())


def _list(nodes: tuple[ir.Node, ...]) -> str:
    return ", ".join(_text(node) for node in nodes)


def _operand(node: ir.Node) -> str:
    return _text(node) if isinstance(node, _SIMPLE) else f"({_text(node)})"


def _declarator(kind: ir.Type, name: str) -> str:
    """Returns a type around a declared name."""
    match kind:
        case ir.PtrDecl():
            inner = f"*{' '.join((*kind.quals, name))}"
            return _declarator(kind.type, inner)
        case ir.ArrayDecl():
            inner = f"({name})" if name.startswith("*") else name
            return _declarator(kind.type, f"{inner}[{_text(kind.dim) if kind.dim else ''}]")
        case ir.TypeDecl():
            return " ".join((*kind.quals, _text(kind.type), name)).strip()
        case ir.Typename():
            return _declarator(kind.type, name)
    return f"{_text(kind)} {name}".strip()


def _statement(node: ir.BlockItem) -> str:
    is_closed = isinstance(node, ir.Compound | ir.If | ir.For | ir.While | ir.Switch)
    return _text(node) if is_closed else _text(node).removesuffix(";") + ";"


@singledispatch
def _text(node: ir.Node) -> str:
    raise NotImplementedError(type(node).__name__)


@_text.register
def _(node: ir.ID) -> str:
    return node.name


@_text.register
def _(node: ir.Throw) -> str:
    return "throw"


@_text.register
def _(node: ir.Constant) -> str:
    return node.value


@_text.register
def _(node: ir.ArrayRef) -> str:
    return f"{_operand(node.name)}[{_text(node.subscript)}]"


@_text.register
def _(node: ir.StructRef) -> str:
    return f"{_operand(node.name)}{node.type}{node.field.name}"


@_text.register
def _(node: ir.ExprList) -> str:
    return _list(node.exprs)


@_text.register
def _(node: ir.FuncCall) -> str:
    return f"{_operand(node.name)}({_list(node.args)})"


@_text.register
def _(node: ir.UnaryOp) -> str:
    if node.op in ("p++", "p--"):
        return f"{_operand(node.expr)}{node.op[1:]}"
    if node.op in ("sizeof", "_Alignof"):
        return f"{node.op}({_text(node.expr)})"
    return f"{node.op}{_operand(node.expr)}"


@_text.register
def _(node: ir.BinaryOp) -> str:
    return f"{_operand(node.left)} {node.op} {_operand(node.right)}"


@_text.register
def _(node: ir.TernaryOp) -> str:
    return f"({_text(node.cond)}) ? ({_text(node.iftrue)}) : ({_text(node.iffalse)})"


@_text.register
def _(node: ir.Assignment) -> str:
    return f"{_text(node.lvalue)} {node.op} {_text(node.rvalue)}"


@_text.register
def _(node: ir.Cast) -> str:
    return f"({_text(node.to_type)}) {_operand(node.expr)}"


@_text.register
def _(node: ir.InitList) -> str:
    return f"{{{_list(node.exprs)}}}"


@_text.register
def _(node: ir.IdentifierType) -> str:
    return " ".join(node.names)


@_text.register
def _(node: ir.Type) -> str:
    return _declarator(node, "")


@_text.register
def _(node: ir.Compound) -> str:
    return f"{{ {' '.join(_statement(item) for item in node.block_items)} }}"


@_text.register
def _(node: ir.EmptyStatement) -> str:
    return ";"


@_text.register
def _(node: ir.If) -> str:
    otherwise = f" else {_statement(node.iffalse)}" if node.iffalse is not None else ""
    taken = _statement(node.iftrue) if node.iftrue is not None else ";"
    return f"if ({_text(node.cond)}) {taken}{otherwise}"


@_text.register
def _(node: ir.For) -> str:
    head = "; ".join(_text(n) if n is not None else "" for n in (node.init, node.cond, node.next))
    return f"for ({head}) {_statement(node.stmt)}"


@_text.register
def _(node: ir.While) -> str:
    return f"while ({_text(node.cond)}) {_statement(node.stmt)}"


@_text.register
def _(node: ir.Switch) -> str:
    return f"switch ({_text(node.cond)}) {_statement(node.stmt)}"


@_text.register
def _(node: ir.Return) -> str:
    return f"return {_text(node.expr)}" if node.expr is not None else "return"


@_text.register
def _(node: ir.Decl) -> str:
    align = [f"alignas({_text(a)})" for a in node.align]
    init = f" = {_text(node.init)}" if node.init is not None else ""
    init = _text(node.init) if isinstance(node.init, ir.DirectInit) else init
    return " ".join((*node.storage, *align, _declarator(node.type, node.name) + init))


@_text.register
def _(node: ir.DeclList) -> str:
    return _list(node.decls)


@_text.register
def _(node: ir.Typedef) -> str:
    return f"typedef {_declarator(node.type, node.name)}"


@_text.register
def _(node: ir.Construct) -> str:
    return f"{_text(node.type)}{{{_list(node.args)}}}"


@_text.register
def _(node: ir.MemberInit) -> str:
    return f"{node.member.name}({_list(node.args)})"


@_text.register
def _(node: ir.Launch) -> str:
    return f"{_text(node.kernel)}<<<{_list(node.configuration)}>>>({_list(node.args)})"


@_text.register
def _(node: ir.BraceList) -> str:
    return f"{{{_list(node.args)}}}"


@_text.register
def _(node: ir.DirectInit) -> str:
    return f"({_list(node.args)})"


@_text.register
def _(node: ir.TypeArgument) -> str:
    return _text(node.type)


@_text.register
def _(node: ir.PackExpansion) -> str:
    return f"{_text(node.pattern)}..."


@_text.register
def _(node: ir.Fold) -> str:
    return f"fold({_list(node.args)})"


@_text.register
def _(node: ir.SizeofPack) -> str:
    return f"sizeof...({node.pack})"


@_text.register
def _(node: ir.Requires) -> str:
    return f"requires({_list(node.args)})"


@_text.register
def _(node: ir.New) -> str:
    return f"new({_list(node.args)})" if node.args else "new"


@_text.register
def _(node: ir.StaticAssert) -> str:
    return f"static_assert({_text(node.cond) if node.cond is not None else ''})"


@_text.register
def _(node: ir.Unparsed) -> str:
    return "?"


@_text.register
def _(node: ir.UnparsedType) -> str:
    return "?"
