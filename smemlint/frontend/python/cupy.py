"""CUDA text in CuPy's calls: it is not read yet, and that is said."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from smemlint.facts import Facts, NotAnalysed, Span
from smemlint.frontend.python.text import NotPython, PythonText

if TYPE_CHECKING:
    from smemlint.config import Settings
    from smemlint.source import Source

_WHOLE_TEXTS = frozenset(("RawKernel", "RawModule"))
_SNIPPETS = frozenset(("ElementwiseKernel", "ReductionKernel"))
_SHARED = ("__shared__", "ldmatrix", ".shared", "__cvta_generic_to_shared")


def facts_of(source: Source, settings: Settings) -> Facts:
    """A notice at every call whose CUDA text uses shared memory, or may: it is no literal."""
    try:
        text = PythonText.of(source)
    except NotPython as problem:
        where = Span(source.path, 1, 1, 1, 1)
        return Facts(not_analysed=(NotAnalysed(where, "", str(problem)),))
    notes = (
        NotAnalysed(text.span(call), "", f"the CUDA text of `{_name(call)}` is not read yet")
        for call in ast.walk(text.tree)
        if isinstance(call, ast.Call) and _may_use_shared(call)
    )
    return Facts(not_analysed=tuple(sorted(notes, key=lambda n: (n.span.line, n.span.column))))


def _name(call: ast.Call) -> str:
    """The last part of what is called; empty where that is no name."""
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _may_use_shared(call: ast.Call) -> bool:
    if _name(call) not in _WHOLE_TEXTS | _SNIPPETS:
        return False
    given = [*call.args, *(k.value for k in call.keywords)]
    literals = [n.value for a in given for n in ast.walk(a) if isinstance(n, ast.Constant)]
    if any(isinstance(value, str) and mark in value for value in literals for mark in _SHARED):
        return True
    return _name(call) in _WHOLE_TEXTS and not isinstance(_code(call), ast.Constant)


def _code(call: ast.Call) -> ast.expr | None:
    """The argument that holds the text; None for a `path=`."""
    named = [k.value for k in call.keywords if k.arg == "code"]
    return named[0] if named else next(iter(call.args), None)
