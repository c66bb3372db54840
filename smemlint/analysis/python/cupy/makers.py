"""Calls that hand CUDA text to a compiler, and how the kernels that come back are launched.

Sources: CuPy 14 (`RawKernel`, `RawModule`), PyCUDA 2025.1 (pycuda/compiler.py, pycuda/driver.py),
PyTorch 2.9 (torch/utils/cpp_extension.py, torch/cuda/__init__.py), cuda.core 0.4, the driver in
cuda.bindings 13 (`cuModuleGetFunction`, `cuLaunchKernel`) and IPython's `%%writefile` and
nvcc4jupyter's `%%cu`, which export as `get_ipython().run_cell_magic(..)`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum, auto

from smemlint.analysis.python.interpreter.arguments import BoundArguments
from smemlint.analysis.python.interpreter.values import UNKNOWN, ModelValue, Value
from smemlint.lazy_dataclasses import dataclass


class Product(Enum):
    """What a compiler makes of a text."""

    KERNEL = auto()
    """The kernel that the call names."""
    MODULE = auto()
    """Kernels that are asked for by name."""
    EXTENSION = auto()
    """Host code and kernels: the text itself launches them."""
    FILES = auto()
    """An extension of files, each a unit with macros that the call gives."""


class Convention(Enum):
    """How Python launches a kernel."""

    GRID_FIRST = auto()
    """`kernel(grid, block, args, shared_mem=)`"""
    GRID_NAMED = auto()
    """`kernel(*args, grid=, block=, shared=)`"""
    LAUNCHED = auto()
    """`launch(stream, LaunchConfig(grid, block), kernel, *args)`"""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a call; `position` is None where it is given by name only."""

    name: str
    position: int | None = None

    def of(self, given: BoundArguments, default: Value = UNKNOWN) -> Value:
        """Returns the argument of a call."""
        if self.position is None:
            return given.named.get(self.name, default)
        return given.get(self.position, self.name, default)


@dataclass(frozen=True, slots=True)
class Maker:
    """A call that hands text to a compiler.

    Attributes:
        text, options, kernel: its parameters; `kernel` is the name of a `Product.KERNEL`.
        product: what it returns.
        convention: how its kernels are launched.
        package: it is this maker only as a member of this package; empty where its name will do.
    """

    text: Parameter
    options: Parameter
    product: Product = Product.MODULE
    convention: Convention = Convention.GRID_FIRST
    kernel: Parameter = Parameter("name", 1)
    package: str = ""


_PYCUDA = Maker(
    Parameter("source", 0), Parameter("options", 2), convention=Convention.GRID_NAMED
)  # fmt: skip
MAKERS = {
    "RawKernel": Maker(Parameter("code", 0), Parameter("options", 2), Product.KERNEL),
    "RawModule": Maker(Parameter("code", 0), Parameter("options")),
    "compile_with_cache": Maker(
        Parameter("source", 0), Parameter("options", 1), package="cupy.cuda"
    ),
    "SourceModule": _PYCUDA,
    "DynamicSourceModule": _PYCUDA,
    "load_inline": Maker(
        Parameter("cuda_sources", 2), Parameter("extra_cuda_cflags"), Product.EXTENSION
    ),
    "load": Maker(
        Parameter("sources", 1), Parameter("extra_cuda_cflags", 3), Product.FILES,
        package="torch.utils.cpp_extension",
    ),
    "run_cell_magic": Maker(Parameter("cell", 2), Parameter(""), Product.EXTENSION),
    "_compile_kernel": Maker(
        Parameter("kernel_source", 0), Parameter("nvcc_options"), Product.KERNEL,
        kernel=Parameter("kernel_name", 1), package="torch.cuda",
    ),
    "Program": Maker(
        Parameter("code", 0), Parameter(""), convention=Convention.LAUNCHED, package="cuda.core"
    ),
}  # fmt: skip
"""The makers by the last part of their names."""


def defines_of(options: Sequence[str]) -> dict[str, str]:
    """Returns the macros of compiler options: `-DNAME=VALUE`, `--define-macro=NAME`."""
    found = {}
    for option in options:
        for prefix in ("--define-macro=", "-D"):
            if option.startswith(prefix):
                name, _, value = option.removeprefix(prefix).strip().partition("=")
                found[name] = value or "1"
                break
    found.pop("", None)
    return found


_PACKAGES = ("cupy", "pycuda", "torch", "cuda")


def is_of_maker(path: str) -> bool:
    """Returns whether a name is a maker's, whose own source does not tell what it does."""
    package, _, name = path.partition(".")
    return package in _PACKAGES and name.rpartition(".")[2] in MAKERS


_CUDA_FILE = re.compile(r".*\.(?:cuh?|hpp|h|inc|cpp|cc|cxx)", re.S)


def cell_of_cuda(given: BoundArguments) -> str | None:
    """Returns the file that a notebook's cell of CUDA text is written to, or no name.

    None where the cell holds other text: `run_cell_magic(magic, line, cell)` of IPython.
    """
    magic, line = given.get(0, "magic_name"), given.get(1, "line")
    if magic in ("cu", "cuda", "cuda_group_save"):
        return ""
    is_cuda = magic in ("writefile", "file") and isinstance(line, str)
    return str(line) if is_cuda and _CUDA_FILE.fullmatch(str(line)) else None


@dataclass(frozen=True, slots=True)
class LaunchConfig(ModelValue):
    """`LaunchConfig` of cuda.core: the shape of a launch."""

    grid: Value
    block: Value
    shared: Value


@dataclass(frozen=True, slots=True)
class PythonLaunch:
    """What a call of a kernel gives: extents, bytes of dynamic shared memory, and arguments."""

    grid: Value
    block: Value
    shared: Value
    arguments: Sequence[Value]


def launch_config(given: BoundArguments) -> LaunchConfig:
    """Returns what `LaunchConfig(grid=, cluster=, block=, shmem_size=)` holds."""
    return LaunchConfig(
        given.get(0, "grid", 1), given.get(2, "block", 1), given.get(3, "shmem_size", 0)
    )


def driver_launch(given: BoundArguments) -> PythonLaunch:
    """Returns the launch that `cuLaunchKernel(kernel, x, y, z, x, y, z, shared, ..)` is."""
    numbers = (*given.positional[1:8], *[UNKNOWN] * 7)
    return PythonLaunch(numbers[:3], numbers[3:6], numbers[6], ())


def launch_of(convention: Convention, given: BoundArguments) -> PythonLaunch:
    """Returns the launch that the call of a kernel is."""
    named = given.named
    if convention is Convention.GRID_NAMED:
        return PythonLaunch(
            named.get("grid", 1), named.get("block"), named.get("shared", 0), given.positional
        )
    passed = given.get(2, "args", ())
    return PythonLaunch(
        given.get(0, "grid"),
        given.get(1, "block"),
        named.get("shared_mem", 0),
        passed if isinstance(passed, tuple | list) else (),
    )


PREPARED = {"prepared_call": 2, "prepared_timed_call": 2, "prepared_async_call": 3}
"""PyCUDA's launches of a prepared kernel: where the kernel's own arguments begin."""


def prepared_launch(method: str, given: BoundArguments) -> PythonLaunch:
    """Returns the launch of `kernel.prepared_call(grid, block, *args, shared_size=)`."""
    grid, block = (*given.positional[:2], UNKNOWN, UNKNOWN)[:2]
    arguments = given.positional[PREPARED[method] :]
    return PythonLaunch(grid, block, given.named.get("shared_size", 0), arguments)
