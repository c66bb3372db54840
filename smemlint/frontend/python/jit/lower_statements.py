"""Lowers the statements of Python kernels and host functions to C trees.

A name is declared in the block that `block_scopes` finds, or at the head of the function.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace

from smemlint.frontend import ir
from smemlint.frontend.program import ParsedFunction
from smemlint.frontend.python.imports import Imports, dotted
from smemlint.frontend.python.jit.arrays import (
    array_of_several,
    declare_array,
    elements_of_row,
    find_arrays,
)
from smemlint.frontend.python.jit.block_scopes import Block, declaring_blocks
from smemlint.frontend.python.jit.definitions import Definition
from smemlint.frontend.python.jit.ir_builder import Builder, array_of, type_of
from smemlint.frontend.python.jit.lower_calls import global_index, parameter_type, stored
from smemlint.frontend.python.jit.lower_expressions import BINARY, extent_of, lower_operator
from smemlint.frontend.python.jit.lowering import CannotLower, Lowering
from smemlint.frontend.python.jit.syntax import (
    is_floating,
    listed_numbers,
    listing_of,
    literal,
    unrolling,
)
from smemlint.frontend.python.parameters import Parameter
from smemlint.frontend.python.syntax_walk import walk
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_CAPTURED


def lower_function(definition: Definition, imports: Imports, make: Builder) -> ParsedFunction:
    """Returns the C tree of a definition, with what it lost."""
    values = Lowering(definition, imports, make)
    return _FunctionLowering(values, declaring_blocks(definition.node.body)).lower()


def lower_constant(
    value: ast.expr, definition: Definition, imports: Imports, make: Builder
) -> ir.Expression:
    """Returns the C tree of a value that a module assigns."""
    return Lowering(definition, imports, make).expression(value)


@dataclass(eq=False)
class _FunctionLowering:
    """Lowers the statements of one function.

    Attributes:
        scopes: for each name the block that declares it; None for the head of the function.
        declared: names that have their declaration.
        blocks: around the current statement.
    """

    values: Lowering
    scopes: Mapping[str, Block | None]
    declared: set[str] = field(default_factory=set)
    blocks: list[Block] = field(default_factory=list)

    @property
    def definition(self) -> Definition:
        """Returns the function."""
        return self.values.definition

    @property
    def make(self) -> Builder:
        """Returns what builds the nodes."""
        return self.values.make

    def lower(self) -> ParsedFunction:
        """Returns the tree of the function, and what it lost."""
        node, make = self.definition.node, self.make
        result = "void" if self.definition.is_kernel else "auto"
        find_arrays(self.values)
        body = self.block(node.body, node)
        hoisted = [
            make.declare(name, type_of(self._type_of_name(name)), node)
            for name, scope in self.scopes.items()
            if scope is None and name not in self.values.arrays
        ]
        body = replace(body, block_items=(*self._captured(), *hoisted, *body.block_items))
        params = [self._parameter(p) for p in self.definition.parameters]
        params += map(self._hidden_parameter, self.values.hidden)
        tree = make.function(self.definition.unique, result, params, body, node)
        return ParsedFunction(tree, tuple(self.values.lost))

    # ---- the head

    def _parameter(self, param: Parameter) -> ir.Decl:
        name = param.name
        type_ = type_of("auto")
        if self.definition.is_kernel or self.definition.dialect is None:
            type_ = parameter_type(self.values, name)
        init = self.values.expression(param.default) if param.default is not None else None
        return self.make.declare(name, type_, param.arg, init)

    def _hidden_parameter(self, text: str) -> ir.Decl:
        """Declares a number that an argument brings along: callers do not pass it."""
        make, node = self.make, self.definition.node
        is_passed = self.definition.is_kernel  # a launch decides it, and nobody knows how
        init = None if is_passed else ir.Extent(text, at=make.place(node))
        return make.declare(text, type_of("int64_t"), node, init)

    def _captured(self) -> list[ir.BlockItem]:
        """Returns constants that enclosing functions give names which the kernel uses."""
        if self.values.dialect is None:
            return []
        found: dict[str, ir.BlockItem] = {}
        for node in self.definition.own_nodes():
            if isinstance(node, ast.Name) and not self.values.is_local(node.id):
                self._capture(node.id, found, depth=0)
        return list(found.values())

    def _capture(self, name: str, found: dict[str, ir.BlockItem], depth: int) -> None:
        """Declares a captured name behind those that its value is made of."""
        value, scope = self._enclosing_value(name)
        if name in found or value is None or scope is None or depth > MAX_CAPTURED:
            return
        for node in walk(value):
            if isinstance(node, ast.Name):
                self._capture(node.id, found, depth + 1)
        if len(found) < MAX_CAPTURED:
            type_ = type_of("auto")
            init = lower_constant(value, scope, self.values.imports, self.make)
            found[name] = self.make.declare(name, type_, value, init, quals=("const",))

    def _enclosing_value(self, name: str) -> tuple[ast.expr | None, Definition | None]:
        scope = self.definition.outer
        is_beside = self.definition.imports is not None  # the unit's constants are not its own
        while scope is not None and (is_beside or scope.outer is not None):
            if any(p.name == name for p in scope.parameters):
                return scope.passed(name), scope
            if name in scope.assigned:
                values = scope.assigned[name]
                return (values[0], scope) if len(values) == 1 else (None, None)
            scope = scope.outer
        return None, None

    def _type_of_name(self, name: str) -> str:
        """Returns the type of a name that several blocks share: wide enough for its values."""
        for value in self.definition.assigned.get(name, ()):
            if isinstance(value, ast.Tuple | ast.List):
                return "dim3"
            if value is not None and is_floating(value):
                return "double"
        return "int64_t"

    # ---- statements

    def block(self, body: Block, at: ast.AST) -> ir.Compound:
        self.blocks.append(body)
        items: list[ir.BlockItem] = []
        for statement in body:
            try:
                items += self._statement(statement)
            except CannotLower as failed:
                self.values.lose(failed.node, failed.what)
        self.blocks.pop()
        return self.make.block(items, at)

    def _statement(self, node: ast.stmt) -> Sequence[ir.BlockItem]:
        handler = _STATEMENTS.get(type(node))
        if isinstance(node, ast.For | ast.While) and handler is not None:
            around, own = self.values.looped, (n for n in walk(node) if isinstance(n, ast.Name))
            self.values.looped |= {n.id for n in own if isinstance(n.ctx, ast.Store)}
            items = handler(self, node)
            self.values.looped = around
            return items
        if handler is not None:
            return handler(self, node)
        if self.values.dialect is None or isinstance(node, _WITHOUT_CODE):
            return ()
        raise CannotLower(node, f"a `{type(node).__name__.lower()}` statement")

    def _expression_statement(self, node: ast.Expr) -> Sequence[ir.BlockItem]:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return ()
        return (self.values.expression(node.value),)

    def _assign_statement(self, node: ast.Assign) -> Sequence[ir.BlockItem]:
        return self._assignments(node.targets, node.value, node)

    def _annotated(self, node: ast.AnnAssign) -> Sequence[ir.BlockItem]:
        if node.value is None:
            return ()
        return self._assignments([node.target], node.value, node)

    def _if(self, node: ast.If) -> Sequence[ir.BlockItem]:
        otherwise = self.block(node.orelse, node) if node.orelse else None
        test = self.values.expression(node.test)
        return (ir.If(test, self.block(node.body, node), otherwise, at=self.make.place(node)),)

    def _while(self, node: ast.While) -> Sequence[ir.BlockItem]:
        if node.orelse:
            raise CannotLower(node, "`while .. else`")
        test = self.values.expression(node.test)
        return (ir.While(test, self.block(node.body, node), at=self.make.place(node)),)

    def _return(self, node: ast.Return) -> Sequence[ir.BlockItem]:
        value = self.values.expression(node.value) if node.value is not None else None
        return (ir.Return(value, at=self.make.place(node)),)

    def _break(self, node: ast.Break) -> Sequence[ir.BlockItem]:
        return (ir.Break(at=self.make.place(node)),)

    def _continue(self, node: ast.Continue) -> Sequence[ir.BlockItem]:
        return (ir.Continue(at=self.make.place(node)),)

    def _framed(self, node: ast.With | ast.Try) -> Sequence[ir.BlockItem]:
        """Lowers the body of a `with` or `try` of host code."""
        if self.values.dialect is not None:
            raise CannotLower(node, f"a `{type(node).__name__.lower()}` statement")
        return (self.block(node.body, node),)

    def _for(self, node: ast.For) -> Sequence[ir.BlockItem]:
        """Returns `for i in range(..)` with the counter as Python would have it."""
        call = node.iter
        is_range = isinstance(call, ast.Call) and (
            self.values.imports.resolve(call.func) == "range"
            or self.values.member(call.func) == "range"
        )
        if not is_range or not isinstance(node.target, ast.Name) or node.orelse:
            return self._open_for(node)
        assert isinstance(call, ast.Call)
        make, name = self.make, node.target.id
        bounds = [a for a in call.args if not isinstance(a, ast.Starred)]
        if not 1 <= len(bounds) <= 3:
            raise CannotLower(node, "this `range`")
        step = literal(bounds[2]) if len(bounds) == 3 else 1
        start = (
            self.values.expression(bounds[0])
            if len(bounds) > 1
            else make.integer(0, call, wide=self.values.wide)
        )
        stop = self.values.expression(bounds[0] if len(bounds) == 1 else bounds[1])
        is_down = step is not None and step < 0
        counter = make.name(name, node.target)
        init: ir.DeclList | ir.Expression
        if self.scopes.get(name) is None:
            init = make.assign(counter, start, node)
        else:
            word = "int64_t" if self.values.wide else "int"
            init = ir.DeclList((make.declare(name, type_of(word), node.target, start),))
        cond = make.binary(">" if is_down else "<", counter, stop, call)
        advance = (
            make.unary("p++", counter, node)
            if step == 1
            else make.assign(counter, self.values.expression(bounds[2]), node, "+=")
        )
        body, pragma = self.block(node.body, node), unrolling(call)
        tests = self._tests_indices
        return (ir.For(init, cond, advance, body, pragma, tests, at=make.place(node)),)

    def _for_each(self, node: ast.For, target: ast.Name, numbers: list[int]) -> ir.Compound:
        """Returns a loop over numbers that are written out, which an array of its own holds."""
        make, name = self.make, target.id
        spelling = make.spelling(node.iter)
        listed, position = f"values of {spelling}", f"position in {spelling}"
        values = tuple(make.integer(n, node.iter, wide=True) for n in numbers)
        count = make.integer(len(numbers), node.iter, wide=True)
        array = make.declare(
            listed, array_of("int64_t", [count]), node.iter, ir.InitList(values), quals=("const",)
        )
        value = make.element(make.name(listed, node.iter), make.name(position, target), target)
        if self.scopes.get(name) is None:
            given: ir.BlockItem = make.assign(make.name(name, target), value, node)
        else:
            given = make.declare(name, type_of("int64_t"), target, value)
        body = make.block([given, self.block(node.body, node)], node)
        return make.block([array, self._counted(position, count, body, node)], node)

    def _for_elements(self, node: ast.For) -> ir.For:
        """Returns a loop over the elements of an array, of a kernel's argument for one."""
        make = self.make
        array, count, target = listing_of(node)
        name = dotted(array)
        if name is None or node.orelse:
            raise CannotLower(node, f"a loop over `{make.spelling(node.iter)}`")
        position = f"position in {make.spelling(array)}"
        counter = make.name(position, target)
        given = [] if count is None else [self._given(count, counter, node)]
        given += self._elements(target, make.element(self.values.expression(array), counter, array))
        stop = extent_of(self.values, name, "shape", 0, array)
        body = make.block([*given, self.block(node.body, node)], node)
        return self._counted(position, stop, body, node)

    def _counted(self, counter: str, stop: ir.Expression, body: ir.Compound, at: ast.For) -> ir.For:
        """Returns a loop whose counter, which no Python code names, runs from 0."""
        make = self.make
        start = make.integer(0, at.iter, wide=True)
        init = ir.DeclList((make.declare(counter, type_of("int64_t"), at.target, start),))
        condition = make.binary("<", make.name(counter, at.target), stop, at.iter)
        advance = make.unary("p++", make.name(counter, at.target), at)
        tests = self._tests_indices
        return ir.For(init, condition, advance, body, tests_indices=tests, at=make.place(at))

    @property
    def _tests_indices(self) -> bool:
        dialect = self.values.dialect
        return dialect is not None and dialect.wraps_negative_indices

    def _elements(self, target: ast.expr, value: ir.Expression) -> list[ir.BlockItem]:
        """Gives a target an element, or the targets of a tuple those of a row."""
        make = self.make
        if not isinstance(target, ast.Tuple | ast.List):
            return [self._given(target, value, target)]
        parts = (
            (part, make.element(value, make.integer(k, part, wide=True), part))
            for k, part in enumerate(target.elts)
        )
        return [item for part, found in parts for item in self._elements(part, found)]

    def _open_for(self, node: ast.For) -> Sequence[ir.BlockItem]:
        """Returns a loop over anything else: in host code its body once, with unknown values."""
        numbers = listed_numbers(node.iter)
        if numbers is not None and isinstance(node.target, ast.Name) and not node.orelse:
            return (self._for_each(node, node.target, numbers),)
        if self.values.dialect is not None:
            return (self._for_elements(node),)
        given = self._assignments([node.target], node.iter, node, is_open=True)
        body = self.block(node.body, node)
        return (self.make.block([*given, *body.block_items], node),)

    # ---- assignments

    def _assignments(
        self, targets: Sequence[ast.expr], value: ast.expr, node: ast.AST, *, is_open: bool = False
    ) -> Sequence[ir.BlockItem]:
        found: list[ir.BlockItem] = []
        for target in targets:
            found += self._assign(target, value, node, is_open)
        return found

    def _assign(
        self, target: ast.expr, value: ast.expr, node: ast.AST, is_open: bool
    ) -> list[ir.BlockItem]:
        if isinstance(value, ast.Tuple | ast.List):
            target = elements_of_row(self.values, target, len(value.elts))
        if isinstance(target, ast.Tuple | ast.List):
            return self._unpack(target, value, node, is_open)
        if isinstance(target, ast.Name) and target.id in self.values.arrays and not is_open:
            assert isinstance(value, ast.Call)
            self.declared.add(target.id)
            return [declare_array(self.values, target.id, value, node)]
        if isinstance(target, ast.Name) and isinstance(value, ast.Call) and not is_open:
            is_once = self.scopes.get(target.id) is not None
            array = array_of_several(self.values, target.id, value, node, is_declared_once=is_once)
            if array is not None:
                assert array.name is not None
                return [array, self._given(target, self.make.name(array.name, node), node)]
        lowered = self.values.opaque(value) if is_open else self.values.expression(value)
        return [self._given(target, lowered, node)]

    def _given(self, target: ast.expr, value: ir.Expression, node: ast.AST) -> ir.BlockItem:
        make = self.make
        if isinstance(target, ast.Name):
            name = target.id
            is_new = name not in self.declared or self.values.dialect is None  # of any type
            if is_new and self.scopes.get(name) is self.blocks[-1]:
                self.declared.add(name)
                return make.declare(name, type_of("auto"), node, value)
            return make.assign(make.name(name, target), value, node)
        if isinstance(target, ast.Subscript):
            return stored(
                self.values, target, make.assign(self.values.expression(target), value, node)
            )
        if isinstance(target, ast.Attribute) and self.values.dialect is not None:
            parts = (self.values.expression(target.value), value)  # a member of a record
            return ir.Opaque(make.spelling(target), parts, at=make.place(target))
        return value

    def _unpack(
        self, target: ast.Tuple | ast.List, value: ast.expr, node: ast.AST, is_open: bool
    ) -> list[ir.BlockItem]:
        names = target.elts
        values = self._parts(value, len(names)) if not is_open else None
        if values is None:
            first: list[ir.BlockItem] = [] if is_open else [self.values.opaque(value)]
            return [*first, *(self._given(n, self.values.opaque(value), node) for n in names)]
        temporaries: list[ir.BlockItem] = []
        results: list[ir.Expression] = []
        simultaneous = isinstance(value, ast.Tuple | ast.List) and len(names) > 1
        for k, part in enumerate(values):
            if simultaneous:  # all values first: `a, b = b, a`
                hidden = f"{k} of {self.make.spelling(node)}"
                temporaries.append(self.make.declare(hidden, type_of("auto"), node, part))
                results.append(self.make.name(hidden, node))
            else:
                results.append(part)
        return temporaries + [self._given(n, v, node) for n, v in zip(names, results, strict=True)]

    def _parts(self, value: ast.expr, count: int) -> list[ir.Expression] | None:
        """Returns the single values of what is unpacked, where they are known one by one."""
        if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == count:
            return [self.values.expression(e) for e in value.elts]
        if isinstance(value, ast.Call):
            member = self.values.member(value.func)
            if member in ("grid", "gridsize") and count <= 3:
                return [global_index(self.values, member, axis, value) for axis in range(count)]
        if isinstance(value, ast.Attribute) and value.attr == "shape":
            name = dotted(value.value)
            if name is not None:
                return [extent_of(self.values, name, "shape", axis, value) for axis in range(count)]
        return None

    def _augmented(self, node: ast.AugAssign) -> Sequence[ir.BlockItem]:
        make, operator = self.make, type(node.op)
        target, value = self.values.expression(node.target), self.values.expression(node.value)
        sign = f"{BINARY[operator]}=" if operator in BINARY else "="
        if operator not in BINARY:
            again = self.values.expression(node.target)
            value = lower_operator(self.values, node.op, again, value, node)
        given = make.assign(target, value, node, sign)
        return (stored(self.values, node.target, given),)


_STATEMENTS: dict[type[ast.stmt], Callable[..., Sequence[ir.BlockItem]]] = {
    ast.Expr: _FunctionLowering._expression_statement,
    ast.Assign: _FunctionLowering._assign_statement,
    ast.AnnAssign: _FunctionLowering._annotated,
    ast.AugAssign: _FunctionLowering._augmented,
    ast.If: _FunctionLowering._if,
    ast.For: _FunctionLowering._for,
    ast.While: _FunctionLowering._while,
    ast.Return: _FunctionLowering._return,
    ast.Break: _FunctionLowering._break,
    ast.Continue: _FunctionLowering._continue,
    ast.With: _FunctionLowering._framed,
    ast.Try: _FunctionLowering._framed,
}
"""Statement -> lowers it to statements of C."""
_WITHOUT_CODE = (
    ast.FunctionDef, ast.ClassDef, ast.Pass, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal,
    ast.Delete, ast.Assert,
)  # fmt: skip
