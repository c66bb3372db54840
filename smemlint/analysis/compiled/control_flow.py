"""Loops of a control-flow graph and the order in which blocks run.

Bourdoncle's weak topological order: the blocks of a loop are contiguous and its head comes first,
so that running the first pending block lets lanes meet again at loop exits and post-dominators.
(F. Bourdoncle, Efficient chaotic iteration strategies with widenings, 1993.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_LOOP_DEPTH


@dataclass(frozen=True, slots=True)
class LoopNest:
    """The loops of a program.

    Attributes:
        order: by block, its place in the weak topological order.
        loops: by block, the innermost loop that it is in; None outside of all.
        heads: by block, the loop that it is the head of; None for most.
    """

    order: tuple[int, ...]
    loops: tuple[Loop | None, ...]
    heads: tuple[Loop | None, ...]

    def is_back_edge(self, source: int, target: int) -> bool:
        """Returns whether the edge goes to the head of a loop that `source` is in."""
        loop = self.heads[target]
        return loop is not None and source in loop.blocks


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A strongly connected region."""

    blocks: frozenset[int]
    outer: Loop | None


def loop_nest(successors: Sequence[Sequence[int]]) -> LoopNest:
    """Finds the loops of a graph whose entry is block 0."""
    finder = _Finder(successors)
    finder.visit(frozenset(range(len(successors))), range(len(successors)), None, 0)
    return LoopNest(tuple(finder.order), tuple(finder.loops), tuple(finder.heads))


class _Finder:
    """Takes regions apart into components, loops first and then what is inside of them."""

    def __init__(self, successors: Sequence[Sequence[int]]) -> None:
        self.successors = successors
        self.order = [0] * len(successors)
        self.loops: list[Loop | None] = [None] * len(successors)
        self.heads: list[Loop | None] = [None] * len(successors)
        self._placed = 0

    def visit(
        self, nodes: frozenset[int], roots: Sequence[int], outer: Loop | None, depth: int
    ) -> None:
        """Orders the blocks of a region that is entered at `roots`."""
        for root, component in _components(self.successors, nodes, roots):
            self._place(root, outer)
            if len(component) == 1 and root not in self.successors[root]:
                continue
            loop = Loop(component, outer)
            self.loops[root] = self.heads[root] = loop
            rest = component - {root}
            if depth < MAX_LOOP_DEPTH:
                self.visit(rest, [*self.successors[root], *sorted(rest)], loop, depth + 1)
            else:
                for block in sorted(rest):
                    self._place(block, loop)

    def _place(self, block: int, loop: Loop | None) -> None:
        self.order[block] = self._placed
        self.loops[block] = loop
        self._placed += 1


def _components(
    successors: Sequence[Sequence[int]], nodes: frozenset[int], roots: Sequence[int]
) -> list[tuple[int, frozenset[int]]]:
    """Returns strongly connected components in topological order, each with its entry."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    found: list[tuple[int, frozenset[int]]] = []

    def enter(node: int) -> tuple[int, Iterator[int]]:
        index[node] = low[node] = len(index)
        stack.append(node)
        on_stack.add(node)
        return node, iter([t for t in successors[node] if t in nodes])

    for start in roots:
        if start in index or start not in nodes:
            continue
        path = [enter(start)]
        while path:
            node, targets = path[-1]
            for target in targets:
                if target not in index:
                    path.append(enter(target))
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                path.pop()
                if path:
                    parent = path[-1][0]
                    low[parent] = min(low[parent], low[node])
                if low[node] == index[node]:
                    component = set()
                    while node not in component:
                        component.add(stack.pop())
                    on_stack -= component
                    found.append((node, frozenset(component)))
    return found[::-1]
