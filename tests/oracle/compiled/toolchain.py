"""nvcc and nvdisasm in processes of their own, with a cache of what they returned."""

from __future__ import annotations

import hashlib
import os
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

WHEEL = "lib/python3*/site-packages/nvidia/cu13"


@dataclass(frozen=True, slots=True)
class Toolchain:
    """Where the tools are and where results are kept.

    Attributes:
        root: the folder of NVIDIA's wheels, with `bin` and `include`.
        cache: a folder for cubins and error texts, by the hash of what was compiled.
        arch: the target, e.g. `sm_90`.
        seconds: the time that one call may take.
    """

    root: Path
    cache: Path
    arch: str = "sm_90"
    seconds: int = 240

    @staticmethod
    def find(environment: Path, cache: Path) -> Toolchain:
        """Returns the tools of a virtual environment that has NVIDIA's wheels.

        Raises:
            FileNotFoundError: it has not.
        """
        for root in sorted(environment.glob(WHEEL)):
            if (root / "bin" / "nvcc").exists() and (root / "bin" / "nvdisasm").exists():
                return Toolchain(root, cache)
        raise FileNotFoundError(f"{environment} has no {WHEEL} with nvcc and nvdisasm")

    def compile(self, source: str, flags: tuple[str, ...], folder: Path) -> tuple[Path | None, str]:
        """Returns the cubin of a translation unit, and what nvcc said.

        Args:
            source: the text of the unit.
            flags: what nvcc gets besides the target and the line table.
            folder: where relative includes of the unit start.
        """
        arch = self.arch
        command = [
            str(self.root / "bin" / "nvcc"),
            "-cubin",
            f"-arch={arch}",
            "-O3",
            "-lineinfo",
            "-w",
            *flags,
            f"-I{folder}",
            f"-I{self.root / 'include'}",
            f"-I{self.root / 'include' / 'cccl'}",
        ]
        text = "\0".join([*command, source, _state_of(folder)])
        key = hashlib.sha256(text.encode()).hexdigest()[:24]
        self.cache.mkdir(parents=True, exist_ok=True)
        unit, cubin, log = (self.cache / f"{key}.{end}" for end in ("cu", "cubin", "log"))
        if not log.exists():
            unit.write_text(source)
            text = self._run([*command, str(unit), "-o", str(cubin)])
            log.write_text(text)
        return (cubin if cubin.exists() else None), log.read_text()

    def disassemble(self, cubin: Path) -> str:
        """Returns nvdisasm's text of a cubin, with its line table."""
        text = cubin.with_suffix(".sass")
        if not text.exists():
            command = [str(self.root / "bin" / "nvdisasm"), "-c", "-gi", str(cubin)]
            run = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=self.seconds
            )
            text.write_text(run.stdout)
        return text.read_text()

    def version(self) -> str:
        """Returns the last line of `nvcc --version`: the build."""
        output = self._run([str(self.root / "bin" / "nvcc"), "--version"])
        return output.strip().rsplit("\n", 1)[-1]

    def _run(self, command: list[str]) -> str:
        environment = dict(os.environ, TMPDIR=str(self.cache))
        try:
            run = subprocess.run(
                command,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=self.seconds,
                env=environment,
            )
        except subprocess.TimeoutExpired:
            return f"error: no result within {self.seconds} s"
        return run.stderr + run.stdout


@cache
def _state_of(folder: Path) -> str:
    """Returns what changes when a file is edited that a unit of the folder may include."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    states = ((path.name, path.stat()) for path in files)
    return str([(name, state.st_size, state.st_mtime_ns) for name, state in states])


def demangle(names: list[str]) -> dict[str, str]:
    """Returns the C++ spelling of each mangled name, by c++filt."""
    if not names:
        return {}
    run = subprocess.run(
        ["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True
    )
    return dict(zip(names, run.stdout.split("\n"), strict=False))
