"""Types of PyTorch's headers, which extensions use and no checkout has."""

from __future__ import annotations

from smemlint.analysis.simt.domain.ctypes import (
    BOOL,
    DOUBLE,
    FLOAT,
    I8,
    I16,
    I32,
    I64,
    U8,
    CType,
    FloatType,
    IntType,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.template_arguments import type_argument

_SPACES = frozenset(("at", "c10", "torch", "at::native", "c10::impl"))
_OWN: dict[str, CType] = {
    "Half": FloatType("c10::Half", 2),
    "BFloat16": FloatType("c10::BFloat16", 2),
    "Float8_e4m3fn": FloatType("c10::Float8_e4m3fn", 1),
    "Float8_e5m2": FloatType("c10::Float8_e5m2", 1),
}
_OF_ELEMENTS: dict[str, CType] = {
    **_OWN,
    "Float": FLOAT, "Double": DOUBLE, "Bool": BOOL,
    "Byte": U8, "Char": I8, "Short": I16, "Int": I32, "Long": I64,
}  # fmt: skip
"""By name of an element of `at::ScalarType`; `at::kHalf` is one, too."""


def pytorch_type(ev: Evaluator, prefix: str, name: str, arguments: tuple[str, ...]) -> CType | None:
    """Returns the type that a name of one of PyTorch's namespaces stands for."""
    if prefix.removeprefix("::") not in _SPACES:
        return None
    if not arguments:
        return _OWN.get(name)
    if name == "ScalarTypeToCPPTypeT":
        element = arguments[0].rsplit("::", 1)[-1].strip()
        return _OF_ELEMENTS.get(element) or _OF_ELEMENTS.get(element.removeprefix("k"))
    if name not in ("acc_type", "opmath_type"):
        return None
    ctype = type_argument(ev, arguments[0])
    if isinstance(ctype, FloatType):
        return FLOAT if ctype.size < DOUBLE.size else ctype
    if isinstance(ctype, IntType):
        return I64 if name == "acc_type" and ctype != BOOL else ctype
    return None
