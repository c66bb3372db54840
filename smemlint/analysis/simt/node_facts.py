"""What the text of a node tells, read once for all evaluations of its unit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import partial
from typing import Any, TypeVar

from smemlint.analysis.simt.codegen.branches.branch_shapes import (
    branches_of_loops,
    branches_that_overwrite,
)
from smemlint.analysis.simt.codegen.branches.branches_of_iterations import (
    Kept,
    branches_of_iterations,
)
from smemlint.analysis.simt.codegen.branches.same_conditions import Before, branches_that_go_on
from smemlint.analysis.simt.codegen.filled_members import filled_by_members
from smemlint.analysis.simt.codegen.held_parts import PartsRead
from smemlint.analysis.simt.codegen.parts_read import block_reads, parts_of_parameter
from smemlint.analysis.simt.codegen.selected_loads import branches_that_end_ways
from smemlint.analysis.simt.codegen.sunk_loads import Sunk, sunk_loads, sunk_operand
from smemlint.analysis.simt.free_names import free_names
from smemlint.analysis.simt.loops.mod_ref import ModRef, mod_ref_of
from smemlint.frontend import ir
from smemlint.frontend.program import Unit
from smemlint.lazy_dataclasses import dataclass

_Node = TypeVar("_Node", bound=ir.Node)
_Fact = TypeVar("_Fact")


@dataclass(frozen=True, slots=True, eq=False)
class NodeFacts:
    """What was read off the nodes of a unit so far.

    Attributes:
        parts_read: of expressions that variables are loaded with, what is read of these.
        unread: loads whose value nothing hangs on.
        undefined: loads that are added to a variable that is never given a value, and its name.
        filled: of assignments, variables whose members were given values one by one, and calls that
            return such a variable.
        sunk: of branches, the loads that sink into them.
        going_on: branches on the condition of the one before them.
        ending_ways: branches behind which nothing stands on a way of another one.
        overwriting: branches that change what was stored right before them.
        kept: branches that iterations go on with.
        without_jumps: the statements of blocks, those that jump forward as branches.
        loops_around: of branches that their iterations make, the loops.
        chosen_stores: of branches, the stores that both ways make of other values, last first, and
            what the branch becomes with those up to there behind it.
    """

    parts_read: dict[ir.Node, PartsRead | None] = field(default_factory=dict)
    unread: set[ir.Node] = field(default_factory=set)
    undefined: dict[ir.Node, str] = field(default_factory=dict)
    filled: set[ir.Node] = field(default_factory=set)
    sunk: dict[ir.Node, list[Sunk]] = field(default_factory=dict)
    without_jumps: dict[ir.Node, Sequence[ir.BlockItem]] = field(default_factory=dict)
    going_on: dict[ir.Node, Before] = field(default_factory=dict)
    ending_ways: set[ir.Node] = field(default_factory=set)
    overwriting: set[ir.Node] = field(default_factory=set)
    kept: dict[ir.Node, Kept] = field(default_factory=dict)
    loops_around: dict[ir.Node, ir.Loop] = field(default_factory=dict)
    chosen_stores: dict[ir.Node, list[tuple[ir.Assignment, Sequence[ir.BlockItem]]]] = field(
        default_factory=dict
    )
    _blocks: set[ir.Node] = field(default_factory=set)
    _operands: dict[tuple[ir.Node, str, bool], dict[ir.Node, list[Sunk]]] = field(
        default_factory=dict
    )
    _takers: dict[ir.Node, tuple[ir.Compound, str]] = field(default_factory=dict)
    _taken: dict[tuple[ir.Node, str], PartsRead | None] = field(default_factory=dict)
    _names: dict[ir.Node, frozenset[str]] = field(default_factory=dict)
    _texts: dict[ir.Node, str] = field(default_factory=dict)
    _told: dict[tuple[Callable[..., Any], ir.Node], Any] = field(default_factory=dict)

    def read_block(self, block: ir.Compound) -> None:
        """Takes in what a block does with the variables that it declares."""
        if block in self._blocks:
            return
        self._blocks.add(block)
        reads = block_reads(block)
        self.parts_read.update(reads.parts)
        self.unread.update(reads.unread)
        self.undefined.update(reads.undefined)
        self.filled.update(filled_by_members(block))
        self.sunk.update(sunk_loads(block, self._names))
        self.going_on.update(branches_that_go_on(block, self.mod_ref))
        self.ending_ways.update(branches_that_end_ways(block))
        self.overwriting.update(branches_that_overwrite(block))
        self.loops_around.update(branches_of_loops(block))
        iterations = branches_of_iterations(block, partial(self.mod_ref, with_elements=True))
        for branch, kept in iterations.kept.items():
            self.kept.setdefault(branch, kept)  # the loops around a block are read before it
        for body, items in iterations.bodies.items():
            self.without_jumps.setdefault(body, items)

    def sunk_operand(
        self, body: ir.Node, name: str, by_value: frozenset[str], *, is_open: bool
    ) -> dict[ir.Node, list[Sunk]]:
        """Returns what `codegen.sunk_loads.sunk_operand` tells of a parameter of a function."""
        key = (body, name, is_open)
        if key not in self._operands:
            self._operands[key] = sunk_operand(body, name, by_value, self._names, is_open=is_open)
        return self._operands[key]

    def note_taken(self, load: ir.Node, body: ir.Compound, name: str) -> None:
        """Notes which function takes by value what is loaded."""
        self._takers[load] = body, name

    def read_of(self, load: ir.Node) -> PartsRead | None:
        """Returns what is read of a variable, or by a function, that a load gives its value."""
        taker, parts = self._takers.get(load), self.parts_read.get(load)
        if taker is None or (parts is not None and parts.held.copies):
            return parts
        if taker not in self._taken:
            self._taken[taker] = parts_of_parameter(*taker)
        return self._taken[taker]

    def mod_ref(self, statement: ir.Node, *, with_elements: bool = False) -> ModRef | None:
        """Returns what a statement may change and names; None where its text does not tell.

        Of what it calls to assign to an element, it does not: only who asks what each of them is
        may do without.
        """
        found = self.told(mod_ref_of, statement)
        return found if with_elements or found is None or not found.elements else None

    def told(self, tell: Callable[[_Node], _Fact], node: _Node) -> _Fact:
        """Returns what a function of the text alone tells of a node; it is called once."""
        key = tell, node
        if key not in self._told:
            self._told[key] = tell(node)
        found: _Fact = self._told[key]
        return found

    def text(self, node: ir.Node, unit: Unit) -> str:
        """Returns a node's source text on one line, a long one cut short."""
        known = self._texts.get(node)
        if known is None:
            text = " ".join(unit.text(unit.span(node)).split())
            known = self._texts[node] = text if len(text) <= 80 else text[:77] + "..."
        return known

    def names_in(self, node: ir.Node) -> frozenset[str]:
        """Returns the identifiers that a node takes from around it."""
        known = self._names.get(node)
        return known if known is not None else free_names(node, self._names)


def node_facts(unit: Unit) -> NodeFacts:
    """Returns what was read off the nodes of a unit."""
    found = unit.memory.get("node facts")
    if not isinstance(found, NodeFacts):
        found = unit.memory["node facts"] = NodeFacts()
    return found
