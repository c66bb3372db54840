"""Lowers the statements of Python kernels and host functions to C trees.

A name is declared in its home block (see `homes`), or at the head of the function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst
from pycparser import c_ast

from smemlint.frontend.cuda.unit import Dropped, ParsedFunction
from smemlint.frontend.python.ctree import type_of
from smemlint.frontend.python.dialects import element_type
from smemlint.frontend.python.homes import homes_of
from smemlint.frontend.python.imports import dotted
from smemlint.frontend.python.lower_expressions import (
    CannotLower,
    Expressions,
    LocalArray,
    integer,
    keyword,
)
from smemlint.frontend.python.tree import statements, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from smemlint.frontend.python.ctree import Builder
    from smemlint.frontend.python.definitions import Definition
    from smemlint.frontend.python.imports import Imports

_AUGMENTED = {
    cst.AddAssign: "+=", cst.SubtractAssign: "-=", cst.MultiplyAssign: "*=",
    cst.LeftShiftAssign: "<<=", cst.RightShiftAssign: ">>=", cst.BitAndAssign: "&=",
    cst.BitOrAssign: "|=", cst.BitXorAssign: "^=",
}  # fmt: skip
_MAX_CAPTURED = 16
"""Names of enclosing functions that one kernel may take constants from."""


def lower_function(definition: Definition, imports: Imports, make: Builder) -> ParsedFunction:
    """The C tree of a definition, with what it lost."""
    return _Function(definition, imports, make).lower()


def lower_constant(
    value: cst.BaseExpression, definition: Definition, imports: Imports, make: Builder
) -> c_ast.Node:
    """The C tree of a value that a module gives a name."""
    return Expressions(definition, imports, make).expression(value)


class _Function(Expressions):
    """Lowers one definition."""

    def __init__(self, definition: Definition, imports: Imports, make: Builder) -> None:
        super().__init__(definition, imports, make)
        self._lost: list[Dropped] = []
        self._declared: set[str] = set()
        self._blocks: list[cst.CSTNode] = []
        self._homes = homes_of(definition.node)

    def lower(self) -> ParsedFunction:
        """The whole function."""
        node, make = self.definition.node, self.make
        result = "void" if self.definition.is_kernel else "auto"
        self._find_arrays()
        body = self._block(node.body if isinstance(node, cst.FunctionDef) else node)
        hoisted = [
            make.declare(name, type_of(self._type_of_name(name)), node)
            for name, home in self._homes.items()
            if home is None and name not in self.arrays
        ]
        body.block_items = [*self._captured(), *hoisted, *(body.block_items or ())]
        params = [self._parameter(p) for p in self.definition.parameters]
        params += [make.declare(text, type_of("int64_t", text), node) for text in self.hidden]
        tree = make.function(self.definition.unique, result, params, body, node)
        return ParsedFunction(tree, tuple(self._lost))

    # ---- the head

    def _parameter(self, param: cst.Param) -> c_ast.Decl:
        name = param.name.value
        kind = type_of("auto")
        if self.definition.is_kernel or self.definition.dialect is None:
            kind = self.parameter_type(name)
        init = self.expression(param.default) if param.default is not None else None
        return self.make.declare(name, kind, param, init)

    def _captured(self) -> list[c_ast.Node]:
        """Constants that enclosing functions give names which the kernel uses."""
        if self.dialect is None:
            return []
        found: dict[str, c_ast.Node] = {}
        wanted = [n.value for n in self.definition.own_nodes() if isinstance(n, cst.Name)]
        while wanted and len(found) < _MAX_CAPTURED:
            name = wanted.pop()
            if name in found or self.is_local(name):
                continue
            value, scope = self._enclosing_value(name)
            if value is None or scope is None:
                continue
            kind = type_of("auto", name)
            init = lower_constant(value, scope, self.imports, self.make)
            found[name] = self.make.declare(name, kind, value, init, quals=("const",))
            wanted += [n.value for n in walk(value) if isinstance(n, cst.Name)]
        return list(reversed(found.values()))

    def _enclosing_value(self, name: str) -> tuple[cst.BaseExpression | None, Definition | None]:
        scope = self.definition.outer
        while scope is not None and scope.outer is not None:
            if name in scope.assigned:
                values = scope.assigned[name]
                return (values[0], scope) if len(values) == 1 else (None, None)
            scope = scope.outer
        return None, None

    def _find_arrays(self) -> None:
        """Shared and local arrays, which indices need to know before they are declared."""
        for name, values in self.definition.assigned.items():
            if len(values) == 1 and isinstance(values[0], cst.Call):
                call = values[0]
                if self._declares_array(call):
                    self.arrays[name] = self._array(call)

    def _declares_array(self, call: cst.Call) -> bool:
        member = self.member(call.func)
        return self.dialect is not None and member in (*self.dialect.shared, *self.dialect.local)

    def _array(self, call: cst.Call) -> LocalArray:
        shape = keyword(call, "shape") or keyword(call, "size")
        positional = [a.value for a in call.args if a.keyword is None]
        if shape is None:
            at = 1 if self.member(call.func) == "shared_memory" else 0
            shape = positional[at] if len(positional) > at else None
        if isinstance(shape, cst.Tuple | cst.List):
            extents = tuple(e.value for e in shape.elements)
        else:
            extents = (shape,) if shape is not None else ()
        first = extents[0] if extents else None
        is_open = first is None or dotted(first) == "None"
        return LocalArray(
            extents, is_open or (isinstance(first, cst.Integer) and not integer(first))
        )

    def _element(self, call: cst.Call) -> str:
        dtype = keyword(call, "dtype") or keyword(call, "type")
        positional = [a.value for a in call.args if a.keyword is None]
        if dtype is None:
            at = 0 if self.member(call.func) == "shared_memory" else 1
            dtype = positional[at] if len(positional) > at else None
        if isinstance(dtype, cst.SimpleString):
            name = dtype.evaluated_value
            word = element_type(name) if isinstance(name, str) else None
        else:
            word = element_type(self.imports.resolve(dtype)) if dtype is not None else None
        return word or "__unknown_dtype"

    def _type_of_name(self, name: str) -> str:
        """The type of a name that several blocks share: wide enough for what it is given."""
        for value in self.definition.assigned.get(name, ()):
            if isinstance(value, cst.Tuple | cst.List):
                return "dim3"
            if value is not None and _is_floating(value):
                return "double"
        return "int64_t"

    # ---- statements

    def _block(self, body: cst.CSTNode) -> c_ast.Compound:
        self._blocks.append(body)
        items: list[c_ast.Node] = []
        for statement in statements(body):
            try:
                items += self._statement(statement)
            except CannotLower as failed:
                span = self.make.tree_span(failed.node)
                self._lost.append(Dropped(span, f"{failed.what} is not followed"))
        self._blocks.pop()
        return self.make.block(items, body)

    def _statement(self, node: cst.CSTNode) -> Iterator[c_ast.Node] | Sequence[c_ast.Node]:
        match node:
            case cst.Expr():
                if isinstance(node.value, cst.SimpleString | cst.ConcatenatedString):
                    return ()
                return (self.expression(node.value),)
            case cst.Assign():
                return self._assignments([t.target for t in node.targets], node.value, node)
            case cst.AnnAssign():
                if node.value is None:
                    return ()
                return self._assignments([node.target], node.value, node)
            case cst.AugAssign():
                return (self._augmented(node),)
            case cst.If():
                return (self._if(node),)
            case cst.For():
                return self._for(node)
            case cst.While():
                if node.orelse is not None:
                    raise CannotLower(node, "`while .. else`")
                loop = c_ast.While(self.expression(node.test), self._block(node.body))
                return (self.make.mark(loop, node),)
            case cst.Return():
                value = self.expression(node.value) if node.value is not None else None
                return (self.make.mark(c_ast.Return(value), node),)
            case cst.Break():
                return (self.make.mark(c_ast.Break(), node),)
            case cst.Continue():
                return (self.make.mark(c_ast.Continue(), node),)
            case cst.With() | cst.Try():
                return self._sequence(node)
            case cst.Assert():
                return ()
            case cst.FunctionDef() | cst.ClassDef() | cst.Pass() | cst.Import() | cst.ImportFrom():
                return ()
            case cst.Global() | cst.Nonlocal() | cst.Del():
                return ()
        if self.dialect is None:
            return ()
        raise CannotLower(node, f"a `{type(node).__name__.lower()}` statement")

    def _sequence(self, node: cst.With | cst.Try) -> Sequence[c_ast.Node]:
        """Host code: the body as if nothing were around it."""
        if self.dialect is not None:
            raise CannotLower(node, f"a `{type(node).__name__.lower()}` statement")
        return (self._block(node.body),)

    def _if(self, node: cst.If) -> c_ast.Node:
        otherwise: c_ast.Node | None = None
        if isinstance(node.orelse, cst.If):
            otherwise = self._if(node.orelse)
        elif node.orelse is not None:
            otherwise = self._block(node.orelse.body)
        made = c_ast.If(self.expression(node.test), self._block(node.body), otherwise)
        return self.make.mark(made, node)

    def _for(self, node: cst.For) -> Sequence[c_ast.Node]:
        """`for i in range(..)` with the counter as Python would have it."""
        call = node.iter
        is_range = isinstance(call, cst.Call) and (
            self.imports.resolve(call.func) == "range" or self.member(call.func) == "range"
        )
        name = node.target.value if isinstance(node.target, cst.Name) else ""
        if not is_range or not name or node.orelse is not None:
            return self._open_for(node)
        assert isinstance(call, cst.Call)
        make = self.make
        bounds = [a.value for a in call.args if a.keyword is None and not a.star]
        if not 1 <= len(bounds) <= 3:
            raise CannotLower(node, "this `range`")
        step = _literal(bounds[2]) if len(bounds) == 3 else 1
        start = (
            self.expression(bounds[0]) if len(bounds) > 1 else make.integer(0, call, wide=self.wide)
        )
        stop = self.expression(bounds[0] if len(bounds) == 1 else bounds[1])
        is_down = step is not None and step < 0
        counter = make.name(name, node.target)
        init: c_ast.Node
        if self._homes.get(name) is None:
            init = make.assign(counter, start, node)
        else:
            word = "int64_t" if self.wide else "int"
            init = c_ast.DeclList([make.declare(name, type_of(word, name), node.target, start)])
        cond = make.binary(">" if is_down else "<", counter, stop, node)
        advance = (
            make.unary("p++", counter, node)
            if step == 1
            else make.assign(counter, self.expression(bounds[2]), node, "+=")
        )
        loop = make.mark(c_ast.For(init, cond, advance, self._block(node.body)), node)
        return (*self._unrolled(call), loop)

    def _unrolled(self, call: cst.Call) -> Sequence[c_ast.Node]:
        """`jit.range(.., unroll=4)`."""
        unroll = keyword(call, "unroll")
        if unroll is None or dotted(unroll) == "None":
            return ()
        factor = _literal(unroll)
        text = f"unroll {factor}" if factor is not None else "unroll"
        if dotted(unroll) == "False":
            text = "unroll 1"
        return (self.make.mark(c_ast.Pragma(text), call),)

    def _open_for(self, node: cst.For) -> Sequence[c_ast.Node]:
        """A loop over anything else: in host code its body once, with unknown values."""
        if self.dialect is not None:
            raise CannotLower(node, f"a loop over `{self.make.spelling(node.iter)}`")
        given = self._assignments([node.target], node.iter, node, is_open=True)
        body = self._block(node.body)
        return (self.make.block([*given, *(body.block_items or ())], node),)

    # ---- assignments

    def _assignments(
        self,
        targets: Sequence[cst.BaseExpression],
        value: cst.BaseExpression,
        node: cst.CSTNode,
        *,
        is_open: bool = False,
    ) -> Sequence[c_ast.Node]:
        made: list[c_ast.Node] = []
        for target in targets:
            made += self._assign(target, value, node, is_open)
        return made

    def _assign(
        self,
        target: cst.BaseExpression,
        value: cst.BaseExpression,
        node: cst.CSTNode,
        is_open: bool,
    ) -> list[c_ast.Node]:
        if isinstance(target, cst.Tuple | cst.List):
            return self._unpack(target, value, node, is_open)
        if isinstance(target, cst.Name) and target.value in self.arrays and not is_open:
            assert isinstance(value, cst.Call)
            return [self._array_declaration(target.value, value, node)]
        lowered = self.opaque(value) if is_open else self.expression(value)
        return [self._given(target, lowered, node)]

    def _given(
        self, target: cst.BaseExpression, value: c_ast.Node, node: cst.CSTNode
    ) -> c_ast.Node:
        make = self.make
        if isinstance(target, cst.Name):
            name = target.value
            if self._homes.get(name) is self._blocks[-1] and name not in self._declared:
                self._declared.add(name)
                return make.declare(name, type_of("auto", name), node, value)
            return make.assign(make.name(name, target), value, node)
        if isinstance(target, cst.Subscript):
            return make.assign(self.expression(target), value, node)
        return value

    def _unpack(
        self,
        target: cst.Tuple | cst.List,
        value: cst.BaseExpression,
        node: cst.CSTNode,
        is_open: bool,
    ) -> list[c_ast.Node]:
        names = [e.value for e in target.elements]
        values = self._parts(value, len(names)) if not is_open else None
        if values is None:
            first = [] if is_open else [self.opaque(value)]
            return [*first, *(self._given(n, self.opaque(value), node) for n in names)]
        made: list[c_ast.Node] = []
        held: list[c_ast.Node] = []
        simultaneous = isinstance(value, cst.Tuple | cst.List) and len(names) > 1
        for k, part in enumerate(values):
            if simultaneous:  # all values first: `a, b = b, a`
                hidden = f"{k} of {self.make.spelling(node)}"
                made.append(self.make.declare(hidden, type_of("auto", hidden), node, part))
                held.append(self.make.name(hidden, node))
            else:
                held.append(part)
        return made + [self._given(n, v, node) for n, v in zip(names, held, strict=True)]

    def _parts(self, value: cst.BaseExpression, count: int) -> list[c_ast.Node] | None:
        """The single values of what is unpacked, where they are known one by one."""
        if isinstance(value, cst.Tuple | cst.List) and len(value.elements) == count:
            return [self.expression(e.value) for e in value.elements]
        if isinstance(value, cst.Call):
            member = self.member(value.func)
            if member in ("grid", "gridsize") and count <= 3:
                return [self.global_index(member, axis, value) for axis in range(count)]
        if isinstance(value, cst.Attribute) and value.attr.value == "shape":
            at = [
                cst.Subscript(value, [cst.SubscriptElement(cst.Index(cst.Integer(str(k))))])
                for k in range(count)
            ]
            return [self.expression(part) for part in at]
        return None

    def _array_declaration(self, name: str, call: cst.Call, node: cst.CSTNode) -> c_ast.Node:
        array = self.arrays[name]
        kind = self.array_type(self._element(call), array)
        assert self.dialect is not None
        storage = ["__shared__"] if self.member(call.func) in self.dialect.shared else []
        if array.is_dynamic:
            storage.append("extern")
        inner = kind
        while not isinstance(inner, c_ast.TypeDecl):
            inner = inner.type
        inner.declname = name
        self._declared.add(name)
        quals = [] if self.dialect.merges_accesses else ["volatile"]
        made = self.make.declare(name, kind, node, storage=storage, quals=quals)
        alignment = keyword(call, "alignment")
        if isinstance(alignment, cst.Integer):
            made.align = [c_ast.Alignas(self.expression(alignment))]
        return made

    def _augmented(self, node: cst.AugAssign) -> c_ast.Node:
        make, operator = self.make, type(node.operator)
        target, value = self.expression(node.target), self.expression(node.value)
        if operator in _AUGMENTED:
            return make.assign(target, value, node, _AUGMENTED[operator])
        again = self.expression(node.target)
        return make.assign(target, self.operated(operator, again, value, node, node.value), node)


def _literal(node: cst.BaseExpression) -> int | None:
    if isinstance(node, cst.Integer):
        return integer(node)
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        inner = _literal(node.expression)
        return None if inner is None else -inner
    return None


def _is_floating(value: cst.BaseExpression) -> bool:
    """Whether a value is a floating-point number by its own look."""
    return any(
        isinstance(n, cst.Float | cst.Divide)
        or (isinstance(n, cst.Call) and (dotted(n.func) or "").rsplit(".", 1)[-1] in _FLOATS)
        for n in walk(value)
    )


_FLOATS = frozenset(("float", "float16", "float32", "float64", "sqrt", "exp", "log", "sin", "cos"))
