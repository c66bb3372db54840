"""The process that builds a program, runs it under Nsight Compute and reads its counters.

Run as a script of its own (`python -P counters.py`), only where `--verify-gpu=kernel` asks for it:
it is the one place where linted code is compiled and run. The request is JSON on standard input:
`files` (name -> text, written into an empty folder), the commands `build` (may be empty) and `run`,
which work there, `device` and `timeout`. The answer on standard output is `about` and `rows`, one
for each kernel, block shape, line (with those that inlined it) and opcode; or `failed`, why this
program cannot be counted; or `error` and `hint`, why none can.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

_COUNTERS = {
    "inst": "inst_executed",
    "wavefronts": "memory_l1_wavefronts_shared",
    "ideal": "memory_l1_wavefronts_shared_ideal",
}
_STEMS = ("LDS", "STS", "LDSM", "STSM", "ATOMS", "LDGSTS")
_REPORT_MODULES = (
    ("/opt/nvidia/nsight-compute", "*/extras/python"),
    ("/usr/local", "cuda*/nsight-compute*/extras/python"),
)
_PERMISSION = (
    "see https://developer.nvidia.com/ERR_NVGPUCTRPERM, or verify with --verify-gpu, "
    "which needs no profiler"
)
_NO_COUNTERS = "install Nsight Compute (ncu), or verify with --verify-gpu, which needs no profiler"


class CannotCount(Exception):
    """Why no program can be counted and what to do, in words."""


class Failed(Exception):
    """Why this program cannot be counted, in words."""


def main() -> None:
    """Answers one request."""
    answer_to = os.dup(1)
    os.dup2(2, 1)  # what the program prints does not get into the answer
    request = json.load(sys.stdin)
    if request["device"]:
        os.environ["CUDA_VISIBLE_DEVICES"] = str(request["device"])
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")  # as nvidia-smi numbers them
    os.environ["CUPY_CACHE_IN_MEMORY"] = "1"
    try:
        with tempfile.TemporaryDirectory() as folder:
            answer = count(request, Path(folder))
    except Failed as problem:
        answer = {"failed": str(problem)}
    except CannotCount as problem:
        answer = dict(zip(("error", "hint"), problem.args, strict=True))
    with os.fdopen(answer_to, "w") as out:
        json.dump(answer, out)


def count(request: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Builds, profiles and reads; first launch of each kernel and block shape.

    Raises:
        Failed: a step of this program fails.
        CannotCount: a tool is missing, or may not be used.
    """
    tools = [("ncu", _NO_COUNTERS)]
    if "nvcc" in request["build"]:
        tools.append(("nvcc", "install the CUDA toolkit"))
    for tool, hint in tools:
        if shutil.which(tool) is None:
            raise CannotCount(f"`{tool}` is not installed", hint)
    module = _report_module()
    for name, text in request["files"].items():
        (folder / name).write_text(text, encoding="utf-8")
    seconds = request["timeout"]
    if request["build"]:
        built = _run(request["build"], folder, seconds)
        if built.code:
            raise Failed(f"it does not compile: {built.reason}")
    report = folder / "report.ncu-rep"
    profiled = _run([*_PROFILER, str(report), *request["run"]], folder, seconds)
    if profiled.code:
        raise _explained(profiled, _run(request["run"], folder, seconds))
    if not report.exists():
        raise Failed("it launches no kernel")
    rows = list(_rows(module, report, _inlined_lines(folder, seconds)))
    return {"about": _about(module, report), "rows": rows}


_PROFILER = (
    *("ncu", "--clock-control", "none", "--section", "SourceCounters"),
    *("--metrics", ",".join(_COUNTERS.values())),
    *("--filter-mode", "per-launch-config", "--launch-count", "1", "-f", "-o"),
)
"""One launch of each kernel, grid and block is enough, and the others run at full speed."""


class _Done(NamedTuple):
    """How a command ended: its exit code and what it wrote."""

    code: int
    errors: list[str]
    output: list[str]

    @property
    def lines(self) -> list[str]:
        """All of them."""
        return [*self.errors, *self.output]

    @property
    def reason(self) -> str:
        """The line that says best what went wrong."""
        for mark in ("smemlint: ", "==ERROR== ", "undefined reference", "error"):
            found = next((line for line in self.lines if mark in line), None)
            if found is not None:
                return found.strip().removeprefix(mark)
        message = (self.errors[:1] or self.output[-1:] or [""])[0].strip()
        return f"exit code {self.code}" + f", `{message}`" * bool(message)


def _run(command: list[str], folder: Path, seconds: float) -> _Done:
    """Runs a command; after `seconds` it is ended with all that it started."""
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
    ) as process:  # fmt: skip
        try:
            output, errors = process.communicate(timeout=seconds)
        except BaseException as stopped:
            os.killpg(process.pid, signal.SIGKILL)
            if not isinstance(stopped, subprocess.TimeoutExpired):
                raise
            what = Path(command[0]).name
            message = f"`{what}` does not end within {seconds:g} seconds: raise --verify-timeout"
            raise Failed(message) from None
    return _Done(process.returncode, _lines(errors), _lines(output))


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def _explained(profiled: _Done, plain: _Done) -> Exception:
    """Returns why a program could not be profiled; `plain` is how it ends by itself."""
    if any("ERR_NVGPUCTRPERM" in line for line in profiled.lines):
        return CannotCount("the driver lets only administrators read counters", _PERMISSION)
    done = plain if plain.code else profiled
    return Failed(f"it does not run: {done.reason}")


def _report_module() -> Any:
    for base, places in _REPORT_MODULES:
        sys.path.extend(map(str, Path(base).glob(places)))
    try:
        import ncu_report
    except ImportError as error:
        raise CannotCount(
            "the module ncu_report of Nsight Compute is missing", _NO_COUNTERS
        ) from error
    return ncu_report


def _actions(module: Any, report: Path) -> Iterator[Any]:
    for part in module.load_report(str(report)):
        yield from part


def _about(module: Any, report: Path) -> dict[str, str]:
    action = next(_actions(module, report), None)
    if action is None:
        raise Failed("it launches no kernel")

    def of(name: str) -> Any:
        return action.metric_by_name(f"device__attribute_{name}")

    major, minor = (of(f"compute_capability_{part}").as_uint64() for part in ("major", "minor"))
    return {"device": str(of("display_name").as_string()), "arch": f"sm_{major}{minor}"}


_Lines: TypeAlias = "tuple[tuple[str, int], ...]"
"""Files and lines of an instruction: its own, then those that inlined it, innermost first."""
_SECTION = re.compile(r"\.text\.(\S+):")
_FRAME = re.compile(r'\s*//## File "([^"]*)", line (\d+)')
_INSTRUCTION = re.compile(r"\s*/\*([0-9a-f]{4,})\*/")


def _inlined_lines(folder: Path, seconds: float) -> dict[tuple[str, int], _Lines]:
    """Returns the lines of each instruction of the program, by mangled kernel and offset.

    The profiler names one line an instruction, which is that of a header for what is inlined from
    it. Empty where there is no program, or none of the tools that every toolkit has.
    """
    program = folder / "program"
    if not program.exists() or not all(map(shutil.which, ("cuobjdump", "nvdisasm"))):
        return {}
    _run(["cuobjdump", "-xelf", "all", str(program)], folder, seconds)
    found: dict[tuple[str, int], _Lines] = {}
    for cubin in sorted(folder.glob("*.cubin")):
        text = _run(["nvdisasm", "-c", "-gi", str(cubin)], folder, seconds).output
        found.update(_lines_of(text))
    return found


def _lines_of(text: list[str]) -> Iterator[tuple[tuple[str, int], _Lines]]:
    """Reads nvdisasm's text, in which comments in a row are a chain of calls."""
    kernel, chain, is_read = "", list[tuple[str, int]](), True
    for row in text:
        if section := _SECTION.match(row):
            kernel, chain = section[1], []
        elif frame := _FRAME.match(row):
            chain = [] if is_read else chain
            chain.append((frame[1], int(frame[2])))
            is_read = False
        elif instruction := _INSTRUCTION.match(row):
            is_read = True
            yield (kernel, int(instruction[1], 16)), tuple(chain)


def _rows(
    module: Any, report: Path, inlined: Mapping[tuple[str, int], _Lines]
) -> Iterator[dict[str, Any]]:
    seen = set()
    for action in _actions(module, report):
        kernel = action.name(module.IAction.NameBase_DEMANGLED)
        block = [action.metric_by_name(f"launch__block_dim_{axis}").as_uint64() for axis in "xyz"]
        if (kernel, *block) in seen:
            continue
        seen.add((kernel, *block))
        mangled = action.name(module.IAction.NameBase_MANGLED)
        table: dict[tuple[_Lines, str], dict[str, int]] = {}
        executed = action.metric_by_name(_COUNTERS["inst"]).correlation_ids()
        first = min((executed.as_uint64(i) for i in range(executed.num_instances())), default=0)
        for name, metric in ((n, action.metric_by_name(m)) for n, m in _COUNTERS.items()):
            for i in range(metric.num_instances()):
                pc = metric.correlation_ids().as_uint64(i)
                words = action.sass_by_pc(pc).split()
                stem = (words[1] if words[0].startswith("@") else words[0]).split(".")[0]
                if stem not in _STEMS:
                    continue
                lines = inlined.get((mangled, pc - first)) or _line_of(action, pc)
                if lines:
                    counts = table.setdefault((lines, stem), dict.fromkeys(_COUNTERS, 0))
                    counts[name] += metric.as_uint64(i)
        for (lines, stem), counts in sorted(table.items()):
            (file, line), *callers = lines
            known = {"kernel": kernel, "block": block, "file": file, "line": line}
            yield {**known, "callers": callers, "op": stem, **counts}


def _line_of(action: Any, pc: int) -> _Lines:
    place = action.source_info(pc)
    return ((place.file_name(), place.line()),) if place else ()


if __name__ == "__main__":
    main()
