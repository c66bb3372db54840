"""Measuring patterns on a GPU: what is sent to the engine's process and what comes back."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from smemlint.errors import SmemlintError
from smemlint.lazy_dataclasses import dataclass
from smemlint.verify.plan import Pattern, yardsticks
from smemlint.verify.replay_kernels import COMPANION, UNROLLED, WARPS, Form, source

FEW, MANY = 16, 64
"""Repeats of the unrolled loop in the two timings of a round."""
ROUNDS = 6
"""Timed rounds; the first only warms up."""
TOLERANCE = 0.05
"""How far, in parts of it, a yardstick may be from its known figure."""

Engine = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Answers a request of `engine.replay`; tests answer from a recording."""

INSTALL = "pip install 'smemlint[gpu]' (CUDA 13; for CUDA 12: pip install 'cupy-cuda12x[ctk]')"


class GpuError(SmemlintError):
    """The GPU, or what drives it, cannot be used."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Cycles per access of one pattern: the median of the rounds, the least and the most."""

    cycles: float
    least: float
    most: float

    @property
    def spread(self) -> float:
        """Half the range."""
        return (self.most - self.least) / 2

    @property
    def cycles_agreed(self) -> int | None:
        """The integer that all rounds agree on; None where they do not."""
        found = {round(self.cycles), round(self.least), round(self.most)}
        return found.pop() if len(found) == 1 else None


@dataclass(frozen=True, slots=True)
class Measured:
    """What one run of the engine found.

    Attributes:
        about: device, arch, driver, cuda_driver, cuda_runtime, nvrtc, cupy.
        seconds: of import, context, compile and replay.
        doubts: forms whose yardsticks are off, with what was seen.
    """

    about: Mapping[str, str]
    seconds: Mapping[str, float]
    readings: Mapping[Pattern, Reading]
    doubts: Mapping[Form, str]

    @property
    def device(self) -> str:
        """E.g. `NVIDIA H200, sm_90`."""
        return f"{self.about['device']}, {self.about['arch']}"


def measure(patterns: Iterable[Pattern], device: int, engine: Engine) -> Measured:
    """Times each distinct pattern, and the yardsticks of their forms beside them.

    Raises:
        GpuError: it cannot be done.
    """
    by_form: dict[Form, dict[Pattern, None]] = {}
    for pattern in patterns:
        by_form.setdefault(pattern.form, {})[pattern] = None
    for form, of_form in by_form.items():
        of_form.update((known.pattern, None) for known in yardsticks(form))
    answer = engine(
        {
            "device": device,
            "source": source(by_form),
            "few": FEW,
            "many": MANY,
            "rounds": ROUNDS,
            "launches": [
                {
                    "kernel": form.name,
                    "offsets": [p.offsets for p in of_form],
                    "masks": [p.mask for p in of_form],
                }
                for form, of_form in by_form.items()
            ],
        }
    )
    readings = {
        pattern: reading_of(rounds, COMPANION if pattern.form.is_accompanied else 0)
        for of_form, cycles in zip(by_form.values(), answer["cycles"], strict=True)
        for pattern, rounds in zip(of_form, cycles, strict=True)
    }
    doubts = {form: message for form in by_form if (message := _doubt(form, readings))}
    return Measured(answer["about"], answer["seconds"], readings, doubts)


def reading_of(rounds: list[list[int]], companion: int = 0) -> Reading:
    """Returns the cycles per access that the timings (few, many) of the rounds give."""
    accesses = (MANY - FEW) * UNROLLED * WARPS
    found = [(many - few) / accesses - companion for few, many in rounds[1:]]
    return Reading(median(found), min(found), max(found))


def _doubt(form: Form, readings: Mapping[Pattern, Reading]) -> str:
    for known in yardsticks(form):
        seen = readings[known.pattern].cycles
        if abs(seen - known.wavefronts) > TOLERANCE * known.wavefronts:
            return (
                f"calibration failed: a pattern of {known.wavefronts} wavefronts "
                f"took {seen:.2f} cycles"
            )
    return ""


def engine_process(timeout: float) -> Engine:
    """Returns the engine in a process of its own, which is ended after `timeout` seconds."""
    return script_process("gpu_process.py", timeout)


def script_process(name: str, timeout: float) -> Engine:
    """Returns a script of this folder that answers a request in a process of its own."""

    def run(request: Mapping[str, Any]) -> Mapping[str, Any]:
        script = Path(__file__).with_name(name)
        # -P: nothing is imported from the working directory, which holds linted files.
        command = [sys.executable, "-P", str(script)]
        try:
            done = subprocess.run(
                command, input=json.dumps(request), capture_output=True, text=True,
                encoding="utf-8", errors="replace", timeout=timeout, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise GpuError(
                f"the GPU did not answer within {timeout:g} seconds",
                hint="see `nvidia-smi` for what else runs there, or raise --verify-timeout",
            ) from error
        return _answer(done.returncode, done.stdout, done.stderr)

    return run


def _answer(code: int, out: str, err: str) -> Mapping[str, Any]:
    try:
        answer = json.loads(out)
    except ValueError:
        last = (err.strip().splitlines() or ["it said nothing"])[-1]
        ended = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        raise GpuError(
            f"the process that uses the GPU {ended}: {last}",
            hint="`python -c 'import cupy; cupy.show_config()'` shows what CuPy finds",
        ) from None
    if "error" in answer:
        raise GpuError(answer["error"], hint=answer["hint"] or INSTALL)
    assert isinstance(answer, dict)
    return answer
