"""Values of Gluon sources: tensors, layouts, descriptors of shared memory and their accesses."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from smemlint.analysis.python.interpreter.values import UNKNOWN, DType, ModelValue, Unknown, Value
from smemlint.facts import SharedArray, Span
from smemlint.layout.gluon import SharedLayout
from smemlint.layout.memdesc import SharedView
from smemlint.layout.register_layouts import RegisterLayout
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import Reason, ReasonCode

ViewArguments: TypeAlias = tuple[int | tuple[int, ...], ...]
AMD = Unknown.because(ReasonCode.OTHER_HARDWARE, "warps of 64 lanes")
NO_SHARED_LAYOUT = Reason(ReasonCode.UNKNOWN_LAYOUT, "its shared layout is not known")
AUTOMATIC = Unknown.because(ReasonCode.COMPILER, "the compiler chooses the layout")


@dataclass(frozen=True, slots=True)
class Tensor(ModelValue):
    """A tensor in registers; what is not known of it is None, with the reason."""

    shape: tuple[int, ...] | None = None
    layout: RegisterLayout | None = None
    dtype: DType | None = None
    reason: Reason | None = None

    def join(self, other: ModelValue) -> Value:
        """Returns a tensor with what both have in common."""
        if not isinstance(other, Tensor):
            return UNKNOWN
        return Tensor(
            self.shape if self.shape == other.shape else None,
            self.layout if self.layout == other.layout else None,
            self.dtype if self.dtype == other.dtype else None,
            self.reason or other.reason,
        )


@dataclass(frozen=True, slots=True, eq=False)
class LayoutLiteral(ModelValue):
    """A shared layout with the place where the source constructs it.

    Attributes:
        layout: None where a parameter is not known.
        span, spelled: of the call.
        family: of `LayoutUse`.
        problem: why there is no layout.
    """

    layout: SharedLayout | None
    span: Span
    spelled: str
    family: str
    problem: Reason | None = None


@dataclass(frozen=True, slots=True, eq=False)
class HostDescriptor(ModelValue):
    """`TensorDescriptor.from_tensor(tensor, block_shape, layout)`: what kernels see of it."""

    block_shape: Value
    layout: Value
    dtype: Value = UNKNOWN


@dataclass(frozen=True, slots=True)
class HostTensor(ModelValue):
    """A tensor that host code makes, e.g. `torch.empty(m, n, dtype=torch.float16)`."""

    shape: tuple[int, ...] | None
    dtype: DType


@dataclass(frozen=True, slots=True)
class Descriptor(ModelValue):
    """A shared memory descriptor.

    Attributes:
        dtype: its element type; None where not known.
        shape: None where not known.
        view: where its elements lie; None where not known, with the reason.
        layout, allocated_shape, element: of the allocation; None where it is reinterpreted.
        operations: methods of views, with arguments, that select this part of the allocation.
    """

    array: SharedArray
    dtype: DType | None
    shape: tuple[int, ...] | None
    view: SharedView | None
    reason: Reason | None = None
    layout: SharedLayout | None = None
    allocated_shape: tuple[int, ...] | None = None
    element: DType | None = None
    operations: tuple[tuple[str, ViewArguments], ...] = ()

    def under(self, layout: SharedLayout) -> Descriptor:
        """Returns the same part of an allocation with another layout.

        Raises:
            ValueError, IndexError: the layout does not fit.
        """
        if self.allocated_shape is None or self.element is None:
            raise ValueError("the allocation is not known")
        view = layout.view(self.allocated_shape, self.element.bits)
        for name, arguments in self.operations:
            view = getattr(view, name)(*arguments)
        return replace(self, view=view, layout=layout)


@dataclass(frozen=True, slots=True, eq=False)
class TileAccess:
    """A load or store of shared memory.

    Attributes:
        layout: of the registers; None where not known.
    """

    span: Span
    expression: str
    is_store: bool
    descriptor: Descriptor
    layout: RegisterLayout | None
    reason: Reason | None = None
    is_data_dependent: bool = False

    def under(self, layout: SharedLayout) -> TileAccess:
        """Returns the same access with another layout; see `Descriptor.under`."""
        return replace(self, descriptor=self.descriptor.under(layout))
