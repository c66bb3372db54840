"""`MMA_Traits` and `Copy_Traits` that a user specializes for operations of his own."""

from __future__ import annotations

from smemlint.analysis.simt.cute.values import Converter, payload_of
from smemlint.analysis.simt.domain.ctypes import RecordType, StaticType
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.statics import static_value
from smemlint.analysis.simt.types.template_arguments import type_argument
from smemlint.layout import cute


def user_mma_op(ev: Evaluator, spelling: str) -> cute.MmaOp | None:
    """Returns the operation whose shape and layouts a specialization of `MMA_Traits` states.

    None where there is no specialization for the type, or a layout in it is not known.
    """
    traits = _specialization(ev, "MMA_Traits", spelling)
    if traits is None:
        return None
    stated = traits.statics
    shape = _payload(stated.get("Shape_MNK"))
    layouts = [_payload(stated.get(n)) for n in ("ThrID", "ALayout", "BLayout", "CLayout")]
    known = [layout for layout in layouts if isinstance(layout, cute.Layout)]
    if not isinstance(shape, tuple) or len(shape) != 3 or len(known) != len(layouts):
        return None
    convert = Converter(ev.state.domain)
    sizes = [size for size in map(convert.integer, shape) if isinstance(size, int)]
    if len(sizes) != 3:
        return None
    (m, n, k), (threads, a, b, c) = sizes, known
    return cute.MmaOp(spelling, (m, n, k), threads, a, b, c)


def user_copy_op(ev: Evaluator, spelling: str) -> cute.CopyOp | None:
    """Returns the operation whose traits a specialization of `Copy_Traits` inherits.

    None of all others: which instructions their `copy` executes is not read.
    """
    traits = _specialization(ev, "Copy_Traits", spelling)
    record = traits.record if traits is not None else None
    for base in getattr(record, "bases", ()):
        op = _payload(ev.types.spelled(base))
        if isinstance(op, cute.CopyOp):
            return op
    return None


def _specialization(ev: Evaluator, name: str, spelling: str) -> RecordType | None:
    if not ev.state.unit.records.get(name):
        return None
    operation = type_argument(ev, spelling)
    if isinstance(operation, RecordType):  # not the name that a template parameter has for it
        spelling = operation.name
    found = ev.types.record(name, (spelling,))
    return found if isinstance(found, RecordType) else None


def _payload(type_: object) -> object:
    """Returns what all objects of a type of CuTe's are; None for all others."""
    return payload_of(static_value(type_)) if isinstance(type_, StaticType) else None
