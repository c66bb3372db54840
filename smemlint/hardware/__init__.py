"""The hardware: banks, wavefronts and what differs between architectures."""

from __future__ import annotations

from smemlint.hardware.arch import ARCHITECTURES, Architecture, architecture, is_measured
from smemlint.hardware.banks import Cost, wavefronts, words_per_bank

__all__ = [
    "ARCHITECTURES",
    "Architecture",
    "Cost",
    "architecture",
    "is_measured",
    "wavefronts",
    "words_per_bank",
]
