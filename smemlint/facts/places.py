"""Where facts hold: source ranges, shared arrays, instances of kernels, and how sure they are."""

from __future__ import annotations

from collections.abc import Hashable
from enum import StrEnum

from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import Line, worded


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A source range: lines and columns from 1, in code points, the end exclusive."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int


class Certainty(StrEnum):
    """How sure an access's figures are; default reports show the first two."""

    PROVED = "proved"
    ASSUMED = "assumed"
    SAMPLED = "sampled"
    DATA_DEPENDENT = "data-dependent"
    UNKNOWN = "unknown"

    @property
    def is_decided(self) -> bool:
        """Whether a rule may report on it without being asked to."""
        return self in (Certainty.PROVED, Certainty.ASSUMED)


@dataclass(frozen=True, slots=True)
class SharedArray:
    """One declared shared array.

    Attributes:
        name: as declared; empty for all memory of a block whose arrays machine code does not name.
        element: spelling of the element type.
        element_bytes: its size; 0 when unknown.
        dims: extents, slowest first; None for one that is not known (`extern []`).
        base: byte offset of the array in the block's shared memory as this analysis lays it out.
        bytes: declared size in bytes; None when not known.
        alignment: guaranteed alignment of the base in bytes.
        is_dynamic: declared `extern __shared__`.
        buffers: declarations of arrays that are alike, of which it is any one; empty for one array.
    """

    name: str
    span: Span
    element: str
    element_bytes: int
    dims: tuple[int | None, ...]
    base: int
    bytes: int | None
    alignment: int
    is_dynamic: bool = False
    buffers: tuple[Span, ...] = ()

    @property
    def shown(self) -> str:
        """What messages call it."""
        return f"`{self.name}`" if self.name else "shared memory"

    def is_declared_as(self, other: SharedArray | None) -> bool:
        """Returns whether both are one declaration, of which template values make many arrays."""
        return other is not None and (self.span, self.name) == (other.span, other.name)


@dataclass(frozen=True, slots=True)
class Argument:
    """A number that a launch passes to a kernel.

    Attributes:
        position: of the parameter, from 0.
    """

    position: int
    name: str
    value: int


@dataclass(frozen=True, slots=True)
class Instance:
    """One kernel as one launch instantiates it.

    Attributes:
        given_by: where block and template come from, with `PLACE` where that names a line.
        place: the line that it names; None for none.
        passed: numbers that tell its launch from another one of the same block and template, which
            has other figures.
    """

    kernel: str
    span: Span
    template: tuple[tuple[str, str], ...] = ()
    block: tuple[int, int, int] | None = None
    given_by: str = ""
    place: Line | None = None
    passed: tuple[tuple[str, int], ...] = ()

    @property
    def origin(self) -> str:
        """Where block and template come from, e.g. `launch at transpose.cu:41`."""
        return worded(self.given_by, self.place)

    @property
    def is_guessed(self) -> bool:
        """Whether no launch is known that gives the block."""
        return self.block is not None and not self.origin

    @property
    def key(self) -> Hashable:
        """Returns what is equal for one instance that several units hold."""
        return self.span, self.template, self.block, self.passed

    @property
    def values(self) -> tuple[str, ...]:
        """The values of its template arguments."""
        return tuple(value for _, value in self.template)

    @property
    def title(self) -> str:
        """The kernel with its template values, e.g. `reduce6<int, 256>`."""
        if not self.template:
            return self.kernel
        return f"{self.kernel}<{', '.join(self.values)}>"
