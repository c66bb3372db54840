"""The process that compiles and runs a CUDA program under Nsight Compute and reads its counters.

Run as a script of its own (`python -P counters.py`), only where `--verify-gpu=kernel` asks for it:
it is the one place where linted code is compiled and run. The request is JSON on standard input:
`source`, `arch`, `flags`, `device` and `timeout`; the answer on standard output is `about` and
`rows`, one for each kernel, block shape, line and opcode, or `error` and `hint`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_COUNTERS = {
    "inst": "inst_executed",
    "wavefronts": "memory_l1_wavefronts_shared",
    "ideal": "memory_l1_wavefronts_shared_ideal",
}
_STEMS = ("LDS", "STS", "LDSM", "STSM", "ATOMS")
_REPORT_MODULES = (
    ("/opt/nvidia/nsight-compute", "*/extras/python"),
    ("/usr/local", "cuda*/nsight-compute*/extras/python"),
)
_NO_COUNTERS = "install Nsight Compute (ncu), or verify with --verify-gpu, which needs no profiler"


class CannotCount(Exception):
    """What is wrong and what to do, in words."""


def main() -> None:
    """Answers one request."""
    answer_to = os.dup(1)
    os.dup2(2, 1)  # what the program prints does not get into the answer
    request = json.load(sys.stdin)
    if request["device"]:
        os.environ["CUDA_VISIBLE_DEVICES"] = str(request["device"])
    try:
        with tempfile.TemporaryDirectory() as folder:
            answer = count(request, Path(folder))
    except CannotCount as problem:
        answer = dict(zip(("error", "hint"), problem.args, strict=True))
    with os.fdopen(answer_to, "w") as out:
        json.dump(answer, out)


def count(request: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Compiles, profiles and reads; first launch of each kernel and block shape.

    Raises:
        CannotCount: a tool is missing, or a step fails.
    """
    for tool, hint in (("nvcc", "install the CUDA toolkit"), ("ncu", _NO_COUNTERS)):
        if shutil.which(tool) is None:
            raise CannotCount(f"`{tool}` is not installed", hint)
    module = _report_module()
    program, report = folder / "program", folder / "report.ncu-rep"
    flags = ["-O3", "-lineinfo", f"-arch={request['arch']}", *request["flags"]]
    _run(["nvcc", *flags, "-o", str(program), request["source"]], request, "does not compile")
    _run(
        [
            *("ncu", "--clock-control", "none", "-f", "-o", str(report)),
            *("--section", "SourceCounters", "--metrics", ",".join(_COUNTERS.values())),
            str(program),
        ],
        request,
        "does not run under ncu",
        cwd=folder,
    )
    if not report.exists():
        raise CannotCount("it launches no kernel", "only a program with kernel launches is counted")
    rows = list(_rows(module, report))
    return {"about": {"device": _device(module, report), "arch": request["arch"]}, "rows": rows}


def _run(command: list[str], request: dict[str, Any], said: str, cwd: Path | None = None) -> None:
    try:
        done = subprocess.run(
            command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors="replace", timeout=request["timeout"], check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise CannotCount(f"it {said} in time", "raise --verify-timeout") from error
    if done.returncode:
        lines = [x for x in (done.stdout + done.stderr).splitlines() if x.strip()] or ["no output"]
        errors = [x for x in lines if "error" in x.lower()] or lines[-1:]
        raise CannotCount(f"it {said}: {errors[0].strip()}", f"try `{' '.join(command)}`")


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


def _device(module: Any, report: Path) -> str:
    action = next(_actions(module, report))
    return str(action.metric_by_name("device__attribute_display_name").as_string())


def _rows(module: Any, report: Path) -> Iterator[dict[str, Any]]:
    seen = set()
    for action in _actions(module, report):
        kernel = action.name(module.IAction.NameBase_DEMANGLED)
        block = [action.metric_by_name(f"launch__block_dim_{axis}").as_uint64() for axis in "xyz"]
        if (kernel, *block) in seen:
            continue
        seen.add((kernel, *block))
        table: dict[tuple[str, int, str], dict[str, int]] = {}
        for name, metric in ((n, action.metric_by_name(m)) for n, m in _COUNTERS.items()):
            for i in range(metric.num_instances()):
                pc = metric.correlation_ids().as_uint64(i)
                words = action.sass_by_pc(pc).split()
                stem = (words[1] if words[0].startswith("@") else words[0]).split(".")[0]
                place = action.source_info(pc)
                if stem not in _STEMS or not place:
                    continue
                key = (place.file_name(), place.line(), stem)
                counts = table.setdefault(key, dict.fromkeys(_COUNTERS, 0))
                counts[name] += metric.as_uint64(i)
        for (file, line, stem), counts in sorted(table.items()):
            yield {
                "kernel": kernel,
                "block": block,
                "file": file,
                "line": line,
                "op": stem,
                **counts,
            }


if __name__ == "__main__":
    main()
