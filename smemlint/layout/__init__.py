"""Where a logical element lands in shared memory: swizzles, CuTe layouts, F2, Triton, synthesis.

Names are imported when first used, so that validity is told without importing numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from smemlint.layout.cute import ComposedLayout, Layout
    from smemlint.layout.linear import LinearMap
    from smemlint.layout.solver import Pattern, Solution, solve
    from smemlint.layout.swizzle import Swizzle

__all__ = ["ComposedLayout", "Layout", "LinearMap", "Pattern", "Solution", "Swizzle", "solve"]

_HOMES = {
    "ComposedLayout": "cute",
    "Layout": "cute",
    "LinearMap": "linear",
    "Pattern": "solver",
    "Solution": "solver",
    "Swizzle": "swizzle",
    "solve": "solver",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
