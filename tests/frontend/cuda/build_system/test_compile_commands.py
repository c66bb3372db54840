"""`compile_commands.json`: read like clangd reads it, and used for the figures."""

from __future__ import annotations

import json
import os

import pytest

from smemlint.analysis.analyze import analyze
from smemlint.config.build_database import database_above
from smemlint.config.settings import Configuration, Settings
from smemlint.driver import targets
from smemlint.driver.targets import check_targets
from smemlint.files.sandbox import Sandbox
from smemlint.frontend.cuda.build_system.compile_commands import Command, commands_of
from smemlint.frontend.cuda.build_system.lookup import build_of, number_of_builds
from smemlint.limits.budgets import MAX_BUILDS
from smemlint.sources.discovery import find_sources

KERNEL = """\
#include "k.h"
#include <wide.h>
__global__ void k(float *g) {
  __shared__ float s[1024];
#ifdef WIDE
  s[threadIdx.x * STRIDE] = g[0];
#else
  s[threadIdx.x] = g[0];
#endif
}
void f(float *g) { k<<<1, 32>>>(g); }
"""


@pytest.mark.parametrize(
    "entry",
    [
        {"directory": "/b", "file": "../src/k.cu", "arguments": ["nvcc", "-DA"]},
        {"directory": "/src", "file": "k.cu", "command": "nvcc -DA"},
        {"directory": "../src", "file": "/src/k.cu", "command": "nvcc -DA", "output": "k.o"},
    ],
)
def test_entries_of_either_form(entry):
    found = commands_of(json.dumps([entry]), "/b")
    assert list(found["/src/k.cu"][0].arguments) == ["nvcc", "-DA"]


def test_what_is_no_entry_is_passed_over():
    entries = [1, None, {}, {"file": 3, "command": "x"}, {"file": "a.cu"}]
    last = {"file": "b.cu", "command": "c"}
    assert commands_of(json.dumps([*entries, last]), "/b") == {"/b/b.cu": (Command("/b", "c"),)}


@pytest.mark.parametrize("text", ["", "{", "{}", "[" * 100_000, "1e999999", '"x"'])
def test_what_is_no_database_is_refused_with_a_reason(text):
    with pytest.raises(ValueError, match=r"."):
        commands_of(text, "/")


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A repository with a source, its include folder and a function that writes its database."""
    monkeypatch.chdir(tmp_path)
    for name in (".git", "src", "inc", "wide", "build-release"):
        (tmp_path / name).mkdir()
    (tmp_path / "src/k.cu").write_text(KERNEL)
    (tmp_path / "inc/k.h").write_text("#define STRIDE 32\n")
    (tmp_path / "wide/wide.h").write_text("#define WIDE\n")
    (tmp_path / "src/k.h").write_text("#define STRIDE 2\n")

    def write(*commands: str) -> None:
        entries = [
            {"directory": str(tmp_path / "build-release"), "file": "../src/k.cu", "command": c}
            for c in commands
        ]
        (tmp_path / "build-release/compile_commands.json").write_text(json.dumps(entries))

    return write


def ways(**overrides):
    configuration = Configuration(overrides)
    sources = find_sources(["src"], configuration)
    facts, _ = analyze(sources, configuration.for_file("src/k.cu"))
    (kernel,) = facts.kernels
    notes = [n.reason for n in facts.not_analysed]
    return kernel.accesses[0].wavefronts.mean, notes


def test_the_database_decides(project):
    assert ways() == (1, [])
    project("nvcc -I../wide -c ../src/k.cu")  # `<wide.h>` is found through it
    assert ways() == (2, [])
    project("nvcc -DWIDE -c ../src/k.cu")
    assert ways() == (2, [])
    project("nvcc -DWIDE -DSTRIDE=8 -include ../inc/k.h -c ../src/k.cu")
    assert ways()[0] == 2  # the quoted include beside the source defines it last
    assert ways(**{"build-path": "none"}) == (1, [])


def test_the_command_line_comes_first(project):
    project("nvcc -DWIDE -c ../src/k.cu")
    assert ways(undefine="WIDE") == (1, [])


def test_a_second_build_of_a_file_is_noted(project):
    project("nvcc -DWIDE -c ../src/k.cu", "nvcc -c ../src/k.cu", "nvcc -DWIDE  -c -O3 ../src/k.cu")
    figure, notes = ways()
    assert (figure, len(notes)) == (2, 1)


def test_a_damaged_database_is_noted(project, tmp_path):
    (tmp_path / "build-release/compile_commands.json").write_text("[")
    figure, notes = ways()
    assert (figure, len(notes)) == (1, 1)


def test_folders_outside_of_the_repository_are_not_read(project, tmp_path):
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (outside / "wide.h").write_text("#define WIDE\n")
    project(f"nvcc -I{outside} -c ../src/k.cu")
    assert ways() == (1, [])
    assert ways(**{"include-dir": [str(outside)]}) == (2, [])


def test_the_search_ends_at_the_repository(tmp_path):
    (tmp_path / "compile_commands.json").write_text("[]")
    (tmp_path / "repository/.git").mkdir(parents=True)
    (tmp_path / "repository/a").mkdir()
    assert database_above(tmp_path / "repository/a", {}) == ""
    (tmp_path / "repository/build").mkdir()
    (tmp_path / "repository/build/compile_commands.json").write_text("[]")
    expected = os.path.join("repository", "build", "compile_commands.json")  # noqa: PTH118
    assert database_above(tmp_path / "repository/a", {}).endswith(expected)


def test_settings_are_shared_by_folders_without_a_database(tmp_path):
    configuration = Configuration(isolated=True)
    one, two = (configuration.for_folder(tmp_path / name) for name in ("a", "b"))
    assert one is two and one.build_path == Settings().build_path


def checked():
    configuration = Configuration()
    sources = find_sources(["src"], configuration)
    return check_targets(sources, configuration, configuration.for_file(""), "src")


def test_every_build_of_a_file_is_checked_and_findings_say_which(project, tmp_path):
    (tmp_path / "src/k.h").write_text("")
    project("nvcc -DWIDE -DSTRIDE=4 -c ../src/k.cu", "nvcc -DWIDE -DSTRIDE=8 -c ../src/k.cu",
            "nvcc -DWIDE -DSTRIDE=4  -c -O3 ../src/k.cu")  # fmt: skip
    found = checked().findings
    assert [f.access.ways for f in found if f.code == "SML101"] == [4, 8]
    assert [sum("build 1" in n and "build 2" in n for n in f.notes) for f in found] == [1, 1]


def test_what_all_builds_share_is_said_once_and_their_number_has_an_end(project, tmp_path):
    (tmp_path / "src/k.h").write_text("")
    project(*(f"nvcc -DWIDE -DSTRIDE=4 -DOTHER={k} -c ../src/k.cu" for k in range(MAX_BUILDS + 2)))
    found = checked().findings
    (conflict,) = [f for f in found if f.code == "SML101"]
    assert conflict.access.ways == 4 and not any("build 1" in n for n in conflict.notes)
    assert [str(MAX_BUILDS) in f.message for f in found if f.code == "SML901"] == [True]


def test_builds_are_counted_with_the_database_alone(project, tmp_path):
    project("nvcc -DA -c ../src/k.cu", "nvcc -DA  -O3 -c ../src/k.cu", "nvcc -DB -c ../src/k.cu")
    database = "build-release/compile_commands.json"
    read = {database: (tmp_path / database).read_text()}.get
    paths = ("src/k.cu", "src/none.cu")
    assert [number_of_builds(path, database, read) for path in paths] == [2, 1]
    assert number_of_builds("src/k.cu", "none.json", read) == 1
    assert build_of("src/k.cu", database, read).others == 1


def test_counting_builds_reads_the_database_once_however_many_files_there_are(
    project, tmp_path, monkeypatch
):
    project("nvcc -c ../src/k.cu")
    for k in range(9):
        (tmp_path / f"src/k{k}.cu").write_text("")
    databases, text = [], Sandbox.text
    monkeypatch.setattr(
        Sandbox, "text", lambda self, path: databases.append(path) or text(self, path)
    )
    monkeypatch.setattr(targets, "check_run", lambda *run, name: len(run[0]))
    assert (checked(), len(databases)) == (11, 1)  # k.h as well
