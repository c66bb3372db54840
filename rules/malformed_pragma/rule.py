"""SML903: a pragma that cannot be read; `smemlint.lint.suppressions` finds them."""

from __future__ import annotations

from smemlint.finding import Severity
from smemlint.lint.rule import Rule


class MalformedPragma(Rule):
    """Reported after suppression, together with the pragmas that suppress nothing."""

    code = "SML903"
    name = "malformed-pragma"
    summary = "a pragma that cannot be read, or names a rule that does not exist"
    severity = Severity.NOTE


RULE = MalformedPragma()
