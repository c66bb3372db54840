"""Template arguments: what their spellings stand for."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from smemlint.analysis.simt.domain.ctypes import (
    ArrayType,
    CType,
    OpaqueType,
    PointerType,
    RecordType,
)
from smemlint.analysis.simt.domain.values import (
    Aggregate,
    Callable,
    Int,
    Pointer,
    Value,
)
from smemlint.analysis.simt.state import Binding, Frame, Lazy, Machine, Scope, Variable

if TYPE_CHECKING:
    from smemlint.frontend.program import TemplateParameter


class TemplateArguments(Machine):
    """Binds template parameters."""

    def template_scope(
        self, parameters: tuple[TemplateParameter, ...], arguments: tuple[str, ...]
    ) -> Scope:
        """Binds parameters to argument spellings, then defaults; what is missing stays out."""
        scope: Scope = {}
        for i, parameter in enumerate(parameters):
            if parameter.is_pack:
                break
            if i < len(arguments):
                bound = self.argument(arguments[i], parameter)
            elif parameter.default is not None:
                self.frames.append(Frame("default", [scope]))
                try:
                    bound = self.argument(parameter.default, parameter)
                finally:
                    self.frames.pop()
            else:
                continue
            if bound is not None and parameter.name:
                scope[parameter.name] = bound
        return scope

    def argument(self, spelling: str, parameter: TemplateParameter) -> Binding | None:
        """What one template argument's spelling stands for."""
        if parameter.kind == "type":
            return self.type_argument(spelling) or OpaqueType(spelling)
        if parameter.kind == "template":
            return Callable(spelling)
        return self.value_argument(spelling)

    def type_argument(self, spelling: str) -> CType | None:
        """The type a template argument names."""
        found = self.spelled_type(spelling)
        if found is not None:
            return found
        node = self.unit.parse_type(spelling)
        return None if node is None else self.resolve(node)

    def value_argument(self, spelling: str) -> Value | None:
        """The value of a template argument."""
        node = self.unit.parse_expression(spelling)
        return None if node is None else self.evaluate(node)


@lru_cache(4096)
def split_qualified(spelling: str) -> tuple[str, str]:
    """`A<x::y>::B` as `("A<x::y>", "B")`: the last `::` outside brackets."""
    depth = 0
    for i in range(len(spelling) - 1, 0, -1):
        c = spelling[i]
        if c in ">)]":
            depth += 1
        elif c in "<([":
            depth -= 1
        elif depth == 0 and spelling.startswith("::", i - 1):
            return spelling[: i - 1], spelling[i + 1 :]
    return "", spelling


def bindings_text(scope: Scope) -> str:
    """A text that tells the bindings of template parameters apart."""
    return ",".join(f"{k}={_binding_text(v)}" for k, v in scope.items())


def _binding_text(binding: Binding) -> str:
    """A text that tells bindings apart; a record goes by its identity: each is made once."""
    match binding:
        case RecordType():
            return f"{binding.name}#{id(binding):x}"
        case PointerType():
            return f"{_binding_text(binding.target)}{'&' if binding.is_reference else '*'}"
        case ArrayType():
            return f"{_binding_text(binding.element)}[{binding.count}]"
        case Aggregate() | Pointer() | Lazy() | Callable() | Variable():
            return f"{type(binding).__name__}#{id(binding):x}"
    return binding.identity() if isinstance(binding, Int) else repr(binding)
