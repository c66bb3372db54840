"""Candidates of a call: the definitions that its name and number of arguments may mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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

    `::f(x)` names the outermost one.
    """
    spelling = getattr(node.name, "name", "")
    prefix = spelling.split("<", 1)[0].rpartition("::")[0] if isinstance(spelling, str) else ""
    if prefix.strip(":") == "cute":
        return [f for f in found if "cute" in f.scope]
    if len({f.scope for f in found}) < 2:
        return found
    if prefix:
        expected = tuple(prefix.strip(":").split("::"))
        named = [f for f in found if f.scope[-len(expected) :] == expected]
        return named or found
    if isinstance(spelling, str) and spelling.startswith("::"):
        return [f for f in found if not f.scope] or found
    path = ev.state.unit.span(node).path
    return [f for f in found if f.span.path == path] or found
