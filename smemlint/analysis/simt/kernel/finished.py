"""What an evaluation that a limit ended had finished by then.

The statements of a kernel's body run one after the other, each once: accesses of those in front of
the one under way are complete, unless what follows may call the function that makes them, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from smemlint.analysis.simt.domain.trace import Event
from smemlint.frontend import ir
from smemlint.frontend.program import Unit

_WORD = re.compile(r"\w+")


def finished_accesses(
    unit: Unit, body: ir.Compound, events: Sequence[Event], under_way: ir.Node | None
) -> frozenset[ir.Node]:
    """Returns the expressions whose accesses are all among the events.

    Args:
        unit: of the kernel.
        body: of the kernel.
        events: all that were recorded before the evaluation ended.
        under_way: the statement that was begun last, of any depth in the body.
    """
    items = body.block_items
    numbers = {node: k for k, item in enumerate(items) for node in _below(item)}
    if under_way is None or any(isinstance(node, ir.Goto) for node in numbers):
        return frozenset()
    reached = numbers.get(under_way, 0)
    following = _reachable(unit, items[reached:])
    open_nodes = {
        event.node
        for event in events
        if numbers.get(_outermost(event), reached) >= reached
        or not following.isdisjoint(_called(event))
    }
    return frozenset(event.node for event in events) - open_nodes


def _outermost(event: Event) -> ir.Node:
    """Returns where in the kernel's own body an access is made."""
    return event.callers[-1][1] if event.callers else event.node


def _called(event: Event) -> set[str]:
    """Returns the names of the functions that are under way where an access is made."""
    return {word for _, call in event.callers for word in _own_words(call)}


def _own_words(call: ir.Node) -> list[str]:
    callee = call.name if isinstance(call, ir.FuncCall) else call
    callee = callee.field if isinstance(callee, ir.StructRef) else callee
    text = callee.name if isinstance(callee, ir.ID) else "operator"
    return _WORD.findall(text.split("<", 1)[0])[-1:]


def _reachable(unit: Unit, items: Iterable[ir.Node]) -> set[str]:
    """Returns the names in statements, and in the functions that they may call."""
    found: set[str] = {"operator"}
    worklist = {word for item in items for node in _below(item) for word in _words(node)}
    while worklist:
        found |= worklist
        named = (f for word in worklist for f in unit.functions_named(word))
        worklist = {word for function in named for word in function.words} - found
    return found


def _words(node: ir.Node) -> list[str]:
    match node:
        case ir.ID():
            return _WORD.findall(node.name)
        case ir.IdentifierType():
            return [word for name in node.names for word in _WORD.findall(name)]
    return []


def _below(node: ir.Node) -> list[ir.Node]:
    """Returns a node and all nodes below it."""
    found = [node]
    for each in found:
        found += each.children()
    return found
