"""`--verify-gpu=kernel`: lines beside the counters of fixtures/gpu/kernels.json, and calls."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from recorded import recording

from smemlint.config.settings import KernelSettings, Settings
from smemlint.driver.run import check
from smemlint.finding import Verdict
from smemlint.sources.source import Source
from smemlint.verify.device import GpuError
from smemlint.verify.kernels import verify_kernels

ROOT = Path(__file__).resolve().parents[2]
KERNELS = sorted((ROOT / "fixtures/kernels").glob("*.cu"))
ABOUT = {"device": recording()["about"]["device"], "arch": "sm_90"}

LIBRARY = """\
namespace tools {
template <typename T, int TILE> __global__ void transpose(T *out, const T *in, int n, float alpha) {
  __shared__ T tile[TILE][TILE];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  tile[threadIdx.y][threadIdx.x] = in[y * n + x];
  __syncthreads();
  out[x * n + y] = tile[threadIdx.x][threadIdx.y] * alpha;
}
}
void run(float *out, const float *in) {
  tools::transpose<float, 32><<<dim3(4, 4), dim3(32, 32)>>>(out, in, 128, 2.0f);
}
"""
SIZED = """\
__global__ void column(unsigned *out, int n) {
  extern __shared__ unsigned s[];
  s[threadIdx.x * 32] = out[threadIdx.x + n];
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}
void run(unsigned *out, int n, int bytes) { column<<<1, 32, bytes>>>(out, n); }
"""
PYTHON = """\
import cupy as cp

SOURCE = r'''
extern "C" __global__ void column(float *out, const float *in, int n) {
  __shared__ float s[TILE][TILE];
  s[threadIdx.x][threadIdx.y] = in[threadIdx.y * n + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * n + threadIdx.x] = s[threadIdx.y][threadIdx.x];
}
'''
kernel = cp.RawKernel(SOURCE, "column", options=("-DTILE=32", "--use_fast_math"))


def run(a, out):
    kernel((1,), (32, 32), (out, a, 128))
"""


def recorded_counters(request):
    rows = json.loads((ROOT / "fixtures/gpu/kernels.json").read_text())
    stem = Path(request["build"][-1]).stem
    kept = [{**r, "op": r["op"].split(".")[0]} for r in rows if r["app"] == stem]
    return {"about": ABOUT, "rows": kept}


def verified(path: Path, engine=recorded_counters, **settings):
    chosen = Settings(verify_gpu="kernel", **settings)
    sources = [Source(str(path))]
    return verify_kernels(check(sources, chosen), chosen, sources, engine)


def measurements(result):
    return {f.span.line: f.measurement for f in result.findings if f.measurement is not None}


def counter(line, wavefronts, ideal, **row):
    known = {"kernel": "column", "block": [32, 32, 1], "file": "/tmp/x/smemlint_text.cu"}
    return {**known, "line": line, "op": "STS", "wavefronts": wavefronts, "ideal": ideal, **row}


# ---- programs


@pytest.mark.slow
def test_flagged_lines_of_the_fixture_kernels_are_what_the_profiler_counted():
    counts: Counter[str] = Counter()
    refuted = []
    for path in KERNELS:
        if "int main" not in path.read_text():
            continue
        result, _ = verified(path)
        for finding in result.findings:
            if finding.measurement is not None:
                counts[str(finding.measurement.verdict)] += 1
            if finding.is_refuted:
                refuted.append((path.stem, finding.span.line))
    # The compiler chose other widths there than evaluation expects: gaps that are known.
    assert refuted == [("inline_ptx", 42)]
    assert counts[Verdict.CONFIRMED] >= 190


def test_a_line_has_both_figures():
    result, summary = verified(ROOT / "fixtures/kernels/transpose.cu")
    measurement = result.findings[0].measurement
    assert measurement is not None
    assert (measurement.verdict, measurement.predicted) == (Verdict.CONFIRMED, 32.0)
    assert measurement.measured == 32.0
    assert summary.startswith("counted in 1 program and 0 calls: ")


def test_other_counters_refute():
    def doubled(request):
        answer = recorded_counters(request)
        rows = [{**r, "wavefronts": 2 * r["wavefronts"]} for r in answer["rows"]]
        return {**answer, "rows": rows}

    result, _ = verified(ROOT / "fixtures/kernels/transpose.cu", doubled)
    measurement = result.findings[0].measurement
    assert measurement is not None
    assert (measurement.verdict, measurement.measured) == (Verdict.REFUTED, 64.0)


# ---- kernels without a program


def called(path: Path, **settings):
    """The requests that a source leads to, and the reasons of lines that lead to none."""
    requests = []

    def engine(request):
        requests.append(request)
        return {"failed": "it does not run: a test"}

    result, _ = verified(path, engine, **settings)
    return requests, {line: m.reason for line, m in measurements(result).items()}


def test_a_kernel_without_a_program_is_called_as_its_launch_does(tmp_path):
    path = tmp_path / "library.cu"
    path.write_text(LIBRARY)
    (request,), reasons = called(path, define={"FAST": "1"}, device=3)
    assert request["build"] == (
        "nvcc", "-std=c++17", "-O3", "-lineinfo", "--expt-relaxed-constexpr", "-arch=sm_90", "-DFAST=1",
        "-Xcompiler", "-no-pie", "-Xlinker", "--unresolved-symbols=ignore-all",
        "-o", "program", "program.cu",
    )  # fmt: skip
    assert (request["run"], request["device"]) == (("./program",), 3)
    text = request["files"]["program.cu"]
    assert f'#include "{path}"' in text
    assert "call(tools::transpose<float, 32>, dim3(32, 32, 1), 0, given)" in text
    assert (
        '{"out", false, 0, true}, {"in", false, 0, true}, '
        '{"n", true, 128, false}, {"alpha", true, 1.0, false}'
    ) in text
    assert reasons == {7: "it does not run: a test"}


def test_an_argument_that_nobody_knows_is_a_guess_that_refutes_nothing(tmp_path):
    path = tmp_path / "sized.cu"
    path.write_text(SIZED)
    (request,), _ = called(path)
    assert '{"n", true, 1024, false}' in request["files"]["program.cu"]

    def counted(wavefronts: int):
        row = {"kernel": "column(unsigned int *, int)", "block": [32, 1, 1], "file": "sized.cu",
               "line": 3, "op": "STS", "inst": 1, "wavefronts": wavefronts, "ideal": 1}  # fmt: skip
        return verified(path, lambda request: {"about": ABOUT, "rows": [row]})[0]

    verdicts = {n: measurements(counted(n))[3].verdict for n in (32, 16)}
    assert verdicts == {32: Verdict.CONFIRMED, 16: Verdict.NOT_REPLAYABLE}


def test_pragma_and_configuration_tell_arguments(tmp_path):
    path = tmp_path / "sized.cu"
    path.write_text("// smemlint: launch(block=32, n=0x40u)\n" + SIZED)
    (request,), _ = called(path)
    text = request["files"]["program.cu"]
    assert '{"n", true, 64, false}' in text
    assert "call(column, dim3(32, 1, 1), -1, given)" in text  # all the shared memory that there is
    path.write_text(SIZED)
    (request,), _ = called(path, kernels={"column": KernelSettings(arguments={"n": 7})})
    assert '{"n", true, 7, false}' in request["files"]["program.cu"]


STRIDED = """\
extern "C" __global__ void strided(float *o, int n) {
  __shared__ float s[4096];
  s[threadIdx.x * n] = o[threadIdx.x];
}
"""


def test_each_launch_is_called_with_its_own_numbers(tmp_path):
    """Of the launches with 1 and with 4, the second has the conflict."""
    path = tmp_path / "strided.cu"
    launches = ("strided<<<1, 32>>>(o, 1);", "strided<<<1, 32>>>(o, 4);")
    path.write_text(f"{STRIDED}void run(float *o) {{ {' '.join(launches)} }}\n")
    (request,), _ = called(path)
    assert '{"n", true, 4, false}' in request["files"]["program.cu"]

    path = tmp_path / "strided.py"
    launches = ("k((1,), (32,), (o, cp.int32(1)))", "k((1,), (32,), (o, cp.int32(4)))")
    lines = (
        "import cupy as cp",
        f"k = cp.RawKernel('''{STRIDED}''', 'strided')",
        "o = cp.zeros(32)",
    )
    path.write_text("\n".join((*lines, *launches)))
    (request,), _ = called(path)
    assert json.loads(request["files"]["call.json"])["arguments"] == [["*f", None], ["i4", 4]]


@pytest.mark.parametrize(
    ("before", "parameter", "reason"),
    [
        ("struct S { int a; };", "S n", "argument `n` is a structure"),
        ("template <typename... S>", "S... n", "template argument `S` is not known"),
    ],
)
def test_what_cannot_be_called_says_why(tmp_path, before, parameter, reason):
    path = tmp_path / "k.cu"
    path.write_text(
        f"{before}\n__global__ void k(unsigned *out, {parameter}) {{\n"
        "  __shared__ unsigned s[1024];\n"
        "  s[threadIdx.x * 32] = 1;\n"
        "  out[0] = s[threadIdx.x];\n}\n"
        "void run(unsigned *out) { k<<<1, 32>>>(out, {}); }\n"
    )
    assert called(path) == ([], {4: reason})


def test_a_call_confirms_or_refutes_lines(tmp_path):
    path = tmp_path / "library.cu"
    path.write_text(LIBRARY)

    def of(wavefronts):
        name = "void tools::transpose<float, (int)32>(T1 *, const T1 *, int, float)"
        row = counter(7, wavefronts, 32, kernel=name, file=str(path), op="LDS")
        return verified(path, lambda request: {"about": ABOUT, "rows": [row]})

    result, summary = of(1024)
    assert [(m.verdict, m.predicted, m.measured) for m in measurements(result).values()] == [
        (Verdict.CONFIRMED, 32.0, 32.0)
    ]
    assert summary == "counted in 0 programs and 1 call: 1 confirmed, 0 refuted, 0 not replayable"
    result, _ = of(512)
    assert measurements(result)[7].verdict is Verdict.REFUTED
    result, _ = verified(path, lambda request: {"about": ABOUT, "rows": []})
    assert measurements(result)[7].reason == "this line is not reached"


def test_what_a_header_inlines_counts_where_it_is_called(tmp_path):
    path = tmp_path / "library.cu"
    path.write_text(LIBRARY)
    inlined = {"file": "/cuda/include/crt/mma.hpp", "callers": [[str(path), 7], [str(path), 20]]}
    row = counter(91, 1024, 32, kernel="<unnamed>::transpose", op="LDS") | inlined
    result, _ = verified(path, lambda request: {"about": ABOUT, "rows": [row]})
    assert measurements(result)[7].verdict is Verdict.CONFIRMED


def test_verify_all_compares_what_no_rule_flags(tmp_path):
    path = tmp_path / "library.cu"
    path.write_text(LIBRARY)
    rows = [
        counter(5, 64, 32, kernel="transpose", op="STS", file="library.cu"),
        counter(7, 1024, 32, kernel="transpose", op="LDS", file="library.cu"),
    ]
    result, summary = verified(path, lambda r: {"about": ABOUT, "rows": rows}, verify_all=True)
    assert [(f.code, f.span.line) for f in result.findings] == [("SML904", 5), ("SML101", 7)]
    assert summary == "counted in 0 programs and 1 call: 1 confirmed, 1 refuted, 0 not replayable"


def test_a_program_that_fails_leaves_its_kernels_to_calls(tmp_path):
    path = tmp_path / "program.cu"
    path.write_text(LIBRARY + "int main(int argc, char **argv) { return argc < 2; }\n")
    answers = [
        {"failed": "it does not run: usage: program SIZE"},
        {
            "about": ABOUT,
            "rows": [counter(7, 64, 2, kernel="transpose", op="LDS", file="program.cu")],
        },
    ]
    result, summary = verified(path, lambda request: answers.pop(0))
    assert measurements(result)[7].verdict is Verdict.CONFIRMED
    assert summary.startswith("counted in 0 programs and 1 call: 1 confirmed")
    fails = iter(["it does not run: usage", "it does not run: cudaErrorIllegalAddress"])
    result, _ = verified(path, lambda request: {"failed": next(fails)})
    assert measurements(result)[7].reason == (
        "it does not run: usage; called by itself: it does not run: cudaErrorIllegalAddress"
    )


# ---- CuPy's texts


def test_cupys_text_travels_with_its_options_and_comes_back_to_its_lines(tmp_path):
    path = tmp_path / "raw.py"
    path.write_text(PYTHON)
    requests = []

    def engine(request):
        requests.append(request)
        return {"about": ABOUT, "rows": [counter(4, 1024, 32)]}

    result, summary = verified(path, engine)
    (request,) = requests
    assert request["build"] == ()
    assert request["run"][-2:] == (str(ROOT / "smemlint/verify/cupy_call.py"), "call.json")
    call = json.loads(request["files"]["call.json"])
    assert call["text"].startswith('#line 1 "smemlint_text.cu"\n\nextern "C" __global__')
    assert call["options"] == ["-DTILE=32", "--use_fast_math"]
    assert (call["kernel"], call["block"], call["shared"]) == ("column", [32, 32, 1], 0)
    assert call["arguments"] == [["*f", None], ["*f", None], ["i4", 128]]
    found = measurements(result)
    assert {line: m.verdict for line, m in found.items()} == {6: Verdict.CONFIRMED}
    assert summary.startswith("counted in 0 programs and 1 call: 1 confirmed")


def test_folders_among_the_options_are_found_from_anywhere(tmp_path):
    path = tmp_path / "raw.py"
    (tmp_path / "headers").mkdir()
    path.write_text(PYTHON.replace('"-DTILE=32"', '"-DTILE=32", "-I headers", "-I/opt/x"'))
    (request,), _ = called(path)
    assert json.loads(request["files"]["call.json"])["options"] == [
        "-DTILE=32", f"-I{tmp_path / 'headers'}", "-I/opt/x", "--use_fast_math",
    ]  # fmt: skip


def test_other_kernels_of_python_are_not_replayed(tmp_path):
    path = tmp_path / "jit.py"
    bad = ROOT / "fixtures/python"
    sources = sorted(p for p in bad.glob("*.py") if "jit.rawkernel" in p.read_text())
    found = {}
    for source in sources:
        path.write_text(source.read_text())
        requests, reasons = called(path)
        assert requests == []
        found.update(reasons)
    assert set(found.values()) <= {
        "only CUDA C++ is replayed, in files and in CuPy's RawKernel and RawModule"
    }


# ---- what goes wrong on the GPU's side


@pytest.mark.parametrize(
    ("failed", "message"),
    [
        ("it does not run: cudaErrorNoDevice: no CUDA-capable device is detected",
         "there is no GPU that CUDA can use"),
        ("it does not run: cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA "
         "runtime version", "the driver is older than"),
        ("it does not run: ModuleNotFoundError: No module named 'cupy'", "CuPy is not installed"),
        ("it does not run: cudaErrorMemoryAllocation: out of memory", "the GPU is out of memory"),
    ],
)  # fmt: skip
def test_a_gpu_that_cannot_be_used_is_an_error(tmp_path, failed, message):
    path = tmp_path / "library.cu"
    path.write_text(LIBRARY)
    with pytest.raises(GpuError, match=message):
        verified(path, lambda request: {"failed": failed})


def test_a_device_that_is_not_there_is_an_error(tmp_path):
    path = tmp_path / "library.cu"
    path.write_text(LIBRARY)
    failed = "it does not run: cudaErrorNoDevice: no CUDA-capable device is detected"
    with pytest.raises(GpuError, match="there is no device 3"):
        verified(path, lambda request: {"failed": failed}, device=3)


def test_another_gpu_than_the_figures_are_for_is_an_error(tmp_path):
    path = tmp_path / "library.cu"
    path.write_text(LIBRARY)
    about = {"device": "NVIDIA A100", "arch": "sm_80"}
    with pytest.raises(GpuError, match="the figures are for sm_90, the GPU is sm_80"):
        verified(path, lambda request: {"about": about, "rows": []})


# ---- for real


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not there")
def test_the_program_around_a_kernel_compiles_without_libraries_of_the_host_code(tmp_path):
    path = tmp_path / "library.cu"
    path.write_text(
        LIBRARY + 'extern "C" int other_library();\nint elsewhere() { return other_library(); }\n'
    )
    (request,), _ = called(path)
    (tmp_path / "program.cu").write_text(request["files"]["program.cu"])
    done = subprocess.run(
        request["build"], cwd=tmp_path, capture_output=True, text=True, timeout=100
    )
    assert (done.returncode, done.stderr) == (0, "")
    run = subprocess.run(["./program"], cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert run.returncode == 0 or "\nsmemlint: cudaError" in run.stderr  # a GPU, or none


@pytest.mark.skipif(shutil.which("ncu") is not None, reason="Nsight Compute is there")
def test_without_a_profiler_the_exit_code_is_2(smemlint, tmp_path):
    path = tmp_path / "transpose.cu"
    path.write_text((ROOT / "fixtures/kernels/transpose.cu").read_text())
    code, out, err = smemlint("check", "transpose.cu", "--verify-gpu=kernel", "--no-cache")
    assert (code, out) == (2, "")
    assert "is not installed" in err and "hint" in err


WILD = """\
__global__ void wild(int *out) {
  __shared__ int s[32][32];
  s[threadIdx.x][0] = out[threadIdx.x];
  __syncthreads();
  out[s[0][threadIdx.x] + (1ll << 36)] = s[0][threadIdx.x];
}
__global__ void endless(volatile int *flag) {
  __shared__ int s[32][32];
  s[threadIdx.x][0] = threadIdx.x;
  while (*flag == 0) continue;
  flag[threadIdx.x] = s[0][threadIdx.x];
}
void run(int *out) {
  wild<<<1, 32>>>(out);
  endless<<<1, 32>>>(out);
}
"""


@pytest.mark.skipif(shutil.which("ncu") is None, reason="Nsight Compute is not there")
@pytest.mark.timeout(300)
def test_with_a_profiler_programs_and_calls_are_counted(smemlint, tmp_path):
    texts = {
        "program.cu": (ROOT / "fixtures/kernels/transpose.cu").read_text(),
        "library.cu": LIBRARY,
        "wild.cu": WILD,
        "raw.py": PYTHON,
        "broken.py": PYTHON.replace("s[threadIdx.y][threadIdx.x];", "s[0][threadIdx.x] + nothing;"),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    _, out, err = smemlint(
        "check", *texts, "--verify-gpu=kernel", "--verify-timeout", "20",
        "--output-format", "json", "--no-cache",
    )  # fmt: skip
    found: dict[str, set[tuple[str, float | None, str]]] = {}
    for f in json.loads(out)["findings"]:
        m = f["measurement"]
        if m is not None:
            found.setdefault(f["path" if "path" in f else "file"], set()).add(
                (m["verdict"], m["measured"], (m["reason"] or "").split(":")[0])
            )
    assert {v for v, _, _ in found["program.cu"]} == {"confirmed"}, err
    assert found["library.cu"] == {("confirmed", 32.0, "")}
    assert found["raw.py"] == {("confirmed", 32.0, "")}
    assert found["wild.cu"] == {
        ("not-replayable", None, "it does not run"),
        ("not-replayable", None, "`ncu` does not end within 20 seconds"),
    }
    assert found["broken.py"] == {("not-replayable", None, "it does not run")}
