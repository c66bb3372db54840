"""The cache: the same outcome as without it, after every change; damage is as good as absence."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from smemlint.driver.serialization import CodecError, decode, encode

ROOT = Path(__file__).resolve().parents[2]
KERNEL = """\
#include "size.h"
__global__ void NAME(float *out) {
  __shared__ float s[32][N];
  out[threadIdx.x] = s[threadIdx.x][0];
}
"""


@pytest.fixture
def tree(tmp_path):
    for i in range(6):
        (tmp_path / f"k{i}.cu").write_text(KERNEL.replace("NAME", f"k{i}"))
    (tmp_path / "size.h").write_text("#define N 32\n")
    (tmp_path / "run.cpp").write_text(
        "void run(float *o) { k0<<<1, 32>>>(o); k1<<<1, 16>>>(o); }\n"
    )
    age(tmp_path)
    return tmp_path


def age(folder) -> None:
    """Times in the past: the cache trusts no file that is younger than a clock step."""
    for file in folder.iterdir():
        if file.is_file():
            os.utime(file, (time.time() - 600, time.time() - 600))


@pytest.mark.slow
def test_every_report_is_the_same_from_the_cache(smemlint, tree):
    (tree / "run.cpp").write_text("void run(float *o) { k0<<<1, 32>>>(o); k1<<<1, 64>>>(o); }\n")
    for report in ("full", "json", "sarif", "html", "gitlab"):
        smemlint("check", ".")
        kept = smemlint("check", "--output-format", report, ".")
        assert kept == smemlint("check", "--no-cache", "--output-format", report, ".")


def change(file, text: str) -> None:
    file.write_text(text)
    os.utime(file, (time.time() - 300, time.time() - 300))


def same_as_without(smemlint, *paths: str) -> str:
    """The report of a cached run, twice, after making sure that it is that of an uncached one."""
    paths = paths or (".",)
    plain = smemlint("check", "--no-cache", *paths)
    for _ in range(3):
        assert smemlint("check", *paths) == plain
    return plain[1]


@pytest.mark.slow
def test_every_change_counts(smemlint, tree):
    first = same_as_without(smemlint)
    assert first.count("32-way bank conflict") == 5 and "16-way" in first
    change(tree / "k2.cu", (tree / "k2.cu").read_text().replace("[N]", "[33]"))
    assert same_as_without(smemlint).count("32-way bank conflict") == 4
    change(tree / "run.cpp", "void run(float *o) { k0<<<1, 32>>>(o); k1<<<1, 8>>>(o); }\n")
    assert "8-way" in same_as_without(smemlint)
    change(tree / "other.cpp", "void more(float *o) { k5<<<1, 4>>>(o); }\n")
    assert "4-way" in same_as_without(smemlint)
    (tree / "other.cpp").unlink()
    assert "4-way" not in same_as_without(smemlint)
    change(tree / "size.h", "#define N 33\n")
    assert same_as_without(smemlint) == ""
    (tree / "size.h").unlink()
    assert "SML101" not in same_as_without(smemlint)


@pytest.fixture
def run(monkeypatch):
    """Runs over the working directory: gives the number of findings, and what was evaluated."""
    from smemlint.config.settings import Configuration
    from smemlint.driver import tasks
    from smemlint.driver.run import check_run
    from smemlint.sources.discovery import find_sources

    evaluated = []
    original = tasks.UnitTask.__call__
    monkeypatch.setattr("smemlint.driver.schedule._FEW", 100)
    monkeypatch.setattr(
        tasks.UnitTask, "__call__", lambda s, r: evaluated.append(r) or original(s, r)
    )

    def run():
        evaluated.clear()
        configuration = Configuration()
        result = check_run(find_sources(["."]), configuration, configuration.for_file("x"))
        return len(result.findings), sorted(evaluated)

    return run


def test_only_what_a_change_bears_on_is_evaluated(run, tree, monkeypatch):
    monkeypatch.chdir(tree)
    everything = [f"k{i}.cu" for i in range(6)]
    assert run() == (6, everything)
    assert run() == (6, [])
    change(tree / "k2.cu", (tree / "k2.cu").read_text().replace("[N]", "[33]"))
    assert run() == (5, ["k2.cu"])
    change(tree / "k2.cu", (tree / "k2.cu").read_text())
    assert run() == (5, [])
    change(tree / "run.cpp", "void run(float *o) { k0<<<1, 32>>>(o); }\n")
    assert run() == (5, ["k0.cu", "k1.cu"])
    change(tree / "size.h", "#define N 33\n")
    assert run() == (0, everything)


def test_what_was_found_until_ctrl_c_is_kept(run, tree, monkeypatch):
    """Units without findings are done; those with findings still wait for their fixes."""
    from smemlint.driver import tasks

    monkeypatch.chdir(tree)
    for name in ("k0.cu", "k1.cu"):
        change(tree / name, (tree / name).read_text().replace("[N]", "[33]"))
    evaluate = tasks.UnitTask.__call__

    def interrupted_at_k3(self, path):
        if path == "k3.cu":
            raise KeyboardInterrupt
        return evaluate(self, path)

    with monkeypatch.context() as patched:
        patched.setattr(tasks.UnitTask, "__call__", interrupted_at_k3)
        assert run() == (1 + 3, ["k0.cu", "k1.cu", "k2.cu"])  # with three notes
    assert run() == (4, ["k2.cu", "k3.cu", "k4.cu", "k5.cu"])

    change(tree / "size.h", "#define N  32\n")
    fix = tasks.FixTask.__call__

    def interrupted_at_k4(self, indices):
        if self._merged.findings[indices[0]].span.path == "k4.cu":
            raise KeyboardInterrupt
        return fix(self, indices)

    with monkeypatch.context() as patched:
        patched.setattr(tasks.FixTask, "__call__", interrupted_at_k4)
        assert run()[0] == 4
    assert run() == (4, ["k4.cu", "k5.cu"])
    assert run() == (4, [])


def test_units_that_share_no_kernel_with_compiled_code_are_kept(run, tree, monkeypatch):
    """The PTX names one kernel: that unit is judged together with it, and both again each time."""
    monkeypatch.chdir(tree)
    ptx = (ROOT / "tests/analysis/compiled/ptx/transpose.ptx").read_text()
    (tree / "compiled.ptx").write_text(ptx.replace("transpose", "k3_of_ptx"))
    age(tree)
    count, everything = run()
    assert everything == ["compiled.ptx", *(f"k{i}.cu" for i in range(6))]
    assert run() == (count, [])
    change(tree / "k2.cu", (tree / "k2.cu").read_text().replace("[N]", "[33]"))
    assert run() == (count - 1, ["compiled.ptx", "k2.cu", "k3.cu"])
    change(tree / "compiled.json", '{"num_warps": 1}')
    assert run()[1] == ["compiled.ptx", "k3.cu"]  # Triton's launch, beside the PTX
    change(tree / "compiled.ptx", ptx.replace("transpose", "k4_of_ptx"))
    assert run()[1] == everything


def test_a_kernel_of_units_with_and_without_compiled_code_is_found_once(tmp_path, monkeypatch):
    """The PTX shares a kernel with `a.cu`, the header's kernel is in both units."""
    from smemlint.config.settings import Configuration, Settings
    from smemlint.driver.request import Request
    from smemlint.driver.run import evaluate
    from smemlint.driver.schedule import IN_PROCESS
    from smemlint.sources.discovery import find_sources

    body = "(float *o) {\n  __shared__ float s[32][32];\n  o[threadIdx.y] = s[threadIdx.x][0];\n}\n"
    launch = "void r(float *p) { qux<2><<<1, 32>>>(p); }\n"
    (tmp_path / "h.cuh").write_text("template <int N> __global__ void qux" + body)
    (tmp_path / "b.cu").write_text('#include "h.cuh"\n' + launch)
    own = "__global__ void transpose_naive" + body
    (tmp_path / "a.cu").write_text('#include "h.cuh"\n' + own + launch)
    ptx = (ROOT / "tests/analysis/compiled/ptx/transpose.ptx").read_text()
    (tmp_path / "compiled.ptx").write_text(ptx)
    monkeypatch.chdir(tmp_path)
    configuration = Configuration.uniform(Settings(block_dim=(32, 32, 1)))
    merged = evaluate(Request(find_sources(["."]), configuration, IN_PROCESS)).merged
    assert [f.span.line for f in merged.findings if f.span.path == "h.cuh"] == [3]


def test_a_module_that_gains_a_swizzle_is_looked_into_again(smemlint, tmp_path):
    helper, absent = tmp_path / "helper.py", tmp_path / "layouts.py"
    helper.write_text("import cutlass.cute as cute\n")
    for name in ("helper", "layouts"):
        (tmp_path / f"from_{name}.py").write_text(
            f"import cutlass.cute as cute\nfrom {name} import layout\n\n\n"
            "@cute.jit\ndef f():\n    return layout()\n"
        )
    age(tmp_path)
    users = ("from_helper.py", "from_layouts.py")
    assert "SML201" not in same_as_without(smemlint, *users)
    for file in (helper, absent):
        change(
            file,
            "import cutlass.cute as cute\n\n\ndef layout():\n"
            "    return cute.make_composed_layout(\n"
            "        cute.make_swizzle(3, 3, 2), 0, cute.make_layout((8, 64), stride=(64, 1)))\n",
        )
        assert f"{file.name}:6:" in same_as_without(smemlint, *users)
    change(helper, "import cutlass.cute as cute\n")
    absent.unlink()
    assert "SML201" not in same_as_without(smemlint, *users)


def test_a_new_call_of_a_kernel_in_another_module_counts(smemlint, tmp_path):
    """A column of rows that are 40 words apart is 8-way; without the call the pitch is unknown."""
    (tmp_path / "kernels.py").write_text(
        """
import cutlass
import cutlass.cute as cute

class Columns:
    def __init__(self, pitch):
        self.pitch = pitch

    @cute.jit
    def __call__(self, a: cute.Tensor):
        self.kernel(a).launch(grid=[1, 1, 1], block=[32, 1, 1])

    @cute.kernel
    def kernel(self, a: cute.Tensor):
        tx, _, _ = cute.arch.thread_idx()
        smem = cutlass.utils.SmemAllocator()
        layout = cute.make_layout((32, 32), stride=(self.pitch, 1))
        x = smem.allocate_tensor(cutlass.Float32, layout, 16)[tx, 0]
"""
    )
    age(tmp_path)
    assert "SML101" not in same_as_without(smemlint, ".")
    caller = tmp_path / "launch.py"
    caller.write_text("from kernels import Columns\n\ndef run(x):\n    Columns(40)(x)\n")
    age(tmp_path)
    assert "8-way" in same_as_without(smemlint, ".")
    change(caller, caller.read_text().replace("40", "33"))
    age(tmp_path)
    assert "SML101" not in same_as_without(smemlint, ".")


def test_of_python_files_only_the_changed_one_is_followed(run, tmp_path, monkeypatch):
    text = "import cutlass.cute as cute\n\n\n@cute.jit\ndef f():\n    return NEW\n"
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text(text.replace("NEW", "cute.make_swizzle(3, 3, 2)"))
    age(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert run() == (2, ["one.py", "two.py"])
    assert run() == (2, [])
    change(tmp_path / "two.py", text.replace("NEW", "cute.make_swizzle(3, 3, 3)"))
    assert run() == (1, ["two.py"])


@pytest.mark.slow
def test_damage_and_concurrent_runs_do_no_harm(smemlint, smemlint_process, tree):
    plain = same_as_without(smemlint)
    for damage in (b"", b"{}", b"\0" * 100, b"0" * 32 + b"\n[]"):
        for kept in (tree / ".smemlint_cache").glob("*.json"):
            kept.write_bytes(damage)
        assert smemlint("check", ".")[1] == plain
    for kept in (tree / ".smemlint_cache").glob("*.json"):
        data = bytearray(kept.read_bytes())
        data[len(data) // 2] ^= 1
        kept.write_bytes(data)
    assert smemlint("check", ".")[1] == plain
    for kept in (tree / ".smemlint_cache").glob("*.json"):
        kept.unlink()
    with ThreadPoolExecutor(4) as crew:
        runs = list(crew.map(lambda _: smemlint_process("check", ".")[1], range(4)))
    assert runs == [plain] * 4
    assert smemlint("check", ".")[1] == plain


def test_settings_have_their_own_results(smemlint, tree):
    smemlint("check", ".")
    assert "16-way" in smemlint("check", "--block-dim", "16", ".")[1]
    assert smemlint("check", "--max-ways", "32", ".")[1] == ""
    assert smemlint("check", "--ignore", "SML101", ".")[1] == ""
    assert smemlint("check", ".")[1].count("bank-conflict") == 6


def test_a_full_disk_leaves_no_pieces(smemlint, tree):
    """No file of this process gets longer than one kilobyte."""
    limited = ["bash", "-c", 'ulimit -f 1; exec "$@"', "bash", sys.executable, "-m", "smemlint"]
    done = subprocess.run(
        [*limited, "check", "--cache-dir", "full", "."],
        cwd=tree, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == smemlint("check", "--no-cache", ".")[:2]
    assert "error" not in done.stderr
    assert sorted(p.name for p in (tree / "full").iterdir()) == [".gitignore", "CACHEDIR.TAG"]


def test_a_folder_that_cannot_be_written_is_no_error(smemlint, tree):
    (tree / "file").write_text("")
    code, out, err = smemlint("check", "--cache-dir", "file/cache", ".")
    assert (code, "Traceback" in err) == (1, False)
    assert "32-way" in out


def test_only_plain_data_is_written_and_read():
    with pytest.raises(CodecError):
        encode(object())
    for data in ({"c": "Path", "v": ["x"]}, {"c": "Span", "v": [1]}, {"e": "Severity", "v": 9},
                 {"a": "|O", "s": [1], "v": ""}, {}):  # fmt: skip
        with pytest.raises(CodecError):
            decode(data)


def test_a_launch_that_another_module_gains_counts(smemlint, tmp_path):
    """Of 16 x 16 threads a warp meets in two banks of 32 words' rows, of 8 x 32 in four."""
    (tmp_path / "kernels.py").write_text(
        "from numba import cuda, float32\n\n\n@cuda.jit\ndef kernel(a):\n"
        "    s = cuda.shared.array((32, 32), float32)\n"
        "    s[cuda.threadIdx.x, cuda.threadIdx.y] = a[0]\n"
    )
    run = tmp_path / "run.py"
    run.write_text("import numpy\n")
    age(tmp_path)
    assert "-way" not in same_as_without(smemlint)
    for block, ways in (("16, 16", 16), ("8, 32", 8)):
        change(run, f"from kernels import kernel\nkernel[1, ({block})](1)\n")
        assert f"{ways}-way" in same_as_without(smemlint)
    run.unlink()
    assert "-way" not in same_as_without(smemlint)
