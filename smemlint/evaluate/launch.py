"""Launches: host functions are run with unknown arguments, and their launches are noted.

The same evaluator as for kernels runs the host code with one thread. What a library call returns is
unknown; where an unknown condition would replace a known number by an unknown one (`if (flag given)
threads = parse(..)`), the known one is kept: that is the default path, and the launch says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pycparser import c_ast

from smemlint.evaluate.algebra import BY_CONSTANT, Results
from smemlint.evaluate.ctypes import CType, IntType, RecordType
from smemlint.evaluate.inlining import Operand
from smemlint.evaluate.instantiations import written_instantiations
from smemlint.evaluate.interpret import Interpreter
from smemlint.evaluate.machine import (
    MAX_THREADS,
    BudgetExceeded,
    Frame,
    Geometry,
    Place,
    Scope,
    Variable,
)
from smemlint.evaluate.memory import Space
from smemlint.evaluate.overloads import signature_of
from smemlint.evaluate.trace import Trace
from smemlint.evaluate.values import Aggregate, Callable, Int, Pointer, Unknown, Value, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from smemlint.evaluate.machine import Binding
    from smemlint.facts import Span
    from smemlint.frontend.cuda.unit import Declaration, Function, Unit

_LAUNCHERS = {
    "cudaLaunchKernel": (0, 2, 4),
    "cudaLaunchCooperativeKernel": (0, 2, 4),
    "hipLaunchKernelGGL": (0, 2, 3),
}
"""Function -> positions of kernel, block and dynamic shared memory."""
_LOOPS = (c_ast.For, c_ast.While, c_ast.DoWhile)
_MAX_STEPS = 12_000
_MAX_WORDS = 40
"""Different words of a function that is still taken for a small helper."""
_MAX_CALL_STEPS = 150
"""Statements of one call of a function that launches nothing."""
_DEEPEST = 8
"""Operations on a switched number that are followed: each one looks at both of its operands."""


class _CallTooLong(Exception):
    """A called function does more than compute a launch configuration."""


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


class Host(Interpreter):
    """Runs host functions for their launches.

    Args:
        unit: of the function that is run first.
        linked: further units whose functions may be called.
        launching: names of functions that launch, themselves or through others.
        default_path: known numbers win over unknown ones where control flow joins.
    """

    follows_forms = False

    def __init__(
        self,
        unit: Unit,
        linked: Sequence[Unit] = (),
        *,
        launching: frozenset[str] = frozenset(),
        default_path: bool = False,
    ) -> None:
        super().__init__(unit, Geometry.of((1, 1, 1)), Trace(1), max_steps=_MAX_STEPS)
        self.units = (unit, *(u for u in linked if u is not unit))
        self.default_path = default_path
        self.algebra = self._results = Results()
        self.has_default_path = False  # a known number met an unknown one
        self.launching = launching
        self._call_limit: int | None = None
        self.launches: list[Launch] = []
        self.defaults: dict[str, None] = {}
        self._known: dict[str, int] = {}
        self._assigned: dict[str, dict[str, None]] = {}
        self._owner: dict[int, Unit] = {}
        self._idle_nests: dict[int, bool] = {}
        self.max_trips = 12

    def run(self, function: Function, given: Scope) -> None:
        """Runs a function with unknown arguments; its launches are in `launches`.

        Args:
            function: host code.
            given: its template parameters, as far as they are told.
        """
        tree = function.parse().tree
        if tree is None:
            return
        self.steps = 0
        self.mask = self.geometry.exists
        self.frames = [Frame(function.name, [{**self._host_scope(function), **given}, {}])]
        self.loops, self.assumptions = [], []
        params = tree.decl.type.args
        try:
            for param in params.params if params is not None else ():
                if isinstance(param, c_ast.Decl) and param.name:
                    kind = self.resolve(param.type)
                    value = self.unknown_of(kind, f"{function.name}.{param.name}", param.name)
                    obj = self.local(param.name, kind, param.name, value)
                    self.bind(param.name, Variable(obj, kind))
            self.execute(tree.body)
        except (BudgetExceeded, RecursionError):
            return

    def _host_scope(self, function: Function) -> Scope:
        return self.template_scope(function.template, ())

    # ---- linking

    @cached_property
    def _shapes(self) -> frozenset[str]:
        """Variables of files that hold shapes: a function without a result may set them."""
        return frozenset(
            name
            for unit in self.units
            for name, found in unit.declarations.items()
            if any(d.kind == "variable" and "dim3" in d.specifiers for d in found)
        )

    def functions(self, name: str) -> Iterator[Function]:
        """Definitions in any of the linked units."""
        last = name.rsplit("::", 1)[-1]
        for unit in self.units:
            for function in unit.functions_named(last):
                self._owner[id(function)] = unit
                yield function

    def declared_value(self, name: str) -> Binding | None:
        """A variable of any of the linked units, best one with a value."""
        before, found = self.unit, None
        try:
            for unit in (before, *self.units):
                self.enter(unit)
                candidate = super().declared_value(name)
                found = found or candidate
                if isinstance(candidate, Variable) and candidate.object.cells:
                    return candidate
        finally:
            self.enter(before)
        return found

    def _global_variable(self, declaration: Declaration, node: c_ast.Decl) -> Binding:
        """As in a kernel; but shapes of launches are followed from function to function."""
        bound = super()._global_variable(declaration, node)
        name = declaration.name
        if name in self._shapes and isinstance(bound, Variable) and name not in self.globals:
            bound.object.space = Space.LOCAL
            bound.object.default = Unknown(f"`{name}` is set nowhere that was seen")
            self.globals[name] = bound
            self.defaults.setdefault(f"`{name}` is what the code before the launch makes it")
        return bound

    def keeps_its_value(self, name: str, kind: CType) -> bool:
        """Whether no unit that has an integer writes to it; a launch that follows says so."""
        if not isinstance(kind, IntType):
            return False
        for unit in self.units:
            declared = unit is self.unit or name in unit.declarations
            if unit.mentions(name) and not (declared and name in unit.assigned_once):
                return False
        self.defaults.setdefault(f"`{name}` keeps the value that it begins with")
        return True

    def convert(self, value: Value, kind: CType) -> Value:
        """As in a kernel; but an integer that is not known is one unknown, which a `case` names."""
        made = super().convert(value, kind)
        if isinstance(made, Unknown) and isinstance(kind, IntType) and not kind.is_bool:
            self.sequence += 1
            return self.algebra.symbol(f"host{self.sequence}", made.reason, kind)
        return made

    def _loop(self, node: c_ast.Node, *parts: Any, **options: Any) -> None:
        """A nest of loops that launches nothing is not counted through: one iteration is all."""
        trips = self.max_trips
        if self._is_idle_nest(node):
            self.max_trips = 1
        try:
            super()._loop(node, *parts, **options)
        finally:
            self.max_trips = trips

    def _is_idle_nest(self, node: c_ast.Node) -> bool:
        if id(node) not in self._idle_nests:
            launchers = {"__launch", *_LAUNCHERS, *self.launching}
            is_idle = launchers.isdisjoint(self.names_in(node)) and _has_loop(node)
            self._idle_nests[id(node)] = is_idle
        return self._idle_nests[id(node)]

    def inline(
        self,
        function: Function,
        operands: Sequence[Operand],
        arguments: tuple[str, ...],
        node: c_ast.Node,
        this: object,
        record: RecordType | None,
    ) -> Value:
        """Runs a called function in its own unit; device code is of no interest."""
        if "__global__" in function.specifiers or (
            function.is_device and "__host__" not in function.specifiers
        ):
            return Unknown("device code")
        is_wanted = function.name in self.launching or _may_compute(function)
        if not is_wanted and self._shapes.isdisjoint(function.words):
            return Unknown(f"`{function.name}` is not run")
        before, limit, depth = self.unit, self._call_limit, self.store.depth
        is_outermost = limit is None and function.name not in self.launching
        if is_outermost:
            self._call_limit = self.steps + _MAX_CALL_STEPS
        self.enter(self._owner.get(id(function), before))
        try:
            return super().inline(function, operands, arguments, node, this, record)  # type: ignore[arg-type]
        except _CallTooLong:
            if not is_outermost:
                raise
            self.store.commit_to(depth)
            self._forget_given(function, operands)
            return Unknown(f"`{function.name}` is not run to its end")
        finally:
            self.enter(before)
            self._call_limit = limit

    def _forget_given(self, function: Function, operands: Sequence[Operand]) -> None:
        """What a call that was left may have written: all but what it takes by value."""
        params = signature_of(function).parameters
        for index, operand in enumerate(operands):
            is_copied = index < len(params) and isinstance(params[index].type, c_ast.TypeDecl)
            if is_copied:
                continue
            value = operand.value if operand.place is None else self._value(operand)
            for held in (operand.place, value):
                if isinstance(held, Place | Pointer) and held.object.space is Space.LOCAL:
                    self.store.forget(held.object, f"was given to `{function.name}`")

    def step(self) -> None:
        """Counts a statement against the budgets of the run and of the call."""
        super().step()
        if self._call_limit is not None and self.steps > self._call_limit:
            raise _CallTooLong

    # ---- the default path

    def joined(self, a: Value, b: Value, condition: Unknown, node: c_ast.Node) -> Value:
        """A known number wins over an unknown one."""
        for known, other in ((a, b), (b, a)):
            is_open = not isinstance(other, Int) or bool(other.terms)
            if isinstance(known, Int) and known.constant is not None and is_open:
                self.has_default_path = True
                if not self.default_path:
                    break
                span = self.unit.span(node)
                name = span.path.rsplit("/", 1)[-1]
                self.defaults.setdefault(f"the default path at {name}:{span.line}")
                return known
        return super().joined(a, b, condition, node)

    def refine(self, value: Value, known: Value | None) -> None:
        """Inside `case 512:` the switched symbol is 512."""
        if not isinstance(value, Int) or len(value.terms) != 1 or value.base != 0:
            return
        symbol = value.terms[0][0]
        if isinstance(known, Int) and known.constant is not None:
            self._known[symbol.key] = known.constant
        else:
            self._known.pop(symbol.key, None)

    def _number(self, value: Value, depth: int = 0) -> int | None:
        if not isinstance(value, Int) or not isinstance(value.base, int):
            return None
        total = value.base
        for symbol, factor in value.terms:
            found = self._known.get(symbol.key)
            if found is None:
                found = self._computed(symbol.key, depth + 1)
            if found is None or not isinstance(factor, int):
                return None
            total += factor * found
        return total

    def _computed(self, key: str, depth: int) -> int | None:
        """The value of `H / 4` inside `case 512:` of a switch over H."""
        op, *operands = self._results.made_of.get(key, ("",))
        if op not in BY_CONSTANT or depth > _DEEPEST:
            return None
        numbers = [self._number(operand, depth) for operand in operands]
        if None in numbers:
            return None
        a, b = (number(n) for n in numbers if n is not None)
        return getattr(self.algebra.operate(op, a, b), "constant", None)

    # ---- launches

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
            positions = _LAUNCHERS.get(self.unit.template_arguments(name)[0].rsplit("::", 1)[-1])
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
        size = self._number(self.evaluate(shared)) if shared is not None else 0
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
                    self._deduce(function, _params(tree), values, scope, [])
                    passed = self._known_arguments(_params(tree), values)
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
            found = self._number(value)
            if found is not None and isinstance(value, Int) and getattr(param, "name", None):
                known[param.name] = number(found, value.type)
        return known

    def _substituted(self, scope: Scope) -> Scope:
        """Template values under what a `case` made known."""
        result: Scope = {}
        for name, bound in scope.items():
            found = self._number(bound) if isinstance(bound, Int) else None
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
            return self._number(value), 1, 1
        if isinstance(value, Aggregate):
            cells = value.cells
            x, y, z = (self._number(cells[o]) if o in cells else 1 for o in (0, 4, 8))
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


def _may_compute(function: Function) -> bool:
    """Whether a call can tell something of a launch: it is small and gives or changes a value."""
    if len(function.words) > _MAX_WORDS:
        return False
    tree = function.parse().tree
    if tree is None:
        return False
    result = tree.decl.type.type
    gives = getattr(getattr(result, "type", None), "names", None) != ["void"]
    return gives or any(isinstance(p.type, c_ast.PtrDecl) for p in _params(tree))


def _has_loop(node: c_ast.Node) -> bool:
    """Whether a loop has another one in it."""
    inner = [child for _, child in node.children()]
    return any(isinstance(c, _LOOPS) or _has_loop(c) for c in inner)


def _exprs(node: c_ast.FuncCall) -> list[c_ast.Node]:
    return list(node.args.exprs) if node.args is not None else []


def _at(items: list[c_ast.Node], index: int) -> c_ast.Node | None:
    return items[index] if index < len(items) else None


def _params(tree: c_ast.FuncDef) -> list[c_ast.Node]:
    params = tree.decl.type.args
    return [p for p in (params.params if params is not None else ()) if isinstance(p, c_ast.Decl)]
