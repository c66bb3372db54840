"""CuTe DSL (`cutlass.cute`): the swizzles that Python sources write, and what they are bound to.

Functions are followed with arguments that are not known. Where a swizzle hangs on one open
condition, each of its outcomes is followed too and named; what hangs on several at once is left
open, since not every combination need occur.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from smemlint.analysis.program.dependencies import Dependencies
from smemlint.analysis.python.cute_dsl.imported_layouts import MAKER, Siblings, find_imported_maker
from smemlint.analysis.python.cute_dsl.layouts import ComposedValue, SwizzleValue
from smemlint.analysis.python.cute_dsl.memory import struct_of
from smemlint.analysis.python.cute_dsl.model import DTYPES, CuteModel
from smemlint.analysis.python.importers import Importers
from smemlint.analysis.python.interpreter import Interpreter, Policy
from smemlint.analysis.python.interpreter.calls import call, instance_from_outside
from smemlint.analysis.python.interpreter.dispatch import STATEMENTS, StatementHandlers
from smemlint.analysis.python.interpreter.guarded import run_within_budget
from smemlint.analysis.python.interpreter.objects import instance_of_unknown_history
from smemlint.analysis.python.interpreter.statements import execute_class
from smemlint.analysis.python.interpreter.values import (
    SEVERAL,
    Class,
    DType,
    Function,
    Instance,
    Scope,
    Scopes,
    Symbol,
    Value,
)
from smemlint.config.settings import Settings
from smemlint.facts import Facts, LayoutUse, NotAnalysed, Span
from smemlint.frontend.python.python_source import NotPython, PythonText
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_OPEN_CONDITIONS
from smemlint.reasons import Assumption, Reason, ReasonCode, Topic, outcome
from smemlint.sources.source import Source

_MARKS = ("cute.kernel", "cutlass.cute.kernel")
_COPIER = "autovec_copy("
_EXECUTED = ("@cute.", "SmemAllocator")
"""Words of files with kernels, or with functions that lack the decorator of one."""
_NOT_OURS = ("cutlass", "torch", "math", "builtins", "typing", "functools", "cuda", "operator")
"""Packages whose functions make no swizzle that we would read."""
_TENSOR_CORE_OPS = {"MmaF16BF16Op": 16}
"""Operations whose first argument is an element type of that many bits."""


def analyze(source: Source, settings: Settings, importers: Importers) -> tuple[Facts, Dependencies]:
    """Returns the swizzles and kernels of a file, and the files that they depend on."""
    layouts, read = _layouts(source)
    if not any(word in source.text for word in _EXECUTED):
        return layouts, read
    try:
        text = PythonText.of(source)
    except NotPython as problem:
        return problem.facts, read
    from smemlint.analysis.python.cute_dsl.execution.files import execute_file
    from smemlint.analysis.python.cute_dsl.execution.outside.callers import Callers

    callers = Callers(text, importers.of)
    executed = execute_file(text, settings, callers)
    read.add(Dependencies(executed.reads, callers.searched))
    left = tuple(n for n in layouts.not_analysed if n.span not in executed.reached)
    layouts = replace(layouts, not_analysed=left)
    kernels = Facts(
        tuple(executed.kernels),
        tuple(executed.notes),
        tuple(executed.layouts.values()),
        reached=tuple(sorted(span for span in executed.reached if span.path != source.path)),
    )
    return Facts.joined([layouts, kernels]), read


def _layouts(source: Source) -> tuple[Facts, Dependencies]:
    """Returns the swizzles of a file, and the files that it imports makers of swizzles from."""
    reads: dict[str, None] = {}
    if not any(word in source.text for word in (MAKER, _COPIER)):
        is_maker_imported, reads = find_imported_maker(source)
        if not is_maker_imported:
            return Facts(), Dependencies(reads)
    try:
        text = PythonText.of(source)
    except NotPython as problem:
        return problem.facts, Dependencies(reads)
    file = _File(text)
    facts = file.facts()
    return facts, Dependencies({**reads, **file.dependencies})


class _Conditions(Policy):
    """Takes some open conditions as given, and remembers the others.

    Attributes:
        open: conditions whose outcome was asked for and is not known, in order.
    """

    def __init__(self, model: CuteModel, given: Mapping[str, bool]) -> None:
        self._model = model
        self._given = given
        self.open: dict[str, None] = {}

    def decide(self, condition: ast.expr, value: Value) -> bool | None:
        """Returns the given outcome of a condition; None where it is open."""
        if value == SEVERAL:
            return None  # another condition decides it
        text = ast.unparse(condition)
        if text not in self._given:
            self.open.setdefault(text)
        return self._given.get(text)

    def enters(
        self, interpreter: Interpreter, function: Function, arguments: Sequence[Value], named: Scope
    ) -> bool:
        """Returns whether a call has to do with swizzles: most of an object's methods do not."""
        is_other = function.owner is not None and function.node.name != "__init__"
        if not is_other or not interpreter.frames or MAKER in self._model.text_of(function.node):
            return True
        given = (*arguments, *named.values())
        return any(isinstance(v, SwizzleValue | ComposedValue) for v in given)


def _interpreter_of(model: CuteModel, policy: _Conditions) -> Interpreter:
    """Returns an interpreter that knows `cute.struct` and functions of other files."""

    def execute_import(interpreter: Interpreter, node: ast.ImportFrom, scopes: Scopes) -> bool:
        module = "." * node.level + (f"{node.module}." if node.module else "")
        for alias in node.names:
            path = module + alias.name
            found = model.imported(path, node) if not path.startswith("cutlass.") else None
            scopes[-1][alias.asname or alias.name] = found or Symbol(path)
        return True

    statements: StatementHandlers = {
        **STATEMENTS,
        ast.ImportFrom: execute_import,
        ast.ClassDef: _execute_class,
    }
    return Interpreter(model, _MARKS, policy=policy, statements=statements)


def _execute_class(interpreter: Interpreter, node: ast.ClassDef, scopes: Scopes) -> bool:
    """Binds a class, or the layout of a `cute.struct`."""
    execute_class(interpreter, node, scopes)
    if any(ast.unparse(d).endswith("cute.struct") for d in node.decorator_list):
        scopes[-1][node.name] = struct_of(interpreter, node, scopes)
    return True


def _enter(interpreter: Interpreter, function: Function, owner: Instance | None) -> None:
    """Calls a function, or a method of an object as its `__init__` left it."""
    if owner is None:
        call(interpreter, function, (), {})
    else:
        receiver = replace(owner, attributes=dict(owner.attributes))
        call(interpreter, function, (receiver,), {})


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
        self._siblings = Siblings(text, self._interpret)
        self._model = CuteModel(
            self._siblings.span, self._siblings.segment, imported=self._siblings.function
        )
        self._notes: list[NotAnalysed] = []
        self._objects: dict[ast.ClassDef, Instance] = {}

    @property
    def dependencies(self) -> dict[str, None]:
        """Returns the other files that were read."""
        return self._siblings.read

    def _interpret(self, text: PythonText) -> Scope:
        """Executes the statements of a file, and returns its scope."""
        scope: Scope = {}
        interpreter = _interpreter_of(self._model, _Conditions(self._model, {}))
        self._guarded("", partial(interpreter.run, text.tree.body, (scope,)))
        return scope

    def facts(self) -> Facts:
        """Returns the swizzles of all functions, each reading of a place once."""
        scope = self._interpret(self._text)
        for found in self._concerned(scope):
            self._function(found, scope)
        seen: dict[object, LayoutUse] = {}
        for use in self._model.uses:
            key = (use.span, use.swizzle, use.units, use.element_bytes, use.shape, use.stride)
            seen.setdefault(key, use)
        left = len(self._siblings.left_out)
        if left:
            reason = Reason(ReasonCode.LEFT_OUT, f"{left} further imported files are not read")
            self._notes.append(NotAnalysed(Span(self._text.path, 1, 1, 1, 1), "", reason))
        known = {use.span for use in seen.values()}
        message = Reason(ReasonCode.UNKNOWN_VALUE, "the numbers of this swizzle are not known")
        self._notes += (
            NotAnalysed(span, kernel, message)
            for span, kernel in self._model.open.items()
            if span not in known
        )
        return Facts((), tuple(self._notes), tuple(seen.values()))

    def _concerned(self, scope: Scope) -> Iterator[_Concerned]:
        """Returns the functions that make swizzles, or call one of the file that does."""
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

    def _far_names(self, scope: Scope) -> Iterator[str]:
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
        """Returns the functions of the file, and the methods of its classes."""
        for node in self._text.tree.body:
            if isinstance(node, ast.FunctionDef):
                yield node, None
            elif isinstance(node, ast.ClassDef):
                yield from ((m, node) for m in node.body if isinstance(m, ast.FunctionDef))

    def _object(self, owner: ast.ClassDef, scope: Scope) -> Instance | None:
        """Returns an object behind its `__init__`; None where its name means something else."""
        class_ = scope.get(owner.name)
        if not isinstance(class_, Class) or class_.node is not owner:
            return None
        if owner not in self._objects:
            found: list[Instance] = []
            interpreter = _interpreter_of(self._model, _Conditions(self._model, {}))

            def construct() -> None:
                found.append(instance_from_outside(interpreter, class_))

            self._guarded("__init__", construct)
            self._objects[owner] = found[0] if found else instance_of_unknown_history(class_)
        return self._objects[owner]

    def _function(self, found: _Concerned, scope: Scope) -> None:
        node, owner = found.node, found.owner
        model = self._model
        model.kernel = node.name
        receiver = None
        if owner is not None and not _is_static(node):
            receiver = self._object(owner, scope)
        class_ = receiver.type if receiver is not None else None
        function = Function(node, (scope,), is_kernel=False, owner=class_)
        widths = stated_widths(owner) if owner is not None else {}
        model.widths = {text: dtype for text, (dtype, _) in widths.items()}
        stated = tuple(
            Assumption(Topic.TEMPLATE, f"`{text}` is {dtype.name} (line {line})", text)
            for text, (dtype, line) in widths.items()
        )

        def enter(given: Mapping[str, bool]) -> Iterable[str]:
            policy = _Conditions(model, given)
            interpreter = _interpreter_of(model, policy)
            self._guarded(node.name, partial(_enter, interpreter, function, receiver))
            return policy.open

        model.assumptions = stated
        for text in list(enter({}))[: MAX_OPEN_CONDITIONS if found.is_maker else 0]:
            for holds in (True, False):
                model.assumptions = (*stated, outcome(text, holds))
                enter({text: holds})

    def _guarded(self, function: str, action: Callable[[], object]) -> None:
        self._notes += run_within_budget(action, self._text.path, function)


def _is_static(node: ast.FunctionDef) -> bool:
    return any(ast.unparse(d) == "staticmethod" for d in node.decorator_list)


def stated_widths(owner: ast.ClassDef) -> dict[str, tuple[DType, int]]:
    """Returns the expressions whose element type a class states, each with the line that does.

    That is an `assert x == Float16 or x == BFloat16`, or an operation of the tensor cores that
    takes only types of one width.
    """
    found: dict[str, tuple[DType, int]] = {}
    for node in ast.walk(owner):
        stated: tuple[str, DType] | None = None
        if not isinstance(node, ast.Assert | ast.Call):
            continue
        if isinstance(node, ast.Assert):
            stated = _asserted(node.test)
        elif node.args:
            bits = _TENSOR_CORE_OPS.get(ast.unparse(node.func).rpartition(".")[2])
            if bits is not None:
                stated = ast.unparse(node.args[0]), DType(f"a {bits}-bit type", bits)
        if stated is not None:
            text, dtype = stated
            before = found.get(text)
            if before is not None and before[0].bits != dtype.bits:
                dtype = DType("of several widths", 0)
            if before is None or not dtype.bits:
                found[text] = dtype, node.lineno
    return {text: (dtype, line) for text, (dtype, line) in found.items() if dtype.bits}


def _asserted(test: ast.expr) -> tuple[str, DType] | None:
    """Parses `x == A or x == B` where A and B have one width."""
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
