"""Records the functions of CUDA's headers by the type of what they return.

    python -m tests.oracle.record_cuda_functions INCLUDE > smemlint/analysis/simt/builtins/cuda_functions.txt

INCLUDE is the folder of headers of nvidia-cuda-runtime and nvidia-cuda-crt. Functions with a pointer
or reference among their parameters are left out: they do more than return a value.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections import defaultdict
from pathlib import Path

HEADERS = (
    "crt/device_functions.h", "crt/math_functions.h", "crt/device_double_functions.h",
    "cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h", "cuda_fp6.h", "cuda_fp4.h", "sm_20_intrinsics.h",
    "sm_30_intrinsics.h", "sm_61_intrinsics.h", "crt/sm_70_rt.h", "crt/sm_80_rt.h",
    "crt/sm_90_rt.h", "crt/sm_100_rt.h",
)  # fmt: skip
RESULTS = {
    "float": "float", "double": "double", "__half": "half", "__nv_bfloat16": "__nv_bfloat16",
    "__half2": "half2", "__nv_bfloat162": "__nv_bfloat162", "float2": "float2", "bool": "bool",
    "int": "int", "unsigned int": "unsigned int", "unsigned": "unsigned int", "long int": "long",
    "long long int": "long long", "unsigned long long int": "unsigned long long",
    "short int": "short", "unsigned short int": "unsigned short", "signed char": "signed char",
    "unsigned char": "unsigned char", "__nv_fp8_storage_t": "unsigned char",
    "__nv_fp8x2_storage_t": "unsigned short", "__nv_fp6_storage_t": "unsigned char",
    "__nv_fp6x2_storage_t": "unsigned short", "__nv_fp4_storage_t": "unsigned char",
    "__nv_fp4x2_storage_t": "unsigned char",
}  # fmt: skip
_NOISE = re.compile(
    r"/\*[\s\S]*?\*/|//[^\n]*|\\\n|^\s*#.*$"
    r"|\b(?:__\w+_DECL__|__CUDA_\w+__|__CUDA_MATH|__cdecl|__CRTDECL|__\w*device\w*__|__host__"
    r"|__cudart_builtin__|__inline__|__forceinline__|inline|static|extern|constexpr|_CRTIMP|_ACRTIMP"
    r"|__RETURN_TYPE|NV_INT_OR_BOOL)\b",
    re.M,
)
_DECLARATION = re.compile(
    r"(?:^|[;{}])\s*((?:[A-Za-z_]\w*\s+)+)([A-Za-z_]\w*)\s*\(([^(){};]*)\)(?=[^;{}]*[;{])"
)
_OTHERS = re.compile(
    r"__?(?:all|any|ballot|activemask|match|reduce|shfl|nv_\w*memcpy)|__ld|__st|make_|(?:ll|ull|u)?(?:min|max)$"
    r"|(?:l|ll)?abs$|__v\w*[24]$|__vi|_[A-Z]|__FLOAT_BITS|__isCta|__isCluster|__isGlobal|__isShared|__isConst|__isLocal"
    r"|__cluster|__sync|__threadfence|__trap|__brkpt|__nanosleep|__prof|clock|__nvvm|__cvta"
)
"""Functions of other modules, and those of compilers' own headers."""


def main() -> int:
    """Prints the table."""
    found: dict[str, set[str]] = defaultdict(set)
    several: dict[str, set[str]] = defaultdict(set)
    for header in HEADERS:
        text = _NOISE.sub(" ", (Path(sys.argv[1]) / header).read_text(errors="replace"))
        for result, name, parameters in _DECLARATION.findall(text):
            kind = RESULTS.get(" ".join(result.replace("const ", "").split()))
            if kind and not re.search(r"[*&]", parameters) and not _OTHERS.match(name):
                found[kind].add(name)
                several[name].add(kind)
    print("# Functions of CUDA's headers by the type of what they return; overloaded ones stand at")
    print("# the first. Made by tests/oracle/record_cuda_functions.py of CUDA 13.0.")
    done: set[str] = set()
    for kind in dict.fromkeys(RESULTS.values()):
        names = sorted(found[kind] - done)
        done |= found[kind]
        if names:
            print(f"{kind}:")
            print(textwrap.indent(textwrap.fill(" ".join(names), 96, break_on_hyphens=False), "  "))
    return 0


if __name__ == "__main__":
    sys.exit(main())
