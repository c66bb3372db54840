"""`wmma::load_matrix_sync` and `store_matrix_sync`: the accesses of fragments of a shared tile."""

from __future__ import annotations

import numpy as np

from smemlint.analysis.simt.builtins.table import BuiltinCall, builtin
from smemlint.analysis.simt.domain.ctypes import I64, CType, FloatType, IntType, OpaqueType
from smemlint.analysis.simt.domain.environment import WARP, LValue
from smemlint.analysis.simt.domain.scev import atom
from smemlint.analysis.simt.domain.values import AffineInt, Pointer, Space, Unknown, Value, number
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.accesses import emit_event
from smemlint.analysis.simt.types.template_arguments import type_argument, value_argument
from smemlint.facts import FRAGMENT, AccessKind
from smemlint.frontend import ir
from smemlint.layout.wmma import Fragment, Part, parts_of
from smemlint.reasons import Reason, ReasonCode

_FLOATS = {"half": "f16", "__nv_bfloat16": "bf16", "tf32": "tf32", "float": "f32", "double": "f64"}
_INTEGERS = {1: "i8", 4: "i32"}
_PRECISIONS = {"tf32": "tf32", "b1": "b1", "u4": "i4", "s4": "i4"}
_BYTE, _WORD = 8, 32


@builtin("load_matrix_sync", least=3)
def load_fragment(ev: Evaluator, call: BuiltinCall) -> Value:
    """Records the shared accesses of a fragment's load."""
    return _move(ev, call.node, is_store=False)


@builtin("store_matrix_sync", least=3)
def store_fragment(ev: Evaluator, call: BuiltinCall) -> Value:
    """Records the shared accesses of a fragment's store."""
    return _move(ev, call.node, is_store=True)


def _move(ev: Evaluator, node: ir.FuncCall, *, is_store: bool) -> Value:
    """Records the shared accesses of a fragment's load or store."""
    exprs = node.args
    target, source = (exprs[1], exprs[0]) if is_store else (exprs[0], exprs[1])
    value, pointer, pitch = ev.lvalue(target), ev.evaluate(source), ev.evaluate(exprs[2])
    if not isinstance(pointer, Pointer) or pointer.object.space is not Space.SHARED:
        return number(0)
    order = _last_word(exprs[3]).removeprefix("mem_") if len(exprs) > 3 else ""
    fragment = fragment_of(ev, value, order)
    parts = parts_of(fragment) if fragment is not None else []
    if fragment is None or not parts:
        what = "store_matrix_sync" if is_store else "load_matrix_sync"
        ev.state.note_unfollowed(
            node,
            Reason(
                ReasonCode.NOT_MODELLED,
                f"how `{what}` spreads this fragment over the lanes is not modelled",
            ),
        )
        return number(0)
    for part in parts:
        offset = _offset(ev, pointer, pitch, part, fragment.bits)
        kind = AccessKind.STORE if is_store else AccessKind.LOAD
        kind = AccessKind.LDMATRIX if part.matrices else kind
        emit_event(ev, 
            kind, pointer.object, offset, part.width, node,
            matrices=part.matrices, operation=FRAGMENT, volatile=True,
        )  # fmt: skip
    return number(0)


def fragment_of(ev: Evaluator, value: LValue | Unknown, order: str = "") -> Fragment | None:
    """Returns a place's fragment, of an accumulator in that order; None where its type hides it."""
    if isinstance(value, Unknown) or not isinstance(value.type, OpaqueType):
        return None
    name, arguments = ev.state.unit.template_arguments(value.type.spelling)
    if name.rsplit("::", 1)[-1] != "fragment" or len(arguments) < 5:
        return None
    sizes = [value_argument(ev, a) for a in arguments[1:4]]
    shape = tuple(s.constant for s in sizes if isinstance(s, AffineInt) and s.constant is not None)
    if len(shape) != 3:
        return None
    scope, _, precision = arguments[4].replace(" ", "").rpartition("::")
    if scope.endswith("precision"):
        spelled = _PRECISIONS.get(precision, "")
    else:
        spelled = _element(type_argument(ev, arguments[4]))
    if not spelled:
        return None
    layout = arguments[5].rsplit("::", 1)[-1].strip() if len(arguments) > 5 else order
    use = arguments[0].rsplit("::", 1)[-1].strip()
    return Fragment(use, (shape[0], shape[1], shape[2]), spelled, layout)


def _element(element: CType | None) -> str:
    if isinstance(element, FloatType):
        return _FLOATS.get(element.name, "")
    return _INTEGERS.get(element.size, "") if isinstance(element, IntType) else ""


def _offset(
    ev: Evaluator, pointer: Pointer, pitch: Value, part: Part, bits: int
) -> AffineInt | Unknown:
    """Computes the bytes of each lane: pointer + (line * pitch + place) * bits / 8."""
    if not isinstance(pitch, AffineInt):
        return (
            pitch
            if isinstance(pitch, Unknown)
            else Unknown.because(ReasonCode.UNKNOWN_VALUE, "the leading dimension is unknown")
        )
    warps = len(ev.state.geometry.linear) // WARP
    lines = AffineInt(np.tile(part.lines, warps), I64, form=atom("wmma line", is_divergent=True))
    places = AffineInt(
        np.tile(part.places * bits // _BYTE, warps), I64, form=atom("wmma place", is_divergent=True)
    )
    domain = ev.state.domain
    along = domain.multiply(
        AffineInt(pitch.base, I64, pitch.terms, pitch.form), AffineInt(bits, I64)
    )
    # Of less than a byte a row begins at a word: of 44 four-bit integers five (nvcc 13.5, sm_90).
    unit = _BYTE if bits >= _BYTE else _WORD
    if not isinstance(along, Unknown):
        along = domain.divide(along, AffineInt(unit, I64))
    if not isinstance(along, Unknown):
        along = domain.multiply(along, AffineInt(unit // _BYTE, I64))
    rows = along if isinstance(along, Unknown) else domain.multiply(lines, along)
    if isinstance(rows, Unknown):
        return rows
    return domain.add(pointer.offset, domain.add(rows, places))


def _last_word(node: ir.Node) -> str:
    name = getattr(node, "name", "")
    return name.rsplit("::", 1)[-1] if isinstance(name, str) else ""
