"""The processes of `--verify-gpu=kernel`, with the tools of CUDA played by scripts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from smemlint.verify.device import GpuError, script_process

SCRIPTS = Path(__file__).resolve().parents[2] / "smemlint/verify"
NCU = """\
import subprocess, sys
at = sys.argv.index("-o")
code = subprocess.run(sys.argv[at + 2 :]).returncode
if code:
    print("==PROF== Connected")
    print(f"==ERROR== The application returned an error code ({code}).")
    sys.exit(code)
open(sys.argv[at + 1], "w").close()
"""
NCU_REPORT = """\
class IAction:
    NameBase_DEMANGLED, NameBase_MANGLED = 0, 1
class Metric:
    def __init__(self, value=0, counts=()): self.value, self.counts = value, counts
    def as_string(self): return self.value
    def as_uint64(self, i=None): return self.value if i is None else self.counts[i]
    def num_instances(self): return len(self.counts)
    def correlation_ids(self): return Metric(counts=(16, 32, 48))
class Place:
    def __init__(self, line): self._line = line
    def file_name(self): return "/src/k.cu"
    def line(self): return self._line
METRICS = {
    "device__attribute_display_name": Metric("NVIDIA H200"),
    "device__attribute_compute_capability_major": Metric(9),
    "device__attribute_compute_capability_minor": Metric(0),
    **{f"launch__block_dim_{axis}": Metric(n) for axis, n in zip("xyz", (32, 8, 1))},
    "inst_executed": Metric(counts=(8, 8, 8)),
    "memory_l1_wavefronts_shared": Metric(counts=(256, 8, 0)),
    "memory_l1_wavefronts_shared_ideal": Metric(counts=(8, 8, 0)),
}
class Action:
    def name(self, base): return ("void k<(int)32>(float *)", "_Z1kILi32EEvPf")[base]
    def metric_by_name(self, name): return METRICS[name]
    def sass_by_pc(self, pc): return {16: "@P0 STS [R5], R0", 32: "LDS.64 R4, [R2]", 48: "BRA 0"}[pc]
    def source_info(self, pc): return Place(pc // 16)
def load_report(path): return [[Action(), Action()]]
"""


@pytest.fixture
def count(tmp_path, monkeypatch):
    """Counts a Python program that is built by a script; returns the answer."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "ncu_report.py").write_text(NCU_REPORT)
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.setenv("PYTHONPATH", str(tools))

    def run(program, *, timeout=20.0, ncu=NCU, nvcc=None):
        for name, text in (("ncu", ncu), ("nvcc", nvcc)):
            if text is not None:
                (tools / name).write_text(f"#!{sys.executable}\n{text}")
                (tools / name).chmod(0o755)
        request = {
            "files": {"program.py": program},
            "build": ["nvcc", "program.py"] if nvcc is not None else [],
            "run": [sys.executable, "program.py"],
            "device": 0,
            "timeout": timeout,
        }
        return script_process("counters.py", 60)(request)

    return run


def test_counters_come_by_line_and_opcode_of_the_first_launch(count):
    answer = count("print('noise')")
    assert answer["about"] == {"device": "NVIDIA H200", "arch": "sm_90"}
    known = {"kernel": "void k<(int)32>(float *)", "block": [32, 8, 1], "file": "/src/k.cu"}
    known["callers"] = []
    assert answer["rows"] == [
        {**known, "line": 1, "op": "STS", "inst": 8, "wavefronts": 256, "ideal": 8},
        {**known, "line": 2, "op": "LDS", "inst": 8, "wavefronts": 8, "ideal": 8},
    ]


SASS = """\
.text._Z1kILi32EEvPf:
\t//## File "/cuda/include/crt/mma.hpp", line 91 inlined at "/src/k.cu", line 7
\t//## File "/src/k.cu", line 7 inlined at "/src/k.cu", line 20
\t//## File "/src/k.cu", line 20
        /*0000*/              @P0 STS [R5], R0 ;
        /*0010*/                   LDS.64 R4, [R2] ;
"""


def test_a_line_comes_with_those_that_inlined_it(count, tmp_path):
    for name, text in (
        ("cuobjdump", "open('k.cubin', 'w').close()"),
        ("nvdisasm", f"print({SASS!r})"),
    ):
        (tmp_path / "tools" / name).write_text(f"#!{sys.executable}\n{text}")
        (tmp_path / "tools" / name).chmod(0o755)
    rows = count("", nvcc="open('program', 'w').close()")["rows"]
    assert [(r["op"], r["file"], r["line"], r["callers"]) for r in rows] == [
        (op, "/cuda/include/crt/mma.hpp", 91, [["/src/k.cu", 7], ["/src/k.cu", 20]])
        for op in ("LDS", "STS")
    ]


def test_a_tool_that_does_not_end_is_ended_when_the_user_says(count, tmp_path):
    for name in ("cuobjdump", "nvdisasm"):
        (tmp_path / "tools" / name).write_text(f"#!{sys.executable}\nimport time; time.sleep(50)")
        (tmp_path / "tools" / name).chmod(0o755)
    answer = count("", nvcc="open('program', 'w').close()", timeout=2)
    reason = "`cuobjdump` does not end within 2 seconds: raise --verify-timeout"
    assert answer == {"failed": reason}


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import sys; print('smemlint: argument `n` is a structure'); sys.exit(3)",
         "it does not run: argument `n` is a structure"),
        ("import sys; print('CUDA error 700'); sys.exit(1)", "it does not run: CUDA error 700"),
        ("import sys; print('usage: k SIZE', file=sys.stderr); print('noise'); sys.exit(2)",
         "it does not run: exit code 2, `usage: k SIZE`"),
        ("import os; os.abort()", "it does not run: exit code -6"),
    ],
)  # fmt: skip
def test_a_program_that_fails_says_why(count, program, reason):
    assert count(program) == {"failed": reason}


def test_what_only_the_profiler_finds_wrong_is_said(count):
    ncu = "print('==PROF== Connected'); print('==ERROR== LaunchFailed'); raise SystemExit(9)"
    assert count("", ncu=ncu) == {"failed": "it does not run: LaunchFailed"}


def test_a_program_that_launches_nothing_is_no_measurement(count):
    assert count("", ncu="pass") == {"failed": "it launches no kernel"}


def test_an_error_of_the_compiler_is_said(count):
    nvcc = "print('k.cu(3): warning: x'); print('k.cu(4): error: identifier \"y\" is undefined'); exit(1)"
    answer = count("", nvcc=nvcc)
    assert answer == {"failed": 'it does not compile: k.cu(4): error: identifier "y" is undefined'}


def test_a_program_that_does_not_end_is_ended_with_all_that_it_started(count, tmp_path):
    mark = tmp_path / "mark"
    program = f"import time; time.sleep(3); open({str(mark)!r}, 'w')"
    assert count(program, timeout=1.0) == {
        "failed": "`ncu` does not end within 1 seconds: raise --verify-timeout"
    }
    time.sleep(3)
    assert not mark.exists()


def test_counters_that_the_driver_withholds_are_an_error(count):
    ncu = "print('==ERROR== ERR_NVGPUCTRPERM - no permission'); raise SystemExit(1)"
    with pytest.raises(GpuError, match="only administrators read counters") as raised:
        count("", ncu=ncu)
    assert "verify with --verify-gpu" in raised.value.hint


def test_missing_tools_are_errors(count):
    with pytest.raises(GpuError, match="`ncu` is not installed"):
        count("", ncu=None)


# ---- the program around a CUDA text

CUPY = """\
import json, sys, types
calls = []
class RawModule:
    def __init__(self, **given): calls.append(["RawModule", given])
    def get_function(self, name): return Kernel(name)
class Kernel:
    shared_size_bytes = 1000
    def __init__(self, name): calls.append(["get_function", name])
    def __call__(self, grid, block, arguments, shared_mem):
        shown = [[a.dtype.str.lstrip("<|"), a.item()] for a in arguments]
        calls.append(["launch", grid, block, shown, shared_mem, self.max_dynamic_shared_size_bytes])
class Memory:
    def __init__(self, size): self.ptr = 4096; calls.append(["alloc", size])
    def memset(self, value, size): calls.append(["memset", value, size])
def done(): WRONG; print(json.dumps(calls))
cuda = types.SimpleNamespace(
    alloc=Memory, runtime=types.SimpleNamespace(deviceSynchronize=done),
    Device=lambda: types.SimpleNamespace(attributes={"MaxSharedMemoryPerBlockOptin": 232448}),
)
"""


def cupy_call(folder, wrong="pass", **call):
    (folder / "cupy.py").write_text(CUPY.replace("WRONG", wrong))
    known = {"text": "T", "options": [], "kernel": "k<float>", "block": [32, 2, 1], "shared": 0}
    (folder / "call.json").write_text(
        json.dumps({**known, "room": 64, "fill": 63, "arguments": [], **call})
    )
    done = subprocess.run(
        [sys.executable, "-P", str(SCRIPTS / "cupy_call.py"), "call.json"],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(folder)}, capture_output=True,
        text=True, timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def test_a_text_is_compiled_and_called_with_memory_and_numbers(tmp_path):
    code, out, _ = cupy_call(
        tmp_path,
        options=["-DN=4"],
        shared=None,
        arguments=[["*f", None], ["*", None], ["i4", -7], ["f8", 1.0], ["?", 1]],
    )
    assert code == 0
    assert json.loads(out) == [
        ["RawModule", {"code": "T", "options": ["-lineinfo", "-DN=4", "--std=c++17"],
                       "name_expressions": ["k<float>"]}],
        ["get_function", "k<float>"],
        ["alloc", 64], ["memset", 63, 64], ["alloc", 64], ["memset", 0, 64],
        ["launch", [1], [32, 2, 1],
         [["u8", 4096], ["u8", 4096], ["i4", -7], ["f8", 1.0], ["b1", True]], 231448, 231448],
    ]  # fmt: skip


def test_the_standard_of_the_source_is_kept(tmp_path):
    _, out, _ = cupy_call(tmp_path, options=["-std=c++14"])
    assert json.loads(out)[0][1]["options"] == ["-lineinfo", "-std=c++14"]


def test_the_line_of_an_error_that_matters_is_said(tmp_path):
    wrong = "raise ValueError('2 of 2 lines:\\nk.cu(4): error: y is undefined')"
    code, _, err = cupy_call(tmp_path, wrong)
    assert (code, err.strip()) == (3, "smemlint: ValueError: k.cu(4): error: y is undefined")
