"""Launches: as host code spells them, and what is known of them once it was run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import NamedTuple

from smemlint.analysis.simt.domain.environment import MAX_THREADS, Scope
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.analysis.simt.launches.block_shapes import UNKNOWN, Block, Extents
from smemlint.facts import Span
from smemlint.frontend import ir
from smemlint.frontend.heuristics import launches_kernel
from smemlint.frontend.program import Function
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import Assumption

LAUNCHERS = frozenset((
    "cudaLaunchKernel", "cudaLaunchCooperativeKernel", "cudaLaunchKernelEx",
    "cudaLaunchKernelExC", "cudaGraphAddKernelNode", "hipLaunchKernelGGL",
    "launch_kernel_on_cluster",
))  # fmt: skip
"""Functions of CUDA, HIP and CUTLASS that launch a kernel which they are given."""


@dataclass(frozen=True, slots=True, eq=False)
class Launch:
    """A launch of a kernel, as far as it is known.

    Attributes:
        kernel: name without template arguments, last component.
        scope: template parameters bound by it.
        block: None where it depends on what is not known.
        extents: those of the block that are known, of one that is not known whole.
        limits: what the others are not above, as `min(16, n)` says.
        shared: dynamic shared memory in bytes; None when not known.
        arguments: the known numbers among the kernel's arguments, the members of its structs and
            the extents of the grid, by name: `n`, `p.stride`, `gridDim.x`.
        assumed: the default path was taken somewhere before it.
        is_uninstantiated: it stands under a function template that nothing seen instantiates.
        left: further instantiations of its function that were not run.
        has_constant_block: no variable tells its block: it is the same on any path.
        is_also_open: its function comes to it with a block that is not known, too.
        tied: template parameters that are an extent of the block that is not known: which one.
        hangs_on_choices: a way through open choices may tell more of its block and template.
    """

    kernel: str
    function: Function
    scope: Scope
    block: Block | None
    shared: int | None
    span: Span
    arguments: dict[str, AffineInt]
    assumed: tuple[Assumption, ...] = ()
    extents: Extents = UNKNOWN
    limits: Extents = UNKNOWN
    is_uninstantiated: bool = False
    left: int = 0
    has_constant_block: bool = False
    is_also_open: bool = False
    tied: tuple[tuple[str, int], ...] = ()
    hangs_on_choices: bool = True

    @property
    def fails(self) -> bool:
        """Whether it has more threads in a block than any may have."""
        known = [n for n in self.extents if n is not None]
        return self.block is None and prod(known) > MAX_THREADS and min(known) > 0

    def is_of(self, function: Function) -> bool:
        """Returns whether it launches this kernel, not one of its name in another program."""
        return self.kernel == function.name and self.function.span == function.span


class SpelledLaunch(NamedTuple):
    """The expressions of a launch; None for what it does not say.

    Attributes:
        shared: dynamic shared memory in bytes.
        passed: what the kernel is passed, or the array that points to it.
    """

    kernel: ir.Node
    grid: ir.Node | None
    block: ir.Node
    shared: ir.Node | None
    passed: Sequence[ir.Node] | ir.Node | None


def spelled_launch(
    name: str, items: Sequence[ir.Expression], read: Iterable[Function]
) -> SpelledLaunch | None:
    """Returns the launch that a call of a function of a library is; None for all other calls.

    The shapes stand in a `cudaLaunchConfig_t` or in CUTLASS's `ClusterLaunchParams` of some, and
    graphs take all in one `cudaKernelNodeParams`.
    """
    match name:
        case "cudaLaunchKernel" | "cudaLaunchCooperativeKernel" if len(items) > 2:
            return SpelledLaunch(items[0], items[1], items[2], at(items, 4), at(items, 3))
        case "cudaLaunchKernelEx" | "cudaLaunchKernelExC" if len(items) > 1:
            grid, block = _member(items[0], "gridDim"), _member(items[0], "blockDim")
            passed = at(items, 2) if name == "cudaLaunchKernelExC" else items[2:]
            return SpelledLaunch(
                items[1], grid, block, _member(items[0], "dynamicSmemBytes"), passed
            )
        case "launch_kernel_on_cluster" if len(items) > 1:
            block = _member(items[0], "block_dims", ".")
            size = _member(items[0], "smem_size_in_bytes", ".")
            return SpelledLaunch(items[1], None, block, size, items[2:])
        case "cudaGraphAddKernelNode" if len(items) == 5:
            names = ("func", "gridDim", "blockDim", "sharedMemBytes", "kernelParams")
            kernel, grid, block, size, listed = (_member(items[4], n) for n in names)
            return SpelledLaunch(kernel, grid, block, size, listed)
    is_of_hip = name == "hipLaunchKernelGGL" or (launches_kernel(name) and not any(read))
    if is_of_hip and len(items) > 2:
        return SpelledLaunch(items[0], items[1], items[2], at(items, 3), None)
    return None


def _member(of: ir.Expression, name: str, access: str = "->") -> ir.StructRef:
    """Returns the member of an object, or of what a pointer or `&object` points to."""
    if isinstance(of, ir.UnaryOp) and of.op == "&" and isinstance(of.expr, ir.Expression):
        of, access = of.expr, "."
    return ir.StructRef(of, access, ir.ID(name, at=of.at), at=of.at)


def at(items: Sequence[ir.Node], index: int) -> ir.Node | None:
    """Returns an operand; None where there are fewer."""
    return items[index] if index < len(items) else None
