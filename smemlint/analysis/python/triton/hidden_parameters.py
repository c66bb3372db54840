"""Parameters of a Triton kernel of which the compiler does not learn that they are 1 or aligned.

Triton 3.9 compiles a kernel anew where an integer argument is 1, or a multiple of 16, and tells the
compiler so. An annotated type keeps the first from happening, `do_not_specialize` both, and
`do_not_specialize_on_alignment` the second (runtime/jit.py, `create_function_from_signature`).
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from smemlint.analysis.python.triton.tiles import Hidden

if TYPE_CHECKING:
    from collections.abc import Iterator

    from smemlint.analysis.python.interpreter.values import Scope

_INTEGER = re.compile(r"(?:u?int(?:8|16|32|64)|[iu](?:8|16|32|64)|int)(?:_t)?")
_OPTIONS = ("do_not_specialize", "do_not_specialize_on_alignment")


def hidden_parameters(node: ast.FunctionDef, given: Scope) -> dict[str, Hidden]:
    """Returns integer parameters that are hidden, each with the value that a launch gives it.

    Those on which the kernel gives hints (`tl.assume`) are left out.
    """
    spec = node.args
    parameters = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
    names = [p.arg for p in parameters]
    hinted = {
        name.id
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("assume")
        for name in ast.walk(call)
        if isinstance(name, ast.Name)
    }
    found: dict[str, Hidden] = {}
    for parameter in parameters:
        value = given.get(parameter.arg)
        number = value if isinstance(value, int) else None
        annotation = parameter.annotation
        if annotation is not None and _is_integer(annotation):
            how = f"annotated `{ast.unparse(annotation)}`"
            found[parameter.arg] = Hidden(parameter.arg, number, how, True, False)
    for option, listed in _listed(node):
        hides_one = option == _OPTIONS[0]
        for item in listed:
            name = names[item] if isinstance(item, int) and item < len(names) else item
            annotation = next((p.annotation for p in parameters if p.arg == name), None)
            is_constant = annotation is not None and "constexpr" in ast.unparse(annotation)
            if isinstance(name, str) and name in names and not is_constant:
                value = given.get(name)
                number = value if isinstance(value, int) else None
                was = found.get(name)
                is_one_hidden = hides_one or (was is not None and was.is_one_hidden)
                found[name] = Hidden(name, number, f"in `{option}`", is_one_hidden, True)
    return {n: h for n, h in found.items() if n not in hinted}


def _is_integer(annotation: ast.expr) -> bool:
    name = annotation.value if isinstance(annotation, ast.Constant) else ast.unparse(annotation)
    return isinstance(name, str) and bool(_INTEGER.fullmatch(name.strip().rpartition(".")[2]))


def _listed(node: ast.FunctionDef) -> Iterator[tuple[str, list[str | int]]]:
    """Returns the options of the decorator that are written out as lists of names or places."""
    for decorator in node.decorator_list:
        if not isinstance(decorator, ast.Call):
            continue
        for keyword in decorator.keywords:
            if keyword.arg in _OPTIONS and isinstance(keyword.value, ast.List | ast.Tuple):
                items = [e.value for e in keyword.value.elts if isinstance(e, ast.Constant)]
                yield keyword.arg, [i for i in items if isinstance(i, str | int)]
