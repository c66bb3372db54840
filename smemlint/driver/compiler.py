"""`--compile`: what nvcc makes of the sources of a run, as further files of it.

Compiling is the user's wish, never a file's: nvcc comes from the PATH, takes its options from the
command line alone, writes to a folder of its own, and is bounded in time, memory and size. It reads
what the source includes, wherever that lies; see SECURITY.md.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from smemlint.analysis.analyze import needs_analysis
from smemlint.config.settings import Configuration, Settings
from smemlint.errors import SmemlintError
from smemlint.files.programs import Bounds, ProgramFailed, find_program, run_program, trusted_path
from smemlint.files.sandbox import AccessDenied, project_root, read_regular
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_COMPILED_BYTES
from smemlint.sources.languages import CUBIN_SUFFIX, PTX_SUFFIX
from smemlint.sources.source import Source

COMPILED = (".cu",)
"""Names of files that nvcc compiles: headers are part of others."""
READ_MACHINE_CODE = ("sm_90", "sm_90a")
_BOUNDS = Bounds(seconds=300, output=1 << 20, memory=16 << 30, file=512 << 20)


@dataclass(frozen=True, slots=True)
class Compiler:
    """How the files of a run are compiled.

    Attributes:
        path: the folders that nvcc finds the host compiler in.
        has_disassembler: machine code can be read.
    """

    nvcc: str
    path: str
    has_disassembler: bool

    def suffix(self, arch: str) -> str:
        """Returns what a file is compiled to: machine code where it can be read, as it is exact."""
        is_read = self.has_disassembler and arch in READ_MACHINE_CODE
        return CUBIN_SUFFIX if is_read else PTX_SUFFIX


def compiled_sources(
    sources: Sequence[Source], configuration: Configuration, jobs: int
) -> list[Source]:
    """Returns the compiled code of the files with kernels, as files beside their sources.

    One that does not compile says so as its `problem`.

    Raises:
        SmemlintError: there is no nvcc.
    """
    units = [s for s in sources if s.path.endswith(COMPILED) and needs_analysis(s)]
    roots = {project_root(str(Path(s.path).absolute().parent)) for s in units} - {""}
    nvcc = find_program("nvcc", *roots)
    if nvcc is None:
        hint = "install the CUDA toolkit, or `pip install nvidia-cuda-nvcc`"
        message = "`--compile` finds no nvcc on the PATH outside of the checkout"
        raise SmemlintError(message, hint=hint)
    disassembler = find_program("nvdisasm", *roots)
    path = os.pathsep.join(trusted_path(*roots))
    compiler = Compiler(nvcc, path, has_disassembler=disassembler is not None)
    given = {s.path for s in sources}
    tasks = [(s, configuration.for_file(s.path)) for s in units]
    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        found = list(pool.map(partial(_compiled, compiler), tasks))
    return [source for source in found if source.path not in given]


def _compiled(compiler: Compiler, task: tuple[Source, Settings]) -> Source:
    source, settings = task
    suffix = compiler.suffix(settings.arch)
    path = source.path.removesuffix(".cu") + suffix
    environment = {**os.environ, "PATH": compiler.path}
    with TemporaryDirectory(prefix="smemlint-") as folder:
        environment |= {"TMPDIR": folder, "TEMP": folder, "TMP": folder}
        out = str(Path(folder) / f"kernel{suffix}")
        command = [
            compiler.nvcc, f"-{suffix.removeprefix('.')}", f"-arch={settings.arch}", "-O3",
            "-lineinfo", "-w", *_flags(settings), "-o", out, str(Path(source.path).absolute()),
        ]  # fmt: skip
        try:
            run_program(command, _BOUNDS, folder=folder, environment=environment)
            return Source(path, read_regular(out, MAX_COMPILED_BYTES))
        except ProgramFailed as failed:
            return Source(path, b"", problem=str(failed))
        except (AccessDenied, OSError) as failed:
            return Source(path, b"", problem=f"nvcc's output: {failed.strerror}")


def _flags(settings: Settings) -> list[str]:
    """Returns macros and include folders, as the analysis has them."""
    return [
        *(f"-D{name}={text}" for name, text in settings.define.items()),
        *(f"-U{name}" for name in sorted(settings.undefines)),
        *(f"-I{Path(folder).absolute()}" for folder in settings.include_dir),
    ]
