"""The facts that evaluation finds and rules judge: plain frozen data, all that rules ever see.

Nothing here knows a syntax tree, so one rule serves every front end alike. Addresses are byte
offsets inside the shared-memory window of a block, lanes are the last axis of every array.
"""

from __future__ import annotations

from smemlint.facts.accesses import (
    FRAGMENT,
    Access,
    AccessKind,
    Caller,
    CallLine,
    DataAddresses,
    Fusion,
    FusionBounds,
    Stat,
    WarpPattern,
)
from smemlint.facts.kernels import Facts, KernelFacts, NotAnalysed, Site, sites_of, verdicts
from smemlint.facts.layouts import DotOperand, DotUse, LayoutUse
from smemlint.facts.places import Argument, Certainty, Instance, SharedArray, Span

__all__ = [
    "FRAGMENT", "Access", "AccessKind", "Argument", "CallLine", "Caller", "Certainty",
    "DataAddresses", "DotOperand", "DotUse", "Facts", "Fusion", "FusionBounds", "Instance",
    "KernelFacts", "LayoutUse", "NotAnalysed", "SharedArray", "Site", "Span", "Stat", "WarpPattern",
    "sites_of", "verdicts",
]  # fmt: skip
