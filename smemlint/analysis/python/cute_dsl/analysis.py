"""CuTe DSL (`cutlass.cute`): the swizzles that Python sources write, and what they are bound to.

Functions are followed with arguments that are not known. Where a swizzle hangs on one open
condition, each of its outcomes is followed too and named; what hangs on several at once is left
open, since not every combination need occur.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from smemlint.analysis.python.cute_dsl.imported_layouts import MAKER, Siblings, imports_maker
from smemlint.analysis.python.cute_dsl.layouts import ComposedValue, SwizzleValue
from smemlint.analysis.python.cute_dsl.memory import StructType
from smemlint.analysis.python.cute_dsl.model import DTYPES, CuteLibrary
from smemlint.analysis.python.interpreter.objects import Class, Instance, any_of
from smemlint.analysis.python.interpreter.statements import Follower, OverBudget
from smemlint.analysis.python.interpreter.values import (
    SEVERAL,
    UNKNOWN,
    DType,
    Function,
    Symbol,
    Value,
    is_known,
)
from smemlint.facts import Facts, LayoutUse, NotAnalysed, Span
from smemlint.frontend.python.python_source import NotPython, PythonText

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from smemlint.config.settings import Settings
    from smemlint.sources.source import Source

_MARKS = ("cute.kernel", "cutlass.cute.kernel")
_COPIER = "autovec_copy("
_MOST_CONDITIONS = 12
_NOT_OURS = ("cutlass", "torch", "math", "builtins", "typing", "functools", "cuda", "operator")
"""Packages whose functions make no swizzle that we would read."""
_TENSOR_CORE_OPS = {"MmaF16BF16Op": 16}
"""Operations whose first argument is an element type of that many bits."""


def facts_of(source: Source, settings: Settings) -> Facts:
    """The swizzles of a file."""
    if not any(word in source.text for word in (MAKER, _COPIER)) and not imports_maker(source):
        return Facts()
    try:
        text = PythonText.of(source)
    except NotPython as problem:
        return Facts(not_analysed=(NotAnalysed(problem.span, "", str(problem)),))
    file = _File(text)
    facts = file.facts()
    source.read_along.update(file.read_along)
    return facts


class _Follower(Follower):
    """Takes open conditions as told, remembers those it was not told, and reads `cute.struct`s."""

    def __init__(self, library: CuteLibrary, told: Mapping[str, bool]) -> None:
        super().__init__(library, _MARKS)
        self._cute = library
        self._told = told
        self.open: dict[str, None] = {}

    def call(
        self, function: Function, arguments: Sequence[Value], named: dict[str, Value]
    ) -> Value:
        """The value that a function returns.

        Of an object's methods those count that make swizzles or are given one: most of a class has
        nothing to do with them.
        """
        is_other = function.owner is not None and function.node.name != "__init__"
        if is_other and self.is_busy and MAKER not in self._cute.text_of(function.node):
            given = (*arguments, *named.values())
            if not any(isinstance(v, SwizzleValue | ComposedValue) for v in given):
                return UNKNOWN
        return super().call(function, arguments, named)

    def entered(self, function: Function, owner: Instance | None) -> None:
        """Follows a function, or a method of an object as its `__init__` left it."""
        if owner is None:
            self.call(function, (), {})
        else:
            self.call(function, (replace(owner, attributes=dict(owner.attributes)),), {})

    def truth(self, node: ast.expr, scopes: tuple[dict[str, Value], ...]) -> bool | None:
        """Whether a condition holds; None where nothing says so."""
        value = self.value(node, scopes)
        if is_known(value):
            return bool(value)
        if value == SEVERAL:
            return None  # another condition decides it
        text = ast.unparse(node)
        known = self._told.get(text)
        if known is None:
            self.open.setdefault(text)
        return known

    def _import(self, node: ast.ImportFrom, scopes: tuple[dict[str, Value], ...]) -> None:
        module = "." * node.level + (f"{node.module}." if node.module else "")
        for alias in node.names:
            path = module + alias.name
            found = None
            if not path.startswith("cutlass."):
                found = self._cute.imported(path, node)
            scopes[-1][alias.asname or alias.name] = found or Symbol(path)

    def _statement(self, node: ast.stmt, scopes: tuple[dict[str, Value], ...]) -> bool:
        goes_on = super()._statement(node, scopes)
        if isinstance(node, ast.ImportFrom):
            self._import(node, scopes)
        if isinstance(node, ast.ClassDef) and _is_struct(node):
            members = [
                (ast.unparse(member.target), self.value(member.annotation, scopes))
                for member in node.body
                if isinstance(member, ast.AnnAssign)
            ]
            scopes[-1][node.name] = StructType.of(members)
        return goes_on


@dataclass(frozen=True, slots=True, eq=False)
class _Concerned:
    """A function that makes swizzles, or calls one that does, or copies in vectors only."""

    node: ast.FunctionDef
    owner: ast.ClassDef | None
    is_maker: bool


class _File:
    """One file."""

    def __init__(self, text: PythonText) -> None:
        self._text = text
        self._siblings = Siblings(text, self._followed)
        self._library = CuteLibrary(
            self._siblings.span, self._siblings.segment, imported=self._siblings.function
        )
        self._notes: list[NotAnalysed] = []
        self._objects: dict[ast.ClassDef, Instance] = {}

    @property
    def read_along(self) -> dict[str, bool]:
        """Other files that were read; none of them is a kernel's text."""
        return self._siblings.read

    def _followed(self, text: PythonText) -> dict[str, Value]:
        scope: dict[str, Value] = {}
        module = _Follower(self._library, {})
        self._guarded("", partial(module.run, text.tree.body, (scope,)))
        return scope

    def facts(self) -> Facts:
        """The swizzles of all functions, each reading of a place once."""
        scope = self._followed(self._text)
        for found in self._concerned(scope):
            self._function(found, scope)
        seen: dict[object, LayoutUse] = {}
        for use in self._library.uses:
            key = (use.span, use.swizzle, use.units, use.element_bytes, use.shape, use.stride)
            seen.setdefault(key, use)
        known = {use.span for use in seen.values()}
        said = "the numbers of this swizzle are not known"
        self._notes += (
            NotAnalysed(span, kernel, said)
            for span, kernel in self._library.open.items()
            if span not in known
        )
        return Facts((), tuple(self._notes), tuple(seen.values()))

    def _concerned(self, scope: dict[str, Value]) -> Iterator[_Concerned]:
        """Functions that make swizzles, or call one of the file that does."""
        found = [(self._text.segment(node), node, owner) for node, owner in self._functions()]
        makers = [
            f"self.{node.name}(" if owner else f"{node.name}("
            for text, node, owner in found
            if MAKER in text
        ]
        makers += [f"{n}(" for n, f in scope.items() if isinstance(f, Function) and self._is_far(f)]
        makers += self._far_names(scope)
        for text, node, owner in found:
            body = text.partition("(")[2]  # without the function's own name
            is_maker = any(name in body for name in (MAKER, *makers))
            if is_maker or _COPIER in body:
                yield _Concerned(node, owner, is_maker)

    def _is_far(self, function: Function) -> bool:
        return self._siblings.text_of(function.node) is not self._text

    def _far_names(self, scope: dict[str, Value]) -> Iterator[str]:
        """Calls of functions of imported modules, as the file spells them: `helpers.atom(`."""
        for node in ast.walk(self._text.tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            owner = node.func.value
            symbol = scope.get(owner.id) if isinstance(owner, ast.Name) else None
            if not isinstance(symbol, Symbol) or symbol.path.startswith(_NOT_OURS):
                continue
            if self._siblings.function(f"{symbol.path}.{node.func.attr}", node) is not None:
                yield f"{ast.unparse(node.func)}("

    def _functions(self) -> Iterator[tuple[ast.FunctionDef, ast.ClassDef | None]]:
        """The functions of the file, and the methods of its classes."""
        for node in self._text.tree.body:
            if isinstance(node, ast.FunctionDef):
                yield node, None
            elif isinstance(node, ast.ClassDef):
                yield from ((m, node) for m in node.body if isinstance(m, ast.FunctionDef))

    def _object(self, owner: ast.ClassDef, scope: dict[str, Value]) -> Instance | None:
        """An object of a class behind its `__init__`; None where its name means something else."""
        kind = scope.get(owner.name)
        if not isinstance(kind, Class) or kind.node is not owner:
            return None
        if owner not in self._objects:
            made: list[Instance] = []
            init = _Follower(self._library, {})
            self._guarded("__init__", lambda: made.append(init.any_of(kind)))
            self._objects[owner] = made[0] if made else any_of(kind)
        return self._objects[owner]

    def _function(self, found: _Concerned, scope: dict[str, Value]) -> None:
        node, owner = found.node, found.owner
        library = self._library
        library.kernel = node.name
        held = None
        if owner is not None and not _is_static(node):
            held = self._object(owner, scope)
        kind = held.type if held is not None else None
        function = Function(node, (scope,), False, kind)
        widths = stated_widths(owner) if owner is not None else {}
        library.widths = {text: dtype for text, (dtype, _) in widths.items()}
        said = tuple(f"`{t}` is {d.name} (line {line})" for t, (d, line) in widths.items())
        first = _Follower(library, {})
        library.assumptions = said
        self._guarded(node.name, partial(first.entered, function, held))
        for text in list(first.open)[: _MOST_CONDITIONS if found.is_maker else 0]:
            for holds in (True, False):
                other = _Follower(library, {text: holds})
                library.assumptions = (*said, f"`{text}` {'holds' if holds else 'does not hold'}")
                self._guarded(node.name, partial(other.entered, function, held))

    def _guarded(self, function: str, action: Callable[[], object]) -> None:
        """Over the budget, or nested too deeply, is said."""
        try:
            action()
        except (OverBudget, RecursionError):
            where = Span(self._text.path, 1, 1, 1, 1)
            self._notes.append(NotAnalysed(where, function, "it takes too long to follow"))


def _is_static(node: ast.FunctionDef) -> bool:
    return any(ast.unparse(d) == "staticmethod" for d in node.decorator_list)


def _is_struct(node: ast.ClassDef) -> bool:
    return any(ast.unparse(d).endswith("cute.struct") for d in node.decorator_list)


def stated_widths(owner: ast.ClassDef) -> dict[str, tuple[DType, int]]:
    """Expressions that a class says the element type of, each with the line that says so.

    That is an `assert x == Float16 or x == BFloat16`, or an operation of the tensor cores that
    takes only types of one width.
    """
    found: dict[str, tuple[DType, int]] = {}
    for node in ast.walk(owner):
        said: tuple[str, DType] | None = None
        if not isinstance(node, ast.Assert | ast.Call):
            continue
        if isinstance(node, ast.Assert):
            said = _asserted(node.test)
        elif node.args:
            bits = _TENSOR_CORE_OPS.get(ast.unparse(node.func).rpartition(".")[2])
            if bits is not None:
                said = ast.unparse(node.args[0]), DType(f"a {bits}-bit type", bits)
        if said is not None:
            text, dtype = said
            before = found.get(text)
            if before is not None and before[0].bits != dtype.bits:
                dtype = DType("of several widths", 0)
            if before is None or not dtype.bits:
                found[text] = dtype, node.lineno
    return {text: (dtype, line) for text, (dtype, line) in found.items() if dtype.bits}


def _asserted(test: ast.expr) -> tuple[str, DType] | None:
    """`x == A or x == B` where A and B have one width."""
    parts = test.values if isinstance(test, ast.BoolOp) else [test]
    if isinstance(test, ast.BoolOp) and not isinstance(test.op, ast.Or):
        return None
    subjects, names = set(), []
    for part in parts:
        if not (isinstance(part, ast.Compare) and isinstance(part.ops[0], ast.Eq)):
            return None
        subjects.add(ast.unparse(part.left))
        names += [ast.unparse(c).rpartition(".")[2] for c in part.comparators]
    widths = {DTYPES.get(name, 0) for name in names}
    if len(subjects) != 1 or len(widths) != 1 or 0 in widths:
        return None
    return subjects.pop(), DType(" or ".join(names), widths.pop())
