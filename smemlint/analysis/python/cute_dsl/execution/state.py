"""The state of an executed program: numbers, the kernel that runs and what it issued so far."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import field, replace

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.python.cute_dsl.execution.modules import Texts
from smemlint.analysis.python.cute_dsl.execution.outside.guessed_types import GuessedTypes
from smemlint.analysis.python.cute_dsl.execution.outside.settling import Settling
from smemlint.analysis.python.cute_dsl.execution.values import AnyTensor, Pointer
from smemlint.analysis.python.interpreter.arguments import BoundArguments
from smemlint.analysis.python.interpreter.changes import ChangeLog
from smemlint.analysis.python.interpreter.values import (
    Class,
    DType,
    Instance,
    Unknown,
)
from smemlint.analysis.simt.codegen.unrolled_sums import CompiledLoops
from smemlint.analysis.simt.cute.layout_trials import LayoutTrial
from smemlint.analysis.simt.domain.affine import AffineDomain
from smemlint.analysis.simt.domain.ctypes import I32, FloatType
from smemlint.analysis.simt.domain.trace import Trace
from smemlint.analysis.simt.domain.values import BEHIND_KEY, AffineInt, Object, Space
from smemlint.facts import LayoutUse, SharedArray, Span
from smemlint.hardware.arch import architecture
from smemlint.layout import cute
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_DSL_EVENTS
from smemlint.reasons import Assumption, Reason, ReasonCode

Completion = Callable[[Class, BoundArguments], BoundArguments]
"""Returns the arguments of a call of a class, completed."""


MAX_THREADS = 1024
_WARP = 32


@dataclass(slots=True, eq=False)
class Kernel:
    """A kernel that a launch executes.

    Attributes:
        name: of its function.
        node: its function.
        block: threads along x, y and z.
        launch: the call that launches it; None where its block is guessed.
        mask: the threads that are active at the current place.
        next_byte: where the next allocation begins at the earliest; None when not known.
        dynamic: the beginning of dynamic shared memory, once the kernel asks for it.
        notes: what was not followed, each place once, and the only array that it touches.
        failure: why the execution stopped early; None where it did not.
        data_branches: how many branches on data are around the current place.
        loops: its loops, and what the compiler makes of accesses in them.
    """

    name: str
    node: ast.FunctionDef
    block: tuple[int, int, int]
    launch: ast.AST | None
    mask: NDArray[np.bool_]
    trace: Trace = field(default_factory=lambda: Trace(MAX_DSL_EVENTS))
    arrays: list[Object] = field(default_factory=list)
    next_byte: int | None = 0
    dynamic: Pointer | None = None
    notes: dict[tuple[Span, Reason], Object | None] = field(default_factory=dict)
    failure: Reason | None = None
    data_branches: int = 0
    layouts: dict[object, LayoutUse] = field(default_factory=dict)
    loops: CompiledLoops = field(default_factory=CompiledLoops)

    @property
    def threads(self) -> int:
        """The threads of a block, filled up to whole warps."""
        return len(self.mask)


@dataclass(frozen=True, slots=True)
class KernelTrial:
    """Another layout that tensors of one kernel get.

    Attributes:
        kernel: the number of the kernel, in the order in which they are executed.
        layout: the other layout.
    """

    kernel: int
    layout: LayoutTrial


class Execution:
    """One execution of a file's host code with everything that it launches.

    Attributes:
        domain: of numbers.
        kernel: the one that runs; None in host code.
        finished: kernels that were executed.
        entered: functions that were executed.
        layouts: thread layouts that are not compact.
        guessed: what was guessed.
        refused: conditions with which it came to a `raise` without a doubt.
        are_columns: places that ask which mode of a tensor is contiguous, where that is settled ->
            whether it is the first one.
        types: element types that are guessed.
        settling: numbers that conditions of the compilation settle.
        refusals: places of `raise`, and of assertions that do not hold, that it came to without a
            doubt, and of copies that CuTe refuses.
        failed: those assertions.
        asks_for_options: whether an object was guessed whose class has flags.
        asks_for_shapes: whether there is a parameter whose name is that of the shape of a tile.
        reached: places of calls and of subscripts that were executed, so that the others can be
            said.
        shared_names: variables that hold shared memory, each with its function.
        unlaunched: kernels whose launch could not be followed, with the reason.
        left_out: how many launches of each kernel were left out for their number.
        texts: the files that are executed.
        arch: the target.
        asks_for_capability: whether the program asks for the compute capability of the device.
        trial: the kernel that is executed alone with another layout; None for all with their own.
        choice: which of several values that a program takes is guessed, 0 or 1; None for none.
        outcomes: conditions that are taken to hold or not where they are not known.
        assumes: open conditions of the host have the outcome that `choice` stands for.
        assumed: what they are taken to be.
        has_open_conditions: there is one of which an outcome was, or might be, guessed.
        completes: gives a call of a class the arguments that are not known; None for no call.
        changes: attributes and containers that the paths around the current statement changed.
        constructed: objects of classes of the executed file, or derived from these.
    """

    def __init__(self, texts: Texts, arch: str, trial: KernelTrial | None = None) -> None:
        self.texts = texts
        self.arch = arch
        self.trial = trial
        self.choice: int | None = None
        self.outcomes: Mapping[ast.expr, bool] = {}
        self.assumes = False
        self.assumed: dict[Assumption, None] = {}
        self.has_open_conditions = False
        self.completes: Completion | None = None
        self.changes = ChangeLog()
        self.constructed: list[Instance] = []
        self._begun = 0
        self._numbers: dict[int, tuple[Unknown, AffineInt]] = {}
        self.domain = AffineDomain()
        self.unlaunched: dict[ast.FunctionDef, str] = {}
        self.left_out: Counter[ast.FunctionDef] = Counter()
        self.kernel: Kernel | None = None
        self.finished: list[Kernel] = []
        self.reached: set[Span] = set()
        self.shared_names: set[tuple[ast.FunctionDef, str]] = set()
        self.layouts: dict[object, LayoutUse] = {}
        self.guessed: dict[Assumption, None] = {}
        self.refusals: set[Span] = set()
        self.refused: list[ast.expr] = []
        self.failed: list[ast.Assert] = []
        self.asks_for_options = False
        self.asks_for_shapes = False
        self.asks_for_capability = False
        self.are_columns: Mapping[Span, bool] = {}
        self.types = GuessedTypes()
        self.settling = Settling()
        self.entered: set[ast.FunctionDef] = set()
        self._fresh = 0

    @property
    def capability(self) -> tuple[int, int]:
        """Major and minor number of the target's compute capability, for which it asks."""
        self.asks_for_capability = True
        return architecture(self.arch).capability

    # ---- places

    def reach(self, node: ast.AST, accessed: AnyTensor | Pointer) -> None:
        """Takes note that an access was executed, if it is one of shared memory."""
        if accessed.space is cute.Space.SHARED:
            self.reached.add(self.span_of(node))

    def span_of(self, node: ast.AST) -> Span:
        """Returns the place of a node."""
        return self.texts.span(node)

    def span_of_name(self, node: ast.FunctionDef) -> Span:
        """Returns the place of a function's name."""
        return self.texts.text_of(node).name_span(node)

    def text_within(self, span: Span) -> str:
        """Returns the text of a place."""
        return self.texts.within(span)

    # ---- numbers

    def fresh(
        self, name: str, *, multiple: int = 1, nonnegative: bool = True, kind: str = ""
    ) -> AffineInt:
        """Returns a new unknown that all threads share; its key says what `kind` it is of."""
        self._fresh += 1
        key = f"{kind}{name}#{self._fresh}"
        return self.domain.symbol(key, name, I32, multiple=multiple, nonnegative=nonnegative)

    def number_of(self, value: Unknown) -> AffineInt:
        """Returns the number that a value is which all threads share, the same for each use."""
        if id(value) not in self._numbers:
            self._numbers[id(value)] = value, self.fresh("a number of the host", nonnegative=False)
        return self._numbers[id(value)][1]

    # ---- kernels

    def takes_next(self, kernel: ast.FunctionDef) -> bool:
        """Returns whether the next kernel is executed; asked once for each.

        Of what callers in other files launch, only kernels of the executed file are.
        """
        if self.completes is not None and self.texts.text_of(kernel) is not self.texts.home:
            return False
        self._begun += 1
        return self.trial is None or self._begun - 1 == self.trial.kernel

    def begin(
        self, name: str, node: ast.FunctionDef, block: tuple[int, int, int], launch: ast.AST | None
    ) -> Kernel:
        """Begins the execution of a kernel."""
        count = block[0] * block[1] * block[2]
        rounded = -(-count // _WARP) * _WARP
        self.kernel = Kernel(name, node, block, launch, np.arange(rounded) < count)
        return self.kernel

    def end(self) -> None:
        """Ends the execution of a kernel."""
        if self.kernel is not None:
            self.kernel.loops.settle()
            self.finished.append(self.kernel)
        self.kernel = None

    def note(
        self,
        node: ast.AST,
        text: str,
        array: Object | None = None,
        code: ReasonCode = ReasonCode.NOT_MODELLED,
    ) -> None:
        """Notes something that a kernel does and that is not followed.

        Args:
            node: the construct.
            text: why.
            array: the only one that it touches; None where it may be any.
            code: the sort of reason.
        """
        reason = Reason(code, text)
        kernel = self.kernel
        if kernel is not None and not kernel.trace.is_muted:
            kernel.notes.setdefault((self.span_of(node), reason), array)

    # ---- memory

    def global_array(self, dtype: DType) -> Object:
        """Returns an array of global memory of its own."""
        key = self.fresh("tensor").terms[0][0].key
        return Object("", FloatType(dtype.name, max(dtype.bits // 8, 1)), Space.GLOBAL, key)

    def allocate(
        self, name: str, dtype: DType, size: int | None, alignment: int, node: ast.AST
    ) -> tuple[Object, AffineInt]:
        """Allocates shared memory behind what was allocated before.

        Args:
            name: of the array.
            dtype: of its elements.
            size: bytes; None where not known.
            alignment: of its first byte.
            node: the allocation.

        Returns:
            The array, and the byte at which it begins.
        """
        kernel = self.kernel
        assert kernel is not None
        if kernel.next_byte is None:
            at = self.start_of(name, alignment)
        else:
            start = -(-kernel.next_byte // alignment) * alignment
            at = AffineInt(start, I32)
            kernel.next_byte = start
        array = self.array(name, dtype, at, alignment, node)
        if kernel.next_byte is not None:
            kernel.next_byte = kernel.next_byte + size if size is not None else None
        return array, at

    def start_of(self, name: str, alignment: int) -> AffineInt:
        """Returns the unknown byte, which the compiler knows, at which an array begins."""
        text = f"start of {name}" if name else "start"
        return self.fresh(text, multiple=alignment, kind=BEHIND_KEY)

    def array(
        self, name: str, dtype: DType, at: AffineInt, alignment: int, node: ast.AST
    ) -> Object:
        """Returns an array of shared memory that begins at a byte.

        Args:
            name: of the array.
            dtype: of its elements.
            at: its first byte.
            alignment: of that byte.
            node: the declaration.
        """
        kernel = self.kernel
        assert kernel is not None
        element, base = max(dtype.bits // 8, 1), at.constant or 0
        shared = SharedArray(
            name,
            self.span_of(node),
            dtype.name,
            element,
            (),
            base,
            None,
            alignment,
            is_dynamic=True,
        )
        key = f"{name}@{len(kernel.arrays)}"
        created = Object(name, FloatType(dtype.name, element), Space.SHARED, key, shared=shared)
        kernel.arrays.append(created)
        return created


def rename(array: Object, name: str) -> None:
    """Gives an array the name of the variable that it is first assigned to."""
    if not array.name:
        array.name = name
        if array.shared is not None:
            array.shared = replace(array.shared, name=name)
