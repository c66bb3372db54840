"""CUDA text that Python hands to a compiler (`makers.py`): it is analysed with its launches.

CuPy's element-wise and reduction kernels become complete texts first. A call whose text is not
known is reported as not analysed where it may use shared memory. Where there is none, a text with
shared memory that no such call gets is analysed as it stands: a library that is not known gets it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from smemlint.analysis.program.dependencies import Dependencies
from smemlint.analysis.python.cupy.embedded_cuda import Embedded
from smemlint.analysis.python.cupy.generated_kernels import NAMES
from smemlint.analysis.python.cupy.interpreter import Files, interpreter_of, scope_of, text_in
from smemlint.analysis.python.cupy.makers import MAKERS, Maker, Product, defines_of
from smemlint.analysis.python.cupy.partial_texts import PartialText
from smemlint.analysis.python.cupy.source_map import MappedText
from smemlint.analysis.python.cupy.values import RawText
from smemlint.analysis.python.interpreter import Interpreter
from smemlint.analysis.python.interpreter.calls import (
    call_from_outside,
    functions_of,
    option_parameters,
)
from smemlint.analysis.python.interpreter.guarded import run_within_budget
from smemlint.analysis.python.interpreter.interpreter import Policy, replace_scope
from smemlint.analysis.python.interpreter.values import UNKNOWN, Scope, Value
from smemlint.config.settings import Settings
from smemlint.facts import Facts, NotAnalysed
from smemlint.frontend.python.imports import last_name
from smemlint.frontend.python.parameters import argument_of
from smemlint.frontend.python.python_source import NotPython, PythonText
from smemlint.frontend.text_heuristics import may_launch, may_touch_shared, template_lines
from smemlint.limits.budgets import MAX_KERNEL_STRINGS
from smemlint.reasons import Reason, ReasonCode
from smemlint.sources.languages import is_python_path
from smemlint.sources.source import Source

_DECLARES = re.compile(r"__shared__\s[^;{}()]*\[")
_KERNEL = "__global__"
_DEVICE_CODE = (_KERNEL, "__device__")
_FENCE = "```"
"""Of code in Markdown: the text is read by people, or by models of language."""


def analyze(source: Source, settings: Settings) -> tuple[Facts, Dependencies]:
    """Returns the facts of all texts of a file, and a note at each call of an unknown text."""
    try:
        text = PythonText.of(source)
    except NotPython as problem:
        return problem.facts, Dependencies()
    file = _File(text, settings)
    return file.facts(), file.dependencies()


def texts_of(source: Source, settings: Settings) -> list[Embedded]:
    """Returns the texts with shared memory that a file passes to CuPy; none of a broken file."""
    try:
        text = PythonText.of(source)
    except NotPython:
        return []
    return _File(text, settings).texts()


class _File:
    """One file: its statements, then each of its functions, are executed for texts and launches."""

    def __init__(self, text: PythonText, settings: Settings) -> None:
        self._text = text
        self._settings = settings
        self._files = Files()
        self._interpreter = interpreter_of(text, self._files)
        self._scope = scope_of(text.path)
        self._notes: list[NotAnalysed] = []

    def dependencies(self) -> Dependencies:
        """Returns the other files that were read; of these, the texts of kernels are compiled."""
        reads = self._files.dependencies
        sources = {
            path
            for raw in self._files.raws.values()
            if raw.text is not None
            and _holds_shared(raw.text)
            and (defines_of(raw.options) or not may_launch(raw.text))
            for path in raw.text.paths
        }
        compiled = [path for path in reads if path in sources and not is_python_path(path)]
        return Dependencies(dict.fromkeys(reads), compiled=dict.fromkeys(compiled))

    def texts(self) -> list[Embedded]:
        """Returns the texts that are known and use shared memory.

        One that several calls compile, as `RawKernel(text, name)` does for each name, is one unit
        with the launches of all.
        """
        self._interpret()
        alike: dict[tuple[object, ...], list[RawText]] = {}
        complete = {_place(raw) for raw in self._files.raws.values() if not raw.is_partial}
        for raw in self._files.raws.values():
            if raw.is_partial and _place(raw) in complete:
                continue
            if raw.text is not None and _holds_shared(raw.text) and self._is_wanted(raw):
                alike.setdefault((raw.text, raw.text.runs, raw.options), []).append(raw)
        return [self._embedded(raws) for raws in alike.values()]

    def facts(self) -> Facts:
        """Returns the facts of all texts."""
        parts = [embedded.facts(self._settings) for embedded in self.texts()]
        unknown = [
            self._note(call, ReasonCode.NOT_MODELLED, _why_unknown(call))
            for call in self._unread_calls()
        ]
        for number, literal in enumerate(self._uncompiled() if not unknown else ()):
            facts = self._as_it_stands(literal) if number < MAX_KERNEL_STRINGS else Facts()
            parts.append(facts)
            if not facts.kernels:
                why = "no call that compiles this CUDA text"
                unknown.append(self._note(literal, ReasonCode.NOT_REACHED, why))
        self._notes += unknown + self._templates()
        notes = sorted(self._notes, key=lambda n: (n.span.line, n.span.column))
        return Facts.joined([*parts, Facts(not_analysed=tuple(notes))])

    def _unread_calls(self) -> list[ast.Call]:
        """Returns the calls that may hand over text with shared memory and whose text is open."""
        raws = filter(self._is_own, self._files.raws.values())
        read = {(r.node.lineno, r.node.col_offset) for r in raws if r.text is not None}
        shared = {call for call, text in self._files.snippets if _holds_shared(text)}
        return [
            call
            for call in ast.walk(self._text.tree)
            if isinstance(call, ast.Call)
            and (call.lineno, call.col_offset) not in read
            and (call in shared or self._may_use_shared(call))
        ]

    def _note(self, node: ast.expr, code: ReasonCode, text: str) -> NotAnalysed:
        return NotAnalysed(self._text.span(node), "", Reason(code, text))

    def _as_it_stands(self, literal: ast.expr) -> Facts:
        """Returns the facts of the kernels in a literal that no call that is known compiles."""
        found: list[Value] = []
        read = partial(self._interpreter.evaluate, literal, (self._scope,))
        self._guarded(self._interpreter, lambda: found.append(read()))
        text = next(iter(found), UNKNOWN)
        text = text.completed() if isinstance(text, PartialText) else text
        if not isinstance(text, MappedText) or _KERNEL not in text or _FENCE in text:
            return Facts()
        span = self._text.span(literal)
        name = f"{self._text.path}#{span.line}.{span.column}.cu"
        calls = [c for c in dict.fromkeys(self._files.named_calls) if f"{c.kernel}(" in text]
        facts = Embedded(text, span, name, {}, calls, below=self._text.below).facts(self._settings)
        return facts if facts.kernels else Facts()

    def _uncompiled(self) -> list[ast.expr]:
        """Returns the literals with device code that are no part of a known text."""
        compiled = {line for raw in self._files.raws.values() for line in self._lines_of(raw)}
        literals = list(_literals_of(self._text.tree))
        has_code = any(word in text for _, text in literals for word in _DEVICE_CODE)
        return [
            literal
            for literal, text in literals
            if _holds_shared(text)
            and (
                any(word in text for word in _DEVICE_CODE) or (has_code and _DECLARES.search(text))
            )
            and compiled.isdisjoint(range(literal.lineno, (literal.end_lineno or 0) + 1))
        ]

    def _templates(self) -> list[NotAnalysed]:
        """Returns a note at each literal in the words that reikna translates."""
        return [
            self._note(literal, ReasonCode.NOT_MODELLED, "the macros of this text are not known")
            for literal, text in _literals_of(self._text.tree)
            if not _holds_shared(text) and template_lines(text)
        ]

    def _may_use_shared(self, call: ast.Call) -> bool:
        """Returns whether a call may hand over text with shared memory."""
        maker = MAKERS.get(last_name(call.func))
        if maker is not None and maker.product is Product.FILES:
            return False  # a run reads them anyway
        if maker is not None and maker.package:
            package, _, module = maker.package.rpartition(".")
            named = rf"(?<![\w.]){re.escape(maker.package)}|\b{package}\s+import\b.*\b{module}\b"
            if re.search(named, self._text.text) is None:
                return False
        return _may_hand_over_shared(call, maker)

    def _interpret(self) -> None:
        interpreter, scope = self._interpreter, self._scope
        for statement in self._text.tree.body:
            before = dict(scope)
            action = partial(_run_from, before, interpreter, statement, scope)
            if not self._guarded(interpreter, action):
                stored = (n for n in ast.walk(statement) if isinstance(n, ast.Name))
                scope.update((n.id, UNKNOWN) for n in stored if isinstance(n.ctx, ast.Store))
        functions = list(functions_of(scope))
        for function in functions:
            self._guarded(interpreter, partial(call_from_outside, interpreter, function, {}))
        rebound = {
            name for n in ast.walk(self._text.tree) if isinstance(n, ast.Global) for name in n.names
        }
        if rebound and self._unread_calls():  # behind what the first values rule out
            scope.update(dict.fromkeys(rebound, UNKNOWN))
            for function in functions:
                self._guarded(interpreter, partial(call_from_outside, interpreter, function, {}))
        if not any(_holds_shared(raw.text) for raw in self._files.raws.values()):
            return
        for function in functions:
            options = option_parameters(function.node)
            if options:
                call = partial(call_from_outside, interpreter, function, options)
                self._guarded(interpreter, call)

    def _lines_of(self, raw: RawText) -> set[int]:
        """Returns lines of this file that pieces of a text begin on."""
        starts = [run.start for run in raw.text.runs] if raw.text is not None else []
        return {at.line for at in starts if at is not None and at.path == self._text.path}

    def _is_own(self, raw: RawText) -> bool:
        """Returns whether the text is constructed in this file."""
        return raw.home is self._text

    def _guarded(self, interpreter: Interpreter, action: Callable[[], object]) -> bool:
        """Executes an action; where it has too many paths, once more with all of them as one.

        Returns:
            False where that takes too long, too.
        """
        path_sensitive = interpreter.policy
        for policy in (path_sensitive, Policy()):
            interpreter.policy = policy
            interpreter.steps = self._files.steps_in_imports = 0
            notes = run_within_budget(action, self._text.path)
            if not notes:
                break
        interpreter.policy = path_sensitive
        self._notes += (note for note in notes if note not in self._notes)
        return not notes

    def _is_wanted(self, raw: RawText) -> bool:
        """Returns whether the text is compiled, launched or written in this file."""
        return bool(self._is_own(raw) or raw.calls or self._lines_of(raw))

    def _embedded(self, raws: Sequence[RawText]) -> Embedded:
        """Returns a text, which all of the calls compile with the same options, as a unit."""
        first = raws[0]
        assert first.text is not None
        span = first.home.span(first.node)
        number = list(self._files.raws.values()).index(first)
        files = sorted(first.text.paths - {self._text.path})
        name = f"{files[0] if files else self._text.path}#{span.line}.{number}.cu"
        calls = list(dict.fromkeys(call for raw in raws for call in raw.calls))
        defines, below = defines_of(first.options), self._text.below
        return Embedded(first.text, span, name, defines, calls, first.options, below)


def _run_from(before: Scope, interpreter: Interpreter, node: ast.stmt, scope: Scope) -> None:
    """Executes a statement of a module in a scope as it was before."""
    replace_scope(scope, before)
    interpreter.run([node], (scope,))


def _place(raw: RawText) -> tuple[str, int, int]:
    return raw.home.path, raw.node.lineno, raw.node.col_offset


def _holds_shared(text: str | None) -> bool:
    return text is not None and may_touch_shared(text)


def _why_unknown(call: ast.Call) -> str:
    given, name = {k.arg for k in call.keywords}, last_name(call.func)
    if "path" in given and "code" not in given:
        return f"the file that `{name}` loads is not known, or is no CUDA text"
    what = "the pieces" if name in NAMES else "the CUDA text"
    verb = "are" if name in NAMES else "is"
    return f"{what} of `{name}` {verb} put together in a way that is not followed"


def _may_hand_over_shared(call: ast.Call, maker: Maker | None) -> bool:
    """Returns whether what a call is given may be text with shared memory."""
    if maker is None and last_name(call.func) not in NAMES:
        return False
    given = [*call.args, *(k.value for k in call.keywords)]
    literals = [n.value for a in given for n in ast.walk(a) if isinstance(n, ast.Constant)]
    if any(isinstance(value, str) and may_touch_shared(value) for value in literals):
        return True
    if maker is None:
        return False
    code = argument_of(call, maker.text.name, maker.text.position)
    is_read = argument_of(call, "path") is not None
    return is_read if code is None else not isinstance(code, ast.Constant)


def _literals_of(tree: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Yields the strings of a file with what is written of them, but for comments."""
    comments = {n.value for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    inner = {part for n in ast.walk(tree) if isinstance(n, ast.JoinedStr) for part in n.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            pieces = (p.value for p in node.values if isinstance(p, ast.Constant))
            yield node, " x ".join(map(str, pieces))
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str | bytes)
            and node not in comments
            and node not in inner
        ):
            yield node, text_in(node.value)
