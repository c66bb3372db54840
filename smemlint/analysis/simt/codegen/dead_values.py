"""Loads that the compiler deletes, as nothing hangs on the value.

SASS of nvcc 13.0.88, sm_90, -O3, for kernels that load `s[4 * t]` and store something else:

| what becomes of the load | SASS |
| --- | --- |
| `float v = s[4 * t]; float w = sqrt(v * 2);`, `w` is not read | none |
| `float a = 0; for (i < n) a += s[4 * t + i] * in[i];`, `a` is not read | none |
| `float v = __shfl_down_sync(~0u, s[4 * t], 1);`, `v` is not read | LDS |
| `float a; for (i < 4) a += s[4 * t + i]; out[t] = a;`, an undefined sum | none |
| the same of `i < n` | LDS |
| `float a; for (i < 4) a = a * 2 + s[4 * t + i]; out[t] = a;` | LDS.128 |
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import field

from smemlint.analysis.simt.codegen.loaded_values import is_own
from smemlint.frontend import ir
from smemlint.lazy_dataclasses import dataclass

_WORD = re.compile(r"\w+")
_NUMBERS = frozenset(
    ("bool", "char", "short", "int", "long", "signed", "unsigned", "float", "double", "half")
)
_LIVE = ""
"""Stands for a reader that is no variable."""


@dataclass(frozen=True, slots=True)
class DeadValues:
    """What a block computes for nothing.

    Attributes:
        loads: the expressions that load what only variables without a reader are made of.
        undefined: those whose value is added to a variable that is never given one, and its name.
    """

    loads: frozenset[ir.Node]
    undefined: dict[ir.Node, str]


def dead_values(block: ir.Compound) -> DeadValues | None:
    """Returns what becomes of nothing among the variables that a block declares; None for none."""
    declared = [d for d in block.block_items if isinstance(d, ir.Decl) and _is_number(d)]
    uses = {d.name: _Uses(d.init is not None) for d in declared}
    if not uses or len(uses) < len(declared):  # a name of two scopes
        return None
    reader = _Reader(uses)
    for item in block.block_items:
        if isinstance(item, ir.Decl):
            reader.declaration(item)
        else:
            reader.statement(item)
    live = _live(uses)
    unread = [use for name, use in uses.items() if name not in live]
    summed = {name: use for name, use in uses.items() if name in live and not use.is_given}
    loads = frozenset(node for use in unread for e in use.made_of for node in _loads(e))
    undefined = {
        node: name for name, use in summed.items() for e in use.made_of for node in _loads(e)
    }
    if not loads and not undefined:
        return None
    return DeadValues(loads, undefined)


def _is_number(node: ir.Decl) -> bool:
    match node.type:
        case ir.TypeDecl(type=ir.IdentifierType(names=names)):
            return _NUMBERS.issuperset(names) and is_own(node)
    return False


@dataclass(slots=True, eq=False)
class _Uses:
    """What a block does with a variable.

    Attributes:
        is_given: it has a value that is not a sum with what it held before, or may have.
        made_of: the expressions that its values are made of, or what is added to it.
        readers: the variables that are made of it.
        is_passed: a function was given it, by reference perhaps, before what comes next.
    """

    is_given: bool
    made_of: list[ir.Node] = field(default_factory=list)
    readers: set[str] = field(default_factory=set)
    is_passed: bool = False


def _live(uses: dict[str, _Uses]) -> set[str]:
    """Returns the variables that something reads, and those that their values are made of."""
    made_from: dict[str, list[str]] = defaultdict(list)
    for name, use in uses.items():
        for reader in use.readers:
            made_from[reader].append(name)
    found: set[str] = set()
    worklist = [_LIVE]
    while worklist:
        new = set(made_from[worklist.pop()]) - found
        found |= new
        worklist += new
    return found


class _Reader:
    """Reads a block for what is done with some variables."""

    def __init__(self, uses: dict[str, _Uses]) -> None:
        self._uses = uses
        self._is_in_loop = False

    def declaration(self, node: ir.Decl) -> None:
        """Takes a declaration of the block itself, in none of its inner blocks."""
        if node.name not in self._uses:
            self._read(node, _LIVE)
        elif node.init is not None:
            self._uses[node.name].made_of.append(node.init)
            self._read(node.init, node.name)

    def statement(self, node: ir.Node | None) -> None:
        """Takes a statement, whose value nobody reads."""
        match node:
            case ir.Assignment(lvalue=ir.ID(name=name)) if name in self._uses:
                self._assign(name, node)
            case ir.UnaryOp(expr=ir.ID(name=name)) if name in self._uses and node.op in ir.STEPS:
                self._uses[name].is_given = True
            case ir.ID() | ir.Cast(expr=ir.ID()) | None:
                pass
            case ir.Compound(block_items=items) | ir.Default(stmts=items):
                self._statements(items)
            case ir.Case():
                self._read(node.expr, _LIVE)
                self._statements(node.stmts)
            case ir.If():
                self._read(node.cond, _LIVE)
                self._statements((node.iftrue, node.iffalse))
            case ir.Switch():
                self._read(node.cond, _LIVE)
                self.statement(node.stmt)
            case ir.While() | ir.DoWhile():
                self._read(node.cond, _LIVE)
                self._loop(node, node.stmt)
            case ir.For():
                if node.cond is not None:
                    self._read(node.cond, _LIVE)
                self._loop(node, node.init, node.stmt, node.next)
            case _:
                self._read(node, _LIVE)

    def _statements(self, nodes: tuple[ir.Node | None, ...]) -> None:
        for node in nodes:
            self.statement(node)

    def _loop(self, node: ir.Loop, *statements: ir.Node | None) -> None:
        """Takes a loop: what ends an iteration stands in front of what begins the next one."""
        is_outermost = not self._is_in_loop
        self._is_in_loop = True
        if is_outermost:
            for each in node.walk():
                if isinstance(each, ir.FuncCall):
                    self._pass(each)
        self._statements(statements)
        self._is_in_loop = not is_outermost

    def _pass(self, call: ir.FuncCall) -> None:
        for each in call.walk():
            if isinstance(each, ir.ID) and each.name in self._uses:
                self._uses[each.name].is_passed = True

    def _assign(self, name: str, node: ir.Assignment) -> None:
        use = self._uses[name]
        added = _added(name, node)
        use.is_given |= added is None or use.is_passed
        use.made_of.append(node.rvalue if added is None else added)
        self._read(node.rvalue, name)

    def _read(self, node: ir.Node, reader: str) -> None:
        """Takes an expression, or anything else that is not taken apart."""
        match node:
            case ir.ID(name=text):
                self._name(text, reader, is_given=False)
            case ir.Unparsed() | ir.Lambda() | ir.Assembly() | ir.UnparsedType():
                for name in self._uses:  # their text is not looked at
                    self._name(name, _LIVE, is_given=True)
            case ir.FuncCall():
                self._pass(node)
                for each in node.walk():
                    if isinstance(each, ir.ID):
                        self._name(each.name, _LIVE, is_given=False)
            case ir.UnaryOp(op="&", expr=place):
                self._give(place)
                self._read(place, reader)
            case (
                ir.Assignment(lvalue=place) | ir.UnaryOp(op="++" | "--" | "p++" | "p--", expr=place)
            ):
                self._give(place)
                self._read_parts(node, _LIVE)  # memory has what is written to it
            case ir.Decl():
                self._name(node.name, _LIVE, is_given=True)  # another variable of that name
                if isinstance(node.type, ir.PtrDecl):
                    self._give(node.init)  # through a reference
                self._read_parts(node, reader)
            case _:
                self._read_parts(node, reader)

    def _read_parts(self, node: ir.Node, reader: str) -> None:
        for child in node.children():
            self._read(child, reader)

    def _give(self, place: ir.Node | None) -> None:
        """Takes a place that is given a value, or may be."""
        match place:
            case ir.ID(name=name):
                self._name(name, _LIVE, is_given=True)
            case ir.TernaryOp(iftrue=first, iffalse=second):
                self._give(first)
                self._give(second)

    def _name(self, text: str, reader: str, *, is_given: bool) -> None:
        for word in _WORD.findall(text):
            use = self._uses.get(word)
            if use is not None:
                use.readers.add(reader)
                use.is_given |= is_given


def _added(name: str, node: ir.Assignment) -> ir.Node | None:
    """Returns what an assignment adds to the variable; None where it does not add."""
    if node.op in ("+=", "-="):
        return node.rvalue
    match node.rvalue:
        case ir.BinaryOp(op="+" | "-", left=ir.ID(name=left), right=right) if left == name:
            return right if node.op == "=" else None
        case ir.BinaryOp(op="+", left=left, right=ir.ID(name=right)) if right == name:
            return left if node.op == "=" else None
    return None


def _loads(node: ir.Node) -> Iterator[ir.Node]:
    """Yields the places that an expression reads, but for what calls and assignments in it do."""
    match node:
        case ir.ArrayRef() | ir.StructRef() | ir.UnaryOp(op="*"):
            yield node
        case ir.UnaryOp(op="-" | "+" | "~" | "!") | ir.BinaryOp() | ir.TernaryOp() | ir.Cast():
            pass
        case _:
            return
    for child in node.children():
        yield from _loads(child)
