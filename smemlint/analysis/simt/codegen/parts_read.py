"""What is read of what a variable is loaded with: parts of classes, vectors, arrays and numbers.

SASS of nvcc 13.0.88, sm_90, -O3, for a load of `float4` from shared memory:

| what it is loaded into, and read | loads |
| --- | --- |
| `float4 v = s[t];`, x | LDS |
| the same, x and y, or z and w | LDS.64 |
| the same, y and z, x and z, or x and w | two LDS |
| the same, three members | LDS.128 |
| `union {float4 v; float f[4];} u; u.v = s[t];`, `u.f[0]` | LDS |
| `float f[4]; *(float4 *)f = s[t];`, `f[1]` | LDS |
| the same, `f[0] + f[1]`, or `for (i < 2) a += f[i]` | LDS.64 |
| the same, `f[0] + f[2]` | two LDS |
| the same, `f[0]`, and behind a condition that is not known the others | LDS.128 |
| the same, `f[n]`, `for (i < n) f[i]`, `for (i < 4) f[i]`, three elements | LDS.128 |
| the same, `for (i < 4) h[i] = 2 * f[i];`, `h[1]` | LDS |
| `float f[4]; for (i < 4) f[i] = s[4 * t + i];`, `f[1]`, or `f[2] + f[3]` | LDS; LDS.64 |
| `int4 v = s[t]; int *p = (int *)&v;`, `p[0]` | LDS |
| `float4 v[2]; v[0] = s[t]; v[1] = s[t + 32];`, `v[0].x + v[1].y` | an LDS each |
| `float f[8]; *(float4 *)f = s[t]; *(float4 *)(f + 4) = s[t + 32];`, `f[0] + f[5]` | an LDS each |
| `long long v = s[t];`, `(int)v` or `v >> 32` | LDS |
| the same, `u = v * 3;`, `u >> 32` | LDS.64 |
| `double v = s[t];`, `__double2hiint(v)`, or a word of a union | LDS |
| `v = s[t] + s[t + 32];` by an operator that adds members, x | LDS, LDS |
| `float v = s[4 * t]; float w = sqrt(v * 2);`, `w` is not read | none |
| `float a = 0; for (i < n) a += s[4 * t + i] * in[i];`, `a` is not read | none |
| `float v = s[4 * t]; v = in[t];`, `v` | none |
| `float v = __shfl_down_sync(~0u, s[4 * t], 1);`, `v` is not read | LDS |
| `float a; for (i < 4) a += s[4 * t + i];`, `a`, an undefined sum | none |
| the same of `i < n` | LDS |
| `float a; for (i < 4) a = a * 2 + s[4 * t + i];`, `a` | LDS.128 |

Reads count wherever they stand, in loops that do not run and in branches that are not taken, too.
What is only copied to another variable, or computed for it, is read as far as that one is.
Where a statement of the block that declares a variable assigns all of it, it is another one from
there on: of `v = s[t]; .. v = s[t + 32];` each load takes what is read up to the next. Of any other
place that is written twice it is not known who reads what, and what is read under a condition alone
may be loaded there: the first, with `if (t < 8)`, by 8 lanes. With `if (c) x = v.x + v.y;
else x = v.w;` each way loads its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field

from smemlint.analysis.simt.codegen.held_parts import Held, PartsRead
from smemlint.analysis.simt.codegen.loaded_values import is_own
from smemlint.analysis.simt.codegen.part_reader import (
    THIS,
    PartReader,
    added_by,
    is_pure,
    is_void,
    names_in,
)
from smemlint.analysis.simt.codegen.places import Place
from smemlint.frontend import ir
from smemlint.lazy_dataclasses import dataclass

_UNREAD = (ir.Unparsed, ir.UnparsedType)


@dataclass(frozen=True, slots=True)
class BlockReads:
    """What a block does with what it loads.

    Attributes:
        parts: by the loads of values that variables are made of, what becomes of these.
        unread: those that nothing hangs on.
        undefined: those that are added to a variable that is never given a value, and its name.
    """

    parts: dict[ir.Node, PartsRead] = field(default_factory=dict)
    unread: frozenset[ir.Node] = frozenset()
    undefined: dict[ir.Node, str] = field(default_factory=dict)


def block_reads(block: ir.Compound) -> BlockReads:
    """Returns what becomes of what the variables that a block declares are made of."""
    if not any(map(_may_be_loaded, block.block_items)):
        return BlockReads()
    reader = _reader_of(block, {})
    if reader is None:
        return BlockReads()
    is_given = reader.given.__contains__
    return BlockReads(
        dict(reversed(reader.loads)),  # what is converted twice is visited from outside
        frozenset(load for load, parts in reader.loads if parts.held.is_dead),
        {n: name for name, n in reader.sums if not is_given(name) and reader.is_number(name)},
    )


def _reader_of(
    block: ir.Compound,
    taken: Mapping[str, Held],
    result: Held | None = None,
    members: frozenset[str] = frozenset(),
) -> PartReader | None:
    """Returns who has read a block for what it does with the variables that it declares."""
    declared = {d.name: d for d in block.block_items if isinstance(d, ir.Decl) and is_own(d)}
    nodes = list(block.walk()) if declared or taken else []
    if not nodes or any(isinstance(node, _UNREAD) for node in nodes):
        return None
    names = Counter(node.name for node in nodes if isinstance(node, ir.Decl))
    if not names.keys().isdisjoint(taken):
        return None
    own = {name for name, count in names.items() if count == 1}
    values = {name: Held(d.type) for name, d in declared.items() if name in own}
    reader = PartReader({**values, **taken}, own, result=result, members=members)
    reader.passed.update(_passed_in_loops(block))
    is_straight = not any(isinstance(i, ir.Label | ir.Case) for i in block.block_items)
    for item in block.block_items:
        match item:
            case ir.Assignment(op="=", lvalue=ir.ID(name=name), rvalue=value) if (
                is_straight
                and name in values
                and name not in reader.referred
                and added_by(item) is None
            ):
                held = Held(values[name].ctype)
                reader.write(Place(name), value, held)
                reader.values[name] = held
            case _ if not is_void(item):
                reader.visit(item)
    return reader


def parts_of_parameter(body: ir.Compound, name: str) -> PartsRead | None:
    """Returns what a function reads of what it takes by value; None where that is not known."""
    held = Held(writes=[Place(name)])
    reader = _reader_of(body, {name: held})
    return PartsRead(Place(name), held, is_declared=True) if reader else None


def parts_of_operand(
    body: ir.Compound, name: str, changed: str, members: frozenset[str]
) -> tuple[Held, Held] | None:
    """Returns what an operator makes of an operand, and its result; None where it is not known.

    Args:
        body: of its function.
        name: of the operand, see `THIS`.
        changed: of the operand that is the result; empty for none.
        members: of the object that a method is called for.
    """
    held = Held()
    result = held if name == changed else Held()
    taken = {name: held} | ({changed: result} if changed else {})
    calls = (node for node in body.walk() if isinstance(node, ir.FuncCall))
    if THIS in taken and not all(map(is_pure, calls)):
        return None
    own = members if THIS in taken else frozenset[str]()
    return (held, result) if _reader_of(body, taken, result, own) else None


def _passed_in_loops(block: ir.Node) -> Iterator[str]:
    """Yields the names in calls whose effects stand in front of what begins an iteration."""
    worklist = [(block, False)]
    while worklist:
        node, is_in_loop = worklist.pop()
        if is_in_loop and isinstance(node, ir.FuncCall):
            yield from names_in(node)
        else:
            is_in_loop |= isinstance(node, ir.For | ir.While | ir.DoWhile)
            worklist += ((child, is_in_loop) for child in node.children())


def _may_be_loaded(item: ir.Node) -> bool:
    """Returns whether a statement is, or may hold, a load of a variable."""
    return not isinstance(item, ir.Decl) or isinstance(item.init, ir.Expression)
