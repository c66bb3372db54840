"""`tile = cuda.shared.array((TPB, TPB), float32)`: the shape of an array that Python declares."""

from __future__ import annotations

import ast

from smemlint.facts import SharedArray, Span
from smemlint.finding import Edit
from smemlint.fix.array_uses import Mentions
from smemlint.frontend.python.python_source import NotPython, PythonText
from smemlint.lazy_dataclasses import dataclass
from smemlint.sources.source import Source

_LOOSER_THAN_PLUS = (
    ast.BoolOp, ast.Compare, ast.IfExp, ast.Lambda, ast.NamedExpr, ast.Starred, ast.UnaryOp,
)  # fmt: skip
_BITS = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)


@dataclass(frozen=True, slots=True, eq=False)
class PythonDeclarator:
    """A call that declares an array, with its shape written out.

    Attributes:
        dims: their values, as far as they are known.
    """

    text: PythonText
    name: str
    call: ast.Call
    extents: tuple[ast.expr, ...]
    dims: tuple[int | None, ...]
    function: ast.FunctionDef

    def grown(self, axis: int, extra: int, path: str) -> Edit:
        """Returns the edit that makes one extent larger by `extra`: in a single token.

        A name becomes a number: Numba takes no sum of one for a constant (numba-cuda 0.30.4).
        """
        operand, dim = _last_operand(self.extents[axis]), self.dims[axis]
        span = self.text.span(operand)
        if dim is not None and isinstance(operand, ast.Name | ast.Attribute):
            return Edit(span, str(dim + extra))
        return Edit(span, _sum(operand, self.text.within(span), extra))

    def spelled(self, axis: int, extra: int) -> str:
        """Returns the call with that edit, on one line."""
        edit, whole = self.grown(axis, extra, self.text.path), self.text.span(self.call)
        old = edit.span
        before = Span(whole.path, whole.line, whole.column, old.line, old.column)
        behind = Span(whole.path, old.end_line, old.end_column, whole.end_line, whole.end_column)
        return " ".join((self.text.within(before) + edit.text + self.text.within(behind)).split())

    def mentions(self) -> Mentions | None:
        """Returns that the array is only indexed, with all of its indices; None for another use."""
        indexed = {
            id(node.value)
            for node in ast.walk(self.function)
            if isinstance(node, ast.Subscript) and _indices(node) == len(self.extents)
        }
        for node in ast.walk(self.function):
            if not isinstance(node, ast.Name) or node.id != self.name or id(node) in indexed:
                continue
            if isinstance(node.ctx, ast.Load):
                return None
        return Mentions((), is_converted=False)


def python_declarator(source: Source, array: SharedArray) -> PythonDeclarator | None:
    """Returns the declaration of an array in a Python source; None where no shape stands there."""
    try:
        text = PythonText.of(source)
    except NotPython:
        return None
    for function in ast.walk(text.tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            call = node.value if isinstance(node, ast.Assign) else None
            if isinstance(call, ast.Call) and text.span(node) == array.span:
                extents = _shape(call, len(array.dims))
                if extents is None:
                    return None
                return PythonDeclarator(text, array.name, call, extents, array.dims, function)
    return None


def _shape(call: ast.Call, rank: int) -> tuple[ast.expr, ...] | None:
    """Returns the extents of a shape that is written out in the call."""
    given = [k.value for k in call.keywords if k.arg == "shape"] or list(call.args)
    shapes = [e for e in given if isinstance(e, ast.Tuple | ast.List) and len(e.elts) == rank]
    return tuple(shapes[0].elts) if len(shapes) == 1 else None


def _indices(node: ast.Subscript) -> int:
    return len(node.slice.elts) if isinstance(node.slice, ast.Tuple) else 1


def _last_operand(extent: ast.expr) -> ast.expr:
    """Returns the number that is added to the others, as in `TPB + 1`; else the extent itself."""
    is_sum = isinstance(extent, ast.BinOp) and isinstance(extent.op, ast.Add)
    if is_sum and _is_number(extent.right):  # type: ignore[attr-defined]
        return extent.right  # type: ignore[attr-defined, no-any-return]
    return extent


def _sum(operand: ast.expr, text: str, extra: int) -> str:
    """Returns `32` -> `33`, `2 * 16` -> `2 * 16 + 1`, `A | B` -> `(A | B) + 1`."""
    if _is_number(operand):
        return str(operand.value + extra)  # type: ignore[attr-defined]
    is_bits = isinstance(operand, ast.BinOp) and isinstance(operand.op, _BITS)
    if is_bits or isinstance(operand, _LOOSER_THAN_PLUS):
        text = f"({text})"
    return f"{text} + {extra}"


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int
