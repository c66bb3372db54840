"""The command line: exit codes, formats, suppression, configuration."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from smemlint.cli.main import main

ROOT = Path(__file__).resolve().parents[2]

BAD = """\
__global__ void k(float *out) {
  __shared__ float s[32][32];
  s[threadIdx.x][0] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[0][threadIdx.x];
}
void run(float *out) { k<<<1, 32>>>(out); }
"""
GOOD = BAD.replace("[threadIdx.x][0]", "[0][threadIdx.x]")


def test_exit_codes_follow_findings(smemlint, tmp_path):
    (tmp_path / "bad.cu").write_text(BAD)
    (tmp_path / "good.cu").write_text(GOOD)
    assert smemlint("check", "bad.cu")[0] == 1
    assert smemlint("check", "good.cu")[0] == 0
    assert smemlint("check", "bad.cu", "--exit-zero")[0] == 0
    assert smemlint("check", "bad.cu", "--fail-on", "error")[0] == 0
    assert smemlint("check", "bad.cu", "--ignore", "SML101")[0] == 0
    assert smemlint("check", "bad.cu", "--max-ways", "32")[0] == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "missing.cu"),
        ("check", "--arch", "sm_12", "good.cu"),
        ("check", "--block-dim", "0", "good.cu"),
        ("check", "--select", "SML777", "good.cu"),
        ("check", "--nonsense", "good.cu"),
        ("rule", "SML777"),
    ],
)
def test_what_cannot_be_done_exits_2_and_says_why(smemlint, tmp_path, arguments):
    (tmp_path / "good.cu").write_text(GOOD)
    code, out, err = smemlint(*arguments)
    assert (code, out) == (2, "")
    assert "error" in err and "Traceback" not in err


def test_concise_output_is_one_line_a_finding(smemlint, tmp_path):
    (tmp_path / "bad.cu").write_text(BAD)
    _, out, err = smemlint("check", "bad.cu", "--output-format", "concise")
    assert out == (
        "bad.cu:3:3: SML101 warning: 32-way bank conflict writing `s` in `k` [assumed]\n"
    )
    assert err == (
        "checked 1 file: 2 shared accesses decided, 0 not; 1 warning (0 suppressed); "
        "1 fixable with --fix --unsafe-fixes\n"
    )


def test_analyze_json_is_the_contract(smemlint, tmp_path):
    (tmp_path / "bad.cu").write_text(BAD)
    code, out, _ = smemlint("analyze", "bad.cu", "--output-format", "json")
    document = json.loads(out)
    assert (code, document["version"], document["arch"]) == (0, 4, "sm_90")
    store, load = document["accesses"]
    assert store == {
        "file": "bad.cu", "line": 3, "column": 3, "end_line": 3, "end_column": 20,
        "kernel": "k", "template": {}, "block": [32, 1, 1], "array": "s", "kind": "store",
        "width_bytes": 4, "instructions": 1,
        "wavefronts": {"min": 32, "max": 32, "mean": 32.0},
        "ideal": {"min": 1, "max": 1, "mean": 1.0},
        "certainty": "assumed", "assumptions": ["block (32, 1, 1) (launch at bad.cu:7)"],
        "reason": None,
        "reason_code": None, "from": None, "confirmed": None, "operation": None,
        "bounds": None,
    }  # fmt: skip
    assert (load["line"], load["kind"], load["wavefronts"]["mean"]) == (5, "load", 1.0)
    assert document["not_analysed"] == []
    assert document["other_launches"] == []


def test_json_tells_launches_of_one_block_apart(smemlint, tmp_path):
    """`s[threadIdx.x * n]` of 32 lanes has n words in a bank, for n = 1, 4, 8."""
    text = """\
__global__ void k(float *out, int n) {
  __shared__ float s[256];
  s[threadIdx.x * n] = *out;
}
void run(float *out) { k<<<1, 32>>>(out, 1); k<<<1, 32>>>(out, 4); k<<<1, 32>>>(out, 8); }
"""
    (tmp_path / "k.cu").write_text(text)
    document = json.loads(smemlint("analyze", "k.cu", "--output-format", "json")[1])
    figures = [
        [(a.get("arguments"), a["wavefronts"]["mean"]) for a in document[key]]
        for key in ("accesses", "other_launches")
    ]
    assert figures == [[(None, 1)], [({"n": 4}, 4), ({"n": 8}, 8)]]
    (finding,) = json.loads(smemlint("check", "k.cu", "--output-format", "json")[1])["findings"]
    assert [kernel["arguments"] for kernel in finding["kernels"]] == [{"n": 8}, {"n": 4}]


def test_standard_input(smemlint):
    code, out, _ = smemlint(
        "check", "-", "--stdin-filename", "x/k.cu", "--output-format", "concise", stdin=BAD.encode()
    )
    assert code == 1
    assert out.startswith("x/k.cu:3:3: SML101")


def test_a_name_for_standard_input_asks_for_it(smemlint, tmp_path):
    (tmp_path / "other.cu").write_text(BAD)
    code, out, _ = smemlint(
        "check", "--output-format", "concise", "--stdin-filename", "x/k.cu", stdin=BAD.encode()
    )
    assert (code, [line.partition(":")[0] for line in out.splitlines()]) == (1, ["x/k.cu"])
    for arguments in (("-", "other.cu"), ("--stdin-filename", "k.cu", "other.cu")):
        code, out, err = smemlint("check", *arguments, stdin=BAD.encode())
        assert (code, out, err) == (
            2,
            "",
            "smemlint: error: other.cu: given together with standard input\n"
            "  hint: leave one of them out: standard input is checked alone\n",
        )


def test_standard_input_that_is_excluded_is_passed_through(smemlint):
    arguments = ("--force-exclude", "--exclude", "gen", "--stdin-filename", "gen/k.cu")
    code, out, err = smemlint("check", *arguments, stdin=BAD.encode())
    assert (code, out) == (0, "")
    assert err.startswith("smemlint: warning: no files to check\n")
    assert smemlint("check", "--fix", *arguments, stdin=BAD.encode()) == (0, BAD, "")
    assert smemlint("check", *arguments[1:], stdin=BAD.encode())[0] == 1


def test_standard_input_without_an_end_is_not_read_to_it(smemlint, monkeypatch):
    monkeypatch.setattr("smemlint.cli.inputs.MAX_COMPILED_BYTES", len(BAD))
    assert smemlint("check", "-", stdin=BAD.encode())[0] == 1
    code, out, _ = smemlint("check", "--fix", "-", stdin=BAD.encode() + b"\n")
    assert (code, out) == (2, "")


def test_files_of_settings_that_are_not_utf_8_are_errors(smemlint, tmp_path):
    (tmp_path / "k.cu").write_text(BAD)
    (tmp_path / "other").write_bytes(b"\xff\xfe")
    for option in ("--baseline", "--config"):
        code, out, err = smemlint("check", "k.cu", option, "other")
        assert (code, out) == (2, "")
        assert "codec" not in err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [("check",), ("check", "--output-format", "json")])
def test_a_disk_that_is_full_is_no_internal_error(tmp_path, arguments):
    (tmp_path / "k.cu").write_text(BAD)
    command = [sys.executable, "-m", "smemlint", *arguments, "--no-cache", "k.cu"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command,
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=env,
        )
    message = "smemlint: error: standard output: cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, message)
    for other in (
        "check --show-files k.cu",
        "rule SML101",
        "swizzle check 3 3 3",
        "config --schema",
    ):
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [sys.executable, "-m", "smemlint", *other.split()],
                cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=env,
            )  # fmt: skip
        assert (done.returncode, done.stderr) == (2, message)
    closed = ["bash", "-c", '"$@" >&-', "bash", *command]
    done = subprocess.run(
        closed, cwd=tmp_path, stderr=subprocess.PIPE, text=True, check=False, env=env
    )
    assert (done.returncode, done.stderr[:15]) == (1, "checked 1 file:")


def test_suppression_on_the_line_and_before_it(smemlint, tmp_path):
    same = BAD.replace("= out[threadIdx.x];", "= out[threadIdx.x];  // smemlint: ignore[SML101] ok")
    before = BAD.replace("  s[thr", "  // smemlint: ignore[bank-conflict] known\n  s[thr")
    for text in (same, before):
        (tmp_path / "k.cu").write_text(text)
        code, out, err = smemlint("check", "k.cu")
        assert (code, out) == (0, "")
        assert err.endswith("no findings (1 suppressed)\n")


def test_unused_and_malformed_pragmas_are_said(smemlint, tmp_path):
    (tmp_path / "k.cu").write_text(
        "// smemlint: ignore[SML101]\n// smemlint: nonsense\n"
        + GOOD
        + 'const char *s = "// smemlint: ignore[SML101]";\n'
    )
    _, out, _ = smemlint("check", "k.cu", "--output-format", "concise")
    assert out.splitlines() == [
        "k.cu:1:1: SML902 note: `ignore[SML101]` suppresses nothing",
        "k.cu:2:1: SML903 note: unknown pragma `nonsense`: one of ignore, ignore-begin, ignore-end, "
        "ignore-file, launch, swizzle, shared, assume",
    ]


def test_the_nearest_configuration_counts_and_unknown_keys_are_errors(smemlint, tmp_path):
    (tmp_path / "k.cu").write_text(BAD)
    (tmp_path / "pyproject.toml").write_text('[tool.smemlint]\nignore = ["SML101"]\n')
    assert smemlint("check", "k.cu")[0] == 0
    assert smemlint("check", "k.cu", "--isolated")[0] == 1
    (tmp_path / "smemlint.toml").write_text("max-wais = 3\n")
    code, _, err = smemlint("check", "k.cu")
    assert code == 2
    assert "smemlint.toml:1: unknown key `max-wais`" in err and "did you mean `max-ways`?" in err


def test_a_launch_pragma_and_the_configuration_give_block_and_template(smemlint, tmp_path):
    kernel = (
        "template <typename T, int N> __global__ void k(T *out) {\n"
        "  __shared__ T s[N][N];\n"
        "  out[threadIdx.x] = s[threadIdx.x][threadIdx.y];\n}\n"
    )
    pragma = "// smemlint: launch(block=(32, 2), T=double, N=32)\n"
    (tmp_path / "k.cu").write_text(pragma + kernel)
    _, out, _ = smemlint("analyze", "k.cu", "--output-format", "json")
    access = json.loads(out)["accesses"][0]
    assert (access["block"], access["template"]) == ([32, 2, 1], {"T": "double", "N": "32"})
    assert (access["width_bytes"], access["wavefronts"]["mean"], access["ideal"]["mean"]) == (
        8,
        32,
        2,
    )
    (tmp_path / "k.cu").write_text(kernel)
    (tmp_path / "smemlint.toml").write_text(
        '[kernels.k]\nblock = [32, 1]\ntemplate = { T = "float", N = 33 }\n'
    )
    _, out, _ = smemlint("analyze", "k.cu", "--output-format", "json")
    access = json.loads(out)["accesses"][0]
    assert (access["block"], access["wavefronts"]["mean"]) == ([32, 1, 1], 1)


BLOCKS = """\
{}__global__ void k(float *out, int n) {{
  __shared__ float s[2048];
  s[threadIdx.x * n] = 1;
}}
void run(float *o) {{ k<<<1, 64>>>(o, 32); }}
"""


@pytest.mark.parametrize(
    ("before", "arguments", "assumption"),
    [
        ("", [], "block (64, 1, 1) (launch at k.cu:5)"),
        ("", ["--block-dim", "32"], "block (32, 1, 1) (given by `block-dim`)"),
        ("", ["--config", "kernels.k.block=[16]"], "block (16, 1, 1) (given by `kernels.k.block`)"),
        ("// smemlint: launch(block=(8))\n", ["--block-dim", "32"], "block (8, 1, 1) (given by its `launch` pragma)"),
    ],
)  # fmt: skip
def test_a_finding_says_who_gave_the_block(smemlint, tmp_path, before, arguments, assumption):
    (tmp_path / "k.cu").write_text(BLOCKS.format(before))
    _, out, _ = smemlint("check", "k.cu", "--output-format", "json", *arguments)
    finding = next(f for f in json.loads(out)["findings"] if f["code"] == "SML101")
    line = 6 if before else 5
    passed = f"`n` = 32 as passed at the launch at k.cu:{line}"
    assert finding["access"]["assumptions"] == [assumption, passed]


def test_directories_are_walked_without_links(smemlint, tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "k.cu").write_text(BAD)
    (tmp_path / "a" / "readme.md").write_text("text")
    (tmp_path / "a" / "b" / "loop").symlink_to(tmp_path / "a")
    (tmp_path / "a" / "again.cu").symlink_to(tmp_path / "a" / "b" / "k.cu")
    code, out, _ = smemlint("check", "a", "--output-format", "concise")
    assert code == 1
    assert [line.split(":")[0] for line in out.splitlines()] == ["a/b/k.cu"]
    assert smemlint("check", "a", "--exclude", "b")[0] == 0
    _, out, _ = smemlint("check", "a/again.cu", "--output-format", "concise")
    assert out.startswith("a/again.cu:")


def test_a_finding_in_several_instances_is_one(smemlint, tmp_path):
    (tmp_path / "k.cu").write_text(
        BAD.replace("k<<<1, 32>>>(out);", "k<<<1, 32>>>(out); k<<<1, 16>>>(out);")
    )
    _, out, _ = smemlint("check", "k.cu")
    assert out.count("SML101 bank-conflict") == 1
    assert "32-way" in out and "16-way bank conflict writing `s` in a block of (16, 1, 1)" in out


def test_a_flag_that_may_be_bare_takes_no_path_for_its_value(smemlint, tmp_path):
    (tmp_path / "k.cu").write_text("int main() {}\n")
    code, _, err = smemlint("check", "--add-ignore", "k.cu")
    assert (code, err) == (0, "added 0 ignore pragmas\n")
    assert smemlint("check", "--add-ignore", "none.cu")[0] == 2
    errors = smemlint("check", "--verify-gpu=kernels", "k.cu")[2]
    assert errors.splitlines()[1] == "  hint: did you mean `kernel`?"
    code, _, err = smemlint("check", "--verify-gpu", "none.cu")
    assert code == 2 and "none.cu: no such file or directory" in err


def test_an_unknown_option_is_told_the_nearest(smemlint):
    message = (
        "smemlint check: error: unknown argument `--selct`\n  hint: did you mean `--select`?\n"
    )
    assert smemlint("check", "--selct", "SML1") == (2, "", message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("chekc",),
            "smemlint: error: COMMAND: there is no `chekc`\n  hint: did you mean `check`?",
        ),
        (
            ("check", "--output-format", "sarfi"),
            "smemlint check: error: --output-format: there is no `sarfi`\n"
            "  hint: did you mean `sarif`?",
        ),
        (
            ("check", "--exit-z"),
            "smemlint check: error: unknown argument `--exit-z`\n"
            "  hint: did you mean `--exit-zero`?",
        ),
        (
            ("check", "--select", "BANK", "."),
            "smemlint: error: --select: unknown rule `BANK`\n  hint: did you mean `bank-conflict`?",
        ),
        (
            ("swizzle", "solve", "--dtype"),
            "smemlint swizzle solve: error: argument --dtype: expected one argument\n"
            "  hint: smemlint swizzle solve --help",
        ),
    ],
)
def test_errors_on_the_command_line_say_what_to_do(smemlint, arguments, message):
    assert smemlint(*arguments) == (2, "", f"{message}\n")


def test_an_error_of_the_system_is_not_blamed_on_standard_output(monkeypatch, capsys):
    def find_sources(*_):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr("smemlint.sources.discovery.find_sources", find_sources)
    assert main(["check", "--isolated", "."]) == 2
    message = "smemlint: internal error: OSError: [Errno 12] Cannot allocate memory\n"
    assert capsys.readouterr().err.startswith(message)


def test_debug_shows_the_traceback_of_a_defect_that_costs_one_file(monkeypatch, capsys, tmp_path):
    def analyze(*_):
        raise OverflowError("a defect")

    (tmp_path / "kernel.py").write_text(
        "import cutlass.cute as cute\n@cute.kernel\ndef k(): pass\n"
    )
    monkeypatch.setattr("smemlint.analysis.python.cute_dsl.analysis.analyze", analyze)
    arguments = ["check", "--isolated", "--jobs", "1", str(tmp_path / "kernel.py")]
    main(arguments)
    assert "Traceback" not in capsys.readouterr().err
    main([*arguments, "--debug"])
    assert capsys.readouterr().err.count("OverflowError: a defect") == 1
    logging.getLogger("smemlint").handlers.clear()
    logging.getLogger("smemlint").setLevel(logging.NOTSET)
