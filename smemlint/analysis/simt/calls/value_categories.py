"""Value categories: which overloads with a `&` or `&&` behind their parameters an object calls."""

from __future__ import annotations

from smemlint.analysis.simt.domain.ctypes import RecordType
from smemlint.analysis.simt.domain.environment import Variable
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.overloads import signature_of
from smemlint.frontend import ir
from smemlint.frontend.program import Function

_QUALIFIERS = frozenset(("&", "&&"))


def of_category(ev: Evaluator, found: list[Function], node: ir.FuncCall) -> list[Function]:
    """Returns the methods that the object of a call may call; none where that is not known."""
    found = _of_constancy(ev, found, node)
    if all(_QUALIFIERS.isdisjoint(f.specifiers) for f in found):
        return found
    of = node.name.name if isinstance(node.name, ir.StructRef) and node.name.type == "." else None
    is_temporary = False if of is None else _is_temporary(ev, of)
    if is_temporary is None:
        return []
    if not is_temporary:
        return [f for f in found if "&&" not in f.specifiers]
    of_lvalues = [f for f in found if "&" in f.specifiers and "const" not in f.specifiers]
    moving = [f for f in found if "&&" in f.specifiers]
    return moving or [f for f in found if f not in of_lvalues]


def _of_constancy(ev: Evaluator, found: list[Function], node: ir.FuncCall) -> list[Function]:
    """Returns the methods that a variable may call that is known to be constant, or not to be.

    One that is not calls a constant method where no other takes the same.
    """
    constant = [f for f in found if "const" in f.specifiers]
    of = node.name.name if isinstance(node.name, ir.StructRef) and node.name.type == "." else None
    variable = ev.state.lookup(of.name) if isinstance(of, ir.ID) else None
    if not constant or len(constant) == len(found) or not isinstance(variable, Variable):
        return found
    if variable.is_constant is None:
        return found
    if variable.is_constant:
        return [f for f in found if f in constant or "static" in f.specifiers]
    others = [signature_of(f) for f in found if f not in constant]
    taken = {(signature.shapes, signature.classes) for signature in others}
    kinds = {f: signature_of(f) for f in constant}
    return [f for f in found if f not in kinds or (kinds[f].shapes, kinds[f].classes) not in taken]


def _is_temporary(ev: Evaluator, node: ir.Node) -> bool | None:
    """Returns whether an expression is an rvalue; None where that is not known."""
    if isinstance(node, ir.Construct):
        return True
    if not isinstance(node, ir.FuncCall):
        return False if isinstance(node, ir.ID | ir.StructRef | ir.ArrayRef | ir.UnaryOp) else None
    callee = node.name.field if isinstance(node.name, ir.StructRef) else node.name
    if not isinstance(callee, ir.ID):
        return None
    last = ev.state.unit.template_arguments(callee.name)[0].rpartition("::")[2]
    if last == "move" or isinstance(ev.types.spelled(callee.name), RecordType):
        return True
    called = of_category(ev, list(ev.policy.functions(ev, last)), node)
    kinds = set(map(_gives_temporary, called))
    return kinds.pop() if len(kinds) == 1 else None


def _gives_temporary(function: Function) -> bool | None:
    """Returns whether a call of a function is an rvalue; None where that is not known."""
    tree = function.parse_head().tree
    result = tree.type.type if tree is not None else None
    qualifiers = getattr(result, "quals", ()) if isinstance(result, ir.PtrDecl) else ()
    return None if result is None else "&" not in qualifiers
