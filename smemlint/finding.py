"""What a rule says of one place in the source."""

from __future__ import annotations

from dataclasses import field
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING

from smemlint.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from smemlint.facts import Access, Certainty, Instance, NotAnalysed, Span
    from smemlint.reasons import Reason


BANK_CONFLICT = "SML101"
"""The rule whose findings show banks and have repairs looked for."""

MISALIGNED = "SML301"
"""The rule of accesses that fault, of which a longer row may align the vectors."""
REPAIRED = frozenset((BANK_CONFLICT, MISALIGNED))
"""Rules whose findings have repairs looked for."""
MINOR_SHARE = 0.05
"""Of a kernel's wavefronts: conflicts that waste less of them, all taken together, are notes."""
NOT_ANALYSED = "SML901"
"""The rule whose findings say what was not analysed."""


class Severity(IntEnum):
    """How much it matters; `--fail-on` compares these."""

    NOTE = 0
    WARNING = 1
    ERROR = 2

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the source text of `span` by `text`; an empty span inserts in front of it."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """What to write instead, as edits that were evaluated and heal the finding.

    Attributes:
        title: imperative, e.g. "pad the rows of `tile` to 33 elements".
        edits: none overlap.
        is_safe: it changes nothing but the cost; others are applied with `--unsafe-fixes` only.
        why_unsafe: what it changes besides; empty when safe.
        after: the access as it was evaluated with the edits applied; reports draw its banks.
    """

    title: str
    edits: tuple[Edit, ...]
    is_safe: bool = False
    why_unsafe: str = ""
    after: Access | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """What a finding costs a block.

    Attributes:
        wavefronts, ideal: of the access; loops of unknown length count several times.
        share: of the kernel's wavefronts that it wastes.
        repeats: in a loop whose number of iterations is not known.
        executions: of a warp, on average; iterations of such a loop counted once.
        lanes: that take part in the costliest instruction.
        warps, of_warps: that take part, and those of the block; 0 where not known.
        is_minor: among the least costly of its kernel, as `MINOR_SHARE` says.
    """

    wavefronts: float
    ideal: float
    share: float
    repeats: bool
    executions: float
    lanes: int
    warps: int
    of_warps: int
    is_minor: bool

    @property
    def wasted(self) -> float:
        """Wavefronts that a block could do without."""
        return self.wavefronts - self.ideal


class Verdict(StrEnum):
    """What a replay on hardware says of a predicted figure."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    NOT_REPLAYABLE = "not-replayable"


@dataclass(frozen=True, slots=True)
class Measurement:
    """One replayed pattern: what was predicted and what the hardware did.

    Attributes:
        verdict: equal integers or not.
        predicted: wavefronts of the model; of a whole kernel, the mean of a line.
        measured: wavefronts as measured, before rounding; None when not replayable.
        spread: half the range of the repetitions, in wavefronts.
        device: e.g. `NVIDIA H200, sm_90`.
        reason: why not replayable; empty otherwise.
        patterns: how many distinct patterns of the access were measured.
        command: replays this pattern alone, for a report.
        after: the same access once the finding's fix is applied.
    """

    verdict: Verdict
    predicted: float
    measured: float | None
    spread: float
    device: str
    reason: str = ""
    patterns: int = 1
    command: str = ""
    after: Measurement | None = None


@dataclass(frozen=True, slots=True)
class Suppression:
    """Why a finding is not shown.

    Attributes:
        kind: `inSource` for a pragma, `external` for a baseline; the words are SARIF's.
        reason: what the pragma's author wrote; may be empty.
    """

    kind: str
    reason: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Finding:
    """One finding.

    Attributes:
        code, name: of the rule, e.g. `SML101` and `bank-conflict`.
        message: lower case, no full stop, code in backticks.
        certainty: how sure; None where that is no question.
        notes: proof and assumptions, one line each.
        help: what to write instead; empty when nothing was verified.
        related: further places, with what they say.
        weight: of several findings of a rule at one place the heaviest is shown.
        fix: what `--fix` or the editor applies.
        no_fix: why no fix is known though one may exist, as `help` says.
        has_proof: the first note is what the rule saw of `access`.
        measurement: what `--verify-gpu` saw.
        suppression: why it is not shown; None where it is.
        others: the same of other kernel instances, or of the other access of a `+=`, heaviest
            first; none of them is reported by itself.
        cost: what it costs a block; None where that is no question, or not known.
        places: further places of the same cause: parts of one fused instruction, or neighbouring
            lines that reach the array alike.
        gaps: of a notice that something was not analysed: each place with its reason.
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
    fix: Fix | None = None
    measurement: Measurement | None = None
    suppression: Suppression | None = None
    no_fix: Reason | None = None
    has_proof: bool = False
    others: tuple[Finding, ...] = ()
    gaps: tuple[NotAnalysed, ...] = ()
    cost: Cost | None = None
    places: tuple[Span, ...] = ()

    @property
    def instances(self) -> tuple[Instance, ...]:
        """The kernel instances that it is about, heaviest first."""
        accesses = (f.access for f in (self, *self.others))
        by_key = {a.instance.key: a.instance for a in reversed([*accesses]) if a is not None}
        return tuple(reversed(by_key.values()))

    @property
    def is_notice(self) -> bool:
        """Whether it is about the analysis: code that is not analysed, pragmas without use."""
        return self.code.startswith("SML9")

    @property
    def is_refuted(self) -> bool:
        """Whether the GPU took another number of wavefronts than was predicted."""
        measurement = self.measurement
        return measurement is not None and measurement.verdict is Verdict.REFUTED
