"""Slices of host functions: which of their statements no launch, result or caller depends on.

A backward slice (Weiser) without regard to order. What a statement writes is what it assigns, what
its calls may write, and what pointers that it names may lead to; an address flows as far as names
do. Statements that are left out are not executed.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import field

from smemlint.analysis.simt.builtins.table import BUILTINS
from smemlint.analysis.simt.calls.pure_calls import has_effect
from smemlint.analysis.simt.domain.ctypes import CType, FloatType, IntType, RecordType, builtin
from smemlint.analysis.simt.domain.environment import Variable
from smemlint.analysis.simt.domain.values import CallableValue, Pointer, Space
from smemlint.analysis.simt.launches.host_interpreter import CONFIGURED_LAUNCHERS, LAUNCHERS
from smemlint.analysis.simt.loops.mod_ref import root_of
from smemlint.analysis.simt.state import Frame
from smemlint.analysis.simt.types.overloads import parameters_of, signature_of
from smemlint.frontend import ir
from smemlint.frontend.program import Function
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_SLICE_ROUNDS, MAX_SLICED

_WORD = re.compile(r"[A-Za-z_]\w*")
_NOTHING: frozenset[str] = frozenset()
_THIS = "this"
_ANYTHING = "*"
"""Stands for memory of callers that is reached in ways that the text does not tell."""
_STEPS = ("++", "--", "p++", "p--")
_ALWAYS = (ir.Return, ir.MemberInit)
_NEVER = (ir.Goto, ir.Label)
_SCOPES = (ir.Compound, ir.For, ir.RangeFor)


@dataclass(slots=True, eq=False)
class _Part:
    """A statement, or the head of one that holds others.

    Attributes:
        node: the statement.
        parent: that it stands in.
        reads: the words of its expressions.
        declares: variables that it declares.
        typed: names of which it asks for the type alone.
        writes: variables of the function that it assigns, or gives to calls that may.
        through: names that lead to what it may write.
        is_kept: it launches, or leaves the function.
        jumps: statements that leave it, if it is a loop or switch.
    """

    node: ir.Node
    parent: _Part | None
    reads: set[str] = field(default_factory=set)
    declares: set[str] = field(default_factory=set)
    typed: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    through: set[str] = field(default_factory=set)
    is_kept: bool = False
    jumps: list[_Part] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class _Body:
    """What was read of a function.

    Attributes:
        parts: its statements.
        asked: functions that it names.
        parameters: names of its parameters.
        packs: those of them that stand for several.
        writes: of each part, all variables that it may write.
    """

    parts: Sequence[_Part]
    asked: frozenset[str]
    parameters: frozenset[str]
    packs: frozenset[str]
    writes: Sequence[Set[str]]


@dataclass(slots=True, eq=False)
class Slices:
    """Slices of host functions, each found once.

    Args:
        functions_named: the definitions of a name.
        globals: variables of files that functions may change.
    """

    functions_named: Callable[[str], Sequence[Function]]
    globals: frozenset[str]
    _bodies: dict[tuple[Function, frozenset[str]], _Body | None] = field(default_factory=dict)
    _idle: dict[tuple[_Body, frozenset[str]], frozenset[ir.Node]] = field(default_factory=dict)
    _reaching: dict[str, bool] = field(default_factory=dict)

    def idle(
        self, function: Function, frame: Frame, launching: Set[str]
    ) -> tuple[frozenset[ir.Node], frozenset[str]]:
        """Returns statements that need not be executed, and names that this was decided by.

        Args:
            function: whose body is about to be executed.
            frame: with its parameters bound.
            launching: names of the functions that launch.
        """
        words = function.words | {"operator()"}  # of which the text has the first half alone
        key = function, frozenset(launching & words)
        if key not in self._bodies:
            self._bodies[key] = self._read(function, key[1])
        body = self._bodies[key]
        if body is None:
            return frozenset(), _NOTHING
        followed = _followed(body, frame)
        if (body, followed) not in self._idle:
            self._idle[body, followed] = _idle(body, followed)
        return self._idle[body, followed], body.asked

    def _read(self, function: Function, launching: frozenset[str]) -> _Body | None:
        tree = function.parse().tree
        if tree is None:
            return None
        reader = _Reader(self, launching, function)
        return reader.body(tree)

    # ---- what calls do

    def may_write(self, name: str, index: int) -> bool:
        """Returns whether a definition of a name takes a reference there that is not constant."""
        for function in self.functions_named(name):
            params = signature_of(function).parameters
            has_pack = any(p.is_pack for p in function.template)
            given = params[index : index + 1] or (params[-1:] if has_pack else ())
            if has_pack and index >= len(params) - 1:
                given = params[-1:]
            if any(_is_writable(param.type) for param in given):
                return True
        return False

    def reaches_globals(self, name: str) -> bool:
        """Returns whether the functions of a name, or what they call, name variables of files."""
        seen = {name}
        worklist = [name] if self.globals else []
        while worklist:
            word = worklist.pop()
            if word in self._reaching:
                if self._reaching[word]:
                    self._reaching[name] = True
                    return True
                continue
            for function in self.functions_named(word):
                if not function.words.isdisjoint(self.globals):
                    self._reaching[name] = True
                    return True
                new = function.words - seen
                seen |= new
                worklist += new
        self._reaching.update(dict.fromkeys(seen, False))
        return False


def _followed(body: _Body, frame: Frame) -> frozenset[str]:
    """Returns the parameters that lead to variables of callers."""
    found: set[str] = set()
    for scope in frame.scopes:
        for name, bound in scope.items():
            values = bound.object.cells.values() if isinstance(bound, Variable) else (bound,)
            for value in values:
                is_local = isinstance(value, Pointer) and value.object.space is Space.LOCAL
                if is_local or (isinstance(value, CallableValue) and value.payload is not None):
                    found |= {name} if name in body.parameters else body.packs | {_ANYTHING}
                    break
    if frame.this is not None and frame.this.object.space is Space.LOCAL:
        found.add(_THIS)
    return frozenset(found)


def _idle(body: _Body, followed: frozenset[str]) -> frozenset[ir.Node]:
    """Returns the statements that nothing depends on.

    Args:
        body: of a function.
        followed: parameters that lead to variables of callers.
    """
    writers: dict[str, list[_Part]] = defaultdict(list)
    declarers: dict[str, list[_Part]] = defaultdict(list)
    worklist: list[_Part] = []
    for part, written in zip(body.parts, body.writes, strict=True):
        if part.is_kept or not followed.isdisjoint(written):
            worklist.append(part)
        for name in written:
            writers[name].append(part)
        for name in part.declares:
            declarers[name].append(part)
    kept: set[_Part] = set()
    needed: set[str] = set()
    while worklist:
        part = worklist.pop()
        if part in kept:
            continue
        kept.add(part)
        if part.parent is not None:
            worklist.append(part.parent)
        worklist += part.jumps
        for name in part.reads - needed:
            worklist += writers[name]
        for name in part.typed:
            worklist += declarers[name]
        needed |= part.reads
    return frozenset(part.node for part in body.parts if part not in kept)


class _Reader:
    """Reads the statements of a function.

    Args:
        slices: what is known of other functions.
        launching: names of the functions that launch.
        function: that is read.
    """

    def __init__(self, slices: Slices, launching: frozenset[str], function: Function) -> None:
        self._slices = slices
        self._launching = launching
        self._function = function
        self._parts: list[_Part] = []
        self._asked: set[str] = set()
        self._declared: dict[str, ir.Node] = {}
        self._counts: Counter[str] = Counter()  # declarations of a name so far
        self._scopes: list[dict[str, str]] = [{}]
        self._exposed: set[str] = set()
        self._lambdas: set[str] = set()
        self._targets: list[_Part] = []
        self._of_lambdas: set[str] = set()

    def body(self, tree: ir.FuncDef) -> _Body | None:
        """Returns what was read of a definition; None where its statements are not told apart."""
        params = parameters_of(tree)
        if any(isinstance(node, _NEVER) for node in tree.walk()):
            return None
        parameters = {self._declare(p) for p in params if p.name}
        packs = {p.is_pack for p in self._function.template}
        for item in tree.body.block_items:
            self._visit(item, None)
        written = self._all_written()
        if written is None:
            return None
        return _Body(
            self._parts,
            frozenset(self._asked),
            frozenset(parameters),
            frozenset(parameters if True in packs else ()),
            written,
        )

    def _all_written(self) -> list[frozenset[str]] | None:
        """Returns what each part may write, what it may reach by pointers included.

        None where that takes too long to find. Sets of names are bits of integers.
        """
        reach = self._exposed | {n for n in self._declared if not self._is_value(n)}
        lasting = reach | {_THIS}
        named = lasting.union(*(part.writes | part.through for part in self._parts))
        if len(named) * len(self._parts) > MAX_SLICED:
            return None
        names = _Names(sorted(named))
        flowing = [names.bits(part.reads & lasting) for part in self._parts]
        through = [names.bits(part.through) for part in self._parts]
        written = [names.bits(part.writes) for part in self._parts]
        mask = names.bits(lasting)
        for _ in range(MAX_SLICE_ROUNDS):
            sources = [0] * len(named)
            for new, into in zip(flowing, written, strict=True):
                for bit in _set_bits(into if new else 0):
                    sources[bit] |= new
            before = list(written)
            for k, start in enumerate(through):
                written[k] |= _closure(start, sources) & mask
            if written == before:
                break
        else:
            return None
        lambdas = names.bits(self._lambdas & named)
        for part, into in zip(self._parts, written, strict=True):
            part.is_kept |= bool(into & lambdas)
        return [names.of(into) for into in written]

    # ---- statements

    def _visit(self, node: ir.Node | None, parent: _Part | None) -> None:
        if node is None:
            return
        part = _Part(node, parent)
        self._parts.append(part)
        is_scope = isinstance(node, _SCOPES)
        if is_scope:
            self._scopes.append({})
        self._visit_one(node, part)
        if is_scope:
            self._scopes.pop()

    def _visit_one(self, node: ir.Node, part: _Part) -> None:
        match node:
            case ir.Compound():
                for item in node.block_items:
                    self._visit(item, part)
            case ir.If():
                self._take(node.cond, part)
                self._visit(node.iftrue, part)
                self._visit(node.iffalse, part)
            case ir.For() | ir.RangeFor() | ir.While() | ir.DoWhile() | ir.Switch():
                inner = node.stmt
                for child in node.children():
                    if child is not inner:
                        self._take(child, part)
                self._targets.append(part)
                self._visit(inner, part)
                self._targets.pop()
            case ir.Case() | ir.Default():
                if isinstance(node, ir.Case):  # any of them tells whether another one is taken
                    self._take(node.expr, self._targets[-1] if self._targets else part)
                for item in node.stmts:
                    self._visit(item, part)
            case ir.Break() | ir.Continue():
                self._jump(part)
            case _:
                part.is_kept |= isinstance(node, _ALWAYS)
                self._take(node, part)

    def _jump(self, part: _Part) -> None:
        """Notes a jump out of the innermost loop, or switch."""
        loops = [
            t
            for t in self._targets
            if isinstance(part.node, ir.Break) or not isinstance(t.node, ir.Switch)
        ]
        if loops:
            loops[-1].jumps.append(part)
        else:
            part.is_kept = True

    # ---- expressions

    def _take(self, root: ir.Node, part: _Part) -> None:
        """Takes in what an expression or a declaration names and does."""
        if isinstance(root, ir.DeclList):
            for decl in root.decls:
                self._take(decl, part)
            return
        part.reads |= self._words(root, part)
        worklist = [root]
        while worklist:
            node = worklist.pop()
            self._take_one(node, part)
            worklist += () if isinstance(node, ir.Lambda) else reversed(node.children())

    def _words(self, root: ir.Node, part: _Part) -> set[str]:
        found: set[str] = set()
        worklist = [root]
        while worklist:
            node = worklist.pop()
            match node:
                case ir.ID(name=text):
                    found.update(_WORD.findall(text))
                case ir.IdentifierType():
                    for text in node.names:
                        found.update(_WORD.findall(text))
                case ir.StructRef():
                    worklist.append(node.name)
                    found.update(_WORD.findall(node.field.name) if "<" in node.field.name else ())
                case ir.SizeofPack():
                    found.add(node.pack)
                case ir.Lambda():
                    part.is_kept = True
                    found.update(_WORD.findall(node.template))
                    worklist += node.params
                case ir.Launch():
                    worklist += (node.kernel, *node.configuration)
                    for argument in node.args:
                        if isinstance(argument, ir.ID) and self._is_pointer(argument.name):
                            part.typed.add(self._meant(argument.name))
                        else:
                            worklist.append(argument)
                case _:
                    worklist += node.children()
        return {self._meant(word) for word in found}

    def _meant(self, name: str) -> str:
        """Returns what tells the variable that a name means here from others of the name."""
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return name

    def _declare(self, node: ir.Decl) -> str:
        """Takes in a variable that is declared here; returns what tells it from others."""
        count = self._counts[node.name]
        self._counts[node.name] += 1
        key = f"{node.name}#{count}" if count else node.name
        self._declared[key] = node.type
        self._scopes[-1][node.name] = key
        return key

    def _take_one(self, node: ir.Node, part: _Part) -> None:
        match node:
            case ir.Decl(name=str(name)) if name:
                self._take_declaration(node, part)
            case ir.Assignment(lvalue=target):
                self._assign(target, part)
                if self._slices.functions_named(f"operator{node.op}"):
                    self._give("", (node.rvalue,), part)
            case ir.UnaryOp(op=op, expr=target) if op in _STEPS:
                self._assign(target, part)
            case ir.UnaryOp(op="&", expr=target):
                self._exposed |= self._names(target)
            case ir.BinaryOp(left=left) if node.op in ("<<", ">>"):
                root = self._meant(root_of(left) or "")
                if root and not self._is_value(root):
                    part.writes.add(root)
                    self._give("", (node.right,), part, is_read=True)
            case ir.Launch() | ir.Assembly() | ir.Enum() | ir.Struct() | ir.Union():
                part.is_kept = True
            case ir.FuncCall():
                self._call(node, part)
            case ir.Construct() if not _is_number(node.type):
                self._construct(node.type, node.args, part)
            case ir.MemberInit() | ir.Fold():
                self._give("", node.args, part)
            case ir.BraceList() | ir.InitList():  # may hold references
                self._exposed |= self._names(node)
            case ir.Typedef(name=name):
                part.writes.add(name)
            case ir.Lambda():
                self._enter_lambda(node, part)

    def _enter_lambda(self, node: ir.Lambda, part: _Part) -> None:
        """Reads the body of a lambda; whatever may call it is kept."""
        part.is_kept = True
        targets, self._targets = self._targets, []
        self._scopes.append({})
        self._of_lambdas |= {self._declare(p) for p in node.params if p.name}
        self._visit(node.body, part)
        self._scopes.pop()
        self._targets = targets
        self._lambdas |= part.writes

    def _take_declaration(self, node: ir.Decl, part: _Part) -> None:
        name = self._declare(node)
        part.writes.add(name)
        part.declares.add(name)
        part.is_kept |= "static" in node.storage
        if node.init is not None and not _is_copy(node.type):
            self._exposed.update(self._names(node.init))
        if isinstance(node.init, ir.DirectInit) and not _is_number(node.type):
            self._construct(node.type, node.init.args, part)
            self._exposed |= self._names(node.init)
        elif self._slices.functions_named(_class_name(node.type)):
            given = node.init.exprs if isinstance(node.init, ir.InitList) else ()
            self._construct(node.type, given, part)

    def _construct(self, ctype: ir.Node, given: Sequence[ir.Node], part: _Part) -> None:
        """Takes in what a constructor may do."""
        owner = _class_name(ctype)
        is_known = bool(self._slices.functions_named(owner))
        if is_known:
            self._asked.add(owner)
            part.is_kept |= owner in self._launching or self._slices.reaches_globals(owner)
        self._give(owner if is_known else "", given, part)

    def _assign(self, target: ir.Node, part: _Part) -> None:
        """Takes in that an lvalue is written."""
        named = root_of(target)
        root = self._meant(named) if named is not None else None
        if root is None:
            part.through |= self._names(target)
        elif root not in self._declared:
            part.writes.add(_THIS)
            part.is_kept |= isinstance(target, ir.ID)  # of a file: it may hold a kernel
        else:
            part.writes.add(root)
            if not isinstance(target, ir.ID) or not _is_copy(self._declared[root]):
                part.through.add(root)
            part.is_kept |= root in self._of_lambdas and not self._is_value(root)

    def _call(self, node: ir.FuncCall, part: _Part) -> None:
        name = ir.called_name(node.name)
        words = {name} | {
            ir.called_name(a.expr if isinstance(a, ir.UnaryOp) else a) for a in node.args
        }
        self._asked |= {word for word in words if word and self._slices.functions_named(word)}
        is_launching = name in LAUNCHERS or name in CONFIGURED_LAUNCHERS
        part.is_kept |= is_launching or not words.isdisjoint(self._launching)
        found = self._slices.functions_named(name)
        if isinstance(node.name, ir.StructRef):
            self._touch(node.name.name, part)
        elif not isinstance(node.name, ir.ID) or self._meant(node.name.name) in self._declared:
            part.is_kept = True  # a lambda, or an object
        elif any(f.record is not None for f in found):
            part.through.add(_THIS)
        part.is_kept |= bool(found) and self._slices.reaches_globals(name)
        self._give(name, node.args, part)

    def _touch(self, place: ir.Node, part: _Part) -> None:
        """Takes in that what an expression names, or leads to, may be written."""
        names = self._names(place)
        part.writes |= names
        part.through |= names or {_THIS}

    def _give(
        self, name: str, given: Iterable[ir.Node], part: _Part, *, is_read: bool = False
    ) -> None:
        """Takes in what a call may do with what it is given.

        Args:
            name: of the function; empty where that is not known.
            given: its arguments.
            part: the statement.
            is_read: it takes no references.
        """
        if name in BUILTINS and not has_effect(name) and not self._slices.functions_named(name):
            return
        is_known = bool(name) and name not in BUILTINS
        for index, argument in enumerate(given):
            named = root_of(argument)
            root = self._meant(named) if named is not None else None
            names = {root} if root is not None else self._names(argument)
            is_address = isinstance(argument, ir.UnaryOp) and argument.op == "&"
            is_bound = root is not None and not is_read
            if is_bound and is_known:
                is_bound = self._slices.may_write(name, index)
            for found in names:
                if found not in self._declared:
                    part.through |= {_THIS} if self._function.record is not None else _NOTHING
                elif is_address or is_bound or not self._is_value(found):
                    part.writes.add(found)
                    self._exposed |= {found} if is_bound else set()
                    part.through |= {found} - ({found} if self._is_value(found) else set())

    # ---- names

    def _names(self, node: ir.Node) -> set[str]:
        """Returns the variables that an expression names."""
        found: set[str] = set()
        worklist = [node]
        while worklist:
            current = worklist.pop()
            if isinstance(current, ir.ID):
                name = self._meant(current.name)
                if name in self._declared or name == _THIS:
                    found.add(name)
            elif isinstance(current, ir.StructRef):
                worklist.append(current.name)
            else:
                worklist += current.children()
        return found

    def _is_value(self, name: str) -> bool:
        """Returns whether a name is of numbers alone, which hold no address."""
        return _is_number(self._declared.get(name))

    def _is_pointer(self, name: str) -> bool:
        """Returns whether a name is declared as a plain pointer."""
        ctype = self._declared.get(self._meant(name))
        return isinstance(ctype, ir.PtrDecl) and _is_copy(ctype)


class _Names:
    """Numbers some names, for sets of them that are bits of an integer."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._bits = {name: 1 << k for k, name in enumerate(names)}
        self._sets: dict[int, frozenset[str]] = {}

    def bits(self, names: Iterable[str]) -> int:
        """Returns the set of some names."""
        return sum(self._bits[name] for name in names)

    def of(self, bits: int) -> frozenset[str]:
        """Returns the names of a set."""
        if bits not in self._sets:
            self._sets[bits] = frozenset(self._names[bit] for bit in _set_bits(bits))
        return self._sets[bits]


def _set_bits(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def _closure(names: int, sources: Sequence[int]) -> int:
    """Returns the names that some names lead to, with these."""
    found, worklist = 0, names
    while worklist:
        lowest = worklist & -worklist
        found |= lowest
        worklist = (worklist | sources[lowest.bit_length() - 1]) & ~found
    return found


def _is_number(ctype: ir.Node | None) -> bool:
    """Returns whether a type spells numbers, or a built-in vector of them."""
    if isinstance(ctype, ir.Typename | ir.TypeDecl):
        ctype = ctype.type
        if isinstance(ctype, ir.TypeDecl):
            ctype = ctype.type
    if not isinstance(ctype, ir.IdentifierType):
        return False
    return _is_plain(builtin(tuple(w for w in ctype.names)))


def _is_plain(ctype: CType | None) -> bool:
    if isinstance(ctype, RecordType):
        return bool(ctype.members) and all(_is_plain(member.type) for member in ctype.members)
    return isinstance(ctype, IntType | FloatType)


def _is_copy(ctype: ir.Node) -> bool:
    """Returns whether a declared type is surely no reference."""
    if isinstance(ctype, ir.PtrDecl):
        return not {"&", "&&"} & set(ctype.quals)
    if isinstance(ctype, ir.ArrayDecl) or _is_number(ctype):
        return True
    inner = ctype.type if isinstance(ctype, ir.TypeDecl) else None
    return isinstance(inner, ir.IdentifierType) and inner.names == ("auto",)


def _class_name(ctype: ir.Node) -> str:
    if isinstance(ctype, ir.Typename):
        ctype = ctype.type
    inner = ctype.type if isinstance(ctype, ir.TypeDecl) else ctype
    words = inner.names if isinstance(inner, ir.IdentifierType) else ()
    return words[-1].split("<", 1)[0].rsplit("::", 1)[-1] if words else ""


def _is_writable(node: ir.Node) -> bool:
    """Returns whether a parameter refers to what is no constant."""
    if not (isinstance(node, ir.PtrDecl) and {"&", "&&"} & set(node.quals)):
        return False
    return "const" not in getattr(node.type, "quals", ())
