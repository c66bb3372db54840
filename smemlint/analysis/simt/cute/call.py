"""A call of one of CuTe's functions, with its arguments evaluated."""

from __future__ import annotations

from smemlint.analysis.simt.cute.types import type_bits
from smemlint.analysis.simt.cute.values import Converter, payload_of, tensor_of
from smemlint.analysis.simt.domain.values import AffineInt, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.template_arguments import value_argument
from smemlint.frontend import ir
from smemlint.layout import cute
from smemlint.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """One call; a method that reads an argument raises `CuteError` where it is something else.

    Attributes:
        types: its template arguments, as they are spelled.
    """

    ev: Evaluator
    name: str
    types: tuple[str, ...]
    values: tuple[Value, ...]
    node: ir.FuncCall

    @property
    def convert(self) -> Converter:
        """Returns what converts arguments for the engine."""
        return Converter(self.ev.state.domain)

    def payload(self, index: int) -> object:
        """Returns what an argument is as a value of CuTe's; None beyond the last."""
        return payload_of(self.values[index]) if index < len(self.values) else None

    def tensor(self, index: int) -> cute.Tensor:
        """Returns an argument that must be a tensor."""
        found = tensor_of(self.values[index]) if index < len(self.values) else None
        if found is None:
            raise cute.CuteError(f"argument {index + 1} is no tensor that is known")
        return found

    def layout(self, index: int) -> cute.Layout:
        """Returns an argument as a layout without a swizzle."""
        return self.convert.layout(self.values[index])

    def static_types(self) -> tuple[int, ...]:
        """Returns template arguments that are numbers."""
        found = []
        for spelling in self.types:
            value = value_argument(self.ev, spelling)
            constant = value.constant if isinstance(value, AffineInt) else None
            if constant is None:
                raise cute.CuteError(f"the template argument `{spelling}` is not known")
            found.append(constant)
        return tuple(found)

    def type_bits(self, index: int) -> int:
        """Returns the width of a template argument that is a type."""
        bits = type_bits(self.ev, self.types[index]) if index < len(self.types) else 0
        if not bits:
            raise cute.CuteError("the type of the elements is not known")
        return bits
