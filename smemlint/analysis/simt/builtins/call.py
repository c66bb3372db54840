"""Calls built-in functions: CUDA's, CuTe's, vector constructors."""

from __future__ import annotations

from smemlint.analysis.simt.builtins import (
    async_copies,
    atomic_functions,
    containers,
    cooperative_groups,
    ends,
    intrinsics,
    math_functions,
    memory_functions,
    python_operators,
    warp_functions,
    wmma,
)
from smemlint.analysis.simt.builtins.cute_front import call_cute
from smemlint.analysis.simt.builtins.cute_types import uses_cute
from smemlint.analysis.simt.builtins.table import BUILTINS, KEEPING_STORES, BuiltinCall, is_reserved
from smemlint.analysis.simt.builtins.tuples import call_tuple
from smemlint.analysis.simt.calls.candidates import LIBRARIES, find_candidates, may_be_of_argument
from smemlint.analysis.simt.calls.construction import construct
from smemlint.analysis.simt.calls.operands import argument_values, operand_of
from smemlint.analysis.simt.domain.ctypes import FloatType, IntType, RecordType, unreferenced
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    FloatValue,
    LanePredicate,
    Unknown,
    Value,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.builtin_types import NAMED
from smemlint.analysis.simt.types.overloads import signature_of
from smemlint.analysis.simt.types.template_arguments import type_argument
from smemlint.frontend import ir
from smemlint.frontend.program import Function
from smemlint.reasons import Reason, ReasonCode

TABLES = (
    async_copies, atomic_functions, containers, cooperative_groups, ends, intrinsics,
    math_functions, memory_functions, python_operators, warp_functions, wmma,
)  # fmt: skip
"""The modules whose functions are built-ins; they register when they are imported."""


def call_builtin(
    ev: Evaluator,
    name: str,
    template_arguments: tuple[str, ...],
    node: ir.FuncCall,
    *,
    is_used: bool,
) -> Value | None:
    """Returns the value of a built-in function; None where the name is none.

    Args:
        ev: the evaluator.
        name: of the function, without its namespace.
        template_arguments: as the call spells them.
        node: the call.
        is_used: whether anything reads the value.
    """
    state = ev.state
    limit = numeric_limit(ev, name)
    if limit is not None:
        return limit
    last = name.rsplit("::", 1)[-1]
    found = BUILTINS.get(last)
    if found is None:
        vector = NAMED.get(last[5:]) if last.startswith("make_") else None
        if isinstance(vector, RecordType) and not find_candidates(ev, last, None, node):
            return construct(ev, vector, node.args, node)
        value = None if uses_cute(ev) else call_tuple(ev, name, template_arguments, node)
        return value if value is not None else call_cute(ev, name, template_arguments, node)
    is_overloaded = not is_reserved(last) and _may_mean(ev, name)
    is_own = found.is_scoped and name == last and bool(find_candidates(ev, last, None, node))
    is_elsewhere = is_own or state.frame.name.split(":", 1)[0] != last
    if is_overloaded and is_elsewhere and not _takes_numbers(ev, last, node):
        return None  # an overload for vectors calls the built-in one for scalars
    if len(node.args) < found.least:
        argument_values(ev, node)
        return ev.state.note_unfollowed(
            node, Reason(ReasonCode.NOT_MODELLED, f"`{last}` is called with too few arguments")
        )
    result = found.evaluate(ev, BuiltinCall(last, template_arguments, node, is_used))
    if last in KEEPING_STORES:
        ev.state.trace.meet_effect(returns=last != "__trap")
    if isinstance(result, LanePredicate):  # an argument's: it is no truth value any more
        return Unknown(result.reason, result.is_data)
    return result


def _may_mean(ev: Evaluator, name: str) -> bool:
    """Returns whether the name of a built-in function may mean one of the program's.

    A program defines none in a library, and `::max` is none of a namespace; nor is `max`
    where no scope in sight has another than the built-in one, and no argument may be of a class.
    """
    *qualifier, last = name.split("::")
    may_be_member = bool(qualifier) or ev.state.frame.record is not None
    found = [f for f in ev.policy.functions(ev, last) if may_be_member or f.record is None]
    scopes = frozenset(f.scope for f in found)
    if qualifier == [""]:
        return () in scopes
    if qualifier or not scopes or () in scopes:
        return any(LIBRARIES.intersection(qualifier).issubset(scope) for scope in scopes)
    if any(may_be_of_argument(ev, f) for f in found):
        return True
    return ev.state.unit.scopes_in_sight(scopes | {()}, (last,), ev.state.place) != {()}


def _takes_numbers(ev: Evaluator, name: str, node: ir.FuncCall) -> bool:
    """Returns whether a call passes a number, and all definitions of its name take vectors.

    No number becomes a `float3`. Types are asked of arguments that are places, which no read tells.
    """
    found = find_candidates(ev, name, None, node)
    if not found or not all(_takes_vector(ev, f) for f in found):
        return False
    types = (unreferenced(operand_of(ev, a).type) for a in node.args if _is_plain_place(a))
    return isinstance(next(types, None), IntType | FloatType)


def _takes_vector(ev: Evaluator, function: Function) -> bool:
    classes = map(ev.types.spelled, filter(None, signature_of(function).classes))
    return any(isinstance(c, RecordType) and c.record is None for c in classes)


def _is_plain_place(node: ir.Node) -> bool:
    """Returns whether an argument is a place that is found without reading another element."""
    parts = list(node.walk())
    elements = sum(isinstance(part, ir.ArrayRef) for part in parts)
    plain = all(isinstance(part, (*_PLACES, ir.BinaryOp, ir.Constant)) for part in parts)
    return isinstance(node, _PLACES) and plain and elements <= 1


_PLACES = (ir.ID, ir.ArrayRef, ir.StructRef)
_MEMBERS = frozenset(("max", "min", "lowest", "epsilon", "infinity", "quiet_NaN", "denorm_min"))


def numeric_limit(ev: Evaluator, name: str) -> Value | None:
    """Returns what `numeric_limits<T>::max()` and the like give; None for another name."""
    prefix, _, member = name.rpartition("::")
    if member not in _MEMBERS or "numeric_limits" not in prefix:
        return None
    owner, arguments = ev.state.unit.template_arguments(prefix)
    if owner.rpartition("::")[2] != "numeric_limits" or len(arguments) != 1:
        return None
    ctype = type_argument(ev, arguments[0])
    if isinstance(ctype, FloatType):
        return FloatValue(ctype)
    if not isinstance(ctype, IntType):
        return Unknown.because(ReasonCode.UNKNOWN_TYPE, f"`{arguments[0]}` is not known")
    bits = 1 if ctype.is_bool else ctype.bits - ctype.signed
    extremes = {"max": (1 << bits) - 1, "min": -(1 << bits) * ctype.signed}
    extremes["lowest"] = extremes["min"]
    return AffineInt(extremes.get(member, 0), ctype)
