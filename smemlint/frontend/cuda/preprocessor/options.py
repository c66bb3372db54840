"""What a build defines: the compiler's macros, and what the command line adds to them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Protocol

from smemlint.lazy_dataclasses import dataclass
from smemlint.lazy_patterns import pattern


def _read_nothing(path: str) -> str | None:
    return None


class Refusal(Protocol):
    """Says why a file that was asked for is not read; see `ProgramIndex.refusal`."""

    def __call__(self, path: str, *, is_written: bool) -> str:
        """Returns the reason, or an empty text."""


def _refuse_nothing(path: str, *, is_written: bool) -> str:
    return ""


def _know_no_home(name: str) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """What the command line and the configuration say about reading CUDA sources.

    Attributes:
        arch: target, `sm_90` like; decides `__CUDA_ARCH__`.
        defines: macro names to replacement texts, as of `-D`.
        undefines: names that are known not to be macros, as of `-U`.
        include_dirs: folders searched for includes.
        forced_includes: paths of files that are read in front of the root, as of `-include`.
        read: text of a file; None when there is none.
        refusal: why a file is not read that may be there.
        home: the folder that an include was written for that is in none of those; it is given as it
            is written, brackets included.
    """

    arch: str = "sm_90"
    defines: Mapping[str, str] = field(default_factory=dict)
    undefines: frozenset[str] = frozenset()
    include_dirs: tuple[str, ...] = ()
    forced_includes: tuple[str, ...] = ()
    read: Callable[[str], str | None] = _read_nothing
    refusal: Refusal = _refuse_nothing
    home: Callable[[str], str | None] = _know_no_home


_PREDEFINED = {
    "__CUDACC__": "1", "__NVCC__": "1", "__CUDACC_VER_MAJOR__": "13", "__CUDACC_VER_MINOR__": "0",
    "__CUDACC_VER_BUILD__": "0", "__CUDACC_EXTENDED_LAMBDA__": "1",
    "__CUDACC_RELAXED_CONSTEXPR__": "1", "CUDART_VERSION": "13000", "CUDA_VERSION": "13000",
    "__cplusplus": "201703L", "__GNUC__": "12", "__GNUC_MINOR__": "0", "__linux__": "1",
    "__unix__": "1", "__x86_64__": "1", "__LP64__": "1", "__CHAR_BIT__": "8",
}  # fmt: skip

SPECIFIERS = frozenset(
    f"__{name}__"
    for name in (
        *("global", "device", "host", "shared", "constant", "managed"),
        *("launch_bounds", "forceinline", "noinline", "align", "grid_constant"),
    )
)
"""Macros of CUDA's headers that stand for options of a compiler; they are read as they are."""

# Other compilers, platforms and languages: nvcc on Linux defines none of these. Nor does a build
# that is to be fast define what turns on debugging, logs or profiling.
UNDEFINED = pattern(
    r"""__?HIP\w* | HIPCC | (?:\w+_)?(?:HIP|ROCM|MUSA|AMD|SYCL)(?:_\w+)?
      | __AMD\w* | __GFX\w* | __gfx\w*
      | _WIN32 | _WIN64 | WIN32 | WIN64 | _MSC_\w+ | _MSVC_LANG | __MINGW\w* | __CYGWIN__
      | __APPLE__ | __MACH__ | TARGET_OS_\w+ | __ANDROID__ | __QNX\w* | __FreeBSD__ | __EMSCRIPTEN__
      | __clang\w* | __INTEL_\w+ | __ICC | __ICL | __PGI\w* | __NVCOMPILER\w* | _NVHPC_\w+ | __EDG__
      | __JETBRAINS\w* | __CUDACC_RTC__ | __CUDA_LIBDEVICE__ | __OPENCL\w* | __SYCL\w*
      | __METAL\w* | __arm\w* | __ARM_\w+ | __aarch64__ | __powerpc\w* | __PPC\w* | __riscv\w*
      | _*DEBUG\w* | \w+_DEBUG | VERBOSE\w* | \w+_VERBOSE | TRACE | \w+_TRACE
      | \w*PROFIL(?:E|ER|ING)_?
      | _M_\w+ | DOXYGEN\w* | __DOXYGEN\w* | SWIG | __INTELLISENSE__ | __RESHARPER__ | __CLION\w*
      | __CDT_PARSER__ | Q_CREATOR_RUN
      """,
    re.VERBOSE,
)  # fmt: skip


def predefined(arch: str) -> dict[str, str]:
    """Returns the macros that nvcc defines in a device pass for a target."""
    number = re.fullmatch(r"(?:sm|compute)_(\d+)([af]?)", arch)
    digits = number[1] if number else "90"
    macros = {**_PREDEFINED, "__CUDA_ARCH__": f"{digits}0"}
    if number and number[2]:
        macros[f"__CUDA_ARCH_FEAT_SM{digits}_ALL"] = "1"
        macros["__CUDA_ARCH_SPECIFIC__"] = macros["__CUDA_ARCH_FAMILY_SPECIFIC__"] = f"{digits}0"
    return macros
