"""Guesses at what a text holds, from its words: which files matter, before any of them is read.

Each function is one guess, as in `heuristics.py`.
"""

from __future__ import annotations

import re

from smemlint.frontend.line_searches import (
    LAUNCH,
    at_line_begins,
    includes_of_kernels,
    launched_names,
    without_comments,
    without_messages,
)
from smemlint.lazy_patterns import pattern

_SHARED = pattern(
    r"__shared__|\bHIP_DYNAMIC_SHARED\b|\bldmatrix|\.shared\b|__cvta_generic_to_shared"
    r"|\bmake_smem_ptr\b|\bdevice_kernel<|\bcutlass::kernel_launch\b"
)
_SHARED_WORDS = (
    "__shared__", "HIP_DYNAMIC_SHARED", "ldmatrix", ".shared", "__cvta_generic_to_shared",
    "make_smem_ptr", "device_kernel<", "cutlass::kernel_launch",
)  # fmt: skip
"""One stands in whatever `_SHARED` finds: words are found ten times faster."""
_GEMM_WORDS = (
    ("GemmUniversalAdapter", "Sm90TmaWarpSpecializedAdapter"),
    ("GemmUniversalAdapter", "CollectiveBuilder", "epilogue::TmaWarpSpecialized"),
    ("GemmUniversalAdapter", "CollectiveBuilder", "epilogue::PtrArrayTmaWarpSpecialized"),
    ("GemmUniversalAdapter", "CollectiveBuilder", "arch::Sm1"),
    ("ConvUniversalAdapter", "CollectiveBuilder", "arch::Sm1"),
)
"""A text that makes a kernel of CUTLASS's whose epilogue goes through shared memory has these."""
_AMD_ATOM = pattern(r"\bGFX\w+_\d+x\d+x\d+_")
_SWIZZLE_WORDS = ("Swizzle", "CU_TENSOR_MAP_SWIZZLE_")
_SWIZZLE = pattern(r"\bSwizzle\s*<|\bCU_TENSOR_MAP_SWIZZLE_\w+")
_CALLED = pattern(r"\b([A-Za-z_]\w*+)\s*+\(")
_INSTANTIATES = pattern(
    r"template\b(?:(?![ \t]*+(?:<|$))|[ \t]*+<[ \t]*+>\s*+(?!(?:struct|class|union)\b))", re.M
)
_LIBRARY_KERNEL = pattern(
    r"cutlass::(?<!\wcutlass::)(?:gemm|conv|epilogue)::"
    r"(device|collective)::(?!StageCount)(\w++)\s*+<(?!<)"
)
_SEARCHED = pattern(LAUNCH + "|#|shared|ldmatrix|cvta|swizzle|launch|global|hip|amd", re.I)
_KERNEL_HEAD = pattern(r"__global__(?P<head>[^;{}]*)(?P<end>[;{}]|$)")
_STATEMENT_WORDS = r"return|case|goto|else|throw|new|delete|typename|template|co_return"
_TEMPLATE_SHARED = pattern(r"\b(?:__shared__|LOCAL_MEM(?:_DYNAMIC)?|LOCAL_DECL)\b")


def may_touch_shared(text: str) -> bool:
    """Returns whether code in a text may declare or access shared memory."""
    if any(word in text for word in _SHARED_WORDS) and _SHARED.search(text) is not None:
        return True
    return any(all(word in text for word in words) for words in _GEMM_WORDS)


def describes_swizzle(text: str) -> bool:
    """Returns whether a text writes down a swizzle, of CuTe or of a tensor map."""
    return any(word in text for word in _SWIZZLE_WORDS) and _SWIZZLE.search(text) is not None


def names_amd_atom(text: str) -> bool:
    """Returns whether a text names a matrix product of AMD's GPUs in CuTe's way of naming its own.

    `GFX928_16x16x16_F32F16F16F32_NT`: a port may keep NVIDIA's branches, dead.
    """
    return "GFX" in text and _AMD_ATOM.search(text) is not None


def may_launch(text: str) -> bool:
    """Returns whether a kernel's launch is spelled in a text, comments and strings included."""
    return re.search(LAUNCH, text) is not None


def launched_and_not_defined(text: str) -> dict[str, int]:
    """Returns the kernels that a text launches by name and does not define, with their places.

    None where it includes no file of its own project.
    """
    if not may_launch(text) or not any(includes_of_kernels(text)):
        return {}
    heads = (head["head"] for head in _KERNEL_HEAD.finditer(text))
    defined = {name for head in heads for name in _CALLED.findall(head)}
    found: dict[str, int] = {}
    for name, start in launched_names(text):
        if name not in defined:
            found.setdefault(name, start)
    return found


def library_kernels(text: str) -> list[tuple[str, int]]:
    """Returns which templates of CUTLASS's a text makes kernels of, with their places.

    `cutlass::gemm::device::GemmUniversalAdapter<..>`: no file of the project spells the kernel.
    Collectives are parts of it, and count where there is none.
    """
    uses = list(_LIBRARY_KERNEL.finditer(text))
    whole = [use for use in uses if use[1] == "device"]
    return [(use[2], use.start()) for use in whole or uses]


def instantiated_includes(text: str) -> list[str]:
    """Returns the files whose templates a text may instantiate: `template void run<64>();`.

    Projects that compile one template in many files write files of nothing else, or of explicit
    specializations that call it: `template <> void run<64>() { launch<64>(); }`.
    """
    return list(includes_of_kernels(text)) if any(at_line_begins(_INSTANTIATES, text)) else []


def built_includes(path: str, text: str) -> list[str]:
    """Returns the files that a text of CUDA includes which has no kernel and no launch of its own.

    That nvcc builds it tells that there are some in them: `#include "kernels.cuh"`, and `main`.
    """
    is_own = not path.endswith(".cu") or "__global__" in text or may_launch(text)
    return [] if is_own or instantiated_includes(text) else list(includes_of_kernels(text))


def names_another(text: str, kernel: str) -> bool:
    """Returns whether a file means something else by the name of a kernel that it does not include.

    It defines a kernel of that name itself, or has variables of the name: `auto kernel = f<3>;`, or
    `int kernel` where nothing is launched by the name; or it is a word of its messages.
    """
    if defines_kernel(text, kernel):
        return True
    word = re.compile(rf"\b{re.escape(kernel)}\b")
    if '"' in text and not word.search(without_messages(without_comments(text))):
        return word.search(text) is not None
    if re.search(rf"\bauto\b[\s&*]*+\b{re.escape(kernel)}\b\s*+=", text):
        return True
    is_launched = any(name == kernel for name, _ in launched_names(text))
    return not is_launched and declares_variable(text, kernel)


def defines_kernel(text: str, name: str) -> bool:
    """Returns whether a text spells the definition of a kernel of this name."""
    called = re.compile(rf"\b{re.escape(name)}\s*+\(")
    heads = (m for m in _KERNEL_HEAD.finditer(text) if m["end"] == "{")
    return name in text and any(called.search(head["head"]) for head in heads)


def declares_variable(text: str, name: str) -> bool:
    """Returns whether a text spells a variable or parameter: `F f`, `auto* f`, `void (*f)()`."""
    word = rf"\b(?!(?:{_STATEMENT_WORDS})\b)[A-Za-z_]\w*+"
    in_front = rf"{word}(?:\s*+[*&]++|>?\s)\s*+|\([ \t]*+\*[ \t]*+"
    return re.search(rf"(?:{in_front}){re.escape(name)}\s*+[=;,)]", text) is not None


def may_matter_in_a_comment(word: str) -> bool:
    """Returns whether a word, also in a comment, may be one that whole texts are searched for.

    The guesses above look at texts, and so do searches for launches.
    """
    return _SEARCHED.search(word) is not None


def template_lines(text: str) -> list[int]:
    """Returns the lines of a template that declare shared memory, as CUDA or reikna spell it."""
    lines = enumerate(text.splitlines(), 1)
    return [number for number, line in lines if _TEMPLATE_SHARED.search(line)]
