"""The element types that a file says its tensors may have."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import takewhile

from smemlint.analysis.python.cute_dsl.execution.libraries.torch import dtype_named
from smemlint.analysis.python.interpreter.values import DType
from smemlint.frontend.python.imports import last_name


def declared_types(tree: ast.Module) -> list[DType]:
    """Returns the element types that a file says it takes, one of each width.

    Those are what it compares types with, `x.dtype in (torch.float16, torch.float32)`, the list or
    set that it keeps for that, and what an annotation lists, `Type[Float16 | Float32]`.
    """
    found: dict[int, DType] = {}
    for listed in _lists(tree):
        types = [dtype_named(last_name(part)) for part in listed]
        floats = {t.bits: t for t in reversed(types) if t is not None and _is_common(t)}
        if None not in types and len(floats) > 1:
            found = floats | found
    return [found[bits] for bits in sorted(found)]


def _is_common(dtype: DType) -> bool:
    """Returns whether copies move elements of a type as they are: no packed one, none of MMAs."""
    return "Float" in dtype.name and dtype.bits >= 8 and dtype.name != "TFloat32"


def _lists(tree: ast.Module) -> Iterator[list[ast.expr]]:
    """Yields what comparisons, assignments and annotations list."""
    inner: set[ast.expr] = set()  # of unions: parts of one that was met before
    for node in ast.walk(tree):
        match node:
            case ast.Compare(comparators=[ast.List() | ast.Tuple() | ast.Set() as listed]):
                yield listed.elts
            case ast.Assign(targets=[ast.Name()], value=ast.List() | ast.Set() as listed):
                yield listed.elts
            case ast.BinOp(op=ast.BitOr()):
                inner |= {node.left, node.right}
                if node not in inner:  # up to what is no type: `Float16 | Float32 | None`
                    yield list(takewhile(_names_type, alternatives(node)))


def alternatives(node: ast.expr) -> Iterator[ast.expr]:
    """Yields the parts of `A | B | C`, or of `A or B or C`."""
    worklist = [node]
    while worklist:
        part = worklist.pop()
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.BitOr):
            worklist += (part.right, part.left)
        elif isinstance(part, ast.BoolOp) and isinstance(part.op, ast.Or):
            worklist += reversed(part.values)
        else:
            yield part


def _names_type(node: ast.expr) -> bool:
    return dtype_named(last_name(node)) is not None
