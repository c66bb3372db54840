"""Where a logical element lands in shared memory: swizzles, CuTe layouts, F2, Triton, synthesis.

Names are imported when first used, so that validity is told without importing numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from smemlint.layout.cute import ComposedLayout, Layout
    from smemlint.layout.linear import LinearMap
    from smemlint.layout.swizzle import Swizzle
    from smemlint.layout.synthesize import Pattern, Solution, solve

__all__ = [
    "ComposedLayout",
    "Layout",
    "LinearMap",
    "Pattern",
    "Solution",
    "Swizzle",
    "solve",
]

_HOMES = {
    "ComposedLayout": "cute",
    "Layout": "cute",
    "LinearMap": "linear",
    "Pattern": "synthesize",
    "Solution": "synthesize",
    "Swizzle": "swizzle",
    "solve": "synthesize",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
