"""Vectors and matrices of GLM, which kernels of computer graphics use and few checkouts hold.

Sizes as of GLM 1.0 with its defaults: components one behind the other, aligned as one component;
a matrix is an array of columns.
"""

from __future__ import annotations

import re

from smemlint.analysis.simt.domain.ctypes import (
    BOOL,
    DOUBLE,
    FLOAT,
    I32,
    U32,
    ArrayType,
    CType,
    is_opaque,
)
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.record_layout import lay_out
from smemlint.analysis.simt.types.template_arguments import type_argument, value_argument

_NAME = re.compile(r"(?:highp_|mediump_|lowp_)?([bdfiu]?)(vec|mat)([2-4])(?:x([2-4]))?")
_COMPONENTS: dict[str, CType] = {
    "": FLOAT, "f": FLOAT, "d": DOUBLE, "i": I32, "u": U32, "b": BOOL,
}  # fmt: skip


def glm_type(ev: Evaluator, prefix: str, name: str, arguments: tuple[str, ...]) -> CType | None:
    """Returns the type of `glm::vec3`, `glm::vec<3, float>`, `glm::mat4x3`, `glm::mat<4, 3, T>`."""
    if prefix.removeprefix("::") != "glm" or ev.state.unit.records.get(name):
        return None
    if name in ("vec", "mat"):
        return _of_arguments(ev, name, arguments)
    found = _NAME.fullmatch(name)
    if found is None or arguments:
        return None
    letter, sort, first, second = found.groups()
    columns, rows = int(first), int(second or first)
    component = _COMPONENTS[letter]
    return _vector(columns, component) if sort == "vec" else _matrix(columns, rows, component)


def _of_arguments(ev: Evaluator, name: str, arguments: tuple[str, ...]) -> CType | None:
    extents = 1 if name == "vec" else 2
    component = type_argument(ev, arguments[extents]) if len(arguments) > extents else None
    numbers = [
        value.constant
        for value in (value_argument(ev, a) for a in arguments[:extents])
        if isinstance(value, AffineInt) and value.constant is not None
    ]
    if component is None or is_opaque(component) or len(numbers) < extents:
        return None
    if not all(2 <= n <= 4 for n in numbers):
        return None
    first, last = numbers[0], numbers[-1]
    return _vector(first, component) if name == "vec" else _matrix(first, last, component)


def _vector(count: int, component: CType) -> CType:
    return lay_out(f"glm::vec{count}", [(axis, component, 0) for axis in "xyzw"[:count]])


def _matrix(columns: int, rows: int, component: CType) -> CType:
    whole = ArrayType(_vector(rows, component), columns)
    return lay_out(f"glm::mat{columns}x{rows}", [("", whole, 0)])
