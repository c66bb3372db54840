"""Loads of variables that only one way of a branch reads: LLVM sinks them into it.

Fewer threads load than the text says. SASS of nvcc 13.0.88, -O3, sm_90, for
`float v = s[8 * lane];` in front of what the table names:

| what follows | threads that load |
| --- | --- |
| `if (lane < 4) out[t] = v;`, also in an inner `if`, in a loop in it, as an index, twice | the 4 |
| the same with `atomicAdd(out, v)`, a function that writes, a member, a reference | the 4 |
| `if (lane < 4 && n > 5) out[t] = v;` | the 4 |
| the same where `v` is a number of its own in the other way, or behind | the 4 |
| the same behind an `if` without `v`, a store to another array, `for (i < 4)` | the 4 |
| the same behind a shuffle or a vote | the 4 or all |
| the same behind `if .. else`, two `if`s, a `switch`, `for (i < n)`, each with stores | all |
| the same in one case of a `switch` that has `v` in no other | the 4 |
| the same twice, with the same condition | the 4 |
| the same twice, with other conditions | all |
| `v = 2 * s[8 * lane]`, `sqrtf(s[8 * lane])`, then `w = v * v`, and w is read there | the 4 |
| `v = s[8 * lane] + q[t]`, `s[8 * lane] + s[8 * lane + 5]; w = v` | the 4 |
| `v = s[8 * lane] + in[t]`, `* n + t`, `* 2 + s[8 * lane + 5]` | all |
| `if (lane >= 4) out[t] = 1; else out[t] = v;`, `if (lane >= 4) return; out[t] = v;` | the 4 |
| `if (lane < 4) out[t] = v; else out[t] = v + 1;` | all |
| `if (lane < 4) x += v;`, which becomes a select | all |
| `if (lane < 4) x = fmaxf(x, v);` | the 4 |
| `if (lane < 4) if (v > 3) out[t] = 1;`, which becomes one condition | all |
| `if (lane < 4) for (i < n) out[t + i] = v;` | all |
| the same of `v * i`, or of `i < 4` | the 4 |
| the same as the first, behind a barrier or a store to `s` | all |
| `for (..) if (lane < 4) out[t] = v;` | all |
| the first, where all read `w = s[8 * lane + 1]` (one LDS.64), or + 0, 2, 3, not 5 | all |
| `for (i = lane; i < 4; i += 32) out[t + i] = v;` | the 4 |
| the same of `i < n` | all |
| `for (i < n) { v = s[8 * lane + i]; if (lane >= 4) continue; out[i] = v; }` | the 4 |
| `if (lane >= 4) return; if (n > 3) out[t] = v;`, which becomes one condition | all |
| `if (lane < 4) { m = v; out[t + 4] = m; } out[t] = m;` | all |
| `if (n > 4) v = v * 3; if (lane < 4) out[t] = v;` | the 4 |
| `float a[4]; for (i < 4) a[i] = s[8 * lane + i]; if (lane < 4) { a[0] to a[3] }` | the 4 |
| `a[0] = s[8 * lane]; a[1] = s[8 * lane + 257];`, `p.x =`, `p.y =`, `float a[2] = {..}` | the 4 |
| of an array, the elements that the others do not read; `if (lane < 4) out[t] = a[n];` | the 4 |

What a function is given by value is as a variable in front of its body (calls/passed_loads.py):

| `put(s[8 * lane])` of | threads that load |
| --- | --- |
| `void put(float v) { if (lane < 4) out[t] = v; }`, a lambda's, passed on | the 4 |
| the same with `out[t + 64] = 1;` or `float w = v * v;` in front | the 4 |
| `if (lane < 4) return v * 2; return 1.f;`, `return lane < 4 ? v : 0.f;` | all |
| `if (lane < 4) return v; return u;`, u loaded from memory | the 4 |
| `if (lane < 4) return sqrtf(v); return 0;`, also fabsf, fmaxf, expf, logf, `v / n` | the 4 |
| the same of a number | all |
| `if (lane < 4) x += v;` of a `float &x` or a member, `*x += v` of a `float *x` | the 4 |
| `if (lane < 4) this->x = v;` of an object in registers | all |
| `if (lane < 4) out[t] = v; out[t + 32] = v;` | all |

`out[t + 99] = s[8 * lane]` behind any of them is the same load, made by all.

What tells `v = s[8 * lane] + q[t]` from `+ in[t]`, fmaxf from a sum and `v * i` from `v` is not
modelled: who loads is open there, behind a shuffle, in the last row, and in the five before arrays
but `i < n`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from smemlint.analysis.simt.codegen.branches.branch_shapes import (
    LOOPS,
    are_equal,
    assigned,
    cases,
    holds_assembly,
    is_branch,
    is_computed,
    is_counted,
    is_member,
    is_opaque,
    is_result,
    keeps_branch,
    leaves,
    parts_blocks,
    returns_value,
    statements,
)
from smemlint.analysis.simt.codegen.loaded_values import (
    LoadedValue,
    ends_in_select,
    given_value,
    gives_part,
    leaves_of,
    loaded_values,
    own_variables,
    variable_of,
)
from smemlint.analysis.simt.free_names import free_names
from smemlint.frontend import ir
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_SUNK

_STATEMENTS = (ir.Decl, ir.Assignment, ir.FuncCall, ir.Return)
_EVALUATED_ONCE = (*_STATEMENTS, ir.BinaryOp, ir.Cast, ir.UnaryOp)

Names: TypeAlias = "dict[ir.Node, frozenset[str]]"


@dataclass(frozen=True, slots=True)
class Sunk:
    """A load that goes where it is read.

    Attributes:
        way: the alternative of a branch; None for what follows a branch that returns.
        is_open: whether it does is not known.
        loop: that makes it for each element of an array.
        is_in_front: it stays in front of the branch.
        unless_kept: it does if the branch becomes selects, see kept_branches.py.
        is_sole: nothing but the way reads it.
    """

    load: ir.Node
    way: ir.Node | None
    is_open: bool = False
    loop: ir.Node | None = None
    is_in_front: bool = False
    unless_kept: bool = False
    is_sole: bool = False


def sunk_loads(block: ir.Compound, known: Names) -> dict[ir.Node, list[Sunk]]:
    """Returns the loads that sink into branches below a block, by the branch."""
    items = block.block_items
    sinking = _Sinking(known, frozenset(own_variables(items)))
    if not any(isinstance(item, (ir.If, ir.Switch, *LOOPS)) or _chooses(item) for item in items):
        return sinking.found
    values = list(loaded_values(items))
    if values and not is_opaque(items):
        is_open = holds_assembly(items)
        for k, value in values:
            sinking.sink(replace(value, is_open=is_open or value.is_open), items[k + 1 :])
    return sinking.found


def sunk_operand(
    body: ir.Node, name: str, by_value: frozenset[str], known: Names, *, is_open: bool
) -> dict[ir.Node, list[Sunk]]:
    """Returns where a load sinks whose value a function is given, by the branch.

    Args:
        body: of the function; stands for the load in what is returned.
        name: of the parameter.
        by_value: the names of all parameters that the function has for itself.
        known: what `free_names` remembers.
        is_open: whether it sinks as a load does is not known.
    """
    items = statements(body)
    sinking = _Sinking(known, frozenset((name, *own_variables(items))))
    declared = (node for node in body.walk() if isinstance(node, ir.Decl))
    own = {node.name for node in declared if not isinstance(node.type, ir.PtrDecl)}
    sinking.own_of_call = by_value | own
    if not is_opaque(items):
        is_open |= holds_assembly(items)
        sinking.sink(LoadedValue((body,), frozenset((name,)), is_open), items)
    return sinking.found


class _Sinking:
    """What sinks where below one block."""

    def __init__(self, known: Names, own: frozenset[str]) -> None:
        self.found: dict[ir.Node, list[Sunk]] = defaultdict(list)
        self._known = known
        self.own_of_call: frozenset[str] | None = None
        self._own = own
        self._outward: dict[ir.Node, list[ir.Node]] = {}  # assignments to variables from around
        self._within: tuple[LoadedValue, Sequence[ir.Node]] | None = None

    def sink(self, value: LoadedValue, items: Sequence[ir.Node]) -> None:
        """Notes where loads go whose value only these statements may read."""
        for _ in range(MAX_SUNK):
            self._within = None
            self._sink_once(value, items)
            if self._within is None:
                return
            value, items = self._within

    def _sink_once(self, value: LoadedValue, items: Sequence[ir.Node]) -> None:
        branches = 0
        for k, item in enumerate(items):
            if ends_in_select(item, items[k + 1 :]):
                return
            if not self._reads(item, value):
                branches += is_branch(item)
                if isinstance(item, ir.If) and item.iffalse is None and leaves(item.iftrue):
                    is_joined = self._joins_next(item.iftrue, value, items[k + 1 :])
                    if is_joined or returns_value(item):
                        value = replace(value, is_open=True)
                    self._note(item, None, value, is_open=value.is_open)
                elif branches > 1 or parts_blocks(item):
                    return
                continue
            if self._may_be_selected(item, value):
                value = replace(value, is_open=True)
                continue
            name, new = given_value(item)
            is_part = name in value.names and gives_part(item)
            if is_part and new is not None and not self._reads(new, value):
                continue  # another element
            if new is None or not (isinstance(item, ir.Decl) or name in value.names | self._own):
                self._sink_into(item, value, items[k + 1 :])
                if self._within or not value.is_part or isinstance(item, ir.If | ir.Switch):
                    return
                value = replace(value, is_open=True)  # other elements may sink
                continue
            parts = [leaf for leaf in leaves_of(new) if not isinstance(leaf, ir.Constant)]
            alike = all(variable_of(leaf) in value.names for leaf in parts)
            is_open = value.is_open or not alike
            value = replace(value, names=value.names | {name}, is_open=is_open)

    def _sink_into(self, item: ir.Node, value: LoadedValue, later: Sequence[ir.Node]) -> None:
        """Notes where loads go that a statement reads, and perhaps later ones."""
        others = [each for each in self._until_assigned(later, value) if self._reads(each, value)]
        if isinstance(item, ir.Compound) and not others:
            self._within = value, item.block_items
        if isinstance(item, ir.For | ir.While) and not others and not self._is_in_head(item, value):
            self._note(item, item, value, is_open=True)
            if not is_counted(item) and isinstance(item, ir.For):
                self._within = replace(value, is_open=True), statements(item.stmt)
        if not others:
            self._sink_into_choice(item, value)
            self._sink_into_call(item, value)
        if not isinstance(item, ir.If | ir.Switch) or self._reads(item.cond, value):
            return
        is_open = value.is_open or bool(others)
        if any(not isinstance(o, ir.If) or not are_equal(o.cond, item.cond) for o in others):
            if value.is_part and isinstance(item, ir.If):  # those of other elements sink
                self._note(item, item.iftrue, value, is_open=True)
            return
        if isinstance(item, ir.Switch):
            reads = partial(self._reads, value=value)
            reading = [case for case in cases(item, reads) if any(map(reads, case))]
            if len(reading) == 1 and not others:
                self._note(item, item, value, is_open=True)
                self._within = value, reading[0]
            return
        ways = [w for w in (item.iftrue, item.iffalse) if w is not None and self._reads(w, value)]
        if len(ways) != 1:
            if value.is_part:
                self._note(item, ways[0], value, is_open=True)
            return
        inner = statements(ways[0])
        readers = [each for each in inner if self._reads(each, value)]
        stays = self._computes_outward(ways[0]) or keeps_branch(ways[0])
        is_one = len(inner) == 1 and self._is_one_condition(inner[0], value)
        if is_one:
            front = Sunk(value.loads[0], ways[0], loop=value.loop, is_in_front=True)
            self._note_all(item, replace(front, is_sole=not others), value)
            return
        is_open |= stays is None or any(map(is_counted, readers))
        is_open |= any(isinstance(each, ir.While | ir.DoWhile) for each in readers)
        is_copied = self._leaves_by_name(ways[0], value)
        is_open |= is_copied
        sunk = Sunk(value.loads[0], ways[0], is_open, value.loop, is_sole=not others)
        if stays is False:
            is_front = is_open or bool(others)
            sunk = replace(sunk, is_in_front=True, unless_kept=not is_front)
            sunk = replace(sunk, is_open=is_copied, is_in_front=not is_copied)
        self._note_all(item, sunk, value)
        if not is_open and not others:
            self._within = value, inner

    def _note(self, at: ir.Node, way: ir.Node | None, value: LoadedValue, *, is_open: bool) -> None:
        self._note_all(at, Sunk(value.loads[0], way, is_open, value.loop), value)

    def _note_all(self, at: ir.Node, sunk: Sunk, value: LoadedValue) -> None:
        self.found[at] += [replace(sunk, load=load) for load in value.loads]

    def _sink_into_choice(self, item: ir.Node, value: LoadedValue) -> None:
        """Notes where loads go that one operand of a `?:` reads."""
        choice = self._choice(item, value)
        if choice is not None:
            way = choice.iftrue if self._reads(choice.iftrue, value) else choice.iffalse
            sunk = Sunk(value.loads[0], way, value.is_open, value.loop, is_sole=True)
            is_front = not value.is_open
            self._note_all(choice, replace(sunk, is_in_front=is_front, unless_kept=is_front), value)

    def _choice(self, item: ir.Node, value: LoadedValue) -> ir.TernaryOp | None:
        """Returns the `?:` of which one operand is all that reads a value in a statement."""
        for node, reading in self._path_to_reader(item, value):
            if isinstance(node, ir.TernaryOp) and reading not in (node.cond, None):
                return node
        return None

    def _sink_into_call(self, item: ir.Node, value: LoadedValue) -> None:
        """Notes which argument of a call is all that reads a value in a statement."""
        for node, reading in self._path_to_reader(item, value):
            if isinstance(node, ir.FuncCall) and reading not in (node.name, None):
                self._note(node, reading, value, is_open=value.is_open)

    def _path_to_reader(
        self, item: ir.Node, value: LoadedValue
    ) -> Iterator[tuple[ir.Node, ir.Node | None]]:
        """Yields what is evaluated once around all that reads a value, and its part that does."""
        node: ir.Node | None = item if isinstance(item, _STATEMENTS) else None
        while node is not None:
            reading = [child for child in node.children() if self._reads(child, value)]
            sole = reading[0] if len(reading) == 1 else None
            yield node, sole
            is_short = isinstance(node, ir.BinaryOp) and node.op in ("&&", "||")
            node = sole if isinstance(node, _EVALUATED_ONCE) and not is_short else None

    def _reads(self, node: ir.Node, value: LoadedValue) -> bool:
        return not value.names.isdisjoint(free_names(node, self._known))

    def _until_assigned(self, items: Sequence[ir.Node], value: LoadedValue) -> Iterator[ir.Node]:
        """Yields statements up to one that gives the variable another value."""
        for item in items:
            match item:
                case ir.Assignment(op="=", lvalue=ir.ID(name=name), rvalue=new):
                    if value.names == {name} and not self._reads(new, value):
                        return
            yield item

    def _joins_next(
        self, way: ir.Node | None, value: LoadedValue, later: Sequence[ir.Node]
    ) -> bool:
        """Returns whether a branch that only returns is one condition with the next that reads."""
        reader = next((each for each in later if self._reads(each, value)), None)
        is_alone = way is not None and len(statements(way)) == 1
        return is_alone and isinstance(reader, ir.If) and reader.iffalse is None

    def _may_be_selected(self, item: ir.Node, value: LoadedValue) -> bool:
        """Returns whether a branch does no more than change the value: `if (n > 4) v *= 3;`."""
        if not isinstance(item, ir.If) or self._reads(item.cond, value) or keeps_branch(item):
            return False
        changed = {name for node in item.walk() for name in assigned(node)}
        return bool(changed) and changed <= value.names

    def _computes_outward(self, way: ir.Node) -> bool:
        """Returns whether statements of a function give what it computes to others' variables."""
        if self.own_of_call is None:
            return False
        outer = free_names(way, self._known) - self.own_of_call
        return any(is_computed(n) and not outer.isdisjoint(assigned(n)) for n in way.walk())

    def _leaves_by_name(self, way: ir.Node, value: LoadedValue) -> bool:
        """Returns whether statements give the value as it is to a variable from around them."""
        if way not in self._outward:
            around = free_names(way, self._known)
            given = (
                n
                for n in way.walk()
                if not around.isdisjoint(assigned(n)) or is_result(n) or is_member(n)
            )
            self._outward[way] = [n for n in given if not is_computed(n)]
        return any(
            self._reads(node, value) and value.names.isdisjoint(assigned(node))
            for node in self._outward[way]
        )

    def _is_in_head(self, item: ir.For | ir.While, value: LoadedValue) -> bool:
        body = item.stmt
        return any(self._reads(part, value) for part in item.children() if part is not body)

    def _is_one_condition(self, node: ir.Node, value: LoadedValue) -> bool:
        """Returns whether a branch on a value is joined with the branch that it stands in."""
        is_branch = isinstance(node, ir.If) and node.iffalse is None
        return is_branch and self._reads(node.children()[0], value)


def _chooses(item: ir.Node) -> bool:
    """Returns whether a statement calls, or gives a variable what a `?:` picks."""
    choosing = ir.TernaryOp | ir.FuncCall
    return isinstance(item, _STATEMENTS) and any(isinstance(n, choosing) for n in item.walk())
