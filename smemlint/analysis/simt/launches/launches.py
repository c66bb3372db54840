"""Launches: host functions are run, and the launches that they come to are noted."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from itertools import product
from typing import NamedTuple

from smemlint.analysis.simt.calls.candidates import functions_meant
from smemlint.analysis.simt.calls.class_conversions import converted_object
from smemlint.analysis.simt.calls.deduction import deduce_template_arguments
from smemlint.analysis.simt.calls.lambdas import Closure, call_lambda, closure_of
from smemlint.analysis.simt.calls.operands import operand_of
from smemlint.analysis.simt.calls.packs import bind_deduced_packs
from smemlint.analysis.simt.domain.ctypes import (
    CType,
    FloatType,
    IntType,
    PointerType,
    UnreadTemplate,
    unreferenced,
)
from smemlint.analysis.simt.domain.environment import CTYPES, MAX_THREADS, Operand, Scope, Variable
from smemlint.analysis.simt.domain.intervals import upper
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    Aggregate,
    CallableValue,
    FloatValue,
    Unknown,
    Value,
    number,
    one_of,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.frames import Frame
from smemlint.analysis.simt.interpreter.accesses import unknown_argument
from smemlint.analysis.simt.interpreter.names import find_binding
from smemlint.analysis.simt.launches.host_interpreter import (
    CONFIGURED_LAUNCHERS,
    LAUNCHERS,
    LISTED_LAUNCHERS,
    HostPolicy,
)
from smemlint.analysis.simt.launches.linkage import linked_kernels
from smemlint.analysis.simt.launches.open_defaults import OpenDefaults
from smemlint.analysis.simt.launches.passed_values import (
    extents_passed,
    grid_passed,
    listed_operands,
    numbers_passed,
)
from smemlint.analysis.simt.launches.repeated_calls import key_of_call, renew_numbers
from smemlint.analysis.simt.types.builtin_types import NAMED
from smemlint.analysis.simt.types.declared_types import declared_type
from smemlint.analysis.simt.types.overloads import parameters_of, signature_of
from smemlint.analysis.simt.types.template_arguments import template_scope
from smemlint.facts import Span
from smemlint.frontend import ir
from smemlint.frontend.heuristics import launches_kernel
from smemlint.frontend.program import Function, Unit
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import Assumption, ReasonCode

Extents = tuple[int | None, int | None, int | None]
_UNKNOWN: Extents = (None, None, None)
_CONSTANT = frozenset(("const", "constexpr"))
_CLUSTER_BLOCK, _CLUSTER_BYTES = 12, 36
"""Bytes before the block, and before the size of shared memory, in `ClusterLaunchParams`: behind
the shapes of grid, block and cluster (CUTLASS 4.7)."""


class _Shape(NamedTuple):
    """Extents of a block, as far as they are known, and what they are not above.

    It is constant where no variable tells it; the sides are what is not known as a number.
    """

    extents: Extents
    limits: Extents
    is_constant: bool = False
    sides: Sequence[Value] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Launch:
    """A launch of a kernel, as far as it is known.

    Attributes:
        kernel: name without template arguments, last component.
        scope: template parameters bound by it.
        block: None where it depends on what is not known.
        extents: those of the block that are known, of one that is not known whole.
        limits: what the others are not above, as `min(16, n)` says.
        shared: dynamic shared memory in bytes; None when not known.
        arguments: the known numbers among the kernel's arguments, the members of its structs and
            the extents of the grid, by name: `n`, `p.stride`, `gridDim.x`.
        assumed: the default path was taken somewhere before it.
        is_uninstantiated: it stands under a function template that nothing seen instantiates.
        left: further instantiations of its function that were not run.
        has_constant_block: no variable tells its block: it is the same on any path.
        is_also_open: its function comes to it with a block that is not known, too.
        tied: template parameters that are an extent of the block that is not known: which one.
        hangs_on_choices: a way through open choices may tell more of its block and template.
    """

    kernel: str
    function: Function
    scope: Scope
    block: tuple[int, int, int] | None
    shared: int | None
    span: Span
    arguments: dict[str, AffineInt]
    assumed: tuple[Assumption, ...] = ()
    extents: Extents = _UNKNOWN
    limits: Extents = _UNKNOWN
    is_uninstantiated: bool = False
    left: int = 0
    has_constant_block: bool = False
    is_also_open: bool = False
    tied: tuple[tuple[str, int], ...] = ()
    hangs_on_choices: bool = True

    def is_of(self, function: Function) -> bool:
        """Returns whether it launches this kernel, not one of its name in another program."""
        return self.kernel == function.name and self.function.span == function.span


class LaunchPolicy(HostPolicy):
    """Notes launches: their kernels, blocks, shared memory and arguments.

    Attributes:
        launches: that were come to.
        with_unknowns: of these, by functions that a call is given, which may pass them numbers.
        unfollowed: names of functions that launch, calls of which were not followed.
        unnamed: places of launches of which the kernel is not known, and how much each passes.
        is_cut: the function was not executed to its end.
    """

    def __init__(
        self,
        unit: Unit,
        linked: Sequence[Unit] = (),
        *,
        launching: frozenset[str] = frozenset(),
        default_path: bool = False,
        open_defaults: OpenDefaults | None = None,
        paths: Mapping[ir.Node, int] | None = None,
        irrelevant_choices: Callable[[str], Set[ir.Node]] = lambda name: frozenset(),
        followed: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(
            unit,
            linked,
            launching=launching,
            default_path=default_path,
            open_defaults=open_defaults,
            paths=paths,
            irrelevant_choices=irrelevant_choices,
            followed=followed,
        )
        self.launches: list[Launch] = []
        self.with_unknowns: set[Launch] = set()
        self.unnamed: dict[Span, int | None] = {}
        self.unfollowed: set[str] = set()
        self.is_cut = False
        self._assigned: dict[str, dict[str, None]] = {}
        self._calls: dict[Hashable, Frame] = {}
        self._lambdas_made: dict[ir.Lambda, CallableValue | None] = {}  # None: called

    def marks(self) -> tuple[object, ...]:
        """Returns how many launches were noted, and functions that variables were given."""
        return *super().marks(), len(self.launches), sum(map(len, self._assigned.values()))

    def on_assignment(self, node: ir.Assignment, value: Value) -> None:
        """Remembers the functions that a variable was given."""
        if isinstance(value, CallableValue) and isinstance(node.lvalue, ir.ID):
            self._assigned.setdefault(node.lvalue.name, {})[value.name] = None

    def prefer(self, ev: Evaluator, a: Value, b: Value, node: ir.Node) -> Value | None:
        """Returns both of two functions: each may be launched, with what is chosen beside it."""
        if isinstance(a, CallableValue) and isinstance(b, CallableValue):
            if node in self._widths:
                self.alternatives[node] = self._widths[node]
            return one_of((a, b))
        return super().prefer(ev, a, b, node)

    def is_repeated(self, ev: Evaluator, function: Function, frame: Frame) -> bool:
        """Returns whether a function that launches was called with the same values before.

        Variables of files may tell calls apart that are alike; only shapes are followed in them.
        """
        if self.variables.shapes or not self.is_launching(function.name):
            return False
        key = key_of_call(function, frame, self.domain.made_of, self.valuation.number_of)
        before = self._calls.setdefault(key, frame) if key is not None else frame
        if before is frame:
            return False
        unknown = Unknown.because(ReasonCode.NOT_MODELLED, f"`{function.name}` is not run again")
        if before.returns:
            frame.returns = [(ev.state.mask, _known_result(before, unknown), None)]
        if frame.this is not None:
            renew_numbers(ev, frame.this.object, unknown)
        return True

    def intercept_launch(self, ev: Evaluator, node: ir.Launch) -> bool:
        """Notes a launch."""
        block, shared = _at(node.configuration, 1), _at(node.configuration, 2)
        if block is not None:
            grid = ev.evaluate(node.configuration[0])
            size = self.valuation.number_of(ev.evaluate(shared)) if shared is not None else 0
            given = [operand_of(ev, argument) for argument in node.args]
            made = converted_object(ev, ev.evaluate(block), NAMED["dim3"], block)
            shape = self._shape(made)
            if isinstance(operand_of(ev, block).type, IntType):
                shape = shape._replace(extents=(shape.extents[0], 1, 1))
            shape = shape._replace(is_constant=_names_no_variable(ev, block))
            self._note(ev, node.kernel, shape, size, given, node, grid=grid)
        return True

    def intercept_call(self, ev: Evaluator, node: ir.FuncCall) -> Value | None:
        """Notes a call that launches a kernel; all others are evaluated."""
        name = getattr(node.name, "name", "")
        if isinstance(name, str):
            last = ev.state.unit.template_arguments(name)[0].rsplit("::", 1)[-1]
            if last == "cudaGraphAddKernelNode" and len(node.args) == 5:
                last, node = "cudaLaunchKernel", _launch_of_node(node)
            positions, items = LAUNCHERS.get(last), node.args
            if launches_kernel(last) and not any(self.functions(ev, last)):
                positions = LAUNCHERS["hipLaunchKernelGGL"]
            if positions is not None and len(items) > max(positions[:2]):
                kernel, block, shared = positions
                given, more = ev.evaluate(items[block]), _at(items, shared)
                if block == shared:
                    shape, size = self._of_cluster(given)
                    passed = [operand_of(ev, item) for item in items[kernel + 1 :]]
                    self._note(ev, items[kernel], shape, size, passed, node)
                else:
                    size = self.valuation.number_of(ev.evaluate(more)) if more is not None else 0
                    pointers = _at(items, block + 1) if last in LISTED_LAUNCHERS else None
                    shape, grid = self._shape(given), ev.evaluate(items[block - 1])
                    self._note(ev, items[kernel], shape, size, pointers, node, grid=grid)
                return number(0)
            if last in CONFIGURED_LAUNCHERS and len(items) > 1:
                shape = self._shape(ev.evaluate(_member(items[0], "blockDim")))
                size = self.valuation.number_of(ev.evaluate(_member(items[0], "dynamicSmemBytes")))
                grid = ev.evaluate(_member(items[0], "gridDim"))
                operands = [operand_of(ev, item) for item in items[2:]]
                listed = _at(items, 2) if last == "cudaLaunchKernelExC" else operands
                self._note(ev, items[1], shape, size, listed, node, grid=grid)
                return number(0)
            if not self.is_launching(last):
                before = len(self.launches)
                self._call_given(ev, node)
                self.with_unknowns.update(self.launches[before:])
        return None

    def _call_given(self, ev: Evaluator, node: ir.FuncCall) -> None:
        """Runs the launching functions that a call is given: what is called may call them."""
        for item in node.args:
            given = item.expr if isinstance(item, ir.UnaryOp) and item.op == "&" else item
            if not isinstance(given, ir.ID):
                continue
            name = ev.state.unit.template_arguments(given.name)[0].rsplit("::", 1)[-1]
            if not self.is_launching(name) or ev.state.lookup(given.name) is not None:
                continue
            function = next((f for f in self.functions(ev, name) if not f.is_kernel), None)
            if function is not None:
                self._call_with_unknowns(ev, function, given)

    def _call_with_unknowns(self, ev: Evaluator, function: Function, name: ir.ID) -> None:
        """Calls a function with arguments of which only the types are known."""
        state = ev.state
        tree = function.parse_head().tree
        parameters = parameters_of(tree) if tree is not None else ()
        _, arguments = state.unit.template_arguments(name.name)
        scope = template_scope(ev, function.template, arguments, function.scope)
        with state.within("types", scope, function.scope):
            kinds = [ev.types.resolve(p.type) for p in parameters]
        with _unknown_arguments(ev, kinds, function.name) as names:
            ev.evaluate(ir.FuncCall(name, tuple(ir.ID(n, at=name.at) for n in names), at=name.at))

    def on_unread(self, ev: Evaluator, name: str, operands: Sequence[Operand]) -> None:
        """Runs the launching lambdas that an unread function is given: it may call them."""
        super().on_unread(ev, name, operands)
        last = re.split(r"\W+", name.split("<", 1)[0])[-1]
        if self.is_launching(last):
            self.unfollowed.add(last)
        for closure in filter(None, map(closure_of, operands)):
            if self.launches_in(ev, closure.node):
                visited = operands[1:] if last == "visit" else ()
                for kinds in product(*(_alternatives(ev, operand) for operand in visited)):
                    _run_lambda(ev, closure, kinds)

    def on_lambda(self, ev: Evaluator, node: ir.Lambda, made: CallableValue | None) -> None:
        """Notes lambdas that launch until they are called."""
        if made is None or (node not in self._lambdas_made and self.launches_in(ev, node)):
            self._lambdas_made[node] = made

    def on_end(self, ev: Evaluator) -> None:
        """Runs launching lambdas that nothing called: the objects that hold them may."""
        while waiting := [n for n, made in self._lambdas_made.items() if made is not None]:
            made, self._lambdas_made[waiting[0]] = self._lambdas_made[waiting[0]], None
            if made is not None and isinstance(made.payload, Closure):
                _run_lambda(ev, made.payload)

    def _note(
        self,
        ev: Evaluator,
        kernel: ir.Node,
        shape: _Shape,
        size: int | None,
        operands: Sequence[Operand] | ir.Node | None,
        node: ir.Node,
        *,
        grid: Value | None = None,
    ) -> None:
        """Notes a launch.

        Args:
            ev: of the host code.
            kernel: what is launched.
            shape: of the block.
            size: of dynamic shared memory in bytes.
            operands: what is passed, or the array that points to it.
            node: the launch.
            grid: its shape.
        """
        values = operands if isinstance(operands, list) else ()
        spellings = self._kernels(ev, kernel)
        if not spellings:
            count = len(values) if operands is values else None
            self.unnamed[ev.state.unit.span(node)] = count
        for spelling in spellings:
            name, arguments = ev.state.unit.template_arguments(spelling)
            named = self.functions(ev, name.rsplit("::", 1)[-1])
            linked = linked_kernels(ev, name, [f for f in named if f.is_kernel], self.owner)
            kernels = functions_meant(ev, linked, name)
            function = _kernel_of(ev, kernels, values)
            if function is None:
                continue
            scope = template_scope(ev, function.template, arguments, function.scope)
            tree = function.parse_head().tree
            passed: dict[str, AffineInt] = {}
            if tree is not None:
                parameters = parameters_of(tree)
                if isinstance(operands, ir.Node):
                    values = listed_operands(ev, operands, len(parameters))
                else:
                    bind_deduced_packs(ev, function, parameters, values, scope)
                    deduce_template_arguments(ev, function, parameters, values, scope)
                passed = numbers_passed(ev, parameters, values, scope, self.valuation.number_of)
                if "gridDim" in function.words:
                    passed |= grid_passed(grid, self.valuation.number_of)
            launch = Launch(
                function.name,
                function,
                self._substituted(scope),
                _block_shape(shape.extents),
                size,
                ev.state.unit.span(node),
                passed,
                tuple(self.defaults),
                shape.extents,
                shape.limits,
                has_constant_block=shape.is_constant,
                tied=extents_passed(scope, shape.sides),
                hangs_on_choices=not shape.sides
                or any(map(self.valuation.hangs_on_choices, (*shape.sides, *scope.values()))),
            )
            self.launches.append(launch)

    def _substituted(self, scope: Scope) -> Scope:
        """Returns template values under what a `case` fixes."""
        result: Scope = {}
        for name, bound in scope.items():
            found = self.valuation.number_of(bound) if isinstance(bound, AffineInt) else None
            result[name] = number(found) if found is not None else bound
        return result

    def _kernels(self, ev: Evaluator, node: ir.Node) -> Sequence[str]:
        """Returns the kernels that an expression may name: itself, or what a variable was given."""
        while isinstance(node, ir.Cast) or (isinstance(node, ir.UnaryOp) and node.op in "&*"):
            node = node.expr
        value = ev.evaluate(node)
        if isinstance(value, CallableValue):
            return value.choices
        if not isinstance(node, ir.ID):
            return ()
        is_variable = isinstance(find_binding(ev, node.name), Variable)
        return tuple(self._assigned.get(node.name, () if is_variable else (node.name,)))

    def _shape(self, value: Value, start: int = 0) -> _Shape:
        """Returns the shape that a number, or a `dim3` at a byte of a value, means."""
        if isinstance(value, AffineInt):
            sides: list[Value] = [value, number(1), number(1)]
        elif isinstance(value, Aggregate):
            sides = [value.cells.get(start + at, number(1)) for at in (0, 4, 8)]
        else:
            return _Shape(_UNKNOWN, _UNKNOWN)
        x, y, z = map(self.valuation.number_of, sides)
        limits = [
            _limit(side) if self.valuation.number_of(side) is None else None for side in sides
        ]
        return _Shape((x, y, z), (limits[0], limits[1], limits[2]), sides=sides)

    def _of_cluster(self, value: Value) -> tuple[_Shape, int | None]:
        """Returns the block and the shared memory of a `ClusterLaunchParams`."""
        size = value.cells.get(_CLUSTER_BYTES) if isinstance(value, Aggregate) else None
        return self._shape(
            value, _CLUSTER_BLOCK
        ), None if size is None else self.valuation.number_of(size)


def _names_no_variable(ev: Evaluator, node: ir.Node) -> bool:
    """Returns whether an expression is of constants alone, known or not: `Traits::kThreads`."""
    if any(isinstance(part, ir.FuncCall) for part in node.walk()):
        return False
    return not any(_is_of_variable(ev, name) for name in ev.state.node_facts.names_in(node))


def _is_of_variable(ev: Evaluator, name: str) -> bool:
    """Returns whether a name is that of a variable, which may change; class constants are none."""
    if not isinstance(find_binding(ev, name), Variable):
        return False
    member = name.rsplit("::", 1)[-1]
    declared = [d for unit in ev.policy.units(ev) for d in unit.declarations.get(member, ())]
    is_constant = all(not d.specifiers.isdisjoint(_CONSTANT) for d in declared)
    return member == name or not (declared and is_constant)


def _limit(extent: Value) -> int | None:
    """Returns what an extent is not above; None where that is no less than a block may have."""
    limit = upper(extent) if isinstance(extent, AffineInt) else MAX_THREADS + 1
    return limit if 0 < limit <= MAX_THREADS else None


def _launch_of_node(node: ir.FuncCall) -> ir.FuncCall:
    """Returns the launch that a node of a graph stands for."""
    names = ("func", "gridDim", "blockDim", "kernelParams", "sharedMemBytes")
    given = tuple(_member(node.args[4], name) for name in names)
    return ir.FuncCall(ir.ID("cudaLaunchKernel", at=node.at), given, at=node.at)


def _member(config: ir.Expression, name: str) -> ir.StructRef:
    """Returns the member of what a configuration points to."""
    field = ir.ID(name, at=config.at)
    is_taken = isinstance(config, ir.UnaryOp) and config.op == "&"
    pointed = config.expr if isinstance(config, ir.UnaryOp) and is_taken else None
    if isinstance(pointed, ir.Expression):
        return ir.StructRef(pointed, ".", field, at=config.at)
    return ir.StructRef(config, "->", field, at=config.at)


def _kernel_of(
    ev: Evaluator, kernels: Sequence[Function], operands: Sequence[Operand]
) -> Function | None:
    """Returns the kernel that takes these arguments; the first one where none does."""
    count = len(operands)
    fitting = [f for f in kernels if signature_of(f).least <= count <= signature_of(f).most]
    if len(fitting) > 1:
        fitting = [f for f in fitting if not _points_elsewhere(ev, f, operands)] or fitting
    return next(iter(fitting or kernels), None)


def _points_elsewhere(ev: Evaluator, function: Function, operands: Sequence[Operand]) -> bool:
    """Returns whether a parameter is a pointer to other numbers than what it is given."""
    expected = [ev.types.resolve(parameter.type) for parameter in signature_of(function).parameters]
    return any(
        isinstance(ctype, PointerType)
        and isinstance(given.type, PointerType)
        and isinstance(ctype.target, IntType | FloatType)
        and isinstance(given.type.target, IntType | FloatType)
        and ctype.target != given.type.target
        for ctype, given in zip(expected, operands, strict=False)
    )


def _known_result(call: Frame, otherwise: Value) -> Value:
    """Returns what a call gave, where an equal call gives the same."""
    values = [value for _, value, _ in call.returns]
    is_known = isinstance(values[0], FloatValue) or getattr(values[0], "constant", None) is not None
    return values[0] if len(values) == 1 and is_known else otherwise


def _block_shape(extents: Extents) -> tuple[int, int, int] | None:
    """Returns the shape of a block; None for one that is not known, or is none."""
    x, y, z = extents
    if x is None or y is None or z is None or min(x, y, z) <= 0 or x * y * z > MAX_THREADS:
        return None
    return x, y, z


def _alternatives(ev: Evaluator, operand: Operand) -> Sequence[CType]:
    """Returns the types of which a `std::variant` holds one; that of all else."""
    ctype = unreferenced(declared_type(ev, operand.node) or operand.type)
    if not isinstance(ctype, UnreadTemplate) or ctype.template != "variant":
        return (ctype,)
    return [held for held in ctype.arguments if isinstance(held, CTYPES)]


def _run_lambda(ev: Evaluator, closure: Closure, kinds: Sequence[CType] = ()) -> None:
    """Calls a lambda with arguments of which only the types are known; its own where none are."""
    kinds = kinds or [ev.types.resolve(p.type) for p in closure.node.params]
    at = closure.node.at
    with _unknown_arguments(ev, kinds, f"lambda:{at}") as names:
        arguments = tuple(ir.ID(n, at=at) for n in names)
        call_lambda(ev, closure, ir.FuncCall(closure.node, arguments, at=at))


@contextmanager
def _unknown_arguments(ev: Evaluator, kinds: Sequence[CType], of: str) -> Iterator[Iterable[str]]:
    """Enters a scope with a variable of each type, of which only that is known; yields names."""
    given: Scope = {}
    for k, ctype in enumerate(kinds):
        value = unknown_argument(ev, ctype, f"{of}.{k}", f"argument {k + 1}")
        obj = ev.state.new_local(f"argument {k + 1}", ctype, f"{of}.{k}", value)
        given[f"{of}.{k}"] = Variable(obj, ctype)
    with ev.state.frame.scoped(given):
        yield given


def _at(items: Sequence[ir.Node], index: int) -> ir.Node | None:
    return items[index] if index < len(items) else None
