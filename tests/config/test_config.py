"""Configuration: nearest file, validation with line and nearest match, schema, files that are looked at."""

from __future__ import annotations

import json
import random
import re
import subprocess
import time
from fnmatch import fnmatchcase

import pytest

from smemlint.config.json_schema import schema
from smemlint.config.options import KERNEL_KEYS, OPTIONS
from smemlint.config.settings import Configuration, Settings
from smemlint.errors import ConfigError
from smemlint.sources.discovery import matches

KERNEL = """\
__global__ void k(float *out) {
  __shared__ float s[32][32];
  out[threadIdx.x] = s[threadIdx.x][0];
}
void run(float *out) { k<<<1, 32>>>(out); }
"""


def write(folder, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_toml", ".toml").replace("_cu", ".cu")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def shown(smemlint, *arguments: str) -> list[str]:
    return smemlint("check", "--show-files", *arguments)[1].split()


def test_every_option_has_an_attribute_with_its_default():
    for option in OPTIONS:
        expected = {} if option.name == "max-ways" else option.default
        assert getattr(Settings(), option.attribute) == expected, option.name


def test_each_file_has_its_nearest_configuration(smemlint, tmp_path):
    write(
        tmp_path,
        pyproject_toml='[tool.smemlint]\nselect = ["SML4"]\n',
        a__k_cu=KERNEL,
        b__smemlint_toml="max-ways = 16\n",
        b__k_cu=KERNEL,
        b__deep__k_cu=KERNEL,
        c__pyproject_toml="[tool.other]\n",
        c__k_cu=KERNEL,
        d__smemlint_toml="max-ways = { bank-conflict = 32 }\n",
        d__k_cu=KERNEL,
    )
    _, out, _ = smemlint("check", "--output-format", "concise", ".")
    assert [line.split(":")[0] for line in out.splitlines()] == ["b/deep/k.cu", "b/k.cu"]
    assert smemlint("check", "--isolated", ".")[1].count("-way bank conflict") == 5


def test_the_search_ends_at_the_root_of_the_repository(smemlint, tmp_path):
    write(tmp_path, smemlint_toml='ignore = ["ALL"]\n', repo__src__k_cu=KERNEL)
    assert smemlint("check", "repo")[0] == 0
    (tmp_path / "repo" / ".git").mkdir()
    assert smemlint("check", "repo")[0] == 1


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("\nmax-wais = 3\n", "smemlint.toml:2: unknown key `max-wais`", "did you mean `max-ways`?"),
        ("fix = true\n", "smemlint.toml:1: unknown key `fix`", "`--fix` is for the command line only"),
        ('output-format = "json"\n', "unknown key `output-format`", "is for the command line only"),
        ('arch = "sm_12"\n', "smemlint.toml:1: ", "sm_12"),
        ("select = 3\n", "smemlint.toml:1: 3 is not a list of strings", ""),
        ("strict = 1\n", "smemlint.toml:1: 1 is not true or false", ""),
        ("[kernels.k]\nblok = 32\n", "smemlint.toml:2: unknown key `blok` of a kernel", "`block`"),
        ("[kernels.k]\n\nblock = [32, 99]\n", "smemlint.toml:3: [32, 99] is", ""),
        ('[kernels.k]\narguments = { n = "x" }\n', "not a table of numbers", ""),
        ("kernels = 3\n", "smemlint.toml:1: `kernels` is not a table", ""),
        ("max-ways = { SML101 = 0 }\n", "smemlint.toml:1: 0 is not a valid number of ways: at least 1", ""),
        ("a = \n", "smemlint.toml:1:5: is not TOML: Invalid value\n", ""),
        ('[a]\n[b\n', "smemlint.toml:2:3: is not TOML: Expected ']' at the end of a table declaration\n", ""),
        ('\nselect = ["SML777"]\n', "smemlint.toml:2: unknown rule `SML777`", "`smemlint rule` lists them"),
        ('[per-file-ignores]\n"*.h" = ["SML101"]\n"*.cu" = ["SML777"]\n', "smemlint.toml:1: unknown rule `SML777`", ""),
        ("[max-ways]\nbank-conflit = 2\n", "smemlint.toml:1: unknown rule `bank-conflit`", "`bank-conflict`"),
        ('[per-file-ignores]\n"*.h" = [3]\n', "smemlint.toml:1: [3] is not a list of strings", ""),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_said_with_its_line(smemlint, tmp_path, text, message, hint):
    write(tmp_path, smemlint_toml=text, k_cu=KERNEL)
    code, out, err = smemlint("check", ".")
    assert (code, out) == (2, "")
    assert message in err and hint in err and "Traceback" not in err


def test_the_configuration_of_every_folder_is_looked_at(smemlint, tmp_path):
    write(
        tmp_path,
        a_cu=KERNEL,
        src__b_cu=KERNEL,
        src__smemlint_toml='strict = true\nignore = ["X"]\n',
    )
    code, _, err = smemlint("check", ".")
    assert (code, err.partition("src/")[2].splitlines()[0]) == (
        2,
        "smemlint.toml:2: unknown rule `X`",
    )


def test_keys_are_found_in_their_own_table(smemlint, tmp_path):
    write(
        tmp_path,
        k_cu=KERNEL,
        pyproject_toml='[tool.ruff]\nselect = ["E"]\nnonsense = 1\n[tool.smemlint]\n# nonsense\nnonsense = 1\n',
    )
    assert "pyproject.toml:6: unknown key `nonsense`" in smemlint("check", ".")[2]


def test_single_settings_and_files_from_the_command_line(smemlint, tmp_path):
    write(tmp_path, k_cu=KERNEL, smemlint_toml="max-ways = 32\n", other_toml="max-ways = 16\n")
    assert smemlint("check", ".")[0] == 0
    assert smemlint("check", "--config", "max-ways=31", ".")[0] == 1
    assert (
        smemlint("check", "--config", "kernels.k.block=[16]", "--config", "max-ways=16", ".")[0]
        == 0
    )
    (tmp_path / "other.toml").rename(tmp_path / "x.toml")
    assert smemlint("check", "--config", "x.toml", ".")[0] == 1
    for wrong in ("max-wais=3", "no.toml", "max-ways=none"):
        code, _, err = smemlint("check", "--config", wrong, ".")
        assert code == 2 and wrong in err


def test_per_file_ignores_and_max_ways_of_a_rule():
    settings = Configuration(
        given=['per-file-ignores={"old/*" = ["SML101"]}', "max-ways={bank-conflict = 4}"],
        isolated=True,
    ).for_file("k.cu")
    assert settings.per_file_ignores == {"old/*": ("SML101",)}
    assert settings.most_ways("SML101", "bank-conflict") == 4
    assert settings.most_ways("SML102", "atomic-contention") == 1


def test_paths_in_a_file_are_relative_to_its_folder(tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    write(
        tmp_path, sub__smemlint_toml=f'include-dir = ["inc", "{tmp_path}/x"]\nbaseline = "b.json"\n'
    )
    monkeypatch.chdir(tmp_path)
    settings = Configuration().for_file("sub/k.cu")
    assert settings.include_dir == ("sub/inc", f"{tmp_path}/x")
    assert settings.baseline == "sub/b.json"
    monkeypatch.chdir(tmp_path / "sub")
    assert Configuration().for_file("k.cu").include_dir == ("inc", f"{tmp_path}/x")


def test_two_files_for_config_are_too_many(tmp_path):
    write(tmp_path, a_toml="", b_toml="")
    with pytest.raises(ConfigError, match="more than one file"):
        Configuration(given=[str(tmp_path / "a.toml"), str(tmp_path / "b.toml")])


def test_what_is_excluded(smemlint, tmp_path):
    write(tmp_path, a_cu=KERNEL, gen__b_cu=KERNEL, gen__deep__c_cu=KERNEL, src__gen_d_cu=KERNEL)
    assert shown(smemlint, ".") == ["a.cu", "gen/b.cu", "gen/deep/c.cu", "src/gen_d.cu"]
    assert shown(smemlint, "--exclude", "gen", ".") == ["a.cu", "src/gen_d.cu"]
    assert shown(smemlint, "--exclude", "gen/deep", ".") == ["a.cu", "gen/b.cu", "src/gen_d.cu"]
    assert shown(smemlint, "--exclude", "*_d.cu,gen/*.cu", ".") == ["a.cu"]
    write(tmp_path, smemlint_toml='exclude = ["gen"]\n')
    assert shown(smemlint, "--extend-exclude", "src", ".") == ["a.cu"]
    assert shown(smemlint, "--exclude", "src", ".") == ["a.cu", "gen/b.cu", "gen/deep/c.cu"]
    assert shown(smemlint, "gen/b.cu") == ["gen/b.cu"]
    assert shown(smemlint, "--force-exclude", "gen/b.cu", "a.cu") == ["a.cu"]


@pytest.mark.parametrize("is_repository", [True, False])
def test_what_tools_made_is_left_out_below_what_is_named(smemlint, tmp_path, is_repository):
    """Folders above the named one say nothing: the project itself may lie in a `build`."""
    project = tmp_path / "build" / "project"
    write(
        project, a_cu=KERNEL, **{".venv__site-packages__b_cu": KERNEL, "src__build__c_cu": KERNEL}
    )
    if is_repository:
        subprocess.run(["git", "init", "-q", str(project)], check=True)
    assert shown(smemlint, "build/project") == ["build/project/a.cu"]
    assert shown(smemlint, str(project)) == [f"{project}/a.cu"]
    assert smemlint("check", "--show-files", "..", cwd=project / "src")[1] == "../a.cu\n"
    assert shown(smemlint, "build/project/src/build") == ["build/project/src/build/c.cu"]
    inside = ["check", "--show-files", "--force-exclude", "src/build", "src/build/c.cu", "a.cu"]
    assert smemlint(*inside, cwd=project)[1] == "a.cu\n"
    assert shown(smemlint, "--force-exclude", f"{project}/a.cu") == [f"{project}/a.cu"]
    everything = smemlint("check", "--show-files", "--exclude", "", cwd=project)[1].split()
    assert sorted(everything) == [".venv/site-packages/b.cu", "a.cu", "src/build/c.cu"]


def test_a_file_that_is_named_twice_is_checked_once(smemlint, tmp_path):
    write(tmp_path, a_cu=KERNEL, src__b_cu=KERNEL)
    names = ("a.cu", "./a.cu", str(tmp_path / "a.cu"), "src", "src/../a.cu", "src/b.cu", ".")
    code, out, err = smemlint("check", "--output-format", "concise", *names)
    assert (code, out.count("\n")) == (1, 2)
    assert err.startswith("checked 2 files: 2 shared accesses decided")


@pytest.mark.parametrize("is_repository", [True, False])
def test_gitignore_is_respected_in_and_outside_of_repositories(smemlint, tmp_path, is_repository):
    write(tmp_path, a_cu=KERNEL, out__b_cu=KERNEL, src__c_cu=KERNEL, src__keep_cu=KERNEL)
    (tmp_path / ".gitignore").write_text("out/\n")
    (tmp_path / "src" / ".gitignore").write_text("*.cu\n!keep.cu\n")
    if is_repository:
        subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    assert shown(smemlint, ".") == ["a.cu", "src/keep.cu"]
    assert shown(smemlint, "--no-respect-gitignore", ".") == [
        "a.cu", "out/b.cu", "src/c.cu", "src/keep.cu",
    ]  # fmt: skip
    assert shown(smemlint, "src") == ["src/keep.cu"]
    if is_repository:  # what a user names is looked at, but for what it ignores itself
        write(tmp_path, out__deep__d_cu=KERNEL, out__gone_cu=KERNEL)
        (tmp_path / "out" / ".gitignore").write_text("gone.cu\n")
        assert shown(smemlint, "out") == ["out/b.cu", "out/deep/d.cu"]
        assert shown(smemlint, "out/deep") == ["out/deep/d.cu"]
        assert shown(smemlint, ".") == ["a.cu", "src/keep.cu"]


def test_the_schema_describes_every_key_and_agrees_with_validation(smemlint):
    properties = schema()["properties"]
    assert set(properties) == {o.name for o in OPTIONS if o.key} | {"kernels", "extend"}
    kernel = properties["kernels"]["additionalProperties"]["properties"]
    assert set(kernel) == set(KERNEL_KEYS)
    assert json.loads(smemlint("config", "--schema")[1]) == json.loads(json.dumps(schema()))
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(schema())
    good = {"arch": "sm_90", "max-ways": {"SML101": 2}, "kernels": {"k": {"block": [32, 8]}}}
    jsonschema.validate(good, schema())
    for bad in ({"max-wais": 2}, {"strict": 1}, {"kernels": {"k": {"blok": 1}}}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(bad, schema())


def test_settings_are_listed_and_explained(smemlint):
    listed = {line.split()[0] for line in smemlint("config")[1].splitlines()}
    assert listed >= {o.name for o in OPTIONS if o.key} | {"kernels.NAME.assume"}
    assert 'default: "assumed"' in smemlint("config", "min-certainty")[1]
    block = "its block shape\nin configuration files and --config only\n"
    assert smemlint("config", "kernels.transpose.block")[:2] == (0, block)
    assert (
        smemlint("config", "kernels")[1].splitlines()[0]
        == "kernels.NAME.block      its block shape"
    )
    assert (
        "on the command line: --no-respect-gitignore" in smemlint("config", "respect-gitignore")[1]
    )
    code, _, err = smemlint("config", "min-certaintie")
    assert code == 2 and "did you mean `min-certainty`?" in err


def test_a_baseline_hides_what_it_knows_and_is_pruned(smemlint, tmp_path):
    write(tmp_path, a_cu=KERNEL, b_cu=KERNEL.replace("k(", "m(").replace("k<<<", "m<<<"))
    _, _, err = smemlint("check", "--write-baseline", ".")
    assert err == (
        "wrote 2 findings to smemlint-baseline.json: 2 new, 0 pruned\n"
        '  hint: `baseline = "smemlint-baseline.json"` in the configuration uses it\n'
    )
    use = ("check", "--baseline", "smemlint-baseline.json", ".")
    code, out, err = smemlint(*use)
    assert (code, out) == (0, "") and "(2 suppressed)" in err
    write(tmp_path, a_cu="// moved\n\n" + KERNEL)
    assert smemlint(*use)[0] == 0
    write(tmp_path, a_cu=KERNEL.replace("[0];", "[0] + s[threadIdx.x][5];"))
    code, out, _ = smemlint(*use, "--output-format", "concise")
    assert code == 1 and out.count("SML101") == 1 and "a.cu:3:42" in out
    write(tmp_path, a_cu=KERNEL.replace("[32][32]", "[32][33]"))
    code, _, err = smemlint(*use)
    assert code == 0 and "1 entry of smemlint-baseline.json stale" in err
    _, _, err = smemlint("check", "--baseline", "smemlint-baseline.json", "--write-baseline", ".")
    assert err == "wrote 1 finding to smemlint-baseline.json: 0 new, 1 pruned\n"
    for wrong in ("missing.json", "a.cu"):
        code, _, err = smemlint("check", "--baseline", wrong, ".")
        assert code == 2 and wrong in err and "--write-baseline" in err


def test_add_ignore_leaves_nothing_to_find(smemlint, tmp_path):
    write(tmp_path, a_cu=KERNEL, sub__b_cu=KERNEL)
    assert smemlint("check", "--add-ignore=later", ".")[2] == "added 2 ignore pragmas\n"
    code, out, err = smemlint("check", "--strict", ".")
    assert (code, out) == (0, "") and "(2 suppressed)" in err
    assert "  // smemlint: ignore[bank-conflict] later\n" in (tmp_path / "a.cu").read_text()


def test_a_reason_that_would_leave_its_comment_is_refused(smemlint, tmp_path):
    write(tmp_path, a_cu=KERNEL)
    for reason in ("two\nlines", "a\\", "'''"):
        code, _, err = smemlint("check", f"--add-ignore={reason}")
        assert (code, (tmp_path / "a.cu").read_text()) == (2, KERNEL)
        assert err == (
            f"smemlint: error: --add-ignore: {reason!r} does not fit into a comment\n"
            "  hint: write one line without backslashes and triple quotes\n"
        )


def test_a_report_of_nothing_is_an_empty_file(smemlint, tmp_path):
    write(tmp_path, a_cu="int a;\n")
    assert "\nmax-ways = {}\n" in smemlint("check", "--show-settings")[1]
    assert smemlint("check", "--output-file", "report.txt")[:2] == (0, "")
    assert (tmp_path / "report.txt").read_bytes() == b""


def test_every_option_is_in_one_group_of_the_help(smemlint):
    text = smemlint("check", "--help")[1]
    for option in OPTIONS:
        flag = f"--{'no-' * bool(option.denied)}{option.name}"
        assert len(re.findall(rf"^  (?:-\w(?: [\w=\[\]]+)?, )?{flag}\b(?!-)", text, re.M)) == 1, (
            flag
        )
    assert "  --fail-on LEVEL       least severity that fails the run: note, warning,\n" in text
    assert re.search(r"^  --arch ARCH .*\n?.*\(default:\s+sm_90\)$", text, re.M)


def test_strict_and_min_certainty(smemlint, tmp_path):
    unknown = "__global__ void k(int *p) { __shared__ int s[64]; s[p[threadIdx.x]] = 1; }\n"
    write(tmp_path, a_cu=unknown)
    assert smemlint("check", "--block-dim", "32", ".")[0] == 0
    assert smemlint("check", "--block-dim", "32", "--strict", ".")[0] == 1
    assert smemlint("check", "--block-dim", "32", "--strict", "--exit-zero", ".")[0] == 0
    write(tmp_path, a_cu=KERNEL)
    assert smemlint("check", "--min-certainty", "assumed", ".")[0] == 1
    assert smemlint("check", "--min-certainty", "proved", ".")[0] == 0


STRIDED = """\
__global__ void k(float *out, int K) {
  extern __shared__ float s[];
  int i = threadIdx.x + K;
  s[(i % 64) * 2] = out[i];
}
"""


def test_assumptions_of_pragmas_and_of_the_configuration_decide_accesses(smemlint, tmp_path):
    write(tmp_path, a_cu=STRIDED)
    assert "1 not" in smemlint("check", ".")[2]
    pragma = "// smemlint: assume(K % 64 == 0, K >= 0) tiles are whole\n"
    write(tmp_path, a_cu=pragma + STRIDED)
    _, out, err = smemlint("check", ".")
    assert "2-way bank conflict writing `s`" in out and "1 shared access decided" in err
    assert "`K % 64 == 0` (your assumption)" in out and "`K >= 0` (your assumption)" in out
    write(tmp_path, a_cu=STRIDED)
    write(tmp_path, smemlint_toml='[kernels.k]\nassume = ["K == 128"]\n')
    _, out, _ = smemlint("check", ".")
    assert "2-way bank conflict writing `s`" in out and "`K == 128` (your assumption)" in out


def test_assumptions_that_cannot_be_used_are_said(smemlint, tmp_path):
    write(tmp_path, a_cu="// smemlint: assume(K & 7 == 0)\n" + STRIDED)
    _, out, _ = smemlint("check", "--output-format", "concise", ".")
    assert "a.cu:1:1: SML903 note: `K & 7 == 0` cannot be assumed: write NAME % 8 == 0" in out
    write(tmp_path, a_cu="// smemlint: assume(M % 8 == 0)\n" + STRIDED)
    assert "by `M % 8 == 0`: the kernel has no such parameter" in smemlint("check", ".")[1]
    write(tmp_path, smemlint_toml='[kernels.k]\nassume = ["K squared"]\n')
    code, _, err = smemlint("check", ".")
    assert code == 2 and "smemlint.toml:2: `K squared` cannot be assumed" in err


@pytest.mark.parametrize("key", ["exclude", "extend-exclude", "per-file-ignores"])
@pytest.mark.parametrize(("count", "length"), [(501, 5), (1, 1_001)])
def test_lists_that_every_path_is_compared_with_have_a_size(smemlint, tmp_path, key, count, length):
    globs = [f"{i:0{length}}" for i in range(count)]
    value = {g: ["SML101"] for g in globs} if key == "per-file-ignores" else globs
    text = (
        json.dumps(value).replace(": [", " = [") if isinstance(value, dict) else json.dumps(value)
    )
    write(tmp_path, a_cu=KERNEL, smemlint_toml=f"{key} = {text}\n")
    assert smemlint("check", ".")[0] == 2


def test_hostile_globs_take_time_in_proportion_to_their_size():
    pattern = "*a" * 499 + "b"
    began = time.process_time()
    for i in range(1_000):
        assert not matches("a" * (4_000 - i), (pattern,))
    assert time.process_time() - began < 2  # one that goes back over stars takes years


def test_globs_match_as_those_of_python_do():
    source = random.Random(5)
    pieces = (
        "a",
        "b",
        "*",
        "*",
        "**",
        "?",
        "[ab]",
        "[!a]",
        "[*]",
        "[]a]",
        "[",
        "]",
        ".",
        "/",
        "\n",
        "[a",
        "[!]",
    )
    count = 0
    for _ in range(3_000):
        pattern = "".join(source.choices(pieces, k=source.randint(1, 6)))
        text = "".join(source.choices("aab*[].\n", k=source.randint(1, 6)))
        expected = fnmatchcase(text, pattern.rstrip("/"))
        assert matches(text, (pattern,)) == expected, (text, pattern)
        count += expected
    assert count > 200
