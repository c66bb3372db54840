"""What a rule says of one place in the source."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from smemlint.facts import Access, Certainty, Span


class Severity(IntEnum):
    """How much it matters; `--fail-on` compares these."""

    NOTE = 0
    WARNING = 1
    ERROR = 2

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True, eq=False)
class Finding:
    """One finding.

    Attributes:
        code, name: of the rule, e.g. `SML101` and `bank-conflict`.
        message: lower case, no full stop, code in backticks.
        span: where.
        certainty: how sure; None where that is no question.
        notes: proof and assumptions, one line each.
        help: what to write instead; empty when nothing was verified.
        related: further places, with what they say.
        access: the access it is about.
        weight: of several findings of a rule at one place the heaviest is shown.
    """

    code: str
    name: str
    severity: Severity
    message: str
    span: Span
    certainty: Certainty | None = None
    notes: tuple[str, ...] = ()
    help: str = ""
    related: tuple[tuple[Span, str], ...] = field(default=())
    access: Access | None = None
    weight: float = 0.0
