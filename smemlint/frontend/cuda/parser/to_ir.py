"""Converts pycparser's trees to the intermediate representation, in one walk after parsing.

pycparser knows no C++, so the desugarer hands it calls of names of its own; here those become the
nodes that they stand for. What no CUDA source can mean becomes `Unparsed`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from pycparser import c_ast

from smemlint.frontend import ir
from smemlint.frontend.cuda.parser import markers

if TYPE_CHECKING:
    from collections.abc import Iterable

_Conversion = TypeVar("_Conversion", bound="Callable[[Any], ir.Node]")
_CONVERSIONS: dict[type[c_ast.Node], Callable[[Any], ir.Node]] = {}


def to_ir(node: c_ast.Node) -> ir.Node:
    """Returns the node that a tree of pycparser stands for.

    Raises:
        RecursionError: for a tree that is nested too deeply.
    """
    convert = _CONVERSIONS.get(type(node))
    return convert(node) if convert is not None else _unparsed(node)


def expression(node: c_ast.Node) -> ir.Expression:
    """Returns the expression that a tree stands for, which is `Unparsed` for another node."""
    found = to_ir(node)
    return found if isinstance(found, ir.Expression) else _unparsed(node)


def _unparsed(node: c_ast.Node) -> ir.Unparsed:
    return ir.Unparsed(at=_at(node))


def _at(node: c_ast.Node) -> int:
    """Returns 1 + the number of the token that a node stands at; 0 for none."""
    return int(node.coord.line) if node.coord is not None else 0


def _converts(kind: type[c_ast.Node]) -> Callable[[_Conversion], _Conversion]:
    """Registers a function that converts nodes of a type."""

    def register(convert: _Conversion) -> _Conversion:
        _CONVERSIONS[kind] = convert
        return convert

    return register


def _expressions(nodes: Iterable[c_ast.Node] | None) -> tuple[ir.Expression, ...]:
    return tuple(expression(node) for node in nodes or ())


def _optional(node: c_ast.Node | None) -> ir.Expression | None:
    return expression(node) if node is not None else None


def _statement(node: c_ast.Node | None) -> ir.BlockItem:
    if node is None:
        return ir.EmptyStatement()
    found = to_ir(node)
    return found if isinstance(found, ir.BlockItem) else ir.EmptyStatement(at=_at(node))


def _statements(nodes: Iterable[c_ast.Node] | None) -> tuple[ir.BlockItem, ...]:
    return tuple(_statement(node) for node in nodes or ())


def _type(node: c_ast.Node) -> ir.Type:
    found = to_ir(node)
    return found if isinstance(found, ir.Type) else ir.UnparsedType(at=_at(node))


def _declarations(nodes: Iterable[c_ast.Node] | None) -> tuple[ir.Declaration, ...]:
    found = (to_ir(node) for node in nodes or ())
    return tuple(node for node in found if isinstance(node, ir.Declaration))


# ---- expressions


@_converts(c_ast.ID)
def _name(node: c_ast.ID) -> ir.ID | ir.Unparsed:
    return _unparsed(node) if node.name == markers.UNPARSED else _id(node)


def _id(node: c_ast.ID) -> ir.ID:
    return ir.ID(node.name, at=_at(node))


@_converts(c_ast.Constant)
def _constant(node: c_ast.Constant) -> ir.Constant:
    return ir.Constant(node.type, node.value, at=_at(node))


@_converts(c_ast.ArrayRef)
def _array_ref(node: c_ast.ArrayRef) -> ir.ArrayRef:
    return ir.ArrayRef(expression(node.name), expression(node.subscript), at=_at(node))


@_converts(c_ast.StructRef)
def _struct_ref(node: c_ast.StructRef) -> ir.StructRef:
    return ir.StructRef(expression(node.name), node.type, _id(node.field), at=_at(node))


@_converts(c_ast.ExprList)
def _expr_list(node: c_ast.ExprList) -> ir.ExprList:
    return ir.ExprList(_expressions(node.exprs), at=_at(node))


@_converts(c_ast.FuncCall)
def _func_call(node: c_ast.FuncCall) -> ir.Node:
    callee = node.name
    if isinstance(callee, c_ast.ID) and callee.name.startswith("<"):
        return _marked(callee.name, node)
    if isinstance(callee, c_ast.FuncCall) and _is_marked(callee, markers.LAUNCH):
        kernel, *configuration = _arguments(callee)
        return ir.Launch(kernel, tuple(configuration), _arguments(node), at=_at(node))
    return ir.FuncCall(expression(callee), _arguments(node), at=_at(node))


def _arguments(node: c_ast.FuncCall) -> tuple[ir.Expression, ...]:
    return _expressions(node.args.exprs) if node.args is not None else ()


# ---- what C does not have


def _is_marked(node: c_ast.Node, marker: str) -> bool:
    """Returns whether a node is a call that desugaring emitted."""
    is_call = isinstance(node, c_ast.FuncCall) and isinstance(node.name, c_ast.ID)
    return is_call and node.name.name == marker


def _marked(marker: str, node: c_ast.FuncCall) -> ir.Node:
    """Returns the node that a call stands for which desugaring emitted."""
    if marker.startswith(markers.CONSTRUCT):
        name = ir.IdentifierType((marker.removeprefix(markers.CONSTRUCT),), at=_at(node))
        return ir.Construct(name, _arguments(node), at=_at(node))
    convert = _MARKED.get(marker)
    return convert(node) if convert is not None else _unparsed(node)


def _static_assert(node: c_ast.FuncCall) -> ir.Node:
    found = _arguments(node)
    return ir.StaticAssert(found[0] if found else None, at=_at(node))


def _alignof(node: c_ast.FuncCall) -> ir.Node:
    return ir.UnaryOp("alignof", _only(node), at=_at(node))


def _type_argument(node: c_ast.FuncCall) -> ir.Node:
    return ir.TypeArgument(_typename(node.args.exprs[0].to_type), at=_at(node))


def _binding_element(node: c_ast.FuncCall) -> ir.Node:
    index, value, *_ = node.args.exprs
    return ir.BindingElement(int(index.value), expression(value), at=_at(node))


def _only(node: c_ast.FuncCall) -> ir.Expression:
    """Returns the operand of a call that has one; several are joined by commas."""
    found = _arguments(node)
    return found[0] if len(found) == 1 else ir.ExprList(found, at=_at(node))


def _lambda(node: c_ast.FuncCall) -> ir.Node:
    count, body = node.args.exprs
    if not isinstance(body, c_ast.Compound):
        return _unparsed(node)
    items, declared = _statements(body.block_items), int(count.value)
    params = tuple(item for item in items[:declared] if isinstance(item, ir.Decl))
    return ir.Lambda(params, ir.Compound(items[declared:], at=_at(body)), at=_at(node))


def _member_init(node: c_ast.FuncCall) -> ir.Node:
    member, *arguments = node.args.exprs
    return ir.MemberInit(_id(member), _expressions(arguments), at=_at(node))


def _assembly(node: c_ast.FuncCall) -> ir.Node:
    template, *operands = node.args.exprs
    sections = (
        tuple(_assembly_operand(call) for call in operands if _is_marked(call, marker))
        for marker in (markers.OUTPUT, markers.INPUT)
    )
    return ir.Assembly(_literal(template), *sections, at=_at(node))


def _assembly_operand(node: c_ast.FuncCall) -> ir.AssemblyOperand:
    constraint, value, *_ = node.args.exprs
    return ir.AssemblyOperand(_literal(constraint), expression(value), at=_at(node))


def _literal(node: c_ast.Node) -> str:
    """Returns the text between the quotes of a string literal, escapes kept."""
    text: str = node.value
    return text[text.find('"') + 1 : text.rfind('"')].replace('""', "")


_MARKED: dict[str, Callable[[Any], ir.Node]] = {
    markers.ALIGNOF: _alignof,
    markers.ASSEMBLY: _assembly,
    markers.BINDING: _binding_element,
    markers.BRACES: lambda node: ir.BraceList(_arguments(node), at=_at(node)),
    markers.DIRECT_INIT: lambda node: ir.DirectInit(_arguments(node), at=_at(node)),
    markers.FOLD: lambda node: ir.Fold(_arguments(node), at=_at(node)),
    markers.LAMBDA: _lambda,
    markers.MEMBER_INIT: _member_init,
    markers.NEW: lambda node: ir.New(at=_at(node)),
    markers.PACK: lambda node: ir.PackExpansion(_only(node), at=_at(node)),
    markers.RANGE: lambda node: ir.RangeElement(_only(node), at=_at(node)),
    markers.SIZEOF_PACK: lambda node: ir.SizeofPack(at=_at(node)),
    markers.STATIC_ASSERT: _static_assert,
    markers.TYPE: _type_argument,
}


@_converts(c_ast.UnaryOp)
def _unary_op(node: c_ast.UnaryOp) -> ir.UnaryOp:
    is_type = isinstance(node.expr, c_ast.Typename)
    operand = _typename(node.expr) if is_type else expression(node.expr)
    return ir.UnaryOp(node.op, operand, at=_at(node))


@_converts(c_ast.BinaryOp)
def _binary_op(node: c_ast.BinaryOp) -> ir.Expression:
    """Goes down the left operands in a loop: the parser nests a long sum without recursion."""
    above = [node]
    while isinstance(above[-1].left, c_ast.BinaryOp):
        above.append(above[-1].left)
    left = expression(above[-1].left)
    for outer in reversed(above):
        left = ir.BinaryOp(outer.op, left, expression(outer.right), at=_at(outer))
    return left


@_converts(c_ast.TernaryOp)
def _ternary_op(node: c_ast.TernaryOp) -> ir.TernaryOp:
    branches = expression(node.iftrue), expression(node.iffalse)
    return ir.TernaryOp(expression(node.cond), *branches, at=_at(node))


@_converts(c_ast.Assignment)
def _assignment(node: c_ast.Assignment) -> ir.Assignment:
    return ir.Assignment(node.op, expression(node.lvalue), expression(node.rvalue), at=_at(node))


@_converts(c_ast.Cast)
def _cast(node: c_ast.Cast) -> ir.Cast:
    return ir.Cast(_typename(node.to_type), expression(node.expr), at=_at(node))


@_converts(c_ast.InitList)
def _init_list(node: c_ast.InitList) -> ir.InitList:
    return ir.InitList(_expressions(node.exprs), at=_at(node))


@_converts(c_ast.CompoundLiteral)
def _compound_literal(node: c_ast.CompoundLiteral) -> ir.Expression:
    kind = _typename(node.type)
    if isinstance(kind.type, ir.ArrayDecl):
        return _unparsed(node)
    return ir.Construct(kind, _expressions(node.init.exprs), at=_at(node))


@_converts(c_ast.NamedInitializer)
def _named_initializer(node: c_ast.NamedInitializer) -> ir.NamedInitializer:
    return ir.NamedInitializer(_expressions(node.name), expression(node.expr), at=_at(node))


# ---- statements


@_converts(c_ast.Compound)
def _compound(node: c_ast.Compound) -> ir.Compound:
    return ir.Compound(_statements(node.block_items), at=_at(node))


@_converts(c_ast.EmptyStatement)
def _empty_statement(node: c_ast.EmptyStatement) -> ir.EmptyStatement:
    return ir.EmptyStatement(at=_at(node))


@_converts(c_ast.If)
def _if(node: c_ast.If) -> ir.If:
    otherwise = _statement(node.iffalse) if node.iffalse is not None else None
    is_constexpr = _is_marked(node.cond, markers.CONSTEXPR)
    cond = node.cond.args.exprs[0] if is_constexpr else node.cond
    taken = _statement(node.iftrue)
    return ir.If(expression(cond), taken, otherwise, is_constexpr, at=_at(node))


@_converts(c_ast.For)
def _for(node: c_ast.For) -> ir.For | ir.RangeFor:
    is_list = isinstance(node.init, c_ast.DeclList)
    init = _decl_list(node.init) if is_list else _optional(node.init)
    first = init.decls[0] if isinstance(init, ir.DeclList) and init.decls else None
    if isinstance(first, ir.Decl) and isinstance(first.init, ir.RangeElement):
        return ir.RangeFor(first, _statement(node.stmt), at=_at(node))
    cond, advance = _optional(node.cond), _optional(node.next)
    return ir.For(init, cond, advance, _statement(node.stmt), at=_at(node))


@_converts(c_ast.While)
def _while(node: c_ast.While) -> ir.While:
    return ir.While(expression(node.cond), _statement(node.stmt), at=_at(node))


@_converts(c_ast.DoWhile)
def _do_while(node: c_ast.DoWhile) -> ir.DoWhile:
    return ir.DoWhile(expression(node.cond), _statement(node.stmt), at=_at(node))


@_converts(c_ast.Switch)
def _switch(node: c_ast.Switch) -> ir.Switch:
    return ir.Switch(expression(node.cond), _statement(node.stmt), at=_at(node))


@_converts(c_ast.Case)
def _case(node: c_ast.Case) -> ir.Case:
    return ir.Case(expression(node.expr), _statements(node.stmts), at=_at(node))


@_converts(c_ast.Default)
def _default(node: c_ast.Default) -> ir.Default:
    return ir.Default(_statements(node.stmts), at=_at(node))


@_converts(c_ast.Break)
def _break(node: c_ast.Break) -> ir.Break:
    return ir.Break(at=_at(node))


@_converts(c_ast.Continue)
def _continue(node: c_ast.Continue) -> ir.Continue:
    return ir.Continue(at=_at(node))


@_converts(c_ast.Return)
def _return(node: c_ast.Return) -> ir.Return:
    return ir.Return(_optional(node.expr), at=_at(node))


@_converts(c_ast.Goto)
def _goto(node: c_ast.Goto) -> ir.Goto:
    return ir.Goto(node.name, at=_at(node))


@_converts(c_ast.Label)
def _label(node: c_ast.Label) -> ir.Label:
    return ir.Label(node.name, _statement(node.stmt), at=_at(node))


@_converts(c_ast.Pragma)
def _pragma(node: c_ast.Pragma) -> ir.Pragma:
    return ir.Pragma(node.string or "", at=_at(node))


# ---- declarations


@_converts(c_ast.Decl)
def _decl(node: c_ast.Decl) -> ir.Decl:
    return ir.Decl(
        node.name or "",
        _type(node.type),
        _optional(node.init),
        _optional(node.bitsize),
        tuple(node.quals or ()),
        tuple(node.storage or ()),
        tuple(_alignment(spec) for spec in node.align or ()),
        at=_at(node),
    )


def _alignment(spec: c_ast.Alignas) -> ir.Expression | ir.Typename:
    operand = spec.alignment
    return _typename(operand) if isinstance(operand, c_ast.Typename) else expression(operand)


@_converts(c_ast.DeclList)
def _decl_list(node: c_ast.DeclList) -> ir.DeclList:
    return ir.DeclList(_declarations(node.decls), at=_at(node))


@_converts(c_ast.Typedef)
def _typedef(node: c_ast.Typedef) -> ir.Typedef:
    return ir.Typedef(node.name, _type(node.type), at=_at(node))


@_converts(c_ast.FuncDef)
def convert_function(node: c_ast.FuncDef) -> ir.FuncDef:
    """Returns a function definition.

    Raises:
        RecursionError: for a tree that is nested too deeply.
    """
    head = node.decl
    return ir.FuncDef(head.name, _func_decl(head.type), _compound(node.body), at=_at(node))


# ---- types


@_converts(c_ast.IdentifierType)
def _identifier_type(node: c_ast.IdentifierType) -> ir.IdentifierType | ir.UnparsedType:
    if markers.UNPARSED in node.names:
        return ir.UnparsedType(at=_at(node))
    return ir.IdentifierType(tuple(node.names), at=_at(node))


@_converts(c_ast.TypeDecl)
def _type_decl(node: c_ast.TypeDecl) -> ir.TypeDecl:
    return ir.TypeDecl(_type(node.type), tuple(node.quals or ()), at=_at(node))


@_converts(c_ast.PtrDecl)
def _ptr_decl(node: c_ast.PtrDecl) -> ir.PtrDecl:
    return ir.PtrDecl(_type(node.type), tuple(node.quals or ()), at=_at(node))


@_converts(c_ast.ArrayDecl)
def _array_decl(node: c_ast.ArrayDecl) -> ir.ArrayDecl:
    return ir.ArrayDecl(_type(node.type), _optional(node.dim), at=_at(node))


@_converts(c_ast.FuncDecl)
def _func_decl(node: c_ast.FuncDecl) -> ir.FuncDecl:
    params = node.args.params if node.args is not None else ()
    found = tuple(p for p in _declarations(params) if isinstance(p, ir.Decl))
    return ir.FuncDecl(found, _type(node.type), at=_at(node))


@_converts(c_ast.Typename)
def _typename(node: c_ast.Typename) -> ir.Typename:
    return ir.Typename(_type(node.type), tuple(node.quals or ()), at=_at(node))


@_converts(c_ast.Struct)
def _struct(node: c_ast.Struct) -> ir.Struct:
    members = _declarations(node.decls) if node.decls is not None else None
    return ir.Struct(node.name, members, at=_at(node))


@_converts(c_ast.Union)
def _union(node: c_ast.Union) -> ir.Union:
    members = _declarations(node.decls) if node.decls is not None else None
    return ir.Union(node.name, members, at=_at(node))


@_converts(c_ast.Enum)
def _enum(node: c_ast.Enum) -> ir.Enum:
    if node.values is None:
        return ir.Enum(node.name, None, at=_at(node))
    named = [n for n in node.values.enumerators if isinstance(n, c_ast.Enumerator)]
    found = (ir.Enumerator(n.name, _optional(n.value), at=_at(n)) for n in named)
    return ir.Enum(node.name, tuple(found), at=_at(node))
