"""`extend`: which settings hold, from which folder paths and globs count, what is refused."""

from __future__ import annotations

import pytest

from smemlint.config.extends import rebased
from smemlint.config.settings import Configuration, Settings
from smemlint.errors import ConfigError
from smemlint.limits.budgets import MAX_EXTENDED_CONFIGS


def write(root, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def settings_of(root, folder: str) -> Settings:
    return Configuration().for_folder(root / folder)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_keys_replace_lists_of_extend_keys_add_kernels_are_those_of_both(repository):
    write(repository, {
        "smemlint.toml": """\
arch = "sm_80"
fail-on = "error"
define = { A = 1, B = 2 }
select = ["SML1"]
extend-ignore = ["SML102"]
include-dir = ["include"]
[kernels.one]
block = 64
[kernels.two]
block = 32
""",
        "a/b/pyproject.toml": """\
[tool.smemlint]
extend = "../../smemlint.toml"
arch = "sm_90"
define = { B = 3 }
select = ["SML3"]
extend-ignore = ["SML103"]
[tool.smemlint.kernels.two]
block = 128
""",
    })  # fmt: skip
    found = settings_of(repository, "a/b")
    assert (found.arch, found.fail_on, found.select) == ("sm_90", "error", ("SML3",))
    assert found.define == {"A": "1", "B": "3"}
    assert found.extend_ignore == ("SML102", "SML103")
    assert found.include_dir == ("include",)  # from the folder of the file that names it
    assert {name: k.block for name, k in found.kernels.items()} == {
        "one": (64, 1, 1), "two": (128, 1, 1),
    }  # fmt: skip
    assert (found.origin, found.root) == (str(repository / "a/b/pyproject.toml"), "a/b")


def test_globs_count_from_the_folder_of_their_file(repository, smemlint):
    write(repository, {
        "smemlint.toml": 'extend-exclude = ["src/gen/*", "old.cu", "lib/gen"]\n',
        "src/smemlint.toml": 'extend = "../smemlint.toml"\nextend-exclude = ["tmp/*"]\n',
    } | dict.fromkeys(
        ("src/gen/a.cu", "src/b.cu", "src/old.cu", "src/tmp/c.cu", "src/lib/gen/d.cu"), ""
    ))  # fmt: skip
    found = smemlint("check", "--show-files", str(repository / "src"))[1].split()
    assert [f.removeprefix(f"{repository}/") for f in found] == ["src/b.cu", "src/lib/gen/d.cu"]


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("name.cu", ("name.cu",)), ("a/b/x.cu", ("x.cu",)), ("a/x.cu", ()), ("a/*/x.cu", ("x.cu",)),
        ("*/x.cu", ("*/x.cu", "x.cu")), ("**/x.cu", ("**/x.cu", "x.cu")), ("a/b/", ()),
    ],
)  # fmt: skip
def test_globs_of_a_folder_above(tmp_path, glob, expected):
    assert rebased([glob], tmp_path, tmp_path / "a/b") == expected
    assert rebased([glob], tmp_path, tmp_path) == (glob,)
    assert rebased([glob], tmp_path / "a/b", tmp_path) == (glob,)


def test_chains_and_no_circles(repository):
    write(repository, {
        "base.toml": 'arch = "sm_75"\nextend-select = ["SML9"]\n',
        "mid.toml": 'extend = "base.toml"\nextend-select = ["SML1"]\n',
        "a/smemlint.toml": 'extend = "../mid.toml"\n',
        "b/smemlint.toml": 'extend = "smemlint.toml"\n',
        "c/smemlint.toml": 'extend = "../c2.toml"\n',
        "c2.toml": 'extend = "c/smemlint.toml"\n',
    })  # fmt: skip
    found = settings_of(repository, "a")
    assert (found.arch, found.extend_select) == ("sm_75", ("SML9", "SML1"))
    for folder, file in (("b", "b/smemlint.toml:1"), ("c", "c2.toml:1")):
        with pytest.raises(ConfigError) as error:
            settings_of(repository, folder)
        assert str(error.value.where) == str(repository / file)


@pytest.mark.parametrize(("length", "is_refused"), [(0, False), (1, True)])
def test_a_chain_has_a_length(repository, length, is_refused):
    count = MAX_EXTENDED_CONFIGS + length
    write(repository, {"smemlint.toml": 'extend = "1.toml"\n', f"{count}.toml": 'arch = "sm_75"\n'})
    write(repository, {f"{k}.toml": f'extend = "{k + 1}.toml"\n' for k in range(1, count)})
    if is_refused:
        with pytest.raises(ConfigError):
            settings_of(repository, ".")
    else:
        assert settings_of(repository, ".").arch == "sm_75"


@pytest.mark.parametrize(
    "value",
    ['"../../outside.toml"', '"/etc/passwd"', '"link.toml"', '"missing.toml"', '".git/config"', "1",
     '""', '"a\\u0000b"', '"."', '"empty/pyproject.toml"'],
)  # fmt: skip
def test_what_a_repository_may_not_extend(tmp_path, monkeypatch, value):
    repository = tmp_path / "x/r"
    (repository / ".git").mkdir(parents=True)
    monkeypatch.chdir(repository)
    secret = 'arch = "sm_75" # secret\n'
    write(tmp_path, {"outside.toml": secret, "x/r/.git/config": secret})
    write(repository, {"smemlint.toml": f"\nextend = {value}\n", "empty/pyproject.toml": ""})
    (repository / "link.toml").symlink_to(tmp_path / "outside.toml")
    with pytest.raises(ConfigError) as error:
        settings_of(repository, ".")
    assert str(error.value.where) == f"{repository / 'smemlint.toml'}:2"
    assert "secret" not in str(error.value)


def test_a_file_that_the_command_line_names_may_extend_any(tmp_path, monkeypatch):
    (tmp_path / "r/.git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "r")
    write(
        tmp_path, {"outside.toml": 'arch = "sm_75"\n', "r/c.toml": 'extend = "../outside.toml"\n'}
    )
    assert Configuration(given=["c.toml"]).for_folder(tmp_path / "r").arch == "sm_75"
    with pytest.raises(ConfigError):
        Configuration(given=['extend="../outside.toml"']).for_folder(tmp_path / "r")
