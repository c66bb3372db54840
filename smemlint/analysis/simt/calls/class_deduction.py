"""Template arguments of a class that a declaration leaves out: `Buffer b(smem, Int<2>{});`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from smemlint.analysis.simt.calls.deduction import deduce
from smemlint.analysis.simt.calls.operands import operand_of
from smemlint.analysis.simt.domain.ctypes import CType, RecordType
from smemlint.analysis.simt.domain.environment import Scope
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.overloads import members_of, signature_of
from smemlint.analysis.simt.types.records import record_type
from smemlint.analysis.simt.types.template_arguments import bindings_text, template_scope
from smemlint.frontend import ir
from smemlint.frontend.program import Record


def deduced_class(ev: Evaluator, ctype: RecordType, arguments: Sequence[ir.Expression]) -> CType:
    """Returns a class with the template arguments that its constructor's arguments determine.

    Those of an aggregate are its members, as a deduction guide would have it. The class itself
    where an argument does more than to name and to make values: it is evaluated here and again for
    the constructor.
    """
    record = cast("Record | None", ctype.record)
    if record is None or ctype.arguments or not _is_open(record, ctype):
        return ctype
    if not arguments or not all(map(_has_no_effect, arguments)):
        return ctype
    operands = [operand_of(ev, argument) for argument in arguments]
    found: dict[str, Scope] = {}
    for params in _parameter_lists(ev, record, len(arguments)):
        scope: Scope = {}
        deduce(ev, record.template, params, operands, scope)
        defaults = template_scope(ev, record.template, (), record.scope)
        scope = {**defaults, **scope}
        if all(p.name in scope for p in record.template):
            found[bindings_text(scope)] = scope
    if len(found) != 1:
        return ctype
    (scope,) = found.values()
    return record_type(ev, record, scope, ())


def _is_open(record: Record, ctype: RecordType) -> bool:
    """Returns whether arguments of a class template are left out, and none is a pack."""
    if any(p.is_pack or not p.name for p in record.template):
        return False
    return any(p.default is None and p.name not in ctype.statics for p in record.template)


def _parameter_lists(ev: Evaluator, record: Record, count: int) -> list[Sequence[ir.Decl]]:
    """Returns the parameters of constructors that take so many arguments, or members in order."""
    constructors = members_of(record, ev.policy.functions(ev, record.name))
    signatures = [signature_of(each) for each in constructors]
    if signatures:
        return [s.parameters for s in signatures if s.least <= count <= s.most]
    tree = record.parse()
    declarations = getattr(tree, "decls", None) or ()
    members = [d for d in declarations if isinstance(d, ir.Decl) and d.name and not d.storage]
    return [members] if count <= len(members) and not record.bases else []


def _has_no_effect(node: ir.Node) -> bool:
    """Returns whether an expression only names and makes values."""
    made = (
        ir.ID, ir.Constant, ir.Construct, ir.StructRef, ir.TypeDecl, ir.IdentifierType, ir.Typename,
    )  # fmt: skip
    return all(isinstance(each, made) or _makes_pointer(each) for each in node.walk())


def _makes_pointer(node: ir.Node) -> bool:
    if isinstance(node, ir.UnaryOp):
        return node.op in ("&", "-", "+")
    if not isinstance(node, ir.FuncCall) or not isinstance(node.name, ir.ID):
        return False
    return node.name.name.rpartition("::")[2].startswith("make_")
