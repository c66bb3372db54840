"""Machine code as text, by NVIDIA's disassembler in a process of its own.

It is started only for a cubin that the command line names, gets a copy in a folder of its own, and
is bounded in time, memory and output.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from smemlint.files.programs import Bounds, ProgramFailed, find_program, run_program
from smemlint.files.sandbox import repository_of

_BOUNDS = Bounds(seconds=60, output=256 << 20, memory=4 << 30)


class CannotDisassemble(Exception):
    """A cubin has no text; the reason, in words."""


def disassemble(data: bytes, path: str) -> str:
    """Returns what `nvdisasm -c -gi` prints of a cubin.

    Raises:
        CannotDisassemble: there is no nvdisasm, it fails, or takes more than it may.
    """
    program = find_program("nvdisasm", repository_of(str(Path(path).absolute().parent)))
    if program is None:
        raise CannotDisassemble(
            "machine code is read with nvdisasm, which is not on the PATH: it comes with the CUDA"
            " toolkit and with `pip install nvidia-cuda-nvdisasm`"
        )
    with tempfile.TemporaryDirectory(prefix="smemlint-") as folder:
        copy = Path(folder) / "kernel.cubin"
        copy.write_bytes(data)
        try:
            text = run_program([program, "-c", "-gi", str(copy)], _BOUNDS, folder=folder)
        except ProgramFailed as failed:
            raise CannotDisassemble(str(failed)) from failed
    return text.decode("utf-8", "replace")
