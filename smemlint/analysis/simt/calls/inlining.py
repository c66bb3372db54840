"""Inlining: a called function runs where it is called, with operands bound as parameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from smemlint.analysis.simt.calls.candidates import find_candidates, with_bases
from smemlint.analysis.simt.calls.constant_calls import Watch, key_of_call, value_known
from smemlint.analysis.simt.calls.constraints import enabled
from smemlint.analysis.simt.calls.deduction import deduce
from smemlint.analysis.simt.calls.operands import operand_of, operand_values
from smemlint.analysis.simt.calls.packs import bind_deduced_packs, without_packs
from smemlint.analysis.simt.calls.parameter_passing import bind_parameters
from smemlint.analysis.simt.calls.passed_loads import passed_loads
from smemlint.analysis.simt.calls.pure_calls import value_without_running
from smemlint.analysis.simt.calls.unfollowed import unfollowed_values
from smemlint.analysis.simt.domain.ctypes import CType, OpaqueType, RecordType, VoidType
from smemlint.analysis.simt.domain.environment import LValue, Operand, Scope, is_reference
from smemlint.analysis.simt.domain.masking import chosen
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    FloatValue,
    Pointer,
    Space,
    Unknown,
    Value,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.frames import Frame
from smemlint.analysis.simt.interpreter.conversions import convert
from smemlint.analysis.simt.interpreter.joins import join
from smemlint.analysis.simt.interpreter.jumps import drop_guards, join_at_target
from smemlint.analysis.simt.shared_functions import touches_shared
from smemlint.analysis.simt.types.overloads import (
    best_fit,
    is_ellipsis_ranked,
    parameters_of,
    signature_of,
)
from smemlint.analysis.simt.types.records import is_specialization_open
from smemlint.analysis.simt.types.specializations import class_fit, definitions_for, refuses, takes
from smemlint.analysis.simt.types.statics import scope_of
from smemlint.analysis.simt.types.template_arguments import open_types, template_scope
from smemlint.frontend import ir
from smemlint.frontend.program import Function
from smemlint.limits.budgets import MAX_CALL_RECURSION, MAX_CALLS
from smemlint.reasons import Reason, ReasonCode

WHICH = "which specialization is meant is not known"


def inline_named(
    ev: Evaluator,
    name: str,
    record: RecordType | None,
    node: ir.FuncCall,
    this: Pointer | None,
    arguments: tuple[str, ...] = (),
) -> Value | None:
    """Returns the value of the definition of a name that fits a call best.

    Args:
        ev: the evaluator.
        name: its last component.
        record: the class that it is a member of; None of free functions.
        node: the call.
        this: the object; None without one.
        arguments: template arguments that the call spells out.

    Returns:
        None where no definition takes as many operands.
    """
    candidates = find_candidates(ev, name, record, node)
    if candidates and record is not None and _hides_shared(ev, name, record):
        why = f"the call of `{record.name}::{name}` is not followed: {WHICH}"
        return ev.state.note_unfollowed(node, Reason(ReasonCode.NOT_DECLARED, why))
    return inline_best(ev, candidates, arguments, node, this, record) if candidates else None


def inline_member(
    ev: Evaluator, name: str, place: LValue, node: ir.FuncCall, arguments: tuple[str, ...] = ()
) -> Value | None:
    """Returns the value of a method of an object's class or of its nearest base that has one.

    Args:
        ev: the evaluator.
        name: of the method.
        place: the object.
        node: the call.
        arguments: template arguments that the call spells out.

    Returns:
        None of what is no object of a class that was read, and where no method takes the operands.
    """
    record = place.type
    if not isinstance(record, RecordType) or record.record is None:
        return None
    for owner in with_bases(record):
        value = inline_named(ev, name, owner, node, place.pointer(), arguments)
        if value is not None:
            return value
    return None


def _hides_shared(ev: Evaluator, name: str, record: RecordType) -> bool:
    """Returns whether a specialization declares shared memory in a method, and may be meant.

    `Shared<T>::get` is the primary one's only where no specialization is for `T`.
    """
    if len(ev.state.unit.records.get(record.name, ())) < 2:
        return False
    return declares_shared(ev, name, record.name) and is_specialization_open(ev, record)


def declares_shared(ev: Evaluator, name: str, record: str) -> bool:
    """Returns whether some definition of a method of a class declares shared memory."""
    functions = ev.policy.functions(ev, name)
    return any(f.record == record and "__shared__" in f.words for f in functions)


def inline_best(
    ev: Evaluator,
    candidates: Sequence[Function],
    arguments: tuple[str, ...],
    node: ir.FuncCall,
    this: Pointer | None,
    record: RecordType | None,
) -> Value:
    """Executes the candidate that fits the operands best, and returns its value.

    Args:
        ev: the evaluator.
        candidates: definitions of the name that is called.
        arguments: template arguments that the call spells.
        node: the call.
        this: the object of a method.
        record: its class.
    """
    operands = [operand_of(ev, a) for a in node.args]
    types = [o.type for o in operands]
    called = [f for f in candidates if len(arguments) >= signature_of(f).spelled]
    bound = partial(_bindings, ev, arguments, operands)
    fitting = definitions_for(ev, called, arguments, types, bound)
    if fitting and len(fitting) > 1:
        fitting = enabled(ev, fitting, bound, record)
    if fitting and len(fitting) > 1:
        fitting = [f for f in fitting if not refuses(ev, f, types)] or fitting
    if fitting and not is_ellipsis_ranked(fitting, types):
        fitting = None
    if not fitting:
        why = "no definition was read" if fitting is not None else WHICH
        return unfollowed_values(ev, candidates[0].name, operand_values(ev, operands), node, why)
    function = best_fit(
        fitting,
        types,
        arguments,
        ev.state.unit.is_type,
        lambda f: takes(ev, f, types),
        lambda f: class_fit(ev, f, types),
    )
    return inline(ev, function, operands, arguments, node, this, record)


def inline(
    ev: Evaluator,
    function: Function,
    operands: Sequence[Operand],
    arguments: tuple[str, ...],
    node: ir.Node,
    this: Pointer | None,
    record: RecordType | None,
) -> Value:
    """Executes a function's body for the active threads, as far as the policy wants it.

    Args:
        ev: the evaluator.
        function: what is called.
        operands: its operands, evaluated.
        arguments: template arguments that the call spells.
        node: the call.
        this: the object of a method.
        record: its class.
    """
    run = partial(_inline, ev, function, operands, arguments, node, this, record)
    return ev.policy.run_inlined(ev, function, operands, this, run)


def _inline(
    ev: Evaluator,
    function: Function,
    operands: Sequence[Operand],
    arguments: tuple[str, ...],
    node: ir.Node,
    this: Pointer | None,
    record: RecordType | None,
) -> Value:
    state = ev.state
    parsed = function.parse()
    tree = parsed.tree
    label = f"{function.name}:{node.at}"
    if _is_too_deep(ev, function, arguments, operands, record):
        operand_values(ev, operands)
        return state.note_unfollowed(
            node, Reason(ReasonCode.TOO_LARGE, f"`{function.name}` calls itself too deeply")
        )
    if tree is None:
        values = operand_values(ev, operands)
        given = any(isinstance(v, Pointer) and v.object.space is Space.SHARED for v in values)
        if given or touches_shared(function, state.unit):
            state.note_unfollowed(
                node, Reason(ReasonCode.SYNTAX, f"`{function.name}` could not be parsed")
            )
        return Unknown.because(ReasonCode.SYNTAX, f"`{function.name}` could not be parsed")
    for dropped in parsed.dropped:
        state.unfollowed.setdefault((dropped.span, dropped.reason))
    outer: list[Scope] = [scope_of(record)] if record is not None else []
    scope, params = _bound_scope(ev, function, parameters_of(tree), arguments, operands)
    hidden = open_types(function.template, scope)
    frame = Frame(label, [*outer, scope, hidden], this, record, function.scope)
    result_type = tree.type.type
    if ev.policy.tracks_scev:
        for param, operand in zip(params, operands, strict=False):
            if operand.place is not None and not isinstance(param.type, ir.PtrDecl):
                state.node_facts.note_taken(operand.node, tree.body, param.name)
    with entered_frame(ev, frame, params, operands, node):
        ctype = ev.types.resolve(result_type)
        frame.returns_reference, frame.result = is_result_place(ctype), result_type
        if ev.policy.tracks_scev:
            frame.sunk = passed_loads(state, node, params, tree.body)
        value = value_without_running(ev, function, params, frame, ctype)
        if value is not None and not frame.sunk:
            return value
        key = key_of_call(ev, function, params, frame)
        known = value_known(ev, key) if key is not None else None
        if known is not None:
            return known
        watch = Watch(ev, frame) if key is not None else None
        if not ev.policy.is_repeated(ev, function, frame):
            ev.execute(tree.body)
    value = returned_value(ev, frame, ctype, node)
    if watch is not None and key is not None:
        watch.remember(key, value)
    return value


def _bound_scope(
    ev: Evaluator,
    function: Function,
    parameters: Sequence[ir.Decl],
    arguments: tuple[str, ...],
    operands: Sequence[Operand],
) -> tuple[Scope, Sequence[ir.Decl]]:
    """Returns what a call binds template parameters to, and the parameters without packs."""
    scope = template_scope(ev, function.template, arguments, function.scope)
    bind_deduced_packs(ev, function, parameters, operands, scope)
    params = without_packs(function, parameters, len(operands))
    deduce(ev, function.template, params, operands, scope)
    return scope, params


def _bindings(
    ev: Evaluator, arguments: tuple[str, ...], operands: Sequence[Operand], function: Function
) -> Scope:
    """Returns what a call binds the template parameters of a definition to."""
    return _bound_scope(ev, function, signature_of(function).parameters, arguments, operands)[0]


def _is_too_deep(
    ev: Evaluator,
    function: Function,
    arguments: tuple[str, ...],
    operands: Sequence[Operand],
    record: RecordType | None,
) -> bool:
    """Returns whether a function is under way too often to be called once more.

    Calls of another instance of a template than the last end where the compiler's own do.
    """
    frames = ev.state.frames
    if not MAX_CALL_RECURSION <= len(frames) <= MAX_CALLS:
        return len(frames) > MAX_CALLS
    same = [f for f in frames if f.name.split(":", 1)[0] == function.name]
    if len(same) < MAX_CALL_RECURSION or _are_constants(operands):
        return len(same) >= MAX_CALLS
    if record is not same[-1].record:
        return False
    scope = template_scope(ev, function.template, arguments, function.scope)
    return not scope or any(bound == scope for bound in same[-1].scopes)


def _are_constants(operands: Sequence[Operand]) -> bool:
    """Returns whether a call, as of `power(2, n - 1)`, is one whose conditions are known."""
    values = [operand.value for operand in operands]
    numbers = [v for v in values if isinstance(v, AffineInt) and v.constant is not None]
    return bool(numbers) and len(numbers) == sum(v is not None for v in values)


@contextmanager
def entered_frame(
    ev: Evaluator,
    frame: Frame,
    params: Sequence[ir.Decl],
    operands: Sequence[Operand],
    node: ir.Node,
) -> Iterator[None]:
    """Enters a new frame, with the operands of a call bound to its parameters.

    Args:
        ev: the evaluator.
        frame: the new one.
        params: the parameters.
        operands: the arguments, evaluated.
        node: the call.
    """
    state = ev.state
    caller, mask, ended = state.frames, state.mask, state.ended
    loops, state.loops = state.loops, []
    assumed, declared = len(state.assumptions), len(state.locals)
    state.memory.begin()
    try:
        bound = bind_parameters(ev, params, operands, frame, node)
        frame.call, frame.opening = node, len(state.trace.items)
        frame.pending.depth = state.memory.depth
        frame.is_copy = state.frame.is_copy or any(loop.copy for loop in loops)
        state.frames = [*state.frames, frame]
        for name, binding in bound:
            if name:
                state.bind(name, binding)
        yield
        join_at_target(ev, frame.pending)
    finally:
        state.frames = caller
        if any(condition is not None for _, _, condition in frame.returns):
            state.ended = ended  # on one way alone
        state.mask = state.going_on(mask)
        state.loops = loops
        held = (o.place or o.value for o in operands)
        reached = (h.object for h in (*held, frame.this) if isinstance(h, LValue | Pointer))
        written = state.memory.commit(frozenset(map(id, state.locals[declared:])))
        del state.locals[declared:]
        drop_guards(ev, assumed, written, reached=frozenset(map(id, reached)))


def is_result_place(ctype: CType) -> bool:
    """Returns whether a function with this result gives what it names: a reference, or any."""
    is_any = isinstance(ctype, OpaqueType) and ctype.spelling == "decltype(auto)"
    return is_any or is_reference(ctype)


def returned_value(ev: Evaluator, frame: Frame, ctype: CType, node: ir.Node) -> Value:
    """Returns the value after the body: returns of disjoint threads are put together."""
    if not frame.returns:
        return (
            Unknown.because(ReasonCode.NO_VALUE, "a function without a value")
            if not isinstance(ctype, VoidType)
            else FloatValue(ctype)
        )
    certain = [(m, v) for m, v, condition in frame.returns if condition is None]
    openly = [(v, condition) for _, v, condition in frame.returns if condition is not None]
    value: Value
    if certain:
        value = certain[-1][1]
        for mask, other in reversed(certain[:-1]):
            value = chosen(mask, other, value)
    else:
        value, _ = openly.pop()
    for (other, condition), statements in zip(openly, frame.deciding, strict=False):
        of: ir.Node = node
        if statements and not ev.policy.tracks_scev:  # their ways tell what host code returns
            *around, of = statements
            for statement in around:
                ev.policy.prefer(ev, value, other, statement)
        early = Unknown.because(
            ReasonCode.UNKNOWN_CONDITION,
            "a function returns early",
            is_data=condition.is_data,
            is_uniform=condition.is_uniform,
        )
        value = join(ev, value, other, early, of)
    if frame.returns_reference or is_reference(ctype):
        return replace(value, is_reference=True) if isinstance(value, Pointer) else value
    return convert(ev, value, ctype) if not isinstance(ctype, OpaqueType) else value
