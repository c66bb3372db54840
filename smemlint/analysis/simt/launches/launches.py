"""Launches: host functions are run, and the launches that they come to are noted."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product

from smemlint.analysis.simt.calls.candidates import functions_meant
from smemlint.analysis.simt.calls.class_conversions import converted_object
from smemlint.analysis.simt.calls.deduction import deduce
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
from smemlint.analysis.simt.domain.environment import CTYPES, Operand, Scope, Variable
from smemlint.analysis.simt.domain.values import (
    AffineInt,
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
from smemlint.analysis.simt.launches.block_shapes import BlockShape, block_shape
from smemlint.analysis.simt.launches.host_interpreter import NO_PATHS, HostPaths, HostPolicy
from smemlint.analysis.simt.launches.launch import Launch, SpelledLaunch, at, spelled_launch
from smemlint.analysis.simt.launches.linkage import linked_kernels
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
from smemlint.frontend.program import Function, Unit
from smemlint.reasons import ReasonCode

_CONSTANT = frozenset(("const", "constexpr"))


class LaunchPolicy(HostPolicy):
    """Notes launches: their kernels, blocks, shared memory and arguments.

    Attributes:
        with_unknowns: of these, by functions that a call is given, which may pass them numbers.
        unfollowed: names of functions that launch, calls of which were not followed.
        unnamed: places of launches of which the kernel is not known, and how much each passes.
        is_cut: the function was not executed to its end.
    """

    def __init__(self, unit: Unit, linked: Sequence[Unit], paths: HostPaths = NO_PATHS) -> None:
        super().__init__(unit, linked, paths)
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
        grid, block, shared = (at(node.configuration, k) for k in range(3))
        if block is not None:
            self._note(ev, SpelledLaunch(node.kernel, grid, block, shared, node.args), node)
        return True

    def intercept_call(self, ev: Evaluator, node: ir.FuncCall) -> Value | None:
        """Notes a call that launches a kernel; all others are evaluated."""
        name = getattr(node.name, "name", "")
        if isinstance(name, str):
            last = ev.state.unit.template_arguments(name)[0].rsplit("::", 1)[-1]
            launch = spelled_launch(last, node.args, self.functions(ev, last))
            if launch is not None:
                self._note(ev, launch, node)
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

    def _note(self, ev: Evaluator, spelled: SpelledLaunch, node: ir.Node) -> None:
        """Notes the launch that a node of host code is."""
        shape = self._shape(ev, spelled.block)
        grid = ev.evaluate(spelled.grid) if spelled.grid is not None else None
        size: int | None = 0
        if spelled.shared is not None:
            size = self.valuation.number_of(ev.evaluate(spelled.shared))
        given = spelled.passed if isinstance(spelled.passed, Sequence) else None
        values = [operand_of(ev, argument) for argument in given or ()]
        spellings = self._kernels(ev, spelled.kernel)
        if not spellings:
            self.unnamed[ev.state.unit.span(node)] = None if given is None else len(given)
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
                if isinstance(spelled.passed, ir.Node):
                    values = listed_operands(ev, spelled.passed, len(parameters))
                else:
                    bind_deduced_packs(ev, function, parameters, values, scope)
                    deduce(ev, function.template, parameters, values, scope)
                passed = numbers_passed(ev, parameters, values, scope, self.valuation.number_of)
                if "gridDim" in function.words:
                    passed |= grid_passed(grid, self.valuation.number_of)
            launch = Launch(
                function.name,
                function,
                self._substituted(scope),
                shape.block,
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

    def _shape(self, ev: Evaluator, block: ir.Node) -> BlockShape:
        """Returns the shape that an expression gives a block."""
        value = converted_object(ev, ev.evaluate(block), NAMED["dim3"], block)
        shape = block_shape(value, self.valuation.number_of)
        if isinstance(operand_of(ev, block).type, IntType):
            shape = shape._replace(extents=(shape.extents[0], 1, 1))
        return shape._replace(is_constant=_names_no_variable(ev, block))


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
