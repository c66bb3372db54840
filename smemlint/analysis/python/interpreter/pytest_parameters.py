"""Arguments that `pytest.mark.parametrize` gives a test function."""

from __future__ import annotations

import ast
from collections.abc import Callable
from itertools import islice, product
from math import prod
from typing import NamedTuple

from smemlint.analysis.python.interpreter.values import Scope, Value
from smemlint.limits.budgets import MAX_PARAMETER_ROWS, MAX_PARAMETRIZATIONS


class Parametrizations(NamedTuple):
    """Arguments of the first parametrizations, and how many others there are."""

    chosen: list[Scope]
    left: int


def parametrizations(
    node: ast.FunctionDef, evaluate: Callable[[ast.expr], Value]
) -> Parametrizations:
    """Returns the arguments of parametrizations; those of one without any where there are none."""
    axes: list[list[Scope]] = []
    counts: list[int] = []
    for decorator in node.decorator_list:
        if not (isinstance(decorator, ast.Call) and len(decorator.args) > 1):
            continue
        if not ast.unparse(decorator.func).endswith("parametrize"):
            continue
        listed, rows = evaluate(decorator.args[0]), evaluate(decorator.args[1])
        if not isinstance(listed, str) or not isinstance(rows, list | tuple) or not rows:
            continue
        names = [n.strip() for n in listed.split(",")]
        axis: list[Scope] = []
        for row in rows[:MAX_PARAMETER_ROWS]:
            cells = row if len(names) > 1 and isinstance(row, list | tuple) else [row]
            axis.append(dict(zip(names, cells, strict=False)))
        axes.append(axis)
        counts.append(len(rows))
    chosen = [
        {name: cell for row in combination for name, cell in row.items()}
        for combination in islice(product(*axes), MAX_PARAMETRIZATIONS)
    ]
    return Parametrizations(chosen, prod(counts) - len(chosen))
