"""A program around one CUDA text: compiles it with CuPy and calls one kernel of it once.

Run as a script of its own (`python -P cupy_call.py CALL.json`), under Nsight Compute, and only
where `--verify-gpu=kernel` asks for it. The file holds `text`, `options`, `kernel`, `block`,
`shared` (None for all that there is), `room`, `fill` and `arguments`: pairs of a dtype and a value,
where `*` stands for a pointer and `*f` for one to floating-point numbers.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    """Makes the call; reports what goes wrong on standard error, with exit code 3."""
    call = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    try:
        run(call)
    except Exception as error:
        lines = [line for line in str(error).splitlines() if line.strip()] or [""]
        wrong = next((line for line in lines if "error" in line.lower()), lines[0])
        print(f"\nsmemlint: {type(error).__name__}: {wrong.strip()}", file=sys.stderr)
        sys.exit(3)


def run(call: dict[str, Any]) -> None:
    """Compiles, calls and waits."""
    import cupy
    import numpy

    options = tuple(call["options"])
    if not any("-std=" in option for option in options):
        options += ("--std=c++17",)  # CuPy wants it said where it looks names up
    name = call["kernel"]
    module = cupy.RawModule(
        code=call["text"], options=("-lineinfo", *options), name_expressions=[name]
    )
    kernel = module.get_function(name)
    shared = call["shared"]
    if shared is None:
        most = cupy.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]
        shared = most - kernel.shared_size_bytes
    kernel.max_dynamic_shared_size_bytes = shared
    buffers, arguments = [], []
    for dtype, value in call["arguments"]:
        if dtype.startswith("*"):
            memory = cupy.cuda.alloc(call["room"])
            memory.memset(call["fill"] if dtype == "*f" else 0, call["room"])
            buffers.append(memory)
            arguments.append(numpy.uint64(memory.ptr))
        else:
            arguments.append(numpy.dtype(dtype).type(value))
    kernel((1,), tuple(call["block"]), tuple(arguments), shared_mem=shared)
    cupy.cuda.runtime.deviceSynchronize()


if __name__ == "__main__":
    main()
