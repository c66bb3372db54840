"""The process that touches the GPU: a request on standard input, an answer on standard output.

Run as a script of its own (`python -P gpu_process.py`): it imports nothing of smemlint or of the
working directory, and a driver that crashes takes only this process along. The request is JSON:
`device`, `source`, `few`, `many`, `rounds` and `launches`, each with `kernel`, `offsets` (lists of
32) and `masks`. The answer has `about`, `seconds` and `cycles`, one list for each launch, of shape
(patterns, rounds, 2); or `error` and `hint`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from itertools import pairwise
from typing import Any

THREADS = 512
SHOW_CONFIG = "`python -c 'import cupy; cupy.show_config()'` shows what CuPy finds"
CHUNK = 4096
"""Patterns a launch, so that memory is bounded."""


class CannotReplay(Exception):
    """What is wrong and what to do, in words."""


def main() -> None:
    """Answers one request."""
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")  # as nvidia-smi numbers them
    answer_to = os.dup(1)
    os.dup2(2, 1)  # libraries that print do not get into the answer
    request = json.load(sys.stdin)
    try:
        answer = replay(request)
    except CannotReplay as problem:
        answer = dict(zip(("error", "hint"), problem.args, strict=True))
    with os.fdopen(answer_to, "w") as out:
        json.dump(answer, out)


def replay(request: dict[str, Any]) -> dict[str, Any]:
    """Compiles the kernels and times every pattern.

    Raises:
        CannotReplay: there is no CuPy or GPU, or it does not do its part.
    """
    marks = [("start", time.perf_counter())]
    cupy = _cupy()
    marks.append(("import", time.perf_counter()))
    try:
        device = _device(cupy, request["device"])
        with device:
            cupy.zeros(1).sum().item()
            marks.append(("context", time.perf_counter()))
            module = cupy.RawModule(code=request["source"], options=("--std=c++14",))
            if request["launches"]:
                module.compile()
            marks.append(("compile", time.perf_counter()))
            window = int(device.attributes["MaxSharedMemoryPerBlockOptin"])
            cycles = [
                _timed(cupy, module.get_function(launch["kernel"]), launch, window, request)
                for launch in request["launches"]
            ]
            marks.append(("replay", time.perf_counter()))
            about = _about(cupy, device)
    except CannotReplay:
        raise
    except Exception as error:
        raise CannotReplay(*_explained(error)) from error
    seconds = {name: round(at - before, 4) for (_, before), (name, at) in pairwise(marks)}
    return {"about": about, "window": window, "seconds": seconds, "cycles": cycles}


def _timed(
    cupy: Any, kernel: Any, launch: dict[str, Any], window: int, request: dict[str, Any]
) -> list[Any]:
    kernel.max_dynamic_shared_size_bytes = window
    rounds = request["rounds"]
    sink = cupy.zeros(1, cupy.uint32)
    found: list[Any] = []
    for begin in range(0, len(launch["masks"]), CHUNK):
        offsets = cupy.asarray(launch["offsets"][begin : begin + CHUNK], cupy.uint32)
        masks = cupy.asarray(launch["masks"][begin : begin + CHUNK], cupy.uint32)
        cycles = cupy.zeros((len(masks), rounds, 2), cupy.int64)
        scalars = (cupy.uint32(n) for n in (request["few"], request["many"], rounds, 0))
        # A block that takes all shared memory has its multiprocessor to itself.
        arguments = (offsets, masks, cycles, sink, *scalars)
        kernel((len(masks),), (THREADS,), arguments, shared_mem=window)
        found += cycles.get().tolist()
    return found


def _cupy() -> Any:
    try:
        import cupy
    except ImportError as error:
        missing = getattr(error, "name", None) == "cupy"
        what = "CuPy is not installed" if missing else f"CuPy cannot be imported: {error}"
        raise CannotReplay(what, "") from error
    except Exception as error:
        raise CannotReplay(f"CuPy cannot be imported: {error}", "") from error
    return cupy


def _device(cupy: Any, number: int) -> Any:
    count = cupy.cuda.runtime.getDeviceCount()
    if not count:
        raise CannotReplay(*_explained(RuntimeError("cudaErrorNoDevice")))
    if not 0 <= number < count:
        there = f"there are {count}, numbered from 0" if count > 1 else "there is only device 0"
        raise CannotReplay(f"there is no device {number}", f"{there}; see `nvidia-smi -L`")
    return cupy.cuda.Device(number)


def _about(cupy: Any, device: Any) -> dict[str, str]:
    runtime = cupy.cuda.runtime
    name = runtime.getDeviceProperties(device.id)["name"]
    return {
        "device": name.decode() if isinstance(name, bytes) else str(name),
        "arch": f"sm_{device.compute_capability}",
        "driver": _driver(),
        "cuda_driver": _version(runtime.driverGetVersion()),
        "cuda_runtime": _version(runtime.runtimeGetVersion()),
        "nvrtc": ".".join(map(str, cupy.cuda.nvrtc.getVersion())),
        "cupy": cupy.__version__,
    }


def _driver() -> str:
    try:
        with open("/sys/module/nvidia/version", encoding="ascii") as file:  # noqa: PTH123
            return file.read().strip()
    except OSError:
        return ""


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def _explained(error: Exception) -> tuple[str, str]:
    """Returns what an error of CuPy means, and what to do."""
    text = f"{type(error).__name__}: {error}".strip()
    line = text.splitlines()[0]
    meaning = meaning_of(text)
    if meaning is None:
        return f"the replay failed ({line})", SHOW_CONFIG
    text, hint = meaning
    return f"{text} ({line})", hint


def meaning_of(text: str) -> tuple[str, str] | None:
    """Returns what CUDA says is wrong with GPU or driver, and what to do; None for all else."""
    for marks, meaning, hint in _MEANINGS:
        if any(mark in text for mark in marks):
            return meaning, hint
    return None


_MEANINGS = (
    (("OutOfMemory", "MemoryAllocation", "out of memory"), "the GPU is out of memory",
     "free memory on it (`nvidia-smi` says who uses it) or choose another with --device"),
    (("InsufficientDriver", "insufficient for CUDA runtime"),
     "the driver is older than the CUDA that CuPy was built for",
     "install the CuPy that fits the driver (cupy-cuda12x, cupy-cuda13x) or a newer driver"),
    (("cudaErrorNoDevice", "no CUDA-capable device"), "there is no GPU that CUDA can use",
     "check `nvidia-smi` and CUDA_VISIBLE_DEVICES"),
    (("SystemDriverMismatch", "ErrorSystemNotReady", "CompatNotSupported"),
     "the driver and its libraries do not fit together", "reboot, or install the driver anew"),
    (("libnvrtc", "NVRTCError", "CompileException", "nvrtc"),
     "NVRTC cannot compile the replay kernels",
     "install CuPy with its CUDA libraries: `pip install 'cupy-cuda13x[ctk]'`"),
    (("NoKernelImageForDevice", "no kernel image is available"),
     "the kernel was compiled for another architecture than this GPU has",
     "check with its --arch, or choose another GPU with --device"),
    (("DevicesUnavailable", "all CUDA-capable devices are busy"),
     "the GPU is busy or in exclusive mode", "wait, or choose another with --device"),
)  # fmt: skip


if __name__ == "__main__":
    main()
