"""Compile CUDA files, run them under Nsight Compute and read its counters per SASS instruction.

Runs on a machine with a GPU, nvcc, cuobjdump, nvdisasm and ncu; nothing here belongs to the
package or to the test suite.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

COUNTERS = {
    "inst": "inst_executed",
    "threads": "thread_inst_executed",
    "wavefronts": "memory_l1_wavefronts_shared",
    "ideal": "memory_l1_wavefronts_shared_ideal",
}
SHARED_STEMS = ("LDS", "STS", "ATOMS", "LDSM", "STSM", "LDGSTS")

_SECTION = re.compile(r"^\.text\.(\S+):")
_FRAME = re.compile(r'^\s*//## File "([^"]*)", line (\d+)')
_INSTRUCTION = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(.*?);")


def run(*command: str, cwd: Path | None = None) -> str:
    """The standard output of a command; raises with its output when it fails."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


def compile_program(source: Path, folder: Path) -> Path:
    """An executable of `source` as truth/lines.json was compiled: sm_90, -O3 -lineinfo."""
    program = folder / source.stem
    run("nvcc", "-O3", "-lineinfo", "-arch=sm_90", "-o", str(program), str(source))
    return program


def opcode(instruction: str) -> str:
    """`@P0 LDS.128 R4, [R2]` -> `LDS.128`."""
    words = instruction.split()
    return words[1] if words[0].startswith("@") else words[0]


def own_lines(program: Path, source: Path) -> dict[str, dict[int, int]]:
    """Per mangled kernel and instruction offset: the innermost line that lies in `source`.

    ncu names the innermost frame, which for inlined wrappers is a line of a CUDA header. Calls of
    one wrapper in a row without a barrier share the first one's line: nvcc's tables say no more.
    """
    folder = program.parent / f"{program.name}.elf"
    folder.mkdir(exist_ok=True)
    run("cuobjdump", "-xelf", "all", str(program), cwd=folder)
    lines: dict[str, dict[int, int]] = {}
    for cubin in folder.glob("*.cubin"):
        kernel, fresh = "", False
        frames: list[re.Match[str]] = []
        for text in run("nvdisasm", "-gi", "-c", str(cubin)).splitlines():
            if section := _SECTION.match(text):
                kernel, frames = section[1], []
            elif frame := _FRAME.match(text):
                frames = [*frames, frame] if fresh else [frame]
                fresh = True
            elif instruction := _INSTRUCTION.match(text):
                fresh = False
                own = [int(f[2]) for f in frames if Path(f[1]).name == source.name]
                if own:
                    lines.setdefault(kernel, {})[int(instruction[1], 16)] = own[0]
    return lines


def profile(program: Path, report: Path, *arguments: str) -> None:
    """Run `program` under ncu, source counters only."""
    run(
        *("ncu", "--clock-control", "none", "-f", "-o", str(report)),
        *("--section", "SourceCounters", "--metrics", ",".join(COUNTERS.values())),
        *(str(program), *arguments),
    )


@dataclass(frozen=True, slots=True)
class Instruction:
    """One shared-memory instruction of one launch, its counters summed over the grid."""

    offset: int
    sass: str
    file: str
    line: int
    counters: dict[str, int]


@dataclass(frozen=True, slots=True)
class Launch:
    """One profiled launch."""

    kernel: str
    mangled: str
    block: tuple[int, int, int]
    instructions: tuple[Instruction, ...]


def launches(report: Path, stems: tuple[str, ...] = SHARED_STEMS) -> Iterator[Launch]:
    """The launches of an ncu report, in order, with the instructions whose opcode has a stem."""
    module = _report_module()
    for part in module.load_report(str(report)):
        for action in part:
            yield _launch(action, module, stems)


def versions() -> dict[str, str]:
    """Device, driver and tools, for the header of a recording."""
    query = run("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    device, driver = (part.strip() for part in query.splitlines()[0].split(","))
    cuda = re.search(r"V(\d+\.\d+\.\d+)", run("nvcc", "--version"))
    ncu = re.search(r"Version (\S+)", run("ncu", "--version"))
    return {
        "device": device,
        "driver": driver,
        "cuda": cuda[1] if cuda else "",
        "ncu": ncu[1] if ncu else "",
        "flags": "-O3 -lineinfo -arch=sm_90",
    }


def _launch(action: Any, module: Any, stems: tuple[str, ...]) -> Launch:
    per_pc = {
        name: {
            metric.correlation_ids().as_uint64(i): metric.as_uint64(i)
            for i in range(metric.num_instances())
        }
        for name, metric in ((n, action.metric_by_name(m)) for n, m in COUNTERS.items())
    }
    pcs = sorted(per_pc["inst"])
    found = []
    for pc in pcs:
        sass = action.sass_by_pc(pc)
        if opcode(sass).split(".")[0] not in stems:
            continue
        place = action.source_info(pc)
        counters = {name: int(values.get(pc, 0)) for name, values in per_pc.items()}
        file, line = (Path(place.file_name()).name, place.line()) if place else ("", 0)
        found.append(Instruction(pc - pcs[0], sass, file, line, counters))
    block = [action.metric_by_name(f"launch__block_dim_{axis}").as_uint64() for axis in "xyz"]
    return Launch(
        action.name(module.IAction.NameBase_DEMANGLED),
        action.name(module.IAction.NameBase_MANGLED),
        (block[0], block[1], block[2]),
        tuple(found),
    )


def _report_module() -> Any:
    places = [
        *Path("/opt/nvidia/nsight-compute").glob("*/extras/python"),
        *Path("/usr/local").glob("cuda*/nsight-compute*/extras/python"),
        *Path("/usr/lib/nsight-compute").glob("extras/python"),
    ]
    sys.path.extend(map(str, places))
    import ncu_report  # type: ignore[import-not-found]

    return ncu_report
