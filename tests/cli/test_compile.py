"""`--compile`, with a script in the place of nvcc that gives the recorded PTX."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PTX = ROOT / "tests" / "analysis" / "compiled" / "ptx" / "transpose.ptx"
SOURCE = ROOT / "fixtures" / "kernels" / "transpose.cu"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="starts a shell script")


@pytest.fixture
def nvcc(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch):
    """Puts a program called nvcc on the PATH, by the body of a shell script; gives its folder."""
    folder = tmp_path_factory.mktemp("bin")

    def install(body: str) -> Path:
        program = folder / "nvcc"
        program.write_text(f'#!/bin/sh\necho "$@" > {folder}/told\n{body}\n')
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
        return folder

    return install


GIVES_PTX = f'while [ "$1" != -o ]; do shift; done; cp {shlex.quote(str(PTX))} "$2"'


def test_launches_come_from_the_source_and_all_lines_are_confirmed(smemlint, tmp_path, nvcc):
    folder = nvcc(GIVES_PTX)
    (tmp_path / "transpose.cu").write_text(SOURCE.read_text())
    code, out, _ = smemlint(
        "analyze", "transpose.cu", "--compile", "--output-format", "json", "-D", "N=3", "-I", "inc"
    )
    rows = json.loads(out)["accesses"]
    assert (code, len(rows), {(a["confirmed"], a["from"]) for a in rows}) == (0, 10, {(True, None)})
    arguments = (folder / "told").read_text().split()
    assert arguments[:5] == ["-ptx", "-arch=sm_90", "-O3", "-lineinfo", "-w"]
    assert {"-DN=3", f"-I{tmp_path}/inc", f"{tmp_path}/transpose.cu"} <= set(arguments)
    assert list(tmp_path.iterdir()) == [tmp_path / "transpose.cu"]  # nothing is left beside it


def test_what_does_not_compile_is_said_and_the_source_analysed(smemlint, tmp_path, nvcc):
    nvcc("echo 'k.cu(3): error: expected a \";\"' >&2; exit 2")
    (tmp_path / "transpose.cu").write_text(SOURCE.read_text())
    arguments = ("check", "transpose.cu", "--compile", "--output-format", "concise")
    code, out, _ = smemlint(*arguments)
    assert (code, out.count("SML901"), "k.cu(3): error" in out) == (1, 1, True)
    assert "SML101" in out


def test_without_nvcc_the_run_fails(smemlint, tmp_path, monkeypatch):
    own = tmp_path / "nvcc"
    own.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    own.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/nowhere")
    (tmp_path / "transpose.cu").write_text(SOURCE.read_text())
    code, _, err = smemlint("check", "transpose.cu", "--compile")
    assert (code, "nvcc" in err, (tmp_path / "started").exists()) == (2, True, False)


def test_no_configuration_file_turns_it_on(smemlint, tmp_path, nvcc):
    folder = nvcc(GIVES_PTX)
    (tmp_path / "transpose.cu").write_text(SOURCE.read_text())
    (tmp_path / "smemlint.toml").write_text("compile = true\n")
    code, _, err = smemlint("check", "transpose.cu")
    assert (code, "command line" in err, (folder / "told").exists()) == (2, True, False)
