"""Why something is not decided, and what a figure takes for granted: a code, and a text to read.

Whatever decides looks at the code; the text is for people, and no module compares it
(`tests/test_reasons.py`).
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache

from smemlint.lazy_dataclasses import dataclass, light_dataclass


class ReasonCode(StrEnum):
    """Why code is not analysed or a figure is not decided."""

    # What was not read
    UNREADABLE = "unreadable"
    """A file, or a part of it, that is no text of its language."""
    SYNTAX = "syntax"
    """A construct that no parser takes."""
    NOT_READ = "not-read"
    """A branch of `#if` or an include that was left out."""
    MISSING = "missing"
    """A file that was not found."""
    REFUSED = "refused"
    """A file that lies where files of a project may not lie."""
    OTHER_HARDWARE = "other-hardware"
    """Code for GPUs with other banks."""
    WRONG_PRAGMA = "wrong-pragma"
    """A pragma or an option that does not fit the code, or that applies to nothing."""
    NOT_REACHED = "not-reached"
    """Code that no evaluated kernel runs."""

    # Bounds; the first four end an evaluation
    TIME_LIMIT = "time-limit"
    STEP_LIMIT = "step-limit"
    MEMORY_LIMIT = "memory-limit"
    NESTING_LIMIT = "nesting-limit"
    LEFT_OUT = "left-out"
    """Beyond a number of instances, launches, files or places."""
    TOO_LARGE = "too-large"
    """A value, a text or a depth beyond what is worth following."""
    DEFERRED = "deferred"
    """Work that is done only where it is asked for."""
    INTERNAL_ERROR = "internal-error"
    """A defect of smemlint."""

    # What a value hangs on
    DATA = "data"
    """Values in memory, of other lanes or of floating-point numbers."""
    UNKNOWN_VALUE = "unknown-value"
    """A number that is known only at run time."""
    UNKNOWN_ADDRESS = "unknown-address"
    """A pointer or index that is not known."""
    UNKNOWN_CONDITION = "unknown-condition"
    """Paths that differ and a condition that is not known."""
    UNKNOWN_BLOCK = "unknown-block"
    """The block shape."""
    UNKNOWN_TYPE = "unknown-type"
    UNKNOWN_LAYOUT = "unknown-layout"
    NOT_DECLARED = "not-declared"
    """A name, a member or the definition of a function that was not read."""
    LOOP = "loop"
    """What iterations change in a way that is not followed, or how many there are."""
    COMPILER = "compiler"
    """A choice of the compiler that is not modelled."""
    NOT_MODELLED = "not-modelled"
    """A construct, function or instruction that the analysis does not know."""
    NO_LANES = "no-lanes"
    """What moves shared memory without addresses of lanes: TMA, tensor memory, descriptors."""
    NO_VALUE = "no-value"
    """What the language leaves undefined, or what is no value at all."""
    RESIDUES = "residues"
    """A cost that differs with the remainders of unknown numbers."""
    NOT_MEASURED = "not-measured"
    """An instruction whose cost the bank model does not have."""
    PARTIAL = "partial"
    """One of several accesses at a place is not decided."""

    @property
    def ends_evaluation(self) -> bool:
        """Returns whether a bound was reached, so that nothing after it was seen."""
        return self in _ENDS


_ENDS = frozenset(
    (
        ReasonCode.TIME_LIMIT,
        ReasonCode.STEP_LIMIT,
        ReasonCode.MEMORY_LIMIT,
        ReasonCode.NESTING_LIMIT,
    )
)


@light_dataclass(frozen=True, slots=True)
class Reason:
    """Why something is not decided.

    Attributes:
        code: for whatever decides on it.
        text: for people: lower case, no full stop, code in backticks.
    """

    code: ReasonCode
    text: str

    def __str__(self) -> str:
        return self.text


class Topic(StrEnum):
    """What an assumption is about."""

    BLOCK = "block"
    """The block shape."""
    TEMPLATE = "template"
    """A template parameter without an argument that was seen."""
    ARGUMENT = "argument"
    """The value of a kernel's argument."""
    HOST = "host"
    """What host code does before the launch."""
    CONDITION = "condition"
    """A condition of the code, taken to hold or not."""
    BUILD = "build"
    """Macros, and conditions of the preprocessor."""
    NUMBER = "number"
    """The sign, the bound or the divisor of a number."""
    ALIGNMENT = "alignment"
    """The place of an array or of a tensor."""
    LAYOUT = "layout"
    """A swizzle or an order of elements that a comment declares."""
    COMPILER = "compiler"
    """How a compiler lowers the code."""
    HARDWARE = "hardware"
    """An architecture that nobody measured."""
    NAME = "name"
    """What a name means that no scope in sight has."""
    JUMP = "jump"
    """A jump of a kernel that is not followed."""
    SOURCE = "source"
    """What an asynchronous copy reads, where it is not known."""


PLACE = "\ufffc"
"""Stands for a line in a wording that names one, so that the line can move."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file, as texts for people name it."""

    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path.rpartition('/')[2]}:{self.line}"


def worded(wording: str, place: Line | None) -> str:
    """Returns a wording with the line that it names."""
    return wording.replace(PLACE, str(place)) if place is not None else wording


@light_dataclass(frozen=True, slots=True)
class Assumption:
    """What a figure takes for granted.

    Attributes:
        topic: what it is about.
        wording: its text, with `PLACE` where it names a line.
        subject: the name or the condition, as the source spells it; empty for several.
        place: the line that it names; None for none.
    """

    topic: Topic
    wording: str
    subject: str = ""
    place: Line | None = None

    def __hash__(self) -> int:
        return hash(self.wording)  # which a text remembers

    @property
    def text(self) -> str:
        """For people: lower case, no full stop, code in backticks."""
        return worded(self.wording, self.place)

    def __str__(self) -> str:
        return self.text


@lru_cache(1 << 12)  # every open branch and operand asks for both
def outcome(condition: str, holds: bool) -> Assumption:
    """Returns the assumption that a condition of the code holds, or does not."""
    truth = "holds" if holds else "does not hold"
    return Assumption(Topic.CONDITION, f"`{condition}` {truth}", condition)
