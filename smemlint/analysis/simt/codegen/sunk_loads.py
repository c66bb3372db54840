"""Loads of variables that only one way of a branch reads: LLVM sinks them into it.

Fewer threads load than the text says. SASS of nvcc 13.0.88, -O3, sm_90, for
`float v = s[8 * lane];` in front of what the table names:

| what follows | threads that load |
| --- | --- |
| `if (lane < 4) out[t] = v;`, also in an inner `if`, in a loop in it, as an index, twice | the 4 |
| the same behind an `if` without `v`, a shuffle, a store to another array | the 4 |
| `if (lane >= 4) out[t] = 1; else out[t] = v;`, `if (lane >= 4) return; out[t] = v;` | the 4 |
| `if (lane < 4) out[t] = v; else out[t] = v + 1;` | all |
| `if (lane < 4) x += v;`, which becomes a select | all |
| the same as the first, behind a barrier or a store to `s` | all |
| `for (..) if (lane < 4) out[t] = v;` | all |
| the first, where all read `w = s[8 * lane + 1]` (one LDS.64), or + 0, 2, 3, not 5 | all |
| the first, for `v = s[8 * lane] * 2 + s[8 * lane + 3]` | all |
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from smemlint.analysis.simt.codegen.slots import run_and_position, slot_size
from smemlint.analysis.simt.domain.environment import Mask, is_any
from smemlint.analysis.simt.domain.trace import Event, Fence
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.facts import AccessKind
from smemlint.frontend import ir
from smemlint.lazy_dataclasses import dataclass

_OPAQUE = (ir.Unparsed, ir.Lambda, ir.Assembly, ir.UnparsedType, ir.Goto, ir.Label)


@dataclass(frozen=True, slots=True)
class Sunk:
    """A load that goes where it is read.

    Attributes:
        load: the expression.
        way: the alternative of a branch; None for what follows a branch that returns.
    """

    load: ir.Node
    way: ir.Node | None


def sunk_loads(block: ir.Compound) -> dict[ir.Node, list[Sunk]]:
    """Returns the loads that sink into branches below a block, by the branch."""
    found: dict[ir.Node, list[Sunk]] = defaultdict(list)
    items = block.block_items
    if not any(isinstance(item, ir.If) for item in items):
        return found
    loads = [(k, d.name, _load_of(d)) for k, d in enumerate(items) if isinstance(d, ir.Decl)]
    if not any(load is not None for _, _, load in loads) or _is_opaque(items):
        return found
    named = [_names(item) for item in items]
    for k, name, load in loads:
        if load is not None:
            _sink(name, load, items[k + 1 :], named[k + 1 :], found)
    return found


def sink_loads(
    items: Sequence[Event | Fence], sunk: Sequence[Sunk], way: ir.Node | None, threads: Mask
) -> None:
    """Leaves a load to the threads that go where it is sunk to.

    Args:
        items: of the trace up to the branch; the masks of events change.
        sunk: the loads that sink at the branch.
        way: where the threads go.
        threads: those that do.
    """
    found = [(each.way, _latest(items, each.load)) for each in sunk]
    sinking = {id(event) for _, event in found}
    for to, event in found:
        if to is way and event is not None and not _is_held(items, event, sinking):
            event.mask = event.mask & threads
            if not is_any(event.mask):
                event.issued = 0


def _latest(items: Sequence[Event | Fence], load: ir.Node) -> Event | None:
    """Returns the last event of a load; None where something keeps it in front of what follows."""
    stores: list[Event] = []
    for item in reversed(items):
        if isinstance(item, Fence):
            if item.kind != "block":
                return None
        elif item.node is load and item.kind is AccessKind.LOAD:
            is_kept = any(store.object in (item.object, None) for store in stores)
            return None if is_kept or item.volatile or not item.issued else item
        elif item.kind is not AccessKind.LOAD:
            stores.append(item)
    return None


def _is_held(items: Sequence[Event | Fence], event: Event, sinking: set[int]) -> bool:
    """Returns whether a load of the same aligned 16 bytes does not sink: ptxas takes both there."""
    if not isinstance(event.offset, AffineInt):
        return False
    size = slot_size(event, event.offset, 0)
    run, position = run_and_position(event, event.offset)
    for item in reversed(items):
        if isinstance(item, Fence):
            if item.kind != "block":
                return False
        elif (
            item.kind is AccessKind.LOAD
            and item.object is event.object
            and id(item) not in sinking
            and isinstance(item.offset, AffineInt)
        ):
            other, at = run_and_position(item, item.offset)
            if other == run and at // size == position // size:
                return True
    return False


def _load_of(node: ir.Decl) -> ir.Node | None:
    """Returns the place that a variable is a copy of; None for all else."""
    init, is_plain = node.init, isinstance(node.type, ir.TypeDecl) and not node.storage
    while isinstance(init, ir.Cast):
        init = init.expr
    is_load = isinstance(init, ir.ArrayRef) or (isinstance(init, ir.UnaryOp) and init.op == "*")
    return init if is_plain and is_load else None


def _is_opaque(items: Sequence[ir.Node]) -> bool:
    return any(isinstance(node, _OPAQUE) for item in items for node in item.walk())


def _sink(
    name: str,
    load: ir.Node,
    items: Sequence[ir.Node],
    named: Sequence[frozenset[str]],
    found: dict[ir.Node, list[Sunk]],
) -> None:
    """Notes where a load goes whose variable only these statements may read.

    Args:
        name: of the variable.
        load: that gives it its value.
        items: the statements.
        named: what each of them names.
        found: the loads by branch, which grows.
    """
    for k, item in enumerate(items):
        if name not in named[k]:
            if isinstance(item, ir.If) and item.iffalse is None and _returns(item.iftrue):
                found[item].append(Sunk(load, None))
            continue
        is_last = all(name not in later for later in named[k + 1 :])
        if not is_last or not isinstance(item, ir.If) or name in _names(item.cond):
            return
        ways = [w for w in (item.iftrue, item.iffalse) if w is not None and name in _names(w)]
        if len(ways) == 1 and _writes(ways[0]):
            found[item].append(Sunk(load, ways[0]))
            inner = ways[0].block_items if isinstance(ways[0], ir.Compound) else (ways[0],)
            _sink(name, load, inner, [_names(each) for each in inner], found)
        return


def _names(node: ir.Node) -> frozenset[str]:
    return frozenset(each.name for each in node.walk() if isinstance(each, ir.ID))


def _returns(node: ir.Node | None) -> bool:
    if isinstance(node, ir.Compound) and node.block_items:
        return _returns(node.block_items[-1])
    return isinstance(node, ir.Return)


def _writes(node: ir.Node) -> bool:
    """Returns whether statements write memory, which leaves them a branch."""
    return any(
        isinstance(each, ir.Assignment) and isinstance(each.lvalue, ir.ArrayRef | ir.UnaryOp)
        for each in node.walk()
    )
