"""Host code: run with unknown arguments, so that it comes to its launches.

The same evaluator as for kernels runs it with one thread. What a library call returns is unknown;
where an unknown condition would replace a known number by an unknown one (`if (flag given)
threads = parse(..)`), the known one is kept: that is the default path, and the launch says so.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from pycparser import c_ast

from smemlint.analysis.simt.domain.affine import BY_CONSTANT, Results
from smemlint.analysis.simt.domain.ctypes import CType, IntType, RecordType
from smemlint.analysis.simt.domain.memory import Space
from smemlint.analysis.simt.domain.trace import Trace
from smemlint.analysis.simt.domain.values import Int, Pointer, Unknown, Value, number
from smemlint.analysis.simt.interpreter.interpreter import Interpreter
from smemlint.analysis.simt.state import (
    BudgetExceeded,
    Frame,
    Geometry,
    Place,
    Scope,
    Variable,
)
from smemlint.analysis.simt.types.overloads import parameters_of, signature_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from smemlint.analysis.simt.interpreter.inlining import Operand
    from smemlint.analysis.simt.state import Binding
    from smemlint.frontend.program import Declaration, Function, Unit

LAUNCHERS = {
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


class HostCode(Interpreter):
    """Runs host functions.

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
        self.defaults: dict[str, None] = {}
        self._known: dict[str, int] = {}
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
            launchers = {"__launch", *LAUNCHERS, *self.launching}
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

    def number_of(self, value: Value, depth: int = 0) -> int | None:
        """The number that a value is inside of the cases around it; None where it hangs on more."""
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
        numbers = [self.number_of(operand, depth) for operand in operands]
        if None in numbers:
            return None
        a, b = (number(n) for n in numbers if n is not None)
        return getattr(self.algebra.operate(op, a, b), "constant", None)


def _may_compute(function: Function) -> bool:
    """Whether a call can tell something of a launch: it is small and gives or changes a value."""
    if len(function.words) > _MAX_WORDS:
        return False
    tree = function.parse().tree
    if tree is None:
        return False
    result = tree.decl.type.type
    gives = getattr(getattr(result, "type", None), "names", None) != ["void"]
    return gives or any(isinstance(p.type, c_ast.PtrDecl) for p in parameters_of(tree))


def _has_loop(node: c_ast.Node) -> bool:
    """Whether a loop has another one in it."""
    inner = [child for _, child in node.children()]
    return any(isinstance(c, _LOOPS) or _has_loop(c) for c in inner)
