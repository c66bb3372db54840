"""Names: what an identifier stands for, from the innermost scope out."""

from __future__ import annotations

from smemlint.analysis.simt.builtins.cute_types import uses_cute
from smemlint.analysis.simt.dispatch import evaluates, locates
from smemlint.analysis.simt.domain.ctypes import (
    BOOL,
    I32,
    I64,
    NULL,
    AnonymousFloat,
    FloatType,
    IntType,
    PointerType,
    RecordType,
)
from smemlint.analysis.simt.domain.environment import CTYPES, WARP, Binding, Lazy, LValue, Variable
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    CallableValue,
    Object,
    PartialValue,
    Pointer,
    Space,
    Unknown,
    Value,
    number,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.accesses import read_lvalue
from smemlint.analysis.simt.interpreter.globals import find_global
from smemlint.analysis.simt.interpreter.lvalues import member_lvalue, variable_lvalue
from smemlint.analysis.simt.types.statics import forced, static_member
from smemlint.analysis.simt.types.type_traits import trait_value
from smemlint.frontend import ir
from smemlint.frontend.heuristics import is_warp_size
from smemlint.reasons import ReasonCode

_NUMBERS = frozenset((IntType, FloatType, AnonymousFloat))
"""Types of which a local variable holds one value, which a name reads."""


def find_binding(ev: Evaluator, name: str) -> Binding:
    """Returns what a name stands for; `Unknown` when nothing in the unit says."""
    local = ev.state.frames[-1].lookup(name)
    if local.__class__ is Variable:  # most are
        return local
    if isinstance(local, Lazy):
        local = forced(ev, name, local)
    if local is not None:
        return local
    member = _member_of_this(ev, name)
    if member is not None:
        return member
    built_in = _built_in(ev, name)
    if built_in is not None:
        return built_in
    found = _global_binding(ev, name)
    if isinstance(found, Lazy):
        found = forced(ev, name, found)
    record = ev.state.frame.record
    if found is None and record is not None:
        found = static_member(ev, record, name)  # of a base that hangs on template parameters
    if found is not None:
        return found
    ctype = ev.types.spelled(name)
    if ctype is not None:
        return ctype
    if is_warp_size(name):
        return number(WARP, I32)
    return Unknown.because(
        ReasonCode.NOT_DECLARED, f"`{name}` is not declared in what was read", is_uniform=False
    )


def _built_in(ev: Evaluator, name: str) -> Value | None:
    """Returns what a keyword or a variable of CUDA's stands for."""
    match name:
        case "true" | "false":
            return number(int(name == "true"), BOOL)
        case "nullptr":
            return number(0, NULL)
        case "NULL" | "__null":
            return number(0, I64)
        case "warpSize":
            return number(WARP, I32)
        case "threadIdx" | "blockIdx" | "blockDim" | "gridDim" | "clusterDim":
            return CallableValue(name)
        case "this" if ev.state.frame.this is not None:
            return ev.state.frame.this
    return None


def _global_binding(ev: Evaluator, name: str) -> Binding | None:
    """Returns what a name means outside of functions; traits and CuTe's templates are values."""
    found: Binding | None = None
    if "<" in name:
        is_trait = "_v<" in name or name.endswith("::value")
        if is_trait and uses_cute(ev):
            from smemlint.analysis.simt.cute.traits import cute_trait

            found = cute_trait(ev, name)
        found = found if found is not None else trait_value(ev, name)
    return found if found is not None else find_global(ev, name)


def _member_of_this(ev: Evaluator, name: str) -> Binding | None:
    """Returns a member of the object that the method works on."""
    frame = ev.state.frame
    if frame.this is not None and isinstance(frame.this.target, RecordType):
        member = frame.this.target.member(name)
        if member is not None:
            place = member_lvalue(ev, frame.this, frame.this.target, name)
            if isinstance(place, LValue):
                return Variable(
                    Object(
                        name, PointerType(place.type, True), Space.LOCAL, name, {0: place.pointer()}
                    ),
                    PointerType(place.type, True),
                )
    return None


@locates(ir.ID)
def locate_name(ev: Evaluator, node: ir.ID) -> LValue | Unknown:
    """Returns the variable that a name stands for."""
    binding = find_binding(ev, node.name)
    if binding.__class__ is Variable:
        return variable_lvalue(binding)
    if isinstance(binding, Pointer):
        return Unknown.because(ReasonCode.NO_VALUE, f"`{node.name}` is not an lvalue")
    if isinstance(binding, Unknown):
        return binding
    return Unknown.because(ReasonCode.NO_VALUE, f"`{node.name}` is no variable")


@evaluates(ir.ID)
def evaluate_name(ev: Evaluator, node: ir.ID) -> Value:
    """Returns the value of a name."""
    binding = find_binding(ev, node.name)
    if binding.__class__ is Variable:
        if binding.type.__class__ in _NUMBERS and binding.object.space is Space.LOCAL:
            value = binding.object.cells.get(0)
            if value.__class__ is AffineInt:
                if value.written is None:
                    return value
            elif value is not None and value.__class__ is not PartialValue:
                return value
        return read_lvalue(ev, variable_lvalue(binding), node)
    if isinstance(binding, CTYPES):
        return CallableValue(node.name, binding)
    return binding  # type: ignore[return-value]
