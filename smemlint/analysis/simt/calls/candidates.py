"""Candidates of a call: the definitions that its name and number of arguments may mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from smemlint.analysis.simt.calls.value_categories import of_category
from smemlint.analysis.simt.domain.ctypes import RecordType
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.overloads import members_of, signature_of, unqualified
from smemlint.frontend import ir
from smemlint.frontend.program import Function, Record, ScopedT
from smemlint.reasons import Assumption, Topic

LIBRARIES = frozenset(("std", "cute", "cutlass"))
"""Namespaces of names that no function of another one is meant by."""


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
    return of_category(ev, _nearest(ev, state.definitions[key], node), node)


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
    library = next(filter(None, _path(spelling)[:-1]), "")
    if library in LIBRARIES:
        return [f for f in found if library in f.scope]
    if ev.policy.tracks_scev:
        _note_guess(ev, found, node)
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


def _note_guess(ev: Evaluator, found: Sequence[Function], node: ir.FuncCall) -> None:
    """Notes that a call is taken to mean a function that no scope in sight has.

    It may be one of a class that an argument has the type of, whose namespace is searched too.
    """
    spelling = node.name.name if isinstance(node.name, ir.ID) else ""
    path = _path(spelling)
    scopes = frozenset(f.scope for f in found)
    unit = ev.state.unit
    is_written = path[-1] in ev.state.source_text(node)  # no function that a variable holds
    if not found or found[0].record is not None or not path[0] or not is_written:
        return
    if unit.scopes_in_sight(scopes, path, ev.state.place) or any(
        may_be_of_argument(ev, f) for f in found
    ):
        return
    meant = "::".join((*found[0].scope, found[0].name))
    text = f"`{spelling}` is `{meant}`, which is not in sight"
    ev.state.guessed.setdefault(Assumption(Topic.NAME, text, spelling))


def may_be_of_argument(ev: Evaluator, function: Function) -> bool:
    """Returns whether a function takes a class of its own namespace, or one that is open."""
    records = ev.state.unit.records
    parameters = {p.name for p in function.template}
    classes = [unqualified(c) for c in signature_of(function).classes if c]
    return any(
        name in parameters or any(r.scope == function.scope for r in records.get(name, ()))
        for name in classes
    )


def _path(spelling: str) -> tuple[str, ...]:
    return tuple(spelling.split("<", 1)[0].split("::"))


def functions_meant(ev: Evaluator, found: Sequence[ScopedT], spelling: str) -> list[ScopedT]:
    """Returns those of some functions of one name that a spelling means where it stands."""
    scopes = frozenset(f.scope for f in found)
    if len(scopes) < 2:
        return list(found)
    path = _path(spelling)
    if not path[0]:  # `::f`
        meant = scopes & {path[1:-1]} or scopes
    else:
        meant = ev.state.unit.scopes_meant(scopes, path, ev.state.place)
    return [f for f in found if f.scope in meant]
