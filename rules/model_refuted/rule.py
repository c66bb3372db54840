"""SML904: a figure that the GPU refutes; `smemlint.verify` finds them."""

from __future__ import annotations

from smemlint.finding import Severity
from smemlint.lint.rule import Rule


class ModelRefuted(Rule):
    """Reported by `--verify-all` for accesses that no other rule flags."""

    code = "SML904"
    name = "model-refuted"
    summary = "with `--verify-all`: the GPU takes other wavefronts than were predicted"
    severity = Severity.NOTE


RULE = ModelRefuted()
