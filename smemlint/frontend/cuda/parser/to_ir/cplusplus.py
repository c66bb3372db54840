"""Converts the calls that desugaring emits where C has no construct."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from pycparser import c_ast

from smemlint.frontend import ir
from smemlint.frontend.cuda.parser import markers
from smemlint.frontend.cuda.parser.to_ir.dispatch import (
    arguments,
    converts_marked,
    expression,
    expressions,
    is_marked,
    place_of,
    statements,
    unparsed,
)
from smemlint.frontend.cuda.parser.to_ir.expressions import convert_name
from smemlint.frontend.cuda.parser.to_ir.types import convert_typename


@converts_marked(markers.STATIC_ASSERT)
def _static_assert(node: c_ast.FuncCall) -> ir.Node:
    found = arguments(node)
    return ir.StaticAssert(found[0] if found else None, at=place_of(node))


@converts_marked(markers.TRY)
def _try(node: c_ast.FuncCall) -> ir.Node:
    blocks = [block for block in node.args.exprs if isinstance(block, c_ast.Compound)]
    body, *handlers = (ir.Compound(statements(b.block_items), at=place_of(b)) for b in blocks)
    thrown = (ir.If(ir.Opaque("catch", (), at=h.at), h, None, at=h.at) for h in handlers)
    return ir.Try(body, tuple(thrown), at=place_of(node))


@converts_marked(markers.THROW)
def _throw(node: c_ast.FuncCall) -> ir.Node:
    return ir.Throw(at=place_of(node))


@converts_marked(markers.USING)
def _using(node: c_ast.FuncCall) -> ir.Node:
    return ir.Using(node.args.exprs[0].value.strip('"'), at=place_of(node))


@converts_marked(markers.TYPE)
def _type_argument(node: c_ast.FuncCall) -> ir.Node:
    operand = node.args.exprs[0]
    if not isinstance(operand, c_ast.Cast):
        return unparsed(node)
    found = convert_typename(operand.to_type)
    match found.type:  # `Int<0>()` as an argument is an object; in C, a type of functions
        case ir.FuncDecl(params=(), type=ir.TypeDecl(type=ir.IdentifierType() as constructed)):
            return ir.Construct(constructed, (), at=place_of(node))
    return ir.TypeArgument(found, at=place_of(node))


@converts_marked(markers.BINDING)
def _binding_element(node: c_ast.FuncCall) -> ir.Node:
    index, value, *_ = node.args.exprs
    return ir.BindingElement(int(index.value), expression(value), at=place_of(node))


@converts_marked(markers.LAMBDA)
def _lambda(node: c_ast.FuncCall) -> ir.Node:
    count, has_result, body, *head = node.args.exprs
    if not isinstance(body, c_ast.Compound):
        return unparsed(node)
    items, declared = statements(body.block_items), int(count.value)
    params = tuple(item for item in items[:declared] if isinstance(item, ir.Decl))
    inner = ir.Compound(items[declared + int(has_result.value) :], at=place_of(body))
    result = items[declared] if has_result.value == "1" else None
    template, *captures = [text.value.strip('"') for text in head] or [""]
    is_mutable = "mutable" in captures
    return ir.Lambda(
        params,
        inner,
        result.type if isinstance(result, ir.Decl) else None,
        template,
        tuple(text for text in captures if text != "mutable"),
        is_mutable,
        at=place_of(node),
    )


@converts_marked(markers.MEMBER_INIT)
def _member_init(node: c_ast.FuncCall) -> ir.Node:
    member, *arguments = node.args.exprs
    return ir.MemberInit(convert_name(member), expressions(arguments), at=place_of(node))


@converts_marked(markers.OTHER_MEMBERS)
def _other_members(node: c_ast.FuncCall) -> ir.Node:
    names = node.args.exprs if node.args is not None else ()
    return ir.OtherMembers(tuple(name.name for name in names), at=place_of(node))


@converts_marked(markers.ASSEMBLY)
def _assembly(node: c_ast.FuncCall) -> ir.Node:
    template, *operands = node.args.exprs
    sections = (
        tuple(_assembly_operand(call) for call in operands if is_marked(call, marker))
        for marker in (markers.OUTPUT, markers.INPUT)
    )
    return ir.Assembly(_literal(template), *sections, at=place_of(node))


def _assembly_operand(node: c_ast.FuncCall) -> ir.AssemblyOperand:
    constraint, value, *_ = node.args.exprs
    return ir.AssemblyOperand(_literal(constraint), expression(value), at=place_of(node))


def _literal(node: c_ast.Node) -> str:
    """Returns the text between the quotes of a string literal, escapes kept."""
    text: str = node.value
    return text[text.find('"') + 1 : text.rfind('"')].replace('""', "")


_OF_ARGUMENTS: dict[str, Callable[..., ir.Node]] = {
    markers.NEW: ir.New,
    markers.BRACES: ir.BraceList,
    markers.DIRECT_INIT: ir.DirectInit,
    markers.REQUIRES: ir.Requires,
}
_OF_OPERAND: dict[str, Callable[..., ir.Node]] = {
    markers.ALIGNOF: partial(ir.UnaryOp, "alignof"),
    markers.PACK: ir.PackExpansion,
    markers.RANGE: ir.RangeElement,
}


@converts_marked(*_OF_ARGUMENTS)
def _from_arguments(node: c_ast.FuncCall) -> ir.Node:
    return _OF_ARGUMENTS[node.name.name](arguments(node), at=place_of(node))


@converts_marked(markers.FOLD)
def _fold(node: c_ast.FuncCall) -> ir.Node:
    op, is_left, *parts = node.args.exprs
    values = tuple(map(expression, parts))
    return ir.Fold(values, op.value.strip('"'), is_left.value == "1", at=place_of(node))


@converts_marked(*_OF_OPERAND)
def _from_operand(node: c_ast.FuncCall) -> ir.Node:
    """Converts what takes one operand; several are joined by commas."""
    found = arguments(node)
    operand = found[0] if len(found) == 1 else ir.ExprList(found, at=place_of(node))
    return _OF_OPERAND[node.name.name](operand, at=place_of(node))


@converts_marked(markers.SIZEOF_PACK)
def _sizeof_pack(node: c_ast.FuncCall) -> ir.Node:
    return ir.SizeofPack(_literal(node.args.exprs[0]), at=place_of(node))
