"""The facts that evaluation finds and rules judge: plain frozen data, all that rules ever see.

Nothing here knows a syntax tree, so one rule serves every front end alike. Addresses are byte
offsets inside the shared-memory window of a block, lanes are the last axis of every array.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from smemlint.reasons import worded

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from smemlint.reasons import Assumption, Line, Reason


Fact = TypeVar("Fact")


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


@dataclass(frozen=True, slots=True)
class SharedArray:
    """One declared shared array.

    Attributes:
        name: as declared; empty for all memory of a block whose arrays machine code does not name.
        span: of the declaration.
        element: spelling of the element type.
        element_bytes: its size; 0 when unknown.
        dims: extents, slowest first; None for one that is not known (`extern []`).
        base: byte offset of the array in the block's shared memory as this analysis lays it out.
        bytes: declared size in bytes; None when not known.
        alignment: guaranteed alignment of the base in bytes.
        is_dynamic: declared `extern __shared__`.
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

    @property
    def shown(self) -> str:
        """What messages call it."""
        return f"`{self.name}`" if self.name else "shared memory"

    def is_declared_as(self, other: SharedArray | None) -> bool:
        """Whether both are one declaration, of which template values may make many arrays."""
        return other is not None and (self.span, self.name) == (other.span, other.name)


@dataclass(frozen=True, slots=True, eq=False)
class WarpPattern:
    """One distinct pattern that a warp issues at an access.

    Attributes:
        addresses: int64 of shape (32,), byte addresses, `array.base` included.
        active: bool of shape (32,).
        warp: the first warp of the block that issues it.
        count: how many warp instructions of the block have it.
        wavefronts, ideal, profiler_ideal: what `hardware.wavefronts` says of it; 0 when it cannot
            be told.
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
    def ways(self) -> float:
        """Wavefronts over the larger of both ideals: a conflict that model and profiler see."""
        best = max(self.ideal, self.profiler_ideal)
        return self.wavefronts / best if best else 0.0


@dataclass(frozen=True, slots=True)
class Instance:
    """One kernel as one launch instantiates it.

    Attributes:
        given_by: where block and template come from, with `PLACE` where that names a line.
        place: the line that it names; None for none.
    """

    kernel: str
    span: Span
    template: tuple[tuple[str, str], ...] = ()
    block: tuple[int, int, int] | None = None
    given_by: str = ""
    place: Line | None = None

    @property
    def origin(self) -> str:
        """Where block and template come from, e.g. `launch at transpose.cu:41`."""
        return worded(self.given_by, self.place)

    @property
    def key(self) -> Hashable:
        """Returns what is equal for one instance that several units hold."""
        return self.span, self.template, self.block

    @property
    def title(self) -> str:
        """The kernel with its template values, e.g. `reduce6<int, 256>`."""
        if not self.template:
            return self.kernel
        return f"{self.kernel}<{', '.join(value for _, value in self.template)}>"


@dataclass(frozen=True, slots=True)
class CallLine:
    """A call that the profiler shows some of an access's instructions at.

    They are the first that an inlined function issues; see `evaluate.trace.Event.call`.

    Attributes:
        span: of the call.
        instructions, wavefronts, ideal: of those instructions, as for an access.
    """

    span: Span
    instructions: int
    wavefronts: Stat
    ideal: Stat


@dataclass(frozen=True, slots=True)
class Caller:
    """A call on the way from a kernel to an access.

    Attributes:
        name: the function that makes the call.
        span: of the call.
    """

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
        assumptions: what was assumed.
        conditions: those of them that are conditions of the code, taken to hold.
        reason: why the certainty is not `proved` or `assumed`.
        patterns: the distinct warp patterns, costliest first (at most 64 are kept).
        note: which form of an atomic or asynchronous copy was modelled, e.g. `atom.add.u32`; see
            also `FRAGMENT`.
        layout: the swizzle that the addresses went through; None without one.
        advice: what to write instead, evaluated by the front end; empty where nothing was found.
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
    calls: tuple[CallLine, ...] = ()
    origin: str = ""
    is_confirmed: bool | None = None
    remark: str = ""
    fusion: Fusion | None = None
    chains: tuple[tuple[Caller, ...], ...] = ()
    operation: str = ""
    repeats: bool = False
    warps: int = 0

    @property
    def ways(self) -> float:
        """The worst `WarpPattern.ways` over the instructions; 0.0 when not known."""
        return max((p.ways for p in self.patterns if p.ideal), default=0.0)

    @property
    def worst(self) -> WarpPattern | None:
        """The pattern that gives `ways`."""
        known = [p for p in self.patterns if p.ideal]
        return max(known, key=lambda p: p.ways) if known else None

    def addressing(self, pattern: WarpPattern) -> NDArray[np.bool_]:
        """The lanes whose addresses are used: of matrix instructions, eight a matrix."""
        if self.kind not in (AccessKind.LDMATRIX, AccessKind.STMATRIX):
            return pattern.active
        import numpy as np

        return np.arange(len(pattern.active)) < 8 * (self.matrices or 4)


@dataclass(frozen=True, slots=True)
class NotAnalysed:
    """Code that was seen and not decided, which is always said.

    Attributes:
        span: of the construct.
        kernel: the enclosing kernel; empty at file level.
        reason: in words, lower case, no full stop.
    """

    span: Span
    kernel: str
    reason: Reason


@dataclass(frozen=True, slots=True, eq=False)
class KernelFacts:
    """Everything known of one kernel instance.

    Attributes:
        steps: how many statements were run for it.
        layouts: swizzled layouts of its shared memory; also in `Facts.layouts`.
    """

    instance: Instance
    arrays: tuple[SharedArray, ...] = ()
    accesses: tuple[Access, ...] = ()
    not_analysed: tuple[NotAnalysed, ...] = ()
    steps: int = 0
    layouts: tuple[LayoutUse, ...] = ()
    dots: tuple[DotUse, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class LayoutUse:
    """A swizzle or shared layout that the source writes down, whether or not it is accessed.

    Attributes:
        span: of the swizzle or layout expression.
        family: `cute`, `cute-dsl`, `declared`, `triton-swizzled`, `triton-padded`, `nvmma`.
        spelled: as the source writes it.
        kernel: the function it stands in; empty at file level.
        swizzle: (B, M, S) of a CuTe swizzle; None for the other families.
        parameters: further named integers, e.g. (("vec", 8), ("per_phase", 1), ("max_phase", 8)).
        units: `elements` or `bytes`, what one step of the swizzled offset is; empty when unknown.
        element_bytes: of the data; 0 when unknown.
        shape, stride: flat extents and strides in `units` of the layout under it; empty when
            unknown.
        offset: constant that is added before the swizzle, in `units`.
        extent: size of what is addressed, in `units`; None when unknown.
        alignment: bytes that the base is guaranteed to be a multiple of; None when unknown.
        array: the shared array that it addresses, where known.
        certainty, assumptions: as for an access.
        is_bound: it addresses shared memory as it stands: no atom that may still be tiled, no
            layout of registers or global memory. What depends on the whole extent is judged
            only then.
        base: byte of `array` where offset 0 lies; None when unknown.
        address: byte of the block's shared memory where offset 0 lies; None when unknown.
    """

    span: Span
    family: str
    spelled: str
    kernel: str = ""
    swizzle: tuple[int, int, int] | None = None
    parameters: tuple[tuple[str, int], ...] = ()
    units: str = ""
    element_bytes: int = 0
    shape: tuple[int, ...] = ()
    stride: tuple[int, ...] = ()
    offset: int = 0
    extent: int | None = None
    alignment: int | None = None
    array: SharedArray | None = None
    certainty: Certainty = Certainty.PROVED
    assumptions: tuple[Assumption, ...] = ()
    is_bound: bool = False
    base: int | None = None
    address: int | None = None


@dataclass(frozen=True, slots=True)
class DotOperand:
    """An operand of a matrix product that a compiler places in shared memory.

    Attributes:
        name: `a` of shape (M, K) or `b` of shape (K, N).
        element: spelling of the element type.
        element_bits: its size; 0 when unknown.
        shape: of the tile; None for an extent that is not known.
        contiguous: the dimension of stride 1, `m`, `n` or `k`; empty when unknown.
        is_loaded: comes from memory as it is, not from registers.
        hidden: how the source hides from the compiler that elements are contiguous, in words;
            empty where it does not.
        hidden_dim: the dimension that is contiguous all the same; empty when unknown.
    """

    name: str
    element: str
    element_bits: int
    shape: tuple[int | None, ...]
    contiguous: str
    is_loaded: bool
    hidden: str = ""
    hidden_dim: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class DotUse:
    """A matrix product of tiles, e.g. `tl.dot(a, b)`.

    Attributes:
        span: of the call.
        kernel: the kernel that makes it.
        operands: a and b.
        precision: of 32-bit operands, e.g. `tf32` or `ieee`; empty when unknown.
        stages: of the software pipeline; None when unknown or outside of a loop.
        warps: of the block; None when unknown.
        certainty, assumptions: as for an access.
    """

    span: Span
    kernel: str
    operands: tuple[DotOperand, DotOperand]
    precision: str = ""
    stages: int | None = None
    warps: int | None = None
    certainty: Certainty = Certainty.ASSUMED
    assumptions: tuple[Assumption, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """Everything known of the sources of one run."""

    kernels: tuple[KernelFacts, ...] = ()
    not_analysed: tuple[NotAnalysed, ...] = field(default=())
    layouts: tuple[LayoutUse, ...] = ()
    dots: tuple[DotUse, ...] = ()

    @staticmethod
    def merged(parts: Sequence[Facts]) -> Facts:
        """Merges the facts of units that may hold the same code.

        Of each kernel instance, layout and product the first part decides; notes stand once.
        """
        notes = dict.fromkeys(n for part in parts for n in part.not_analysed)
        return Facts(
            _of_first_part([p.kernels for p in parts], lambda kernel: kernel.instance.key),
            tuple(notes),
            _of_first_part([p.layouts for p in parts], lambda layout: layout.span),
            _of_first_part([p.dots for p in parts], lambda dot: dot.span),
        )

    @staticmethod
    def joined(parts: Sequence[Facts]) -> Facts:
        """Joins the facts of different code, of which nothing can stand in two parts."""
        return Facts(
            tuple(k for part in parts for k in part.kernels),
            tuple(n for part in parts for n in part.not_analysed),
            tuple(u for part in parts for u in part.layouts),
            tuple(d for part in parts for d in part.dots),
        )


def _of_first_part(
    parts: Sequence[Sequence[Fact]], key: Callable[[Fact], Hashable]
) -> tuple[Fact, ...]:
    """Keeps of the facts with equal keys those of the first part that has any."""
    found: list[Fact] = []
    seen: set[Hashable] = set()
    for part in parts:
        fresh = [fact for fact in part if key(fact) not in seen]
        seen.update(map(key, fresh))
        found += fresh
    return tuple(found)


Site = tuple[Span, AccessKind, bool]
"""An access site, and whether it has a figure or verdict."""


def sites_of(kernels: Iterable[KernelFacts]) -> tuple[Site, ...]:
    """Returns the access sites of kernel instances, those of several instances more than once."""
    return tuple(
        (access.span, access.kind, access.certainty.is_decided)
        for kernel in kernels
        for access in kernel.accesses
    )


def verdicts(sites: Iterable[Site]) -> dict[tuple[Span, AccessKind], bool]:
    """Returns for each place and kind of access whether it is decided in all instances.

    Whatever counts accesses counts these: the closing lines of `check` and `analyze`, and SML901.
    """
    found: dict[tuple[Span, AccessKind], bool] = {}
    for span, kind, is_decided in sites:
        found[span, kind] = found.get((span, kind), True) and is_decided
    return found
