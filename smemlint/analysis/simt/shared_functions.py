"""Whether a function, or one that it calls, can touch shared memory, and which it may call."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence

from smemlint.analysis.simt.domain.ctypes import RecordType
from smemlint.analysis.simt.domain.environment import Variable
from smemlint.analysis.simt.domain.values import (
    Aggregate,
    CallableValue,
    Object,
    Pointer,
    Space,
    Value,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.frontend import ir
from smemlint.frontend.heuristics import names_shared
from smemlint.frontend.program import Declaration, Function, Record, Unit

_NAMES = frozenset(("__shared__", "ldmatrix", "__cvta_generic_to_shared"))


def shared_names(unit: Unit) -> frozenset[str]:
    """Returns the words that name shared memory: shared variables, and what leads to it."""
    return _NAMES | shared_variables(unit)


def shared_variables(unit: Unit) -> frozenset[str]:
    """Returns the names of the shared variables that stand outside of functions."""
    known = unit.memory.get("shared variables")
    if not isinstance(known, frozenset):
        declared = (d for group in unit.declarations.values() for d in group)
        known = unit.memory["shared variables"] = frozenset(
            d.name for d in declared if d.kind == "variable" and "__shared__" in d.specifiers
        )
    return known


def touches_shared(function: Function, unit: Unit) -> bool:
    """Returns whether a function, or one that it may call, names shared memory."""
    shared = shared_names(unit)
    return any(
        not words.isdisjoint(shared) or any(map(names_shared, words))
        for words in new_words(function, unit)
    )


def names_defined_in(unit: Unit, path: str) -> frozenset[str]:
    """Returns the names of the functions, records and declarations that a file of a unit has."""
    key = "names", path
    known = unit.memory.get(key)
    if known is None:
        records = (record for group in unit.records.values() for record in group)
        declared = (d for group in unit.declarations.values() for d in group)
        found: list[Function | Record | Declaration] = [*unit.functions, *records, *declared]
        known = unit.memory[key] = frozenset(
            f.name for f in found if posixpath.normpath(f.span.path) == path
        )
    return known  # type: ignore[return-value]


def new_words(function: Function, unit: Unit) -> Iterator[frozenset[str]]:
    """Yields the words of a function's text, and of all that it may call, each word once.

    What a word names may be called: functions, and the methods of a record; members where it stands
    behind an object only. Operators of the classes that parameters name may be used, and objects of
    any class called where a template parameter stands for it.
    """
    methods = _methods(unit)
    seen: set[str] = set()
    followed: set[str] = set()
    followed_as_members: set[str] = set()
    followed_as_classes: set[str] = set()
    calls_any = False
    worklist = [function]
    for current in worklist:
        new = current.words - seen
        yield new
        seen |= new
        classes = current.parameter_words - followed - followed_as_classes
        followed_as_classes |= classes
        for word in classes:
            worklist += (f for f in methods.get(word, ()) if f.name.startswith("operator"))
        is_open = not calls_any and any(p.kind != "value" for p in current.template)
        if is_open and not all(map(unit.functions_named, current.called_objects)):
            calls_any = True
            worklist += unit.functions_named("operator()")
        plain = current.words - current.member_words - followed
        followed |= plain
        for word in plain:
            worklist += unit.functions_named(word)
            worklist += methods.get(word, ())
        members = current.member_words - followed - followed_as_members
        followed_as_members |= members
        for word in members:
            worklist += (f for f in unit.functions_named(word) if f.record is not None)


def _methods(unit: Unit) -> Mapping[str, Sequence[Function]]:
    """Returns the member functions of the unit, by the names of their records."""
    known = unit.memory.get("methods")
    if known is None:
        found: dict[str, list[Function]] = {}
        for function in unit.functions:
            if function.record is not None:
                found.setdefault(function.record, []).append(function)
        known = unit.memory["methods"] = found
    return known  # type: ignore[return-value]


def leads_to_shared(ev: Evaluator, node: ir.Node) -> bool:
    """Returns whether code names shared memory, what holds its address, or what may touch it."""
    state = ev.state
    shared, this = shared_names(state.unit), state.frame.this
    for name in state.node_facts.names_in(node):
        functions = ev.policy.functions(ev, state.unit.template_arguments(name)[0])
        if name in shared or any(touches_shared(f, state.unit) for f in functions):
            return True
        binding = state.lookup(name)
        if binding is None and this is not None and isinstance(this.target, RecordType):
            binding = Variable(this.object, this.target) if this.target.member(name) else None
        if isinstance(binding, Variable):
            held = _pointed(binding.object.cells.values())
            if any(o.space is Space.SHARED for o in (binding.object, *held)):
                return True
        elif isinstance(binding, CallableValue) and binding.payload is not None:
            return True
    return any(
        isinstance(part, ir.Assembly)
        or (isinstance(part, ir.Decl) and "__shared__" in part.storage)
        for part in node.walk()
    )


def _pointed(values: Iterable[Value]) -> Iterator[Object]:
    """Yields the objects that some values, or the members of them, point to."""
    for value in values:
        if isinstance(value, Pointer):
            yield value.object
        elif isinstance(value, Aggregate):
            yield from _pointed(value.cells.values())
