"""Interprets host code that makes CuPy kernels: its strings know where they stand."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

from smemlint.analysis.python.cupy.embedded_cuda import KernelCall
from smemlint.analysis.python.cupy.makers import is_of_maker
from smemlint.analysis.python.cupy.model import CupyModel
from smemlint.analysis.python.cupy.partial_texts import OpenPart, PartialText, assembled, part_of
from smemlint.analysis.python.cupy.source_map import MappedText, Position, literal
from smemlint.analysis.python.cupy.string_methods import percent
from smemlint.analysis.python.cupy.values import OpenFile, RawText
from smemlint.analysis.python.interpreter import Interpreter, OverBudget
from smemlint.analysis.python.interpreter.arguments import CallSite
from smemlint.analysis.python.interpreter.calls import call
from smemlint.analysis.python.interpreter.dispatch import (
    EXPRESSIONS,
    STATEMENTS,
    ExpressionHandlers,
    StatementHandlers,
)
from smemlint.analysis.python.interpreter.expressions import (
    apply_callee,
    arguments_of,
    evaluate_attribute,
    evaluate_call,
    evaluate_constant,
    evaluate_name,
    operate,
)
from smemlint.analysis.python.interpreter.path_sensitive import PathSensitive, enter_contexts
from smemlint.analysis.python.interpreter.statements import execute_import_from
from smemlint.analysis.python.interpreter.values import (
    UNKNOWN,
    Function,
    Scope,
    Scopes,
    Symbol,
    Unknown,
    Value,
)
from smemlint.frontend.folders import folders_above
from smemlint.frontend.python.module_files import files_of
from smemlint.frontend.python.python_source import NotPython, PythonText, belong, text_of
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_BUILD_FOLDERS_UP, MAX_IMPORTED_STEPS, MAX_TEXT
from smemlint.limits.sizes import decimal
from smemlint.sources.source import Source

_OPEN = "\ue000"
"""Stands for an open part of an f-string while its text is read."""
_PLAIN_FORMATS = ("f''", "f'd'", "f's'")


def interpreter_of(text: PythonText, files: Files) -> Interpreter:
    """Returns an interpreter of a file whose strings keep their positions."""
    belong(text)  # files call each other's functions
    strings = _Strings(text, files)
    expressions: ExpressionHandlers = {
        **EXPRESSIONS,
        ast.Name: strings.evaluate_name,
        ast.Attribute: strings.evaluate_attribute,
        ast.Constant: strings.evaluate_constant,
        ast.JoinedStr: strings.evaluate_f_string,
        ast.Call: _evaluate_call,
        ast.BinOp: _evaluate_binary,
    }
    statements: StatementHandlers = {
        **STATEMENTS,
        ast.ImportFrom: _execute_import_from,
        ast.With: _execute_with,
    }
    return Interpreter(
        CupyModel(text, files),
        policy=PathSensitive(),
        expressions=expressions,
        statements=statements,
    )


def scope_of(path: str) -> Scope:
    """Returns the names that a file begins with; its own path has a folder, as in Python."""
    return {"__file__": path if "/" in path else f"./{path}"}


@dataclass(frozen=True, slots=True, eq=False)
class _Strings:
    """Handlers of expressions whose values depend on the file that they stand in."""

    text: PythonText
    files: Files

    def evaluate_name(self, interpreter: Interpreter, node: ast.Name, scopes: Scopes) -> Value:
        """Returns the value of a name; of an imported constant that of its file."""
        return self._imported(node, evaluate_name(interpreter, node, scopes))

    def evaluate_attribute(
        self, interpreter: Interpreter, node: ast.Attribute, scopes: Scopes
    ) -> Value:
        """Returns an attribute; of an imported module the constant of its file."""
        return self._imported(node, evaluate_attribute(interpreter, node, scopes))

    def _imported(self, node: ast.expr, value: Value) -> Value:
        is_imported = isinstance(value, Symbol) and not value.path.startswith("builtins.")
        if isinstance(value, Symbol) and is_imported and not is_of_maker(value.path):
            return self.files.constant(text_of(node, self.text), value)
        return value

    def evaluate_constant(
        self, interpreter: Interpreter, node: ast.Constant, scopes: Scopes
    ) -> Value:
        """Returns the value of a literal; strings, of bytes too, know their positions."""
        if isinstance(node.value, str | bytes):
            return self._literal(node, text_in(node.value), ())
        return evaluate_constant(interpreter, node, scopes)

    def evaluate_f_string(
        self, interpreter: Interpreter, node: ast.JoinedStr, scopes: Scopes
    ) -> Value:
        """Returns the text of an f-string, or what is known of it."""
        fields = [part for part in node.values if isinstance(part, ast.FormattedValue)]
        values = [interpreter.evaluate(field.value, scopes) for field in fields]
        spelled = [_spelled(field, value) for field, value in zip(fields, values, strict=True)]
        known = [text for text in spelled if text is not None]
        if len(known) == len(spelled):
            return self._literal(node, None, known)
        text = self._literal(node, None, [t if t is not None else _OPEN for t in spelled])
        if not isinstance(text, MappedText) or any(_OPEN in t for t in known):
            return UNKNOWN
        ends = [at for at, character in enumerate(text) if character == _OPEN]
        place, origin = text.place(0), object()
        pieces: list[str | OpenPart | PartialText] = [text.part(0, ends[0])]
        is_open = [(f, v) for f, v, t in zip(fields, values, spelled, strict=True) if t is None]
        if len(is_open) != len(ends):
            return UNKNOWN
        for (field, value), at, end in zip(is_open, ends, [*ends[1:], len(text)], strict=True):
            if isinstance(value, PartialText):
                pieces.append(value)
            else:
                pieces.append(part_of(field.value, place, origin))
            pieces.append(text.part(at + 1, end))
        return assembled(pieces)

    def _literal(self, node: ast.expr, text: str | None, values: Sequence[str]) -> Value:
        if text is not None and len(text) > MAX_TEXT:
            return UNKNOWN
        home = text_of(node, self.text)
        span = home.span(node)
        start = Position(span.path, span.line, span.column)
        mapped = literal(home.segment(node), start, values)
        if mapped is not None and (text is None or str(mapped) == text):
            return mapped
        return MappedText.at(text, start) if text is not None else UNKNOWN


def _evaluate_call(interpreter: Interpreter, node: ast.Call, scopes: Scopes) -> Value:
    """Returns the result of a call; `open(path)` is a file, and IPython runs cells."""
    if isinstance(node.func, ast.Attribute) and node.func.attr == "run_cell_magic":
        given = [interpreter.evaluate(argument, scopes) for argument in node.args]
        if isinstance(interpreter.model, CupyModel):
            interpreter.model.run_cell(given, node)
        return UNKNOWN
    if isinstance(node.func, ast.Name) and node.func.id in ("open", "str") and node.args:
        callee = interpreter.evaluate(node.func, scopes)
        arguments = arguments_of(interpreter, node, scopes)
        path = arguments.get(0, "")
        if node.func.id == "open":
            return OpenFile(str(path)) if isinstance(path, str) else path
        if isinstance(path, OpenFile):
            return path.path
        return apply_callee(interpreter, callee, arguments, CallSite(node, scopes))
    return evaluate_call(interpreter, node, scopes)


def _evaluate_binary(interpreter: Interpreter, node: ast.BinOp, scopes: Scopes) -> Value:
    """Returns the result of an operator; `%` formats texts."""
    left = interpreter.evaluate(node.left, scopes)
    right = interpreter.evaluate(node.right, scopes)
    if isinstance(node.op, ast.Mod) and isinstance(left, MappedText):
        return percent(left, right)
    if isinstance(node.op, ast.Add):
        left, right = _named(node.left, left, right), _named(node.right, right, left)
    return operate(interpreter, node.op, left, right)


def _named(node: ast.expr, value: Value, other: Value) -> Value:
    """Returns a value that is added to a text: where it is not known, it has a name."""
    is_open = isinstance(value, Unknown) and not isinstance(value, PartialText)
    if is_open and isinstance(other, MappedText | PartialText):
        return assembled([part_of(node, None, object())])
    return value


def _execute_import_from(interpreter: Interpreter, node: ast.ImportFrom, scopes: Scopes) -> bool:
    """Binds members of a module; names of relative ones begin with their dots."""
    if not node.level:
        return execute_import_from(interpreter, node, scopes)
    module = "." * node.level + (f"{node.module}." if node.module else "")
    for alias in node.names:
        scopes[-1][alias.asname or alias.name] = Symbol(module + alias.name)
    return True


def _execute_with(interpreter: Interpreter, node: ast.With, scopes: Scopes) -> bool:
    """Executes a `with`, whose context managers are files, mostly."""
    enter_contexts(interpreter, node, scopes)
    return interpreter.run(node.body, scopes)


def _spelled(field: ast.FormattedValue, value: Value) -> str | None:
    """Returns what a field of an f-string prints; None where that is not known."""
    if field.conversion not in (-1, ord("s")) or isinstance(value, bool):
        return None
    if field.format_spec is not None and ast.unparse(field.format_spec) not in _PLAIN_FORMATS:
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return repr(value)
    return decimal(value) if isinstance(value, int) else None


def text_in(value: str | bytes) -> str:
    """Returns the characters of a literal."""
    return value if isinstance(value, str) else value.decode("latin-1")


def _places(home: str, path: str) -> Iterator[str]:
    """Yields where a file may lie that code opens: beside it, above it, where smemlint runs."""
    for folder in folders_above(home, MAX_BUILD_FOLDERS_UP if not path.startswith("/") else 0):
        yield posixpath.normpath(posixpath.join(folder, path))
    yield posixpath.normpath(path)


def _source(path: str, home: PythonText) -> Source:
    """Returns a file that another one names; empty where that cannot be read."""
    try:
        return Source(path, home.sandbox.read(path), below=home.below)
    except OSError:
        return Source(path, "")


@dataclass(eq=False)
class _Module:
    """A file whose statements were executed."""

    interpreter: Interpreter
    scope: Scope


class Files:
    """The file that is interpreted, those that it imports from, and those that it opens.

    Attributes:
        raws, snippets, written, named_calls: see `model.Program`.
        dependencies: files that were read or looked for, the first one left out.
        steps_in_imports: of functions of other files, since somebody resets it.
    """

    def __init__(self) -> None:
        self.raws: dict[tuple[str, int, int, str], RawText] = {}
        self.snippets: list[tuple[ast.Call, str]] = []
        self.written: dict[str, str] = {}
        self.named_calls: list[KernelCall] = []
        self.dependencies: dict[str, None] = {}
        self.steps_in_imports = 0
        self._modules: dict[str, _Module | None] = {}
        self._sources: dict[str, Source] = {}

    def call(self, caller: PythonText, name: Symbol, arguments: list[Value], named: Scope) -> Value:
        """See `model.Program`."""
        module = self._module_of(caller, name, "def ")
        function = module.scope.get(name.name) if module is not None else None
        if module is None or not isinstance(function, Function):
            return UNKNOWN
        if self.steps_in_imports > MAX_IMPORTED_STEPS:
            return UNKNOWN
        interpreter = module.interpreter
        interpreter.steps = self.steps_in_imports
        try:
            return call(interpreter, function, arguments, named)
        except OverBudget:
            return UNKNOWN
        finally:
            self.steps_in_imports = interpreter.steps

    def constant(self, home: PythonText, name: Symbol) -> Value:
        """Returns the constant or class of an imported name of another file, else the name."""
        module = self._module_of(home, name, "(?:class )?")
        value = module.scope.get(name.name, name) if module is not None else name
        return name if isinstance(value, Function | Unknown) else value

    def read(self, home: PythonText, path: str) -> MappedText | None:
        """See `model.Program`."""
        if not posixpath.basename(path):
            return None  # a folder
        for full in _places(home.path, path):
            self.dependencies[full] = None
            if home.sandbox.stamp(full) is not None:
                break
        text = home.sandbox.text(full, MAX_TEXT)
        return MappedText.in_file(text, full) if text is not None else None

    def _module_of(self, home: PythonText, name: Symbol, keyword: str) -> _Module | None:
        """Returns the file that an imported name comes from, if it plainly defines it."""
        for path in files_of(home.path, name.path):
            if path == home.path:
                continue
            self.dependencies[path] = None
            if path not in self._sources:
                self._sources[path] = _source(path, home)
            defines = rf"^{keyword}{re.escape(name.name)}\b\s*[(:=]"
            if re.search(defines, self._sources[path].text, re.M) is not None:
                return self._interpreted(path)
        return None

    def _interpreted(self, path: str) -> _Module | None:
        if path not in self._modules:
            self._modules[path] = None  # ends recursion
            try:
                text = PythonText.of(self._sources[path])
            except NotPython:
                return None
            interpreter = interpreter_of(text, self)
            scope = scope_of(path)
            with suppress(OverBudget, RecursionError):
                interpreter.run(text.tree.body, (scope,))
            self._modules[path] = _Module(interpreter, scope)
        return self._modules[path]
