"""The table of conversions by pycparser's node type, and the conversion of what a node holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

from pycparser import c_ast

from smemlint.frontend import ir
from smemlint.registration import registers

_Conversion = TypeVar("_Conversion", bound="Callable[[Any], ir.Node]")
_Part: TypeAlias = Callable[[Any], object]
_CONVERSIONS: dict[type[c_ast.Node], Callable[[Any], ir.Node]] = {}
_MARKED: dict[str, Callable[[Any], ir.Node]] = {}


def to_ir(node: c_ast.Node) -> ir.Node:
    """Returns the node that a tree of pycparser stands for.

    Raises:
        RecursionError: for a tree that is nested too deeply.
    """
    convert = _CONVERSIONS.get(type(node))
    return convert(node) if convert is not None else unparsed(node)


def expression(node: c_ast.Node) -> ir.Expression:
    """Returns the expression that a tree stands for, which is `Unparsed` for another node."""
    found = to_ir(node)
    return found if isinstance(found, ir.Expression) else unparsed(node)


def unparsed(node: c_ast.Node) -> ir.Unparsed:
    """Returns an expression that says that nothing is known of it."""
    return ir.Unparsed(at=place_of(node))


def place_of(node: c_ast.Node) -> int:
    """Returns 1 + the number of the token that a node stands at; 0 for none."""
    return int(node.coord.line) if node.coord is not None else 0


def place_of_name(node: c_ast.Node) -> int:
    """Returns the place of the name that a declaration declares; its own where it has none."""
    inner = node.type
    while inner is not None and not isinstance(inner, c_ast.TypeDecl):
        inner = getattr(inner, "type", None)
    return (place_of(inner) if inner is not None else 0) or place_of(node)


def converts(kind: type[c_ast.Node]) -> Callable[[_Conversion], _Conversion]:
    """Registers a function that converts nodes of a type."""
    return registers(_CONVERSIONS, (kind,))


def converts_marked(*markers: str) -> Callable[[_Conversion], _Conversion]:
    """Registers a function that converts the calls of these markers."""
    return registers(_MARKED, markers)


def converts_parts(kind: type[c_ast.Node], result: type[ir.Node], **parts: _Part) -> None:
    """Registers the conversion of a node whose parts are converted one by one.

    Args:
        kind: the type of pycparser's node.
        result: the type of what it becomes.
        parts: how each attribute of the node is converted, in the order of the fields of `result`.
    """

    def convert(node: c_ast.Node) -> ir.Node:
        found = (part(getattr(node, name)) for name, part in parts.items())
        return result(*found, at=place_of(node))

    _CONVERSIONS[kind] = convert


def as_it_is(part: Any) -> Any:
    """Returns a name, an operator or a literal."""
    return part


def is_marked(node: c_ast.Node, marker: str) -> bool:
    """Returns whether a node is a call that desugaring emitted with this marker."""
    is_call = isinstance(node, c_ast.FuncCall) and isinstance(node.name, c_ast.ID)
    return is_call and node.name.name == marker


def from_marked(marker: str, node: c_ast.FuncCall) -> ir.Node:
    """Returns the node that a call with a marker stands for."""
    convert = _MARKED.get(marker)
    return convert(node) if convert is not None else unparsed(node)


def expressions(nodes: Iterable[c_ast.Node] | None) -> tuple[ir.Expression, ...]:
    """Returns the expressions that trees stand for."""
    return tuple(expression(node) for node in nodes or ())


def optional_expression(node: c_ast.Node | None) -> ir.Expression | None:
    """Returns the expression that a tree stands for; None for none."""
    return expression(node) if node is not None else None


def statement(node: c_ast.Node | None) -> ir.BlockItem:
    """Returns the statement that a tree stands for, which is empty for another node."""
    if node is None:
        return ir.EmptyStatement()
    found = to_ir(node)
    return found if isinstance(found, ir.BlockItem) else ir.EmptyStatement(at=place_of(node))


def statements(nodes: Iterable[c_ast.Node] | None) -> tuple[ir.BlockItem, ...]:
    """Returns the statements that trees stand for; a loop keeps the pragma in front of it."""
    found: list[ir.BlockItem] = []
    pragma = ""
    for node in nodes or ():
        if isinstance(node, c_ast.Pragma):
            pragma = node.string or ""
            continue
        item = statement(node)
        if pragma and isinstance(item, ir.Loop):
            item = replace(item, pragma=pragma)
        found.append(item)
        pragma = ""
    return tuple(found)


def type_of(node: c_ast.Node) -> ir.Type:
    """Returns the type that a tree stands for, which is `UnparsedType` for another node."""
    found = to_ir(node)
    return found if isinstance(found, ir.Type) else ir.UnparsedType(at=place_of(node))


def declarations(nodes: Iterable[c_ast.Node] | None) -> tuple[ir.Declaration, ...]:
    """Returns the declarations among trees."""
    found = (to_ir(node) for node in nodes or ())
    return tuple(node for node in found if isinstance(node, ir.Declaration))


def arguments(node: c_ast.FuncCall) -> tuple[ir.Expression, ...]:
    """Returns the arguments of a call."""
    return expressions(node.args.exprs) if node.args is not None else ()
