"""Accesses to shared memory, with the figures of their warp instructions."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from smemlint.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from smemlint.facts.layouts import LayoutUse
    from smemlint.facts.places import Certainty, Instance, SharedArray, Span
    from smemlint.reasons import Assumption, Reason


FRAGMENT = "wmma"
"""The note of an access that a fragment of `wmma` makes: it takes a pitch, and no index."""


class AccessKind(StrEnum):
    """What the instruction does with shared memory."""

    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic"
    LDMATRIX = "ldmatrix"
    STMATRIX = "stmatrix"
    ASYNC_COPY = "async_copy"


@dataclass(frozen=True, slots=True)
class Stat:
    """Smallest, largest and mean figure per instruction, over warps and iterations."""

    min: float
    max: float
    mean: float


@dataclass(frozen=True, slots=True, eq=False)
class WarpPattern:
    """One distinct pattern that a warp issues at an access.

    Attributes:
        addresses: int64 of shape (32,), byte addresses, `array.base` included.
        active: bool of shape (32,).
        warp: the first warp of the block that issues it.
        count: how many warp instructions of the block have it.
        wavefronts, ideal, profiler_ideal: what `hardware.wavefronts` says of it; 0 when it cannot
            be given.
        width: bytes that one lane moves, after merging.
        values: values of enclosing loop variables at the first occurrence, for messages.
        exact: the addresses hold as they are; else only up to a common multiple of the width.
        spare: bytes at the end of each lane's that the source does not read.
        source: of an asynchronous copy: the bytes of global memory that the lanes read, int64 of
            shape (32,), counted from a multiple of 128.
        chain: which of `Access.chains` issues it first.
        is_reached: nothing is assumed for it but that the loops around it run at least once.
    """

    addresses: NDArray[np.int64]
    active: NDArray[np.bool_]
    warp: int
    count: int
    wavefronts: int
    ideal: int
    profiler_ideal: int
    width: int
    values: tuple[tuple[str, int], ...] = ()
    exact: bool = True
    spare: int = 0
    source: NDArray[np.int64] | None = None
    chain: int = 0
    is_reached: bool = False

    @property
    def reach(self) -> int:
        """Bytes from a lane's address to the end of what the source reads or writes there."""
        return self.width - self.spare

    @property
    def ways(self) -> float:
        """Wavefronts over the larger of both ideals: a conflict that model and profiler see."""
        best = max(self.ideal, self.profiler_ideal)
        return self.wavefronts / best if best else 0.0


@dataclass(frozen=True, slots=True)
class CallLine:
    """A call that the profiler shows some of an access's instructions at.

    They are the first that an inlined function issues; see `Event.call`.

    Attributes:
        instructions, wavefronts, ideal: of those instructions, as for an access.
    """

    span: Span
    instructions: int
    wavefronts: Stat
    ideal: Stat


@dataclass(frozen=True, slots=True)
class Caller:
    """A call on the way from a kernel to an access."""

    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class Fusion:
    """Neighbouring accesses of the source that the compiler issues as one instruction.

    Attributes:
        count: accesses that one instruction stands for, iterations of unrolled loops included.
        width_bytes: of each.
        spans: where they stand, in program order, each once.
    """

    count: int
    width_bytes: int
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class FusionBounds:
    """What holds of an access whichever neighbours the compiler makes one instruction of.

    Attributes:
        least, most: ways of its worst instruction.
        wavefronts, ideal: that a block takes at least, at the way that wastes the fewest.
        certainty: of these bounds; that of the access's figures is `sampled`.
    """

    least: float
    most: float
    wavefronts: float
    ideal: float
    certainty: Certainty


@dataclass(frozen=True, slots=True, eq=False)
class DataAddresses:
    """The addresses of the first warp of an access that hangs on data, as far as they are known.

    Attributes:
        base: bytes, int64 of shape (32,): a lane's address is `base + step * k`, 0 <= k < count.
        active: the lanes that take part.
        step: bytes.
        count: of addresses of a lane.
        width: bytes of a lane.
    """

    base: NDArray[np.int64]
    active: NDArray[np.bool_]
    step: int
    count: int
    width: int


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """One shared access site of one kernel instance.

    Attributes:
        width_bytes: bytes per lane of the widest instruction after merging.
        instructions: warp instructions that one block executes here, those without an active
            lane not counted.
        wavefronts, ideal: per instruction; None where not known. `ideal` is the
            profiler's, so that tools can compare it with counters.
        matrices: of ldmatrix and stmatrix.
        line: the line that the compiler's line table gives the instruction.
        conditions: those of them that are conditions of the code, taken to hold.
        reason: why the certainty is not `proved` or `assumed`.
        patterns: the distinct warp patterns, costliest first (at most 64 are kept).
        note: which form of an atomic or asynchronous copy was modelled, e.g. `atom.add.u32`; see
            also `FRAGMENT`.
        layout: the swizzle that the addresses went through; None without one.
        advice: what to write instead, evaluated by the front end; empty where nothing was found.
        unadvised: why nothing was found; empty where nothing was looked for.
        advised: the parameters that `advice` gives the layout's swizzle and that are all there is
            to change; None without such.
        calls: where else the profiler shows some of the instructions.
        origin: the compiled code that it was read from, e.g. `matmul.ptx (sm_90)`; empty for a
            source.
        is_confirmed: of a source, whether compiled code of the run has the same figure; None
            without such code.
        remark: what compiled code of the run shows instead, in words.
        fusion: of the widest instruction, where it stands for several accesses of the source.
        chains: the calls that it is reached through, one chain for each way, innermost call first;
            empty where the kernel itself makes it.
        operation: that a compiler made the access of, where nobody wrote it, e.g. a dot operand.
        repeats: it is made in a loop of which one iteration was counted, since nobody knows how
            many there are.
        warps: of the block that take part; 0 where not known.
        omitted: distinct warp patterns that are not kept.
        data: what is known of addresses that hang on data; None where nothing is.
        elsewhere: the patterns of the other blocks that were guessed, where the figure is the same.
        is_of_library: a library makes it, as CUB's collectives do, at a call in the user's code.
        bounds: of an access that is sampled because other instructions may be made of it: of what
            it costs either way; None where it may be free of conflicts.
        whole_bytes: that the source moves at once, where it takes several instructions; else 0.
    """

    span: Span
    instance: Instance
    array: SharedArray | None
    kind: AccessKind
    width_bytes: int
    instructions: int
    wavefronts: Stat | None
    ideal: Stat | None
    certainty: Certainty
    assumptions: tuple[Assumption, ...] = ()
    reason: Reason | None = None
    patterns: tuple[WarpPattern, ...] = ()
    matrices: int = 0
    note: str = ""
    expression: str = ""
    line: int = 0
    conditions: tuple[Assumption, ...] = ()
    layout: LayoutUse | None = None
    advice: str = ""
    unadvised: str = ""
    advised: tuple[int, int, int] | None = None
    calls: tuple[CallLine, ...] = ()
    origin: str = ""
    is_confirmed: bool | None = None
    remark: str = ""
    fusion: Fusion | None = None
    chains: tuple[tuple[Caller, ...], ...] = ()
    operation: str = ""
    repeats: bool = False
    warps: int = 0
    omitted: int = 0
    data: DataAddresses | None = None
    elsewhere: tuple[WarpPattern, ...] = ()
    bounds: FusionBounds | None = None
    is_of_library: bool = False
    whole_bytes: int = 0

    @property
    def ways(self) -> float:
        """The worst `WarpPattern.ways` over the instructions; 0.0 when not known."""
        return self.worst.ways if self.worst is not None else 0.0

    @property
    def worst(self) -> WarpPattern | None:
        """The pattern that gives `ways`: of those counted here, if any is."""
        known = [p for p in self.patterns if p.ideal]
        counted = [p for p in known if p.count] or known
        return max(counted, key=lambda p: p.ways) if counted else None

    def addressing(self, pattern: WarpPattern) -> NDArray[np.bool_]:
        """Returns the lanes whose addresses are used: of matrix instructions, eight a matrix."""
        if self.kind not in (AccessKind.LDMATRIX, AccessKind.STMATRIX):
            return pattern.active
        import numpy as np

        return np.arange(len(pattern.active)) < 8 * (self.matrices or 4)
