"""Inert loops: those that only compute floating-point numbers are run for their cost alone."""

from __future__ import annotations

from smemlint.analysis.simt.builtins.cute_front import holds_registers, is_extent
from smemlint.analysis.simt.builtins.math_functions import pure_functions
from smemlint.analysis.simt.builtins.table import BUILTINS
from smemlint.analysis.simt.calls.candidates import takes_by_value
from smemlint.analysis.simt.calls.pure_calls import is_pure
from smemlint.analysis.simt.codegen.branches.branch_shapes import is_element
from smemlint.analysis.simt.codegen.sinking import sink_loads
from smemlint.analysis.simt.codegen.slow_paths import SlowPath
from smemlint.analysis.simt.domain.ctypes import (
    FLOAT,
    ArrayType,
    FloatType,
    IntType,
    PointerType,
    unreferenced,
)
from smemlint.analysis.simt.domain.environment import CTYPES, Binding, Variable, is_any
from smemlint.analysis.simt.domain.integer_scev import scev_of
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    CallableValue,
    FloatValue,
    Object,
    PartialValue,
    Pointer,
    Space,
    Unknown,
    Value,
    number,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.frames import Loop
from smemlint.analysis.simt.interpreter.conversions import to_condition
from smemlint.analysis.simt.interpreter.names import find_binding
from smemlint.analysis.simt.loops.heads import LoopParts
from smemlint.analysis.simt.loops.known_trips import begun, in_one_block
from smemlint.analysis.simt.loops.mod_ref import Escape, ModRef
from smemlint.analysis.simt.loops.modified import is_floating
from smemlint.frontend import ir

_CONSTANTS = (*CTYPES, AffineInt, FloatValue)


def is_float_only(ev: Evaluator, node: ir.Node) -> bool:
    """Returns whether the loop only computes floating-point numbers, off shared memory."""
    effects = ev.state.node_facts.mod_ref(node, with_elements=True)
    if effects is None or not effects.is_arithmetic:
        return False
    if not all(holds_registers(ev, name) for name in effects.elements):
        return False
    if not all(_only_computes(ev, callee) for callee in sorted(effects.callees - pure_functions())):
        return False
    written = _written(ev, effects)
    return all(_is_harmless(ev, n, written=n in written) for n in sorted(effects.referenced))


def _only_computes(ev: Evaluator, callee: str) -> bool:
    """Returns whether each function that a name may mean only computes."""
    name, _ = ev.state.unit.template_arguments(callee)
    if holds_registers(ev, callee) or is_extent(ev, name):
        return True
    functions = list(ev.policy.functions(ev, name))
    return (
        ev.policy.tracks_scev  # what host code does otherwise is not read off its text
        and ev.state.lookup(callee) is None
        and name not in BUILTINS
        and all(f.record is None and is_pure(ev.state.unit, f) for f in functions)
        and bool(functions)
    )


def _written(ev: Evaluator, effects: ModRef) -> frozenset[str]:
    """Returns the variables that a loop, or a function that it calls, may write."""
    given = (e for e in effects.escapes if e.callee not in pure_functions())
    return effects.modified.union(e.name for e in given if _may_write(ev, e))


def _may_write(ev: Evaluator, given: Escape) -> bool:
    """Returns whether a call may write a variable that it is given, or what that leads to."""
    binding = _found(ev, given.name)
    if not isinstance(binding, Variable):
        return False
    is_number = isinstance(unreferenced(binding.type), IntType | FloatType)
    return not is_number or (given.is_lvalue and not takes_by_value(ev, given.callee, given.index))


def _found(ev: Evaluator, name: str) -> Binding:
    """Returns what a name stands for; of a variable, its number is not asked for."""
    local = ev.state.frame.peek(name)
    return local if isinstance(local, Variable) else find_binding(ev, name)


def _is_harmless(ev: Evaluator, name: str, *, written: bool) -> bool:
    is_local = ev.state.frame.peek(name) is not None
    binding = _found(ev, name)
    if not isinstance(binding, Variable):
        kinds = _CONSTANTS if is_local else (*_CONSTANTS, CallableValue, Unknown)
        return not written and isinstance(binding, kinds)
    obj, ctype = binding.object, binding.type
    value = obj.cells.get(0)
    if isinstance(value, Pointer):
        obj, ctype = value.object, value.target
    elif isinstance(value, Unknown) and isinstance(ctype, PointerType):
        return False
    while isinstance(ctype, ArrayType):
        ctype = ctype.element
    if written and not is_local:
        return False
    if obj.space is Space.SHARED or _leads_to_shared(binding.object) or _leads_to_shared(obj):
        return False
    return (
        not written or obj.space is Space.GLOBAL or is_floating(ctype) or holds_registers(ev, name)
    )


def _leads_to_shared(obj: Object) -> bool:
    """Returns whether an object holds a pointer into shared memory."""
    if is_floating(obj.type):
        return False
    held = (v.value if isinstance(v, PartialValue) else v for v in obj.cells.values())
    return any(isinstance(v, Pointer) and v.object.space is Space.SHARED for v in held)


def _loads_in_each(ev: Evaluator, loop: Loop, parts: LoopParts) -> bool:
    """Returns whether an iteration loads from places of its own: ptxas leaves it alone then."""
    names_in = ev.state.node_facts.names_in
    return any(is_element(node) and loop.varies(names_in(node)) for node in parts.node.walk())


def execute_float_only(ev: Evaluator, parts: LoopParts) -> None:
    """Runs the body once and the header to its end, for what the iterations cost."""
    state = ev.state
    loop = begun(ev, parts.node)
    entry, begin = state.loop_entry(), len(state.trace.items)
    before = state.costs()
    state.loops.append(loop)
    trips = cost = 0
    is_constant = True
    try:
        while trips < state.budget.max_trips and is_any(state.mask):
            value: Value = number(1)
            if parts.cond is not None and not (parts.first and not trips):
                value = to_condition(ev.evaluate(parts.cond))
            is_constant &= isinstance(value, AffineInt) and not scev_of(value).terms
            if not isinstance(value, AffineInt) or value.constant in (0, None):
                is_constant &= isinstance(value, AffineInt) and value.constant == 0
                if not trips and isinstance(value, AffineInt) and not value.terms:
                    sunk = state.sunk_at(parts.node)
                    going = state.mask & (value.base != 0)
                    sink_loads(state.trace, sunk, parts.node, going)
                break
            if not trips:
                cost = loop.cost
                ev.execute(parts.body)
                cost = loop.cost - cost
            if parts.step is not None:
                ev.evaluate(parts.step)
            trips += 1
    finally:
        state.loops.pop()
        state.mask = entry.mask
    cost = loop.cost + cost * max(trips - 1, 0)
    together = in_one_block(ev, parts, trips, None, cost, is_constant)
    if not is_constant or (trips > together and _loads_in_each(ev, loop, parts)):
        # it stays a loop, in blocks of its own
        state.trace.enclose(begin, entry, has_effects=state.keeps_stores(entry))
    elif trips > together:
        state.trace.part(SlowPath.BRANCH)  # of LLVM; ptxas may know that it ends
    state.count(max(trips, 1), before)
    effects = state.node_facts.mod_ref(parts.node, with_elements=True)
    for name in _written(ev, effects) if effects is not None else ():
        binding = state.lookup(name)
        if holds_registers(ev, name):
            continue
        if isinstance(binding, Variable) and binding.object.default is None:
            binding.object.default = FloatValue(FLOAT)
