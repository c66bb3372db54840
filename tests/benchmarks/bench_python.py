"""How long a cold process takes on Python files: `python tests/benchmarks/bench_python.py`.

Prints, for a file without kernels and one of each front end, the best wall time and processor time
of ten fresh processes without a cache. On a machine with other work the latter is what counts.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from processes import ROOT, ROUNDS, fastest

RAW = '''import cupy as cp

TRANSPOSE = r"""
extern "C" __global__ void transpose(const float* in, float* out) {
    __shared__ float tile[32][33];
    for (int y = threadIdx.y; y < 32; y += 8) tile[y][threadIdx.x] = in[y * 32 + threadIdx.x];
    __syncthreads();
    for (int y = threadIdx.y; y < 32; y += 8) out[y * 32 + threadIdx.x] = tile[threadIdx.x][y];
}
"""
kernel = cp.RawKernel(TRANSPOSE, "transpose")


def transpose(source, target):
    kernel((1,), (32, 8), (source, target))
'''
PLAIN = "import numpy as np\n" + "".join(
    f"\n\ndef double_{i}(values):\n    return np.asarray(values) * {i}\n" for i in range(500)
)


def main() -> None:
    """Prints a line a file."""
    with tempfile.TemporaryDirectory() as folder:
        plain, raw = Path(folder) / "plain.py", Path(folder) / "raw.py"
        plain.write_text(PLAIN)
        raw.write_text(RAW)
        files = {
            "no kernels, 2,000 lines": plain,
            "CuPy, one kernel": raw,
            "CuPy, 16 launches": ROOT / "fixtures/python/cupy_kernels.py",
            "cupyx.jit, three kernels": ROOT / "fixtures/python/cupyx_tiles.py",
            "Numba": ROOT / "fixtures/python/numba_tiles.py",
        }
        print(f"{'ms, best of ' + str(ROUNDS):28}  clock  processor")
        for what, path in files.items():
            command = ("-m", "smemlint", "check", str(path), "--isolated", "--no-cache")
            wall, spent = fastest((sys.executable, *command))
            print(f"{what:28}  {wall * 1e3:5.0f}  {spent * 1e3:9.0f}")


if __name__ == "__main__":
    main()
