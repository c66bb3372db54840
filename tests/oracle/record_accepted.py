"""Records which odd shared layouts Triton compiles (needs the triton wheel, no GPU).

    PYTHONPATH=. python tests/oracle/record_accepted.py > fixtures/triton/accepted.json

Each kernel is compiled in a process of its own, since some layouts abort it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

CASES = {
    "swizzled (4, 1, 8)": ("gl.SwizzledSharedLayout(4, 1, 8, [1, 0])", 32),
    "swizzled vec 3": ("gl.SwizzledSharedLayout(3, 1, 8, [1, 0])", 32),
    "swizzled per_phase 3": ("gl.SwizzledSharedLayout(1, 3, 4, [1, 0])", 32),
    "swizzled max_phase 3": ("gl.SwizzledSharedLayout(1, 1, 3, [1, 0])", 32),
    "swizzled vec 0": ("gl.SwizzledSharedLayout(0, 1, 1, [1, 0])", 32),
    "swizzled (8, 1, 16) on 64": ("gl.SwizzledSharedLayout(8, 1, 16, [1, 0])", 16),
    "nvmma 16 bits on 32": ("gl.NVMMASharedLayout(128, 16, 2)", 32),
    "nvmma 32 bits on 32": ("gl.NVMMASharedLayout(128, 32, 2)", 32),
    "nvmma width 96": ("gl.NVMMASharedLayout(96, 16, 2)", 16),
    "padded 64 + 3": ("gl.PaddedSharedLayout.with_identity_for([[64, 3]], [64, 64], [1, 0])", 32),
    "padded 64 + 1": ("gl.PaddedSharedLayout.with_identity_for([[64, 1]], [64, 64], [1, 0])", 32),
}
CODE = """
import sys
sys.path.insert(0, {folder!r})
from record_gluon import gl, ptx_of
layout = {layout}
row = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
print("COMPILED", len(ptx_of(row, row, layout, [64, 64], [64, 64], [], {bits})) > 0)
"""


def main() -> None:
    import triton

    found = {}
    for name, (layout, bits) in CASES.items():
        code = CODE.format(folder=str(Path(__file__).parent), layout=layout, bits=bits)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        found[name] = "COMPILED True" in done.stdout
    print(json.dumps({"triton": triton.__version__, "compiles": found}, indent=1))


if __name__ == "__main__":
    main()
