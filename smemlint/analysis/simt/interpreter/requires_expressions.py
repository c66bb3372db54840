"""`requires { s->member; }`: whether a class has what an `if constexpr` asks for."""

from __future__ import annotations

from typing import cast

from smemlint.analysis.simt.calls.candidates import with_bases
from smemlint.analysis.simt.dispatch import evaluates
from smemlint.analysis.simt.domain.ctypes import CType, PointerType, RecordType
from smemlint.analysis.simt.domain.environment import Variable
from smemlint.analysis.simt.domain.values import Unknown, Value, number
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.frontend import ir
from smemlint.frontend.program import Record
from smemlint.reasons import ReasonCode


@evaluates(ir.Requires)
def evaluate_requires(ev: Evaluator, node: ir.Requires) -> Value:
    """Returns 1 where a class that was read has all members that are named, 0 where it lacks one.

    Nothing that stands in the braces is evaluated.
    """
    answers = [_has_member(ev, part) for part in node.args]
    if False in answers:
        return number(0)
    if answers and None not in answers:
        return number(1)
    text = f"whether `{ev.state.source_text(node)}` holds is not known"
    return Unknown.because(ReasonCode.NOT_MODELLED, text, is_uniform=True)


def _has_member(ev: Evaluator, part: ir.Expression) -> bool | None:
    if not isinstance(part, ir.StructRef) or not isinstance(part.name, ir.ID):
        return None
    variable = ev.state.lookup(part.name.name)
    ctype = _class_of(variable.type) if isinstance(variable, Variable) else None
    if ctype is None or ctype.record is None:
        return None
    name = part.field.name
    if ctype.member(name) is not None or any(_has_static(k, name) for k in with_bases(ctype)):
        return True
    return False if _are_bases_read(ctype) else None


def _has_static(ctype: RecordType, name: str) -> bool:
    """Returns whether a class has a static member of its own, be it defined in the class or not."""
    record = cast("Record | None", ctype.record)
    tree = record.parse() if record is not None else None
    declared = tree.decls if tree is not None else None
    return name in ctype.statics or any(getattr(d, "name", None) == name for d in declared or ())


def _class_of(ctype: CType) -> RecordType | None:
    while isinstance(ctype, PointerType):
        ctype = ctype.target
    return ctype if isinstance(ctype, RecordType) else None


def _are_bases_read(ctype: RecordType) -> bool:
    return all(map(_are_direct_bases_read, with_bases(ctype)))


def _are_direct_bases_read(ctype: RecordType) -> bool:
    record = cast("Record", ctype.record)
    return sum(base.record is not None for base in ctype.bases) >= len(record.bases)
