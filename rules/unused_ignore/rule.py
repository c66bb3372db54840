"""SML902: an ignore pragma that suppresses nothing; `smemlint.lint.suppressions` finds them."""

from __future__ import annotations

from smemlint.finding import Severity
from smemlint.lint.rule import Rule


class UnusedIgnore(Rule):
    """Reported after suppression, when it is known what each pragma covered."""

    code = "SML902"
    name = "unused-ignore"
    summary = "an ignore pragma that suppresses nothing"
    severity = Severity.NOTE


RULE = UnusedIgnore()
