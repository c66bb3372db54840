"""Candidates of a call: the definitions that its name and number of arguments may mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from smemlint.analysis.simt.domain.ctypes import RecordType
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.overloads import members_of, signature_of
from smemlint.frontend import ir
from smemlint.frontend.program import Function, Record


def takes_by_value(ev: Evaluator, callee: str, index: int) -> bool:
    """Returns whether no function of that name takes its argument at this index by reference."""
    name, _ = ev.state.unit.template_arguments(callee)
    for function in ev.policy.functions(ev, name):
        params = signature_of(function).parameters
        if index >= len(params) or not isinstance(params[index].type, ir.TypeDecl):
            return False
    return True


def with_bases(record: RecordType) -> Iterator[RecordType]:
    """Yields a class, then those of its bases that were read; they may be template arguments."""
    return (ctype for ctype in record.with_bases() if ctype is record or ctype.record is not None)


def find_candidates(
    ev: Evaluator, name: str, owner: RecordType | None, node: ir.FuncCall
) -> list[Function]:
    """Returns the definitions that take this many arguments, as members of a class or free."""
    state = ev.state
    key = (name, owner.record if owner is not None else None, len(node.args))
    if key not in state.definitions:
        state.definitions[key] = _definitions(ev, *key)
    return _nearest(ev, state.definitions[key], node)


def _definitions(ev: Evaluator, name: str, record: object, count: int) -> list[Function]:
    named: Iterable[Function] = ev.policy.functions(ev, name)
    if record is None:
        named = [f for f in named if f.record is None]
    else:
        named = members_of(cast("Record", record), named)
    found = []
    for function in named:
        signature = signature_of(function)
        if not function.is_kernel and signature.least <= count <= signature.most:
            found.append(function)
    return [f for f in found if f.is_device] or found


def _nearest(ev: Evaluator, found: list[Function], node: ir.FuncCall) -> list[Function]:
    """Returns the functions of the namespace that the call names or stands in.

    `::f(x)` names the outermost one. Where several are left, those of the call's file are meant.
    """
    spelling = node.name.name if isinstance(node.name, ir.ID) else ""
    if "cute::" in spelling:
        qualifier = spelling.split("<", 1)[0].rpartition("::")[0]
        if qualifier.strip(":") == "cute":
            return [f for f in found if "cute" in f.scope]
    if len(found) < 2:
        return found
    if spelling:
        meant = functions_meant(ev, found, spelling)
        if len(meant) < len(found):
            return meant
    if len({f.scope for f in found}) < 2:
        return found
    file = ev.state.unit.span(node).path
    return [f for f in found if f.span.path == file] or found


def functions_meant(ev: Evaluator, found: Sequence[Function], spelling: str) -> list[Function]:
    """Returns those of some functions of one name that a spelling means where it stands."""
    scopes = frozenset(f.scope for f in found)
    if len(scopes) < 2:
        return list(found)
    path = tuple(spelling.split("<", 1)[0].split("::"))
    if not path[0]:  # `::f`
        meant = scopes & {path[1:-1]} or scopes
    else:
        meant = ev.state.unit.scopes_meant(scopes, path, ev.state.place)
    return [f for f in found if f.scope in meant]
