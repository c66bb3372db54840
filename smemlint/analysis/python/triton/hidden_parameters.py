"""Parameters of a Triton kernel of which the compiler does not learn that they are 1 or aligned.

Triton 3.9 compiles a kernel anew where an integer argument is 1, or a multiple of 16, and tells the
compiler so. An annotated type keeps the first from happening, `do_not_specialize` both, and
`do_not_specialize_on_alignment` the second (runtime/jit.py, `create_function_from_signature`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from smemlint.analysis.python.interpreter.values import Scope, Value
from smemlint.analysis.python.triton.tiles import Hidden
from smemlint.frontend.python.parameters import parameters_of

_INTEGER = re.compile(r"(?:u?int(?:8|16|32|64)|[iu](?:8|16|32|64)|int)(?:_t)?")
_OPTIONS = ("do_not_specialize", "do_not_specialize_on_alignment")


def hidden_parameters(node: ast.FunctionDef, given: Scope) -> dict[str, Hidden]:
    """Returns integer parameters that are hidden, each with the value that a launch gives it.

    Those on which the kernel gives hints (`tl.assume`) are left out.
    """
    parameters = {p.name: p.arg.annotation for p in parameters_of(node.args)}
    found: dict[str, Hidden] = {}
    for name, annotation in parameters.items():
        if annotation is not None and _is_integer(annotation):
            how = f"annotated `{ast.unparse(annotation)}`"
            found[name] = Hidden(name, _integer(given.get(name)), how, True, False)
    for option, name in _listed(node, list(parameters)):
        annotation = parameters[name]
        if annotation is not None and "constexpr" in ast.unparse(annotation):
            continue
        before = found.get(name)
        is_one_hidden = option == _OPTIONS[0] or (before is not None and before.is_one_hidden)
        value = _integer(given.get(name))
        found[name] = Hidden(name, value, f"in `{option}`", is_one_hidden, True)
    hinted = _hinted(node)
    return {name: hidden for name, hidden in found.items() if name not in hinted}


def _integer(value: Value) -> int | None:
    return value if isinstance(value, int) else None


def _hinted(node: ast.FunctionDef) -> set[str]:
    """Returns the names that `tl.assume` mentions."""
    return {
        name.id
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("assume")
        for name in ast.walk(call)
        if isinstance(name, ast.Name)
    }


def _is_integer(annotation: ast.expr) -> bool:
    name = annotation.value if isinstance(annotation, ast.Constant) else ast.unparse(annotation)
    return isinstance(name, str) and bool(_INTEGER.fullmatch(name.strip().rpartition(".")[2]))


def _listed(node: ast.FunctionDef, parameters: list[str]) -> Iterator[tuple[str, str]]:
    """Yields options of the decorator with each parameter that they list by name or position."""
    for decorator in node.decorator_list:
        if not isinstance(decorator, ast.Call):
            continue
        for keyword in decorator.keywords:
            if keyword.arg not in _OPTIONS or not isinstance(keyword.value, ast.List | ast.Tuple):
                continue
            for element in keyword.value.elts:
                item = element.value if isinstance(element, ast.Constant) else None
                if isinstance(item, int) and -len(parameters) <= item < len(parameters):
                    item = parameters[item]
                if isinstance(item, str) and item in parameters:
                    yield keyword.arg, item
