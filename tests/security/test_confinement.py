"""A hostile repository makes smemlint run, read, write and delete nothing outside of itself."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from smemlint.config.settings import Configuration
from smemlint.driver.cache_folder import CacheFolder, machine_key
from smemlint.errors import ConfigError, SourceError
from smemlint.files.programs import find_program
from smemlint.files.replace import replace_file
from smemlint.files.sandbox import AccessDenied, Sandbox, read_regular, resolve_given
from smemlint.sources.discovery import find_sources
from smemlint.sources.git import listed_files

KERNEL = """\
__global__ void k(float *o) { __shared__ float t[32][32]; o[0] = t[threadIdx.x][0]; }
void h() { k<<<1, 32>>>(0); }
"""
SECRET = "token_ghp_abcdef {{{"
needs_links = pytest.mark.skipif(sys.platform == "win32", reason="needs links and FIFOs")
needs_git = pytest.mark.skipif(find_program("git") is None, reason="needs git")


@pytest.fixture
def repository(tmp_path) -> Path:
    """A repository beside a folder of other people's files."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.h").write_text(SECRET)
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / ".git" / "config").write_text(SECRET)
    (project / "a.cu").write_text(KERNEL)
    return project


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True)


# ---- nothing is executed


@needs_git
@pytest.mark.parametrize("is_bare_folder", [True, False])
def test_no_setting_of_the_repository_runs(tmp_path, is_bare_folder):
    git(tmp_path, "init", "-q")
    folder = tmp_path / "src"
    folder.mkdir()
    (folder / "a.cu").write_text(KERNEL)
    trap = f'[core]\n\trepositoryformatversion = 0\n\tfsmonitor = "touch {tmp_path}/RAN; false"\n'
    if is_bare_folder:  # which can be committed
        for name in ("objects", "refs"):
            (folder / name).mkdir()
        (folder / "HEAD").write_text("ref: refs/heads/main\n")
        (folder / "config").write_text(trap + "\tworktree = .\n")
    else:  # which cannot, but a CI tool may have unpacked it
        (tmp_path / ".git" / "config").write_text(trap)
    assert [s.path for s in find_sources([str(folder)])] == [f"{folder}/a.cu"]
    assert not (tmp_path / "RAN").exists()


@needs_git
def test_what_git_tracks_and_does_not_ignore_is_listed(tmp_path):
    git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_text("*.cuh\n")
    (tmp_path / ".git" / "info" / "exclude").write_text("mine.cu\n")
    for name in ("tracked.cuh", "ignored.cuh", "fresh.cu", "mine.cu"):
        (tmp_path / name).write_text("")
    git(tmp_path, "add", "-f", "tracked.cuh")
    assert listed_files(str(tmp_path)) == [".gitignore", "fresh.cu", "tracked.cuh"]


@needs_git
def test_a_work_tree_of_another_place_is_listed(tmp_path):
    main, tree = tmp_path / "main", tmp_path / "tree"
    git(tmp_path, "init", "-q", str(main))
    git(main, "-c", "user.name=a", "-c", "user.email=a", "commit", "-q", "--allow-empty", "-m", "a")
    git(main, "worktree", "add", "-q", str(tree))
    (tree / "b.cu").write_text("")
    git(tree, "add", "b.cu")
    assert listed_files(str(tree)) == ["b.cu"]


def test_git_is_no_program_of_the_repository(tmp_path, monkeypatch):
    for folder in (tmp_path / "bin", tmp_path / "elsewhere"):
        folder.mkdir()
        program = folder / ("git.exe" if sys.platform == "win32" else "git")
        program.write_text("")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join(("", ".", "bin", str(tmp_path / "bin"))))
    monkeypatch.chdir(tmp_path)
    assert find_program("git") is None
    monkeypatch.chdir(tmp_path / "bin")
    assert find_program("git", str(tmp_path)) is None
    assert find_program("git") is None
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert find_program("git") == str(tmp_path / "bin" / program.name)


def test_a_missing_git_is_said(repository, monkeypatch):
    monkeypatch.setenv("PATH", "")
    warnings: list[str] = []
    assert [s.path for s in find_sources([str(repository)], None, warnings.append)] == [
        f"{repository}/a.cu"
    ]
    assert len(warnings) == 1


# ---- nothing outside is read


@needs_links
@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "../outside/secret.h", "./.git/config", ".GIT/config", "/proc/self/environ",
     "link.h", "folder/secret.h", "to_git.h"],
)  # fmt: skip
def test_includes_stay_in_the_repository(repository, smemlint, name):
    (repository / "link.h").symlink_to("../outside/secret.h")
    (repository / "to_git.h").symlink_to(".git/config")
    (repository / "folder").symlink_to("../outside")
    (repository / "a.cu").write_text(f'#include "{name}"\n{KERNEL}')
    code, out, _ = smemlint("check", "a.cu", "--no-cache", "--pedantic", cwd=repository)
    assert code == 1
    assert SECRET[:5] not in out
    assert "root:" not in out
    shown = json.loads(
        smemlint("check", "a.cu", "--no-cache", "--output-format", "json", cwd=repository)[1]
    )["findings"]
    places = [(f["line"], f["code"]) for f in shown]
    assert (2, "SML101") in places
    if name != ".GIT/config":  # which there is none of, where case counts
        assert places.count((1, "SML901")) == 2


@needs_links
@pytest.mark.timeout(30)
@pytest.mark.parametrize("name", ["a.h", "Makefile", "helper.py", ".gitignore", "pyproject.toml"])
def test_fifos_and_devices_are_not_opened(tmp_path, smemlint, name):
    os.mkfifo(tmp_path / name)
    (tmp_path / "a.cu").write_text(f'#include "a.h"\n{KERNEL}')
    (tmp_path / "k.py").write_text("import cutlass.cute as cute\nfrom helper import layout\n")
    assert smemlint("check", "--no-cache")[0] == 1
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to("/dev/zero")
    code, _, err = smemlint("check", "--no-cache")
    assert code == (2 if name.endswith(".toml") and "zero" in err else 1)


@needs_links
def test_python_imports_and_opened_texts_stay_in_the_repository(repository, smemlint):
    (repository / "helper.py").symlink_to("../outside/secret.h")
    (repository / "text.cu").symlink_to("../outside/secret.h")
    (repository / "k.py").write_text(
        "import cutlass.cute as cute\nfrom helper import layout\n"
        "import cupy\nm = cupy.RawModule(code=open('text.cu').read())\n"
    )
    arguments = ("check", "k.py", "--no-cache", "--output-format", "json")
    shown = json.loads(smemlint(*arguments, cwd=repository)[1])["findings"]
    messages = " ".join(f["message"] for f in shown if f["code"] == "SML901")
    assert "`helper.py`" in messages
    assert "`text.cu`" in messages
    assert SECRET[:5] not in json.dumps(shown)


@needs_links
def test_neighbours_of_a_document_are_no_links_that_lead_outside(repository):
    from smemlint.lsp.analysis import Folders
    from smemlint.sources.source import Source

    (repository / "link.cu").symlink_to("../outside/secret.h")
    path = str(repository / "a.cu")
    sources = Folders().sources(path, {path: Source(path, KERNEL)})
    assert [(s.path, s.text) for s in sources] == [(path, KERNEL), (f"{repository}/link.cu", "")]


def test_a_sandbox_holds_what_lies_below_it(tmp_path, repository):
    sandbox = Sandbox.around(str(repository / "src" / "x.cu"))
    assert sandbox.text(str(repository / "a.cu")) == KERNEL
    for path in ("outside/secret.h", "project/.git/config", "projects/a.cu"):
        with pytest.raises(AccessDenied):
            sandbox.read(str(tmp_path / path))
    with pytest.raises(AccessDenied):
        sandbox.read(str(repository / "a\0.cu"))
    with pytest.raises(FileNotFoundError):
        sandbox.read(str(repository / "none.cu"))
    named = Sandbox.around(str(repository / "x.cu"), str(tmp_path / "outside"))
    assert named.text(str(tmp_path / "outside" / "secret.h")) == SECRET
    assert Sandbox.joined([sandbox, named]).text(str(repository / "a.cu")) == KERNEL


def test_a_file_is_read_up_to_a_limit(tmp_path):
    (tmp_path / "f").write_bytes(b"x" * 100)
    assert read_regular(str(tmp_path / "f"), 100) == b"x" * 100
    with pytest.raises(AccessDenied):
        read_regular(str(tmp_path / "f"), 99)


@needs_links
def test_links_that_are_named_lead_nowhere_else(repository, tmp_path):
    (repository / "link.cu").symlink_to("../outside/secret.h")
    (repository / "folder").symlink_to("../outside")
    (source,) = find_sources([str(repository / "link.cu")])
    assert (source.text, bool(source.problem)) == ("", True)
    with pytest.raises(SourceError):
        find_sources([str(repository / "folder")])
    (tmp_path / "mine.cu").symlink_to(repository / "a.cu")  # in no repository: the user's own
    (source,) = find_sources([str(tmp_path / "mine.cu")])
    assert source.text == KERNEL


@pytest.mark.parametrize("key", ["baseline", "cache-dir", "include-dir"])
@pytest.mark.parametrize("value", ["../outside", "/etc", ".git"])
def test_a_configuration_names_nothing_outside(repository, key, value):
    text = f"{key} = {json.dumps([value] if key == 'include-dir' else value)}\n"
    (repository / "smemlint.toml").write_text(text)
    with pytest.raises(ConfigError):
        Configuration().for_folder(repository)
    given = Configuration(given=[str(repository / "smemlint.toml")]).for_folder(repository)
    assert getattr(given, key.replace("-", "_"))


@needs_links
def test_a_configuration_is_no_link_that_leads_outside(repository, tmp_path):
    (tmp_path / "outside" / "x.toml").write_text("strict = true\n")
    (repository / "smemlint.toml").symlink_to("../outside/x.toml")
    with pytest.raises(ConfigError):
        Configuration().for_folder(repository)


# ---- nothing outside is written


@needs_links
@pytest.mark.parametrize("target", ["../outside/new", "../outside/secret.h", ".git/config"])
def test_writes_follow_no_link_that_leaves(repository, target):
    (repository / "link").symlink_to(target)
    before = sorted((p, p.read_bytes()) for p in repository.parent.rglob("*") if p.is_file())
    with pytest.raises(AccessDenied):
        replace_file(str(repository / "link"), b"x")
    assert before == sorted(
        (p, p.read_bytes()) for p in repository.parent.rglob("*") if p.is_file()
    )


@needs_links
def test_a_write_keeps_mode_and_link_and_leaves_nothing_beside(repository):
    (repository / "a.cu").chmod(0o750)
    (repository / "link.cu").symlink_to("a.cu")
    replace_file(str(repository / "link.cu"), b"new")
    assert (repository / "a.cu").read_bytes() == b"new"
    assert stat.S_IMODE((repository / "a.cu").stat().st_mode) == 0o750
    assert (repository / "link.cu").is_symlink()
    assert {p.name for p in repository.iterdir()} == {".git", "a.cu", "link.cu"}
    replace_file("/dev/stdout", b"")


@needs_links
@pytest.mark.parametrize("arguments", [["--fix", "--unsafe-fixes"], ["--add-ignore=later"]])
def test_a_write_that_fails_leaves_the_file(repository, arguments):
    text = KERNEL + "// precious work\n" * 5_000
    (repository / "a.cu").write_text(text)
    line = f'ulimit -f 8; exec "{sys.executable}" -m smemlint check --no-cache a.cu "$@"'
    root = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        ["bash", "-c", line, "bash", *arguments], cwd=repository, env=environment,
        capture_output=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert (repository / "a.cu").read_text() == text
    assert {p.name for p in repository.iterdir()} == {".git", "a.cu"}


# ---- the cache


def test_an_attacker_of_the_repository_gives_the_cache_nothing(repository, smemlint, monkeypatch):
    """Whoever knows all but the user's key can make no entry: hidden or invented findings fail."""
    (repository / "b.cu").write_text(KERNEL.replace("k(", "m(").replace("k<", "m<"))
    for file in repository.glob("*.cu"):
        os.utime(file, (1_000_000_000, 1_000_000_000))
    first = smemlint("check", ".", cwd=repository)
    folder = repository / ".smemlint_cache"
    entries = [p for p in folder.iterdir() if p.suffix == ".json"]
    assert len(entries) == 2
    for entry in entries:
        seal, _, body = entry.read_bytes().partition(b"\n")
        data = json.loads(body)
        for key in ("findings", "sites"):
            if key in data:
                data[key] = []
        for share in data.get("shares", {}).values():
            share["findings"] = share["sites"] = []
        entry.write_bytes(seal + b"\n" + json.dumps(data).encode())
    assert smemlint("check", ".", cwd=repository) == first


def test_an_entry_is_that_of_its_name_user_and_text(tmp_path, monkeypatch):
    monkeypatch.setattr("smemlint.driver.cache_folder.user_cache_home", lambda: str(tmp_path / "u"))
    one, other = f"{1:024x}.json", f"{2:024x}.json"
    folder = CacheFolder(str(tmp_path / "c"))
    folder.save(one, b"{}")
    assert folder.load(one) == b"{}"
    (tmp_path / "c" / other).write_bytes((tmp_path / "c" / one).read_bytes())
    assert folder.load(other) is None
    assert len(machine_key(str(tmp_path / "c"))) == 32
    monkeypatch.setattr("smemlint.driver.cache_folder.user_cache_home", lambda: str(tmp_path / "v"))
    assert CacheFolder(str(tmp_path / "c")).load(one) is None


def test_no_more_is_read_of_an_entry_than_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr("smemlint.driver.cache_folder.user_cache_home", lambda: str(tmp_path / "u"))
    monkeypatch.setattr("smemlint.driver.cache_folder.MAX_CACHE_BYTES", 100)
    folder, name = CacheFolder(str(tmp_path / "c")), f"{1:024x}.json"
    folder.save(name, b"x" * 101)
    assert not (tmp_path / "c").exists()
    folder.save(name, b"x" * 100)
    assert folder.load(name) == b"x" * 100
    with (tmp_path / "c" / name).open("ab") as file:
        file.truncate(1 << 40)  # sparse: reading it would take a terabyte
    assert folder.load(name) is None


@pytest.mark.parametrize("kind", ["committed", "shared", "short"])
def test_a_key_that_others_may_know_is_none(repository, tmp_path, monkeypatch, kind):
    home = (repository if kind == "committed" else tmp_path) / "home"
    (home / "smemlint").mkdir(parents=True)
    key = home / "smemlint" / "cache.key"
    key.write_bytes(b"k" * (31 if kind == "short" else 32))
    key.chmod(0o644 if kind == "shared" else 0o600)
    monkeypatch.setattr("smemlint.driver.cache_folder.user_cache_home", lambda: str(home))
    assert CacheFolder(str(repository / ".smemlint_cache")).refused


@needs_links
@pytest.mark.parametrize("kind", ["others", "link", "link_inside", "parent_link"])
def test_a_folder_that_is_not_ours_is_left_alone(repository, tmp_path, kind):
    place = repository / ".smemlint_cache"
    others = tmp_path / "outside"
    match kind:
        case "others":
            others = place
            place.mkdir()
            (place / "doc.json").write_text("{}")
        case "link":
            place.symlink_to("../outside")
        case "link_inside":
            (repository / "docs").mkdir()
            place.symlink_to("docs")
        case "parent_link":
            (repository / "docs").mkdir()
            (repository / "l").symlink_to("docs")
            place = repository / "l" / "cache"
    before = sorted(others.iterdir())
    folder = CacheFolder(str(place))
    assert folder.refused
    folder.save(f"{1:024x}.json", b"{}")
    assert sorted(others.iterdir()) == before
    assert not list(repository.glob("docs/*"))


def test_only_our_own_names_are_pruned(tmp_path):
    place = tmp_path / "c"
    CacheFolder(str(place)).save(f"{0:024x}.json", b"{}")
    for i in range(100):
        (place / f"{i}.json").write_text("")
        (place / f"{i + 1:024x}.json").write_text("")
    CacheFolder(str(place)).save(f"{999:024x}.json", b"{}")
    names = [p.name for p in place.iterdir()]
    assert sum(len(n) < 10 and n.endswith(".json") for n in names) == 100
    assert sum(len(n) == 29 for n in names) == 64


@needs_links
def test_a_dangling_link_in_the_folder_makes_no_file(tmp_path):
    place = tmp_path / "c"
    CacheFolder(str(place)).save(f"{0:024x}.json", b"{}")
    (place / ".gitignore").unlink()
    (place / ".gitignore").symlink_to("../made")
    CacheFolder(str(place)).save(f"{0:024x}.json", b"{}")
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    "change",
    [{"marked": [3]}, {"sites": [[1, 2, 3, 4, 5, "load", 1]]}, {"problems": [1]}, {"files": 1},
     {"findings": [{"a": "<i8", "s": [1 << 40], "v": ""}]}, {"sites": [["a", -1, 1, 1, 1, "load", 1]]},
     {"sources": None}, {"findings": {"c": "Span", "v": []}}],
)  # fmt: skip
def test_wrong_types_in_an_entry_are_no_error(repository, capsys, monkeypatch, change):
    from smemlint.cli.main import main

    (repository / "b.cu").write_text("int x;\n")
    for file in repository.glob("*.cu"):
        os.utime(file, (1_000_000_000, 1_000_000_000))
    monkeypatch.chdir(repository)
    main(["check", "."])
    first = capsys.readouterr()
    folder = CacheFolder(".smemlint_cache")
    for entry in list((repository / ".smemlint_cache").glob("*.json")):
        body = folder.load(entry.name)
        assert body is not None
        folder.save(entry.name, json.dumps({**json.loads(body), **change}).encode())
    assert main(["check", "."]) == 1
    assert capsys.readouterr() == first


def test_paths_of_the_command_line_may_lie_anywhere(tmp_path):
    assert resolve_given(str(tmp_path / "x.sarif")) == str((tmp_path / "x.sarif").resolve())


def test_python_m_imports_nothing_of_the_working_directory(repository, smemlint):
    for name in ("numpy", "pathlib", "libcst", "argparse", "pycparser"):
        (repository / f"{name}.py").write_text("open('RAN', 'w')\n")
    assert smemlint("check", "a.cu", "--no-cache", cwd=repository)[0] == 1
    assert not (repository / "RAN").exists()
