"""The hardware: banks, wavefronts and what differs between architectures.

Names are imported when first used, so that asking for an architecture does not import numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from smemlint.hardware.arch import ARCHITECTURES, Architecture, architecture
    from smemlint.hardware.async_copies import AsyncCost, async_wavefronts
    from smemlint.hardware.banks import Cost, bank_words, wavefronts

__all__ = [
    "ARCHITECTURES",
    "Architecture",
    "AsyncCost",
    "Cost",
    "architecture",
    "async_wavefronts",
    "bank_words",
    "wavefronts",
]

_HOMES = {
    "ARCHITECTURES": "arch",
    "Architecture": "arch",
    "architecture": "arch",
    "AsyncCost": "async_copies",
    "async_wavefronts": "async_copies",
    "Cost": "banks",
    "bank_words": "banks",
    "wavefronts": "banks",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
