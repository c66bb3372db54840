"""Packs of template parameters: `class... U`, `sizeof...(U)`, `f<U...>()`.

The arguments that a pack takes are bound one by one under names that C++ cannot spell, and so is
their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.analysis.simt.evaluator import Evaluator


def pack_element(pack: str, index: int) -> str:
    """Returns the name that an element of a pack is bound under."""
    return f"{pack}#{index}"


def is_pack_element(spelling: str) -> bool:
    """Returns whether a template argument is an element of a pack."""
    return "#" in spelling


def pack_size(pack: str) -> str:
    """Returns the name that the number of a pack's elements is bound under."""
    return f"{pack}#"


def any_open(arguments: Iterable[str]) -> bool:
    """Returns whether one of some template arguments is a pack, whose elements are not known."""
    return any(argument.endswith("...") for argument in arguments)


def expanded_arguments(ev: Evaluator, arguments: Sequence[str]) -> tuple[str, ...]:
    """Returns template arguments with the elements of a pack for `U...`, where they are known."""
    found: list[str] = []
    for argument in arguments:
        pack = argument.removesuffix("...").strip()
        size = ev.state.lookup(pack_size(pack)) if pack != argument else None
        if isinstance(size, AffineInt) and size.constant is not None:
            found += [pack_element(pack, k) for k in range(size.constant)]
        else:
            found.append(argument)
    return tuple(found)
