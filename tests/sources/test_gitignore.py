"""Ignored paths are those that git ignores, and hostile patterns cost bounded work."""

from __future__ import annotations

import os
import random
import subprocess
import time
from pathlib import Path

import pytest

from smemlint.files.programs import find_program
from smemlint.sources import discovery, gitignore
from smemlint.sources.discovery import find_sources
from smemlint.sources.gitignore import IgnoredPaths, parse_pattern, parse_rules

needs_git = pytest.mark.skipif(find_program("git") is None, reason="needs git")
NAMES = ("a", "b", "ab", "ba", "aab", "a.b", "a-b", "[a]", "b a")
PIECES = (
    "a", "b", "ab", ".", "-", "*", "*", "**", "**/", "/**", "/**/", "/", "?", "[ab]", "[!a]", "[^b-z]", "[a-]",
    "[]a]", "[[:alpha:]]", "[[:space:]]", "[b-a]", "\\a", "\\*", "\\[a]", "[\\a]", "[a", "[[:x:]]", "\\ ", " ",
)  # fmt: skip


def make_tree(top: Path) -> None:
    """Two levels of folders, all names in each."""
    for outer in NAMES:
        for inner in ("a", "ab"):
            (top / f"{outer}.d" / inner).mkdir(parents=True, exist_ok=True)
            for name in NAMES[:6]:
                (top / f"{outer}.d" / inner / f"{name}.cu").touch()
        (top / f"{outer}.cu").touch()


def random_rules(source: random.Random) -> str:
    lines = []
    for _ in range(source.randint(1, 4)):
        text = "".join(source.choice(PIECES) for _ in range(source.randint(1, 5)))
        end = source.choice(("", "", "/", "/*", ".cu", "*.cu", ".d/", " ", "\r"))
        lines.append(source.choice(("", "", "!", "/", "#")) + text + end)
    return "\n".join(source.sample(("*", "!*/", "!*.*", "*.d", "b*", *lines), len(lines) + 1))


def walked(top: Path) -> list[str]:
    """What the walk finds that asks no git."""
    ignored = IgnoredPaths(str(top), pytest.fail)
    found = discovery._walked(top, discovery._Excluded(None), ignored, "", reads_gitignore=True)
    return sorted(os.path.relpath(path, top) for path in found)


def listed(top: Path) -> list[str]:
    """What git finds."""
    command = ["git", "-c", "core.excludesFile=", "ls-files", "-co", "--exclude-standard", "-z"]
    done = subprocess.run(command, cwd=top, check=True, capture_output=True)
    return sorted(set(done.stdout.decode().split("\0")) - {"", ".gitignore", "a.d/.gitignore"})


@needs_git
@pytest.mark.timeout(120)
def test_files_are_those_of_git(tmp_path):
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    make_tree(tmp_path)
    source = random.Random(int(os.environ.get("SMEMLINT_GITIGNORE_SEED", "14")))
    sizes = set()
    for _ in range(int(os.environ.get("SMEMLINT_GITIGNORE_TREES", "150"))):
        outer, inner = random_rules(source), random_rules(source)
        (tmp_path / ".gitignore").write_text(outer, newline="")
        (tmp_path / "a.d" / ".gitignore").write_text(inner, newline="")
        ours = [p for p in walked(tmp_path) if not p.endswith(".gitignore")]
        assert ours == listed(tmp_path), (outer, inner)
        sizes.add(len(ours))
    assert len(sizes) > 12


@pytest.mark.parametrize("has_repository", [True, False])
def test_patterns_that_take_back_a_star_hide_nothing(tmp_path, has_repository):
    """As of PacktPublishing/Learn-CUDA-Programming, whose files were all passed over."""
    (tmp_path / "src").mkdir()
    if has_repository and find_program("git") is not None:
        subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / ".gitignore").write_text("*\n!*.*\n!*/\n")
    for name in ("a.cu", "src/b.cu"):
        (tmp_path / name).touch()
    found = [os.path.relpath(s.path, tmp_path) for s in find_sources([str(tmp_path)])]
    assert found == ["a.cu", "src/b.cu"]


def test_patterns_of_folders_above_count_without_git(tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / ".gitignore").write_text("src/deep/a.cu\nb.cu\n")
    (tmp_path / "src" / ".gitignore").write_text("!b.cu\nc.cu\n")
    for name in ("a.cu", "b.cu", "c.cu"):
        (tmp_path / "src" / "deep" / name).touch()
    monkeypatch.setenv("PATH", "")
    found = find_sources([str(tmp_path / "src" / "deep")])
    assert [Path(s.path).name for s in found] == ["b.cu"]


HOSTILE = (
    b"**/" * 200 + b"b",
    b"a*" * 400 + b"b",
    b"**/a*" * 150 + b"b",
    b"[!b]*" * 150 + b"b",
    b"**a" * 300 + b"b",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_pattern_takes_more_than_its_work(text):
    """100 nanoseconds a unit are 5 times what was measured: a search that goes back takes years."""
    rules = parse_rules(text)
    for path in (b"a" * 255, b"a" * 4_000, b"a/" * 2_000 + b"a", b"aa/" * 1_300 + b"a"):
        began = time.process_time()
        assert rules.verdict(path, is_folder=False) is None
        assert time.process_time() - began < 0.01 + rules.work(path) * 1e-7


def test_the_work_of_a_run_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(gitignore, "MAX_IGNORE_WORK", 10)
    (tmp_path / ".gitignore").write_text("a\nb\nc\n")
    warnings: list[str] = []
    ignored = IgnoredPaths(str(tmp_path), warnings.append)
    ignored.read("")
    assert [ignored.covers(name) for name in "aaaaa"] == [True, True, True, False, False]
    assert len(warnings) == 1


@pytest.mark.parametrize("text", [b"x" * 1_001, b"x\n" * 20_001, b"x" * (1 << 18) + b"\n"])
def test_files_of_patterns_have_a_size(tmp_path, text):
    (tmp_path / ".gitignore").write_bytes(text)
    warnings: list[str] = []
    ignored = IgnoredPaths(str(tmp_path), warnings.append)
    ignored.read("")
    assert (ignored.covers("x"), len(warnings)) == (False, 1)


@pytest.mark.parametrize("text", [b"", b"/", b"!", b"a\\", b"[a", b"[[:x:]]", b"**//"])
def test_patterns_that_match_nothing(text):
    assert parse_pattern(text) is None
