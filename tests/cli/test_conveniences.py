"""Small things of the command line: prefixes, quiet runs, Ctrl-C, kernels that do not exist."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys

import pytest

from smemlint.cli import main
from smemlint.driver.progress import Progress
from smemlint.report.sarif import _plain

BAD = """\
__global__ void k(float *o) {
  __shared__ float s[1024];
  s[threadIdx.x * 32] = 1;%s
}
void run(float *o) { k<<<1, 32>>>(o); }
"""


def test_a_prefix_lists_its_rules_and_hides_their_findings(smemlint, tmp_path):
    _, out, _ = smemlint("rule", "SML10")
    assert [line.split()[0] for line in out.splitlines()] == ["SML101", "SML102", "SML103"]
    assert smemlint("rule", "SML999")[0] == 2
    (tmp_path / "k.cu").write_text(BAD % "  // smemlint: ignore[SML1]")
    code, out, closing = smemlint("check", "k.cu")
    assert (code, out) == (0, "") and "(1 suppressed)" in closing
    (tmp_path / "k.cu").write_text(BAD.replace("* 32", "") % "  // smemlint: ignore[SML1]")
    assert "SML902" in smemlint("check", "k.cu")[1]  # a prefix that hides nothing is unused
    (tmp_path / "k.cu").write_text(BAD % "  // smemlint: ignore[SML7]")
    assert "SML903" in smemlint("check", "k.cu")[1]


def test_quiet_runs_print_findings_only(smemlint, tmp_path):
    (tmp_path / "k.cu").write_text(BAD % "")
    for flag in ("-q", "--quiet"):
        code, out, err = smemlint("check", "k.cu", flag)
        assert (code, err) == (1, "") and "SML101" in out
    assert smemlint("analyze", "k.cu", "-q")[2] == ""


def test_options_may_stand_before_the_command(smemlint, tmp_path):
    (tmp_path / "k.cu").write_text(BAD % "")
    expected = smemlint("check", "k.cu", "-q", "--output-format", "concise")
    assert smemlint("-q", "--output-format", "concise", "check", "k.cu") == expected
    assert expected[0] == 1 and expected[2] == ""
    assert smemlint("chek", "check")[0] == 2


def test_an_unknown_option_does_not_list_all_options(smemlint):
    code, _, err = smemlint("check", "--zzzz")
    assert code == 2 and len(err) < 200 and "smemlint check --help" in err
    assert "`--statistics`" in smemlint("check", "--statistic")[2]


def test_ctrl_c_ends_as_shells_expect(monkeypatch, smemlint):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("smemlint.cli.inputs.prepare", interrupted)
    assert main.main(["check", "."]) == 130


_TERMINATED = """
import os, signal, sys
from smemlint.cli import inputs, main

def terminated(arguments):
    for _ in range(2):  # as `timeout` does
        os.kill(os.getpid(), signal.SIGTERM)

signal.signal(signal.SIGTERM, signal.SIG_DFL)
inputs.prepare = terminated
sys.exit(main.main([sys.argv[1], "."]))
"""


@pytest.mark.parametrize("command", ["check", "analyze"])
def test_a_termination_ends_as_ctrl_c_does(command):
    run = [sys.executable, "-c", _TERMINATED, command]
    assert subprocess.run(run, check=False, capture_output=True).returncode == 143


@pytest.fixture
def interrupted_run(monkeypatch, smemlint, tmp_path):
    """Runs a command over five files and sends SIGTERM when two are done."""
    for index in range(5):
        text = BAD.replace("k(", f"k{index}(").replace("k<", f"k{index}<")
        (tmp_path / f"{index}.cu").write_text(text % "")
    step = Progress.step

    def interrupted(self, name):
        step(self, name)
        if self._done == 2:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(Progress, "step", interrupted)
    monkeypatch.setattr("smemlint.driver.run.find_fixes", None)  # none are looked for
    before = signal.getsignal(signal.SIGTERM)

    def run(*arguments):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        return smemlint(*arguments, ".")

    yield run
    signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupted_run_reports_what_it_found(interrupted_run, jobs):
    """The file that was done last is not taken any more: the signal comes before its answer."""
    code, out, _ = interrupted_run("check", "--no-cache", "-j", jobs, "--output-format", "json")
    report = json.loads(out)
    assert code == report["summary"]["exit_code"] == 143
    found = [finding["code"] for finding in report["findings"]]
    assert (found.count("SML101"), found.count("SML901")) == (1, 4)
    code, out, _ = interrupted_run("check", "--no-cache", "-j", jobs, "--output-format", "sarif")
    (run,) = json.loads(out)["runs"]
    assert run["invocations"] == [{"executionSuccessful": False, "exitCode": 143}]
    assert len(run["results"]) == 5
    code, out, _ = interrupted_run("analyze", "-j", jobs, "--output-format", "json")
    assert code == 143 and len(json.loads(out)["accesses"]) == 1


def test_an_interrupted_run_writes_no_baseline(interrupted_run, tmp_path):
    assert interrupted_run("check", "--write-baseline")[0] == 143
    assert not list(tmp_path.glob("*.json"))


def test_a_table_for_a_kernel_that_does_not_exist_is_said(smemlint, tmp_path):
    (tmp_path / "k.cu").write_text(BAD.replace("k(", "transpose(").replace("k<", "transpose<") % "")
    (tmp_path / "smemlint.toml").write_text("[kernels.transpos]\nblock = 32\n")
    _, _, err = smemlint("check", ".", "--no-cache")
    assert re.search(r"kernels\.transpos`.*`transpose`", err)
    assert "transpos`" not in smemlint("check", "k.cu")[2]  # a part of the project
    (tmp_path / "smemlint.toml").write_text("[kernels.transpose]\nblock = 32\n")
    assert "warning" not in smemlint("check", ".", "--no-cache")[2].replace("1 warning", "")


def test_sarif_keeps_code_and_names_pages_and_safety(smemlint, tmp_path):
    assert _plain("the *index* `s[y * 32 + x]`, ``a * `b` ``") == "the index s[y * 32 + x], a * `b`"
    text = BAD.replace("s[1024]", "s[32][32]").replace("s[threadIdx.x * 32]", "s[threadIdx.x][0]")
    (tmp_path / "k.cu").write_text(text % "")
    log = json.loads(smemlint("check", "k.cu", "--output-format", "sarif")[1])["runs"][0]
    rules = log["tool"]["driver"]["rules"]
    assert all(rule["helpUri"].endswith(f"/rules/{rule['id']}/") for rule in rules)
    (fix,) = log["results"][0]["fixes"]
    assert fix["properties"] == {"safe": False} and "unsafe" in fix["description"]["text"]


class Tty:
    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        pass

    def fileno(self) -> int:
        raise OSError


@pytest.mark.parametrize("what", ["", "fixes of"])
def test_the_progress_bar_names_what_runs_and_what_is_done(monkeypatch, what):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("smemlint.driver.progress._SILENT_SECONDS", 0.0)
    screen = Tty()
    bar = Progress(2, screen, what)  # type: ignore[arg-type]
    bar.begin("a.cu")
    assert screen.text.endswith(f" 0/2 {what} a.cu".replace("  ", " "))
    bar.step("a.cu")
    assert screen.text.endswith(f" 1/2 {what} a.cu".replace("  ", " "))
    bar.close()
    bar.wait()
    assert screen.text.endswith("\r\x1b[K")


def test_a_run_that_only_saw_triton_does_not_read_as_clean(smemlint, tmp_path):
    kernel = "import triton\n\n\n@triton.jit\ndef k(a):\n    pass\n"
    (tmp_path / "k.py").write_text(kernel)
    code, out, closing = smemlint("check", "k.py")
    assert (code, out, "Triton" in closing) == (0, "", True)
    assert "Triton" not in smemlint("check", "-q", "k.py")[2]
    (tmp_path / "k.cu").write_text(BAD.replace("* 32", "") % "")
    assert "Triton" not in smemlint("check", ".")[2]


def test_brackets_that_are_left_open_together_are_one_note(smemlint, tmp_path):
    text = "__global__ void k(float *o) { __shared__ float s[32]; s[threadIdx.x] = (((; }\n"
    (tmp_path / "k.cu").write_text(text)
    out = smemlint("check", "k.cu", "--output-format", "concise", "--show-notes")[1]
    columns = [int(line.split(":")[2]) for line in out.splitlines()]
    assert columns == [17, text.index("(((") + 1]  # the kernel, and the first bracket
