"""Git lists the same files for us as for the user, whatever form the repository has."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from smemlint.files.programs import find_program
from smemlint.sources.discovery import find_sources
from smemlint.sources.git import CannotList, listed_files

pytestmark = pytest.mark.skipif(find_program("git") is None, reason="needs git")
NAMES = ("a.cu", "x/b.cu", "y/c.cu")


def git(folder: Path, *arguments: str) -> str:
    user = ("-c", "user.name=a", "-c", "user.email=a", "-c", "protocol.file.allow=always")
    command = ["git", *user, "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def make_repository(top: Path, *options: str) -> Path:
    """Files that are tracked although .gitignore names them; one that is not; one that is new."""
    top.mkdir(parents=True)
    git(top, "init", "-q", *options)
    for name in NAMES:
        (top / name).parent.mkdir(exist_ok=True)
        (top / name).touch()
    git(top, "add", ".")
    (top / ".gitignore").write_text("*.cu\n!new.cu\n")
    git(top, "add", ".gitignore")
    git(top, "commit", "-q", "-m", "a")
    for name in ("ignored.cu", "new.cu"):
        (top / name).touch()
    return top


def of_git(top: Path) -> list[str]:
    listed = git(top, "ls-files", "-co", "--exclude-standard").splitlines()
    return sorted(name for name in listed if (top / name).is_file())


def test_a_split_index(tmp_path):
    top = make_repository(tmp_path / "r")
    git(top, "-c", "splitIndex.maxPercentChange=100", "update-index", "--split-index")
    (top / "later.cu").touch()
    git(top, "-c", "splitIndex.maxPercentChange=100", "add", "-f", "later.cu")
    assert list((top / ".git").glob("sharedindex.*"))
    assert listed_files(str(top)) == [
        ".gitignore",
        "a.cu",
        "later.cu",
        "new.cu",
        "x/b.cu",
        "y/c.cu",
    ]


def test_a_sparse_index(tmp_path):
    top = make_repository(tmp_path / "r")
    git(top, "sparse-checkout", "init", "--cone", "--sparse-index")
    git(top, "sparse-checkout", "set", "x")
    assert not (top / "y" / "c.cu").exists()
    assert b"sdir" in (top / ".git" / "index").read_bytes()
    names = [n for n in listed_files(str(top)) if (top / n).is_file()]
    assert names == of_git(top) == [".gitignore", "a.cu", "new.cu", "x/b.cu"]


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_versions_of_the_index(tmp_path, version):
    top = make_repository(tmp_path / "r")
    git(top, "update-index", "--index-version", version)
    assert (
        listed_files(str(top))
        == of_git(top)
        == [".gitignore", "a.cu", "new.cu", "x/b.cu", "y/c.cu"]
    )


def test_long_hashes(tmp_path):
    top = make_repository(tmp_path / "r", "--object-format=sha256")
    assert (
        listed_files(str(top))
        == of_git(top)
        == [".gitignore", "a.cu", "new.cu", "x/b.cu", "y/c.cu"]
    )


def test_a_submodule_is_a_repository_of_its_own(tmp_path):
    make_repository(tmp_path / "inner")
    top = make_repository(tmp_path / "r")
    git(top, "submodule", "add", "-q", "../inner", "sub")
    (top / "sub" / "fresh.cuh").touch()
    (top / "sub" / "hidden.cu").touch()
    expected = [".gitignore", "a.cu", "fresh.cuh", "x/b.cu", "y/c.cu"]
    assert (top / "sub" / ".git").is_file()
    assert listed_files(str(top / "sub")) == of_git(top / "sub") == expected
    outer = [n for n in listed_files(str(top)) if (top / n).is_file()]
    assert outer == of_git(top)


def test_a_further_work_tree_has_the_exclude_file_of_the_first(tmp_path):
    top = make_repository(tmp_path / "r")
    (top / ".git" / "info" / "exclude").write_text("mine.cuh\n")
    git(top, "worktree", "add", "-q", str(tmp_path / "tree"))
    (tmp_path / "tree" / "mine.cuh").touch()
    (tmp_path / "tree" / "new.cu").touch()
    names = listed_files(str(tmp_path / "tree"))
    assert (
        names == of_git(tmp_path / "tree") == [".gitignore", "a.cu", "new.cu", "x/b.cu", "y/c.cu"]
    )


@pytest.mark.parametrize("form", ["index", "extension", "pointer", "missing", "fifo"])
def test_what_git_cannot_read_is_walked_and_said(tmp_path, form):
    top = make_repository(tmp_path / "r")
    index = top / ".git" / "index"
    match form:
        case "index":
            index.write_bytes(b"DIRC\0\0\0\2" + b"\xff" * 100)
        case "extension":  # one that a reader must know
            index.write_bytes(index.read_bytes()[:-20] + b"zzzz\0\0\0\0" + b"\0" * 20)
        case "fifo":
            if not hasattr(os, "mkfifo"):
                pytest.skip("needs FIFOs")
            index.unlink()
            os.mkfifo(index)
        case _:
            (top / ".git").rename(tmp_path / "moved")
            (top / ".git").write_text("gitdir: ../gone\n" if form == "missing" else "no pointer\n")
    with pytest.raises(CannotList):
        listed_files(str(top))
    warnings: list[str] = []
    found = [os.path.relpath(s.path, top) for s in find_sources([str(top)], None, warnings.append)]
    assert found == ["new.cu"]
    assert len(warnings) == 1
