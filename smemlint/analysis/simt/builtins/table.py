"""The built-in functions: a table that handlers register in, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from smemlint.analysis.simt.domain.values import Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.frontend import ir
from smemlint.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class BuiltinCall:
    """A call of a built-in function.

    Attributes:
        name: last component, without template arguments.
        is_used: something depends on the value of the call.
    """

    name: str
    template_arguments: tuple[str, ...]
    node: ir.FuncCall
    is_used: bool = True


Handler: TypeAlias = "Callable[[Evaluator, BuiltinCall], Value]"


@dataclass(frozen=True, slots=True)
class Builtin:
    """A built-in function.

    Attributes:
        evaluate: returns the value of a call.
        least: arguments that it counts on; a call with fewer does not compile.
        is_scoped: it is a namespace's: where the unit defines the name, too, that one is meant.
    """

    evaluate: Handler
    least: int
    is_scoped: bool = False


KEEPING_STORES = frozenset((
    *(f"__shfl{way}_sync" for way in ("", "_up", "_down", "_xor")),
    *(f"__{vote}_sync" for vote in ("ballot", "all", "any", "match_any", "match_all")),
    *(f"__reduce_{name}_sync" for name in ("add", "min", "max", "and", "or", "xor")),
    "__activemask", "clock", "clock64", "__nanosleep", "__trap", "__prof_trigger",
))  # fmt: skip
"""Functions that LLVM moves no store across, out of a loop that calls them."""

BUILTINS: dict[str, Builtin] = {}
"""The built-in functions by name."""


def builtin(*names: str, least: int = 0, is_scoped: bool = False) -> Callable[[Handler], Handler]:
    """Registers a function that evaluates calls of these names; see `Builtin`."""

    def decorate(handler: Handler) -> Handler:
        register(names, handler, least=least, is_scoped=is_scoped)
        return handler

    return decorate


def register(
    names: Iterable[str], handler: Handler, *, least: int = 0, is_scoped: bool = False
) -> None:
    """Registers the handler of some names; see `Builtin`."""
    function = Builtin(handler, least, is_scoped)
    for name in names:
        if name in BUILTINS:
            raise ValueError(f"`{name}` has two handlers")
        BUILTINS[name] = function


def is_reserved(name: str) -> bool:
    """Returns whether a built-in stays one even where the unit defines something of its name."""
    return name.startswith(("__", "atomic"))
