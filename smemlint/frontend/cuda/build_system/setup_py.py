"""Reads the literal flags of `CUDAExtension(...)` and `Extension(...)` in a `setup.py`.

The file is parsed, never run.
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator, Mapping
from functools import lru_cache

from smemlint.frontend.cuda.build_system.flags import BuildFlags, flags_of
from smemlint.frontend.python.python_source import NotPython, PythonText
from smemlint.sources.source import Source

_EXTENSIONS = ("CUDAExtension", "CppExtension", "Extension")


def flags_for(text: str, source: str) -> BuildFlags:
    """Returns what an extension defines for a source that it lists."""
    arguments: list[str] = []
    for extension in _extensions(text):
        names = _strings(extension.get("sources"))
        if any(posixpath.normpath(name) == source for name in names):
            arguments += _compiler_arguments(extension.get("extra_compile_args"))
            arguments += [f"-I{folder}" for folder in _strings(extension.get("include_dirs"))]
            arguments += _macros(extension.get("define_macros"))
    return flags_of(arguments)


def _compiler_arguments(value: object) -> list[str]:
    return _strings(value.get("nvcc")) if isinstance(value, dict) else _strings(value)


def _macros(value: object) -> list[str]:
    found = []
    for pair in value if isinstance(value, list | tuple) else ():
        match pair:
            case (str() as name, None):
                found.append(f"-D{name}")
            case (str() as name, str() | int() as text):
                found.append(f"-D{name}={text}")
    return found


def _strings(value: object) -> list[str]:
    return [v for v in value if isinstance(v, str)] if isinstance(value, list | tuple) else []


@lru_cache(16)
def _extensions(text: str) -> tuple[Mapping[str, object], ...]:
    """Returns the literal arguments of every extension, by keyword."""
    try:
        return tuple(_literals(PythonText.of(Source("setup.py", text.encode())).tree))
    except (NotPython, RecursionError):
        return ()


def _literals(tree: ast.Module) -> Iterator[Mapping[str, object]]:
    known: dict[str, object] = {}
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                known[name] = _literal(value, {})
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) in _EXTENSIONS:
            yield {k.arg: _literal(k.value, known) for k in node.keywords if k.arg is not None}


def _literal(node: ast.expr, known: Mapping[str, object]) -> object:
    """Returns a list, tuple, table, string or number; None for computed elements."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return known.get(name)
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return [_literal(e, known) for e in elements]
        case ast.Dict(keys=keys, values=values):
            names = [k.value if isinstance(k, ast.Constant) else None for k in keys]
            return {k: _literal(v, known) for k, v in zip(names, values, strict=True)}
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            parts = [_literal(left, known), _literal(right, known)]
            if all(isinstance(p, list) for p in parts):
                return [v for p in parts if isinstance(p, list) for v in p]
    return None


def _name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""
