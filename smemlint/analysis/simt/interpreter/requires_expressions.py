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
    asked = part.name if isinstance(part, ir.FuncCall) else part
    ctype: CType | None = None
    if isinstance(asked, ir.StructRef) and isinstance(asked.name, ir.ID):
        variable = ev.state.lookup(asked.name.name)
        ctype = variable.type if isinstance(variable, Variable) else None
        name = asked.field.name
    elif isinstance(asked, ir.ID):
        owner, _, name = asked.name.rpartition("::")
        ctype = ev.types.spelled(owner) if owner else None
    return None if ctype is None else has_name(ev, ctype, name)


def has_name(ev: Evaluator, ctype: CType, name: str) -> bool | None:
    """Returns whether a class has a member, a method or a type of a name; None where not known."""
    record = _class_of(ctype)
    if record is None or record.record is None:
        return None
    classes = list(with_bases(record))
    if record.member(name) is not None or any(_has_static(k, name) for k in classes):
        return True
    scopes = {(*cast("Record", k.record).scope, k.name) for k in classes}
    nested = ev.state.unit.records.get(name, ())
    functions = ev.policy.functions(ev, name)
    if any(r.scope in scopes for r in nested) or any(f.scope in scopes for f in functions):
        return True
    if any(p.scope in scopes for p in ev.state.unit.prototypes(name)):
        return True
    return False if _are_bases_read(record) else None


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
