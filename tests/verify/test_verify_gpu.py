"""`check --verify-gpu`: findings, exit codes and reports; a GPU's part is played by a recording."""

from __future__ import annotations

import json

import pytest
from recorded import engine_of, recorded_engine

from smemlint.cli.main import main
from smemlint.verify import findings

KERNEL = """\
__global__ void k(float *out) {
  __shared__ float s[32][32];
  s[threadIdx.x][0] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[0][threadIdx.x];
}
void run(float *out) { k<<<1, 32>>>(out); }
"""


@pytest.fixture
def check(monkeypatch, tmp_path, capsys):
    """Runs `check` in this process with an engine; returns exit code, stdout and stderr."""

    def run(engine, *arguments, kernel=KERNEL):
        (tmp_path / "k.cu").write_text(kernel)
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setattr(findings, "engine_process", lambda timeout: engine)
        code = main(["check", "k.cu", "--no-cache", *arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def off_by_one_store(pattern):
    """An H200 on which the kernel's store takes 31 wavefronts and all else as predicted."""
    from smemlint.verify.plan import yardsticks
    from smemlint.verify.verdict import predicted

    is_yardstick = any(k.pattern == pattern for k in yardsticks(pattern.form))
    wrong = pattern.form.kind == "store" and pattern.offsets[31] == 31 * 128 and not is_yardstick
    return (float(predicted(pattern)) - wrong,) * 3


def test_a_finding_says_what_was_predicted_and_measured(check):
    code, out, err = check(recorded_engine, "--verify-gpu")
    assert code == 1
    measured = "predicted 32, measured 32.0 (NVIDIA H200, sm_90): confirmed"
    assert f"= measured: {measured}" in out
    assert (
        "verified on NVIDIA H200, sm_90: 2 patterns of 1 access: 1 confirmed, 0 refuted, "
        "0 not replayable (2.0 s, 1.5 s of it start-up)"
    ) in err


def test_json_and_sarif_carry_the_measurement(check):
    _, out, _ = check(recorded_engine, "--verify-gpu", "--output-format", "json")
    measured = json.loads(out)["findings"][0]["measurement"]
    assert (measured["verdict"], measured["predicted"]) == ("confirmed", 32)
    assert (round(measured["measured"]), measured["patterns"]) == (32, 1)
    _, out, _ = check(recorded_engine, "--verify-gpu", "--output-format", "sarif")
    result = json.loads(out)["runs"][0]["results"][0]
    assert result["properties"]["measurement"]["verdict"] == "confirmed"


def test_the_fix_is_measured_too(check):
    _, out, _ = check(recorded_engine, "--verify-gpu", "--output-format", "json")
    finding = json.loads(out)["findings"][0]
    after = finding["measurement"]["after_fix"]
    assert (after["verdict"], after["predicted"]) == ("confirmed", 1)
    assert round(after["measured"], 1) == 1.0


def test_a_refuted_finding_comes_first_and_fails_the_run(check):
    two = KERNEL.replace(
        "out[threadIdx.x] = s[0][threadIdx.x];",
        "out[threadIdx.x] = s[threadIdx.x][0] + s[0][threadIdx.x];",
    ).replace("  s[threadIdx.x][0] =", "  if (threadIdx.x < 31) s[threadIdx.x][0] =")
    wrong = engine_of(lambda p: (30.0,) * 3 if p.mask == 2**31 - 1 else off_by_one_store(p))
    code, out, err = check(
        wrong, "--verify-gpu", "--fail-on", "error", "--output-format", "json", kernel=two
    )
    found = json.loads(out)["findings"]
    assert [(f["line"], f["measurement"]["verdict"]) for f in found] == [
        (3, "refuted"), (5, "confirmed"),
    ]  # fmt: skip
    assert code == 1
    assert "1 confirmed, 1 refuted" in err
    command = found[0]["measurement"]["command"]
    assert command.startswith("python -m smemlint.verify replay store_4 --mask 7fffffff ")
    assert "--predicted 31 0,128,256," in command


def test_verify_all_reports_what_no_rule_flags(check):
    wrong = engine_of(
        lambda p: (2.0,) * 3 if p.mask == 0xFFFF and p.form.kind == "load" else off_by_one_store(p)
    )
    kernel = KERNEL.replace("out[threadIdx.x] = s[0]", "if (threadIdx.x < 16) out[0] = s[0]")
    kernel = kernel.replace("s[threadIdx.x][0]", "s[0][threadIdx.x]")
    code, out, err = check(wrong, "--verify-all", "--output-format", "concise", kernel=kernel)
    assert code == 1
    assert out.startswith("k.cu:5:34: SML904 note: the GPU refutes the figure of this load of `s`")
    assert "2 accesses: 1 confirmed, 1 refuted, 0 not replayable" in err


def test_another_gpu_than_the_figures_are_for_is_an_error(check):
    code, out, err = check(engine_of(off_by_one_store, arch="sm_80"), "--verify-gpu")
    assert (code, out) == (2, "")
    assert "the figures are for sm_90, the GPU is sm_80" in err


# ---- the engine's process


def fake_cupy(folder, text):
    (folder / "cupy.py").write_text(text)


FAKE = """\
class CUDARuntimeError(RuntimeError): pass
class OutOfMemoryError(MemoryError): pass
class runtime:
    def getDeviceCount(): {count}
class cuda:
    runtime = runtime
    class Device:
        def __init__(self, number): {device}
        def __enter__(self): {enter}
        def __exit__(self, *_): pass
class Number:
    def sum(self): return self
    def item(self): return 0
def zeros(*_):
    {zeros}
    return Number()
def RawModule(**_): {module}
"""


def fake(count="return 8", device="pass", enter="pass", zeros="pass", module="pass"):
    return FAKE.format(count=count, device=device, enter=enter, zeros=zeros, module=module)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("raise ModuleNotFoundError(name='cupy')", "CuPy is not installed", "smemlint[gpu]"),
        ("raise ImportError('libcuda.so.1: cannot open')", "libcuda.so.1", "smemlint[gpu]"),
        (fake(count="return 1"), "there is no device 7", "only device 0; see `nvidia-smi -L`"),
        (fake(count="raise CUDARuntimeError('cudaErrorNoDevice: no CUDA-capable device')"),
         "there is no GPU that CUDA can use", "CUDA_VISIBLE_DEVICES"),
        (fake(count="raise CUDARuntimeError('cudaErrorInsufficientDriver: CUDA driver version')"),
         "the driver is older than the CUDA that CuPy was built for", "cupy-cuda12x"),
        ("raise RuntimeError('numpy has another ABI')", "numpy has another ABI", "smemlint[gpu]"),
        (fake(count="return 0"), "there is no GPU that CUDA can use", "CUDA_VISIBLE_DEVICES"),
        (fake(count="return 4", device="raise AssertionError"), "there is no device 7",
         "there are 4, numbered from 0"),
        (fake(count="raise CUDARuntimeError('cudaErrorSystemDriverMismatch: system has unsupported "
              "display driver')"),
         "the driver and its libraries do not fit together", "install the driver anew"),
        (fake(enter="raise CUDARuntimeError('cudaErrorDevicesUnavailable: CUDA-capable device(s) "
              "is/are busy or unavailable')"),
         "the GPU is busy or in exclusive mode", "--device"),
        (fake(module="raise RuntimeError('CuPy failed to load libnvrtc.so.13')"),
         "NVRTC cannot compile the replay kernels", "cupy-cuda13x[ctk]"),
        (fake(zeros="raise OutOfMemoryError('Out of memory allocating 512 bytes')"),
         "the GPU is out of memory", "--device"),
        (fake(enter="import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"),
         "the process that uses the GPU was ended by signal 11", "show_config"),
        (fake(zeros="import time; time.sleep(60)"), "did not answer within 2 seconds",
         "--verify-timeout"),
        (fake(zeros="print('noise'); raise ValueError('odd')"),
         "the replay failed (ValueError: odd)", "show_config"),
    ],
)  # fmt: skip
def test_what_cannot_be_measured_exits_2_and_says_what_to_do(
    smemlint_process, tmp_path, monkeypatch, text, message, hint
):
    import conftest

    away = tmp_path / "packages"
    away.mkdir()
    fake_cupy(away, text)
    (tmp_path / "k.cu").write_text(KERNEL)
    monkeypatch.setenv("EXTRA", str(away))
    monkeypatch.setattr(conftest, "ROOT", f"{conftest.ROOT}:{away}", raising=True)
    code, out, err = smemlint_process(
        "check", "k.cu", "--verify-gpu", "--verify-timeout", "2", "--device", "7", "--no-cache"
    )
    assert (code, out) == (2, ""), err
    assert message in err and hint in err
    assert "Traceback" not in err


def test_nothing_is_imported_from_the_working_directory(smemlint_process, tmp_path):
    fake_cupy(tmp_path, "open('imported', 'w').close()")
    (tmp_path / "k.cu").write_text(KERNEL)
    smemlint_process("check", "k.cu", "--verify-gpu", "--verify-timeout", "20", "--no-cache")
    assert not (tmp_path / "imported").exists()


def test_only_addresses_travel(check):
    seen = []

    def engine(request):
        seen.append(request)
        return recorded_engine(request)

    check(engine, "--verify-gpu")
    assert set(seen[0]) == {"device", "source", "few", "many", "rounds", "launches"}
    assert "out[threadIdx.x]" not in seen[0]["source"]


@pytest.mark.parametrize(
    "arguments", [("--device", "-1"), ("--verify-timeout", "0"), ("--verify-gpu=all",)]
)
def test_bad_values_are_errors(smemlint_process, tmp_path, arguments):
    (tmp_path / "k.cu").write_text(KERNEL)
    code, out, err = smemlint_process("check", "k.cu", "--verify-gpu", *arguments)
    assert (code, out) == (2, "")
    assert "error" in err and "Traceback" not in err


def test_a_misaligned_access_is_not_replayed(check):
    kernel = """\
__global__ void k(float4 *out) {
  __shared__ float s[132];
  out[threadIdx.x] = *reinterpret_cast<float4 *>(&s[4 * threadIdx.x + 1]);
}
void run(float4 *out) { k<<<1, 32>>>(out); }
"""
    code, out, _ = check(recorded_engine, "--verify-gpu", "--output-format", "json", kernel=kernel)
    measured = {f["code"]: f["measurement"] for f in json.loads(out)["findings"]}
    assert code == 1
    assert measured["SML301"]["verdict"] == "not-replayable"
    assert measured["SML301"]["reason"] == ("misaligned: an address is not a multiple of 16 bytes")
