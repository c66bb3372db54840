"""Launches: host functions are run, and the launches that they come to are noted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pycparser import c_ast

from smemlint.analysis.simt.domain.values import Aggregate, Callable, Int, Value, number
from smemlint.analysis.simt.launches.host_interpreter import LAUNCHERS, HostCode
from smemlint.analysis.simt.launches.instantiations import written_instantiations
from smemlint.analysis.simt.state import (
    MAX_THREADS,
    Frame,
    Scope,
)
from smemlint.analysis.simt.types.overloads import parameters_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from smemlint.analysis.simt.interpreter.inlining import Operand
    from smemlint.facts import Span
    from smemlint.frontend.program import Function, Unit

Extents = tuple[int | None, int | None, int | None]


@dataclass(frozen=True, slots=True, eq=False)
class Launch:
    """A launch of a kernel, as far as it is known.

    Attributes:
        kernel: name without template arguments, last component.
        scope: template parameters bound by it.
        block: None where it depends on what is not known.
        extents: those of the block that are known, of one that is not known whole.
        shared: dynamic shared memory in bytes; None when not known.
        arguments: values of the kernel's parameters, by name, where they are known numbers.
        assumed: the default path was taken somewhere before it.
    """

    kernel: str
    function: Function
    scope: Scope
    block: tuple[int, int, int] | None
    shared: int | None
    span: Span
    arguments: dict[str, Value]
    assumed: tuple[str, ...] = ()
    extents: Extents = (None, None, None)


class Host(HostCode):
    """Notes launches: their kernels, blocks, shared memory and arguments."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.launches: list[Launch] = []
        self._assigned: dict[str, dict[str, None]] = {}

    def _eval_Assignment(self, node: c_ast.Assignment) -> Value:
        value = super()._eval_Assignment(node)
        if isinstance(value, Callable) and isinstance(node.lvalue, c_ast.ID):
            self._assigned.setdefault(node.lvalue.name, {})[value.name] = None
        return value

    def _eval_FuncCall(self, node: c_ast.FuncCall) -> Value:
        inner = node.name
        if isinstance(inner, c_ast.FuncCall) and getattr(inner.name, "name", "") == "__launch":
            self._launched(inner, _exprs(node), node)
            return number(0)
        name = getattr(inner, "name", "")
        if isinstance(name, str):
            positions = LAUNCHERS.get(self.unit.template_arguments(name)[0].rsplit("::", 1)[-1])
            items = _exprs(node)
            if positions is not None and len(items) > positions[1]:
                self._launch(
                    items[positions[0]], items[positions[1]], _at(items, positions[2]), [], node
                )
                return number(0)
        return super()._eval_FuncCall(node)

    def _launched(self, head: c_ast.FuncCall, operands: list[c_ast.Node], node: c_ast.Node) -> None:
        items = _exprs(head)
        if len(items) >= 3:
            self._launch(items[0], items[2], _at(items, 3), operands, node)

    def _launch(
        self,
        kernel: c_ast.Node,
        block: c_ast.Node,
        shared: c_ast.Node | None,
        operands: list[c_ast.Node],
        node: c_ast.Node,
    ) -> None:
        extents = self._extents(self.evaluate(block))
        shape = _whole(extents)
        size = self.number_of(self.evaluate(shared)) if shared is not None else 0
        values = [self._operand(o) for o in operands]
        for spelling in self._kernels(kernel):
            name, arguments = self.unit.template_arguments(spelling)
            last = name.rsplit("::", 1)[-1]
            for function in self.functions(last):
                if not function.is_kernel:
                    continue
                scope = self.template_scope(function.template, arguments)
                tree = function.parse().tree
                passed: dict[str, Value] = {}
                if tree is not None:
                    self._deduce(function, parameters_of(tree), values, scope, [])
                    passed = self._known_arguments(parameters_of(tree), values)
                self.launches.append(
                    Launch(
                        function.name,
                        function,
                        self._substituted(scope),
                        shape,
                        size,
                        self.unit.span(node),
                        passed,
                        tuple(self.defaults),
                        extents,
                    )
                )
                break

    def _known_arguments(
        self, params: Sequence[c_ast.Node], operands: Sequence[Operand]
    ) -> dict[str, Value]:
        known: dict[str, Value] = {}
        for param, operand in zip(params, operands, strict=False):
            value = self._value(operand)
            found = self.number_of(value)
            if found is not None and isinstance(value, Int) and getattr(param, "name", None):
                known[param.name] = number(found, value.type)
        return known

    def _substituted(self, scope: Scope) -> Scope:
        """Template values under what a `case` made known."""
        result: Scope = {}
        for name, bound in scope.items():
            found = self.number_of(bound) if isinstance(bound, Int) else None
            result[name] = number(found) if found is not None else bound
        return result

    def _kernels(self, node: c_ast.Node) -> Iterable[str]:
        """The kernels that an expression may name: itself, or what a variable was given."""
        while isinstance(node, c_ast.Cast):
            node = node.expr
        if isinstance(node, c_ast.UnaryOp) and node.op == "&":
            node = node.expr
        if isinstance(node, c_ast.ArrayRef | c_ast.StructRef):  # an entry of a table of kernels
            value = self.evaluate(node)
            return (value.name,) if isinstance(value, Callable) else ()
        if not isinstance(node, c_ast.ID):
            return ()
        if self.lookup(node.name) is not None:
            value = self.evaluate(node)
            if isinstance(value, Callable):
                return (value.name,)
        return tuple(self._assigned.get(node.name, (node.name,)))

    def _extents(self, value: Value) -> Extents:
        if isinstance(value, Int):
            return self.number_of(value), 1, 1
        if isinstance(value, Aggregate):
            cells = value.cells
            x, y, z = (self.number_of(cells[o]) if o in cells else 1 for o in (0, 4, 8))
            return x, y, z
        return None, None, None


def _whole(extents: Extents) -> tuple[int, int, int] | None:
    """The shape of a block; None for one that is not known, or is none."""
    x, y, z = extents
    if x is None or y is None or z is None or min(x, y, z) <= 0 or x * y * z > MAX_THREADS:
        return None
    return x, y, z


def launches_of(
    unit: Unit,
    linked: Sequence[Unit],
    function: Function,
    launching: frozenset[str],
    has_no_caller: bool = False,
) -> list[Launch]:
    """Launches that hold on every path; where the block is open, those of the default path.

    Args:
        unit: of the function.
        linked: units whose functions it may call.
        function: host code.
        launching: see `Host`.
        has_no_caller: no call tells its template arguments; those that are written anywhere do.
    """
    scopes: list[Scope] = [{}]
    if has_no_caller and function.template:
        host = Host(unit, linked)
        host.frames.append(Frame("file", [{}]))
        scopes = written_instantiations(host, host.units, function) or scopes
    return [
        la for scope in scopes for la in _launches_under(unit, linked, function, launching, scope)
    ]


def _launches_under(
    unit: Unit,
    linked: Sequence[Unit],
    function: Function,
    launching: frozenset[str],
    scope: Scope,
) -> list[Launch]:
    strict = Host(unit, linked, launching=launching)
    strict.run(function, scope)
    if all(la.block is not None for la in strict.launches) or not strict.has_default_path:
        return strict.launches
    known = {(la.kernel, la.span) for la in strict.launches if la.block is not None}
    default = Host(unit, linked, launching=launching, default_path=True)
    default.run(function, scope)
    more = [la for la in default.launches if (la.kernel, la.span) not in known]
    return [la for la in strict.launches if (la.kernel, la.span) in known] + more


def _exprs(node: c_ast.FuncCall) -> list[c_ast.Node]:
    return list(node.args.exprs) if node.args is not None else []


def _at(items: list[c_ast.Node], index: int) -> c_ast.Node | None:
    return items[index] if index < len(items) else None
