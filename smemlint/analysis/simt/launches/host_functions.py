"""Executes host functions with unknown arguments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import cast

from smemlint.analysis.simt.budget import Budget, BudgetExceeded
from smemlint.analysis.simt.calls.construction import initialize_as_declared
from smemlint.analysis.simt.domain.ctypes import CType, IntType, PointerType, RecordType
from smemlint.analysis.simt.domain.environment import Geometry, LValue, Scope, Variable
from smemlint.analysis.simt.domain.trace import Trace
from smemlint.analysis.simt.domain.values import (
    ORIGIN,
    AffineInt,
    Aggregate,
    Pointer,
    Unknown,
    Value,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.frames import Frame
from smemlint.analysis.simt.interpreter.accesses import unknown_argument
from smemlint.analysis.simt.interpreter.interpreter import Interpreter
from smemlint.analysis.simt.launches.host_interpreter import HostPolicy
from smemlint.analysis.simt.state import ConstantCall
from smemlint.analysis.simt.types.overloads import parameters_of
from smemlint.analysis.simt.types.template_arguments import (
    assumed_default,
    default_scope,
    open_types,
)
from smemlint.frontend import ir
from smemlint.frontend.program import Function, Record, TemplateParameter
from smemlint.limits.budgets import MAX_HOST_STEPS, MAX_HOST_TRIPS
from smemlint.reasons import ReasonCode

_MEMBER = Unknown.because(
    ReasonCode.UNKNOWN_VALUE, "a member is known only at run time", is_uniform=True
)


def host_interpreter(policy: HostPolicy) -> Interpreter:
    """Returns an interpreter of host code: one thread, and no trace."""
    budget = Budget(max_steps=MAX_HOST_STEPS, max_trips=MAX_HOST_TRIPS)
    unit = policy.linked[0]
    ev = Interpreter(unit, _one_thread(), Trace(1), policy, domain=policy.domain, budget=budget)
    calls: dict[tuple[object, ...], ConstantCall] = unit.memory.setdefault(  # type: ignore[assignment]
        "constant calls of host code", {}
    )
    ev.state.constant_calls = calls
    return ev


@cache
def _one_thread() -> Geometry:
    """Returns the block of host code, the same for all runs, whose constant calls are alike."""
    return Geometry.of((1, 1, 1))


def execute_host_function(policy: HostPolicy, function: Function, template: Scope) -> bool:
    """Executes a host function with unknown arguments; returns whether to its end."""
    tree = function.parse().tree
    if tree is None:
        return True
    ev = host_interpreter(policy)
    state = ev.state
    scope = {**default_scope(ev, function), **template}
    for parameter in function.template:
        if parameter.name in scope and parameter.name not in template:
            policy.defaults.setdefault(assumed_default(parameter))
    place = function.scope
    state.frames = [Frame(function.name, [scope, {}], place=place)]
    record = _class_of(ev, function, scope)
    if record is not None:
        this = state.new_local("this", record, f"{function.name}.this")
        this.is_given, this.default = True, _MEMBER
        state.frames = [
            Frame(function.name, [scope, {}], Pointer(this, ORIGIN, record), record, place)
        ]
    try:
        if record is not None:
            _initialize_constants(ev, record, LValue(this, ORIGIN, record))
        of_class = _class_template(ev, function) if record is None else ()
        hidden = open_types((*of_class, *function.template), scope)
        state.frame.scopes[-1].update(hidden)
        state.frame.scopes[-1].update(_open_numbers(ev, function, scope))
        for param in parameters_of(tree):
            if param.name:
                ctype = ev.types.resolve(param.type)
                value = _given_value(ev, ctype, f"{function.name}.{param.name}", param.name)
                policy.valuation.given.update(_keys_of(value))
                obj = state.new_local(param.name, ctype, param.name, value)
                state.bind(param.name, Variable(obj, ctype))
        ev.execute(tree.body)
        policy.on_end(ev)
    except (BudgetExceeded, RecursionError):
        return False
    finally:
        policy.steps = state.budget.steps
        state.sums.awaiting.clear()  # calls that were cut hold the evaluation
    return not function.parse().dropped


def _initialize_constants(ev: Evaluator, ctype: RecordType, place: LValue) -> None:
    """Gives the constant members of an object their declared values, where it has no others.

    Every constructor is defined in the class and leaves them alone; where there is none, an object
    may be made of a list.
    """
    record = cast("Record", ctype.record)
    makers = [f for f in ev.policy.functions(ev, ctype.name) if f.record == ctype.name]
    declared = ev.state.unit.prototypes(ctype.name)
    if not makers or any(p.scope[-1:] == (ctype.name,) for p in declared):
        return
    trees = [getattr(maker.parse().tree, "body", None) for maker in makers]
    lists = [item for tree in trees for item in getattr(tree, "block_items", ())]
    named = {name for item in lists if isinstance(item, ir.OtherMembers) for name in item.named}
    for decl in getattr(record.parse(), "decls", None) or ():
        if not isinstance(decl, ir.Decl) or decl.init is None or "const" not in decl.quals:
            continue
        member = ctype.member(decl.name) if decl.name in ctype.initial.keys() - named else None
        if member is not None and isinstance(member.type, IntType):
            initialize_as_declared(ev, place, ctype, member, decl.init)


def _given_value(ev: Evaluator, ctype: CType, key: str, name: str) -> Value:
    """Returns what is known of an argument: its type; of an object that it leads to, its own."""
    target = ctype.target if isinstance(ctype, PointerType) else None
    if not isinstance(target, RecordType) or target.record is None:
        return unknown_argument(ev, ctype, key, name)
    scalars = [m for m in target.members if m.name and isinstance(m.type, IntType | PointerType)]
    cells = {
        m.offset: unknown_argument(ev, m.type, f"{key}.{m.name}", f"{name}.{m.name}")
        for m in scalars
    }
    obj = ev.state.new_local(name, target, key, Aggregate(target, cells))
    obj.is_given, obj.default = True, _MEMBER
    return Pointer(obj, ORIGIN, target)


def _keys_of(value: Value) -> Iterator[str]:
    """Yields the keys of the numbers that a value holds."""
    if isinstance(value, AffineInt):
        yield from (symbol.key for symbol, _ in value.terms)
    if isinstance(value, Aggregate | Pointer):
        cells = value.cells if isinstance(value, Aggregate) else value.object.cells
        for held in cells.values():
            yield from _keys_of(held)


def _open_numbers(ev: Evaluator, function: Function, scope: Scope) -> Scope:
    """Returns an unknown for each number among the template parameters that nothing tells.

    What launches pass on, and what their blocks are made of, is then seen to be one number.
    """
    numbers: Scope = {}
    for parameter in (*function.template, *_class_template(ev, function)):
        is_number = parameter.kind == "value" and not parameter.is_pack and parameter.name
        ctype = ev.types.spelled(parameter.type) if is_number else None
        if isinstance(ctype, IntType) and not ctype.is_bool and parameter.name not in scope:
            key = f"{function.name}<{parameter.name}>"
            numbers[parameter.name] = ev.state.domain.symbol(key, parameter.name, ctype)
    return numbers


def _class_template(ev: Evaluator, function: Function) -> Sequence[TemplateParameter]:
    """Returns the template parameters of the class that a method stands in."""
    record = ev.state.unit.records.get(function.record or "", ())
    return record[0].template if record else ()


def _class_of(ev: Evaluator, function: Function, scope: Scope) -> RecordType | None:
    """Returns the class of a method, by the template arguments of a scope; None where it is open.

    A method calls others of its class without naming the object.
    """
    if function.record is None:
        return None
    records = ev.state.unit.records.get(function.record, ())
    names = [p.name for p in records[0].template] if records else []
    if any(name not in scope for name in names):
        return None
    ctype = ev.types.spelled(f"{function.record}<{', '.join(names)}>" if names else function.record)
    return ctype if isinstance(ctype, RecordType) and ctype.record is not None else None
