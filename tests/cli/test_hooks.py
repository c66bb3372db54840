"""The pre-commit hooks and the GitHub action, as their services would read and run them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from smemlint.sources.discovery import SUFFIXES

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).resolve().parents[2]
BAD = (ROOT / "rules/bank_conflict/bad.cu").read_text()
GOOD = (ROOT / "rules/bank_conflict/good.cu").read_text()


def test_the_manifest_names_hooks_that_the_command_line_understands(smemlint, tmp_path):
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    (tmp_path / "bad.cu").write_text(BAD)
    for hook in hooks:
        assert {"id", "name", "description", "entry", "language"} <= set(hook)
        assert hook["language"] == "python"
        assert all(re.search(hook["files"], f"a{suffix}") for suffix in SUFFIXES)
        assert not any(re.search(hook["files"], name) for name in ("a.cu.o", "acu", "a.js"))
        program, *arguments = hook["entry"].split()
        assert program == "smemlint"
        code, _, err = smemlint(*arguments, "bad.cu")
        assert (code, "error" in err) == (1, False), err


def step_of(action: dict[str, object], name: str) -> dict[str, object]:
    steps = action["runs"]["steps"]  # type: ignore[index]
    return next(s for s in steps if s.get("id") == name)


def run_check_step(
    folder: Path, paths: str, arguments: str = "--arch sm_90 --max-ways 2"
) -> subprocess.CompletedProcess[str]:
    """Runs the action's own step in a folder, with this smemlint in place of an installed one."""
    step = step_of(yaml.safe_load((ROOT / "action.yml").read_text()), "check")
    tools = folder.parent / "tools"
    tools.mkdir()
    script(tools / "python", f"""\
        bin=$3/bin; mkdir -p "$bin"
        printf '#!/bin/sh\\n' > "$bin/pip"
        printf '#!/bin/sh\\nexec {sys.executable} -m smemlint "$@"\\n' > "$bin/smemlint"
        chmod +x "$bin"/*""")  # fmt: skip
    variables = {
        "ACTION": str(ROOT), "PATHS": paths, "ARGUMENTS": arguments,
        "SARIF": "out.sarif", "ANNOTATIONS": "true", "SUMMARY": "true",
        "GITHUB_STEP_SUMMARY": str(folder.parent / "summary"), "RUNNER_TEMP": str(folder.parent / "temp"),
        "GITHUB_OUTPUT": str(folder.parent / "output"),
    }  # fmt: skip
    assert set(step["env"]) <= set(variables)
    env = {"PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), **variables}
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", step["run"]],
        cwd=folder, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture
def checkout(tmp_path):
    folder = tmp_path / "checkout"
    folder.mkdir()
    return folder


@pytest.mark.parametrize(("text", "code"), [(BAD, "1"), (GOOD, "0"), (None, "2")])
def test_the_action_writes_sarif_and_its_exit_code(checkout, text, code):
    if text is not None:
        (checkout / "k.cu").write_text(text)
    done = run_check_step(checkout, "k.cu")
    assert done.returncode == 0, done.stderr
    assert (checkout.parent / "output").read_text() == f"exit-code={code}\n"
    assert (checkout / "out.sarif").exists() is (code != "2")
    if code != "2":
        (run,) = json.loads((checkout / "out.sarif").read_text())["runs"]
        assert len(run["results"]) == int(code) == run["invocations"][0]["exitCode"]
        annotated = [line for line in done.stdout.splitlines() if line.startswith("::warning ")]
        assert len(annotated) == int(code)
        head, *body = (checkout.parent / "summary").read_text().splitlines()
        assert head.startswith("#") and all(not line or line.startswith("    ") for line in body)
        assert sum("k.cu:" in line for line in body) == int(code)


def test_the_action_expands_no_name_of_the_checkout(checkout):
    for name in ("a.cu", "b.cu", "[a].cu", "--exit-zero.cu"):
        (checkout / name).write_text(BAD)
    run_check_step(checkout, "*.cu")  # a pattern is the name of a file, which there is not
    assert (checkout.parent / "output").read_text() == "exit-code=2\n"


def test_the_action_takes_several_paths_none_as_an_option(checkout):
    for name in ("a.cu", "b.cu", "[a].cu", "--exit-zero"):
        (checkout / name).write_text(BAD)
    run_check_step(checkout, "[a].cu\nb.cu  --exit-zero", "")
    (run,) = json.loads((checkout / "out.sarif").read_text())["runs"]
    (call,) = run["invocations"]
    places = [r["locations"][0]["physicalLocation"] for r in run["results"]]
    found = {place["artifactLocation"]["uri"] for place in places}
    assert (call["exitCode"], found) == (1, {"%5Ba%5D.cu", "b.cu", "--exit-zero"})


def test_foreign_actions_are_pinned_by_commit():
    texts = [(ROOT / name).read_text() for name in ("action.yml", "README.md")]
    used = re.findall(r"uses: (?!smemlint/)(\S+)@(\S+)(.*)", "\n".join(texts))
    assert len(used) == 4
    for name, version, comment in used:
        assert re.fullmatch(r"[0-9a-f]{40}", version), name
        assert re.fullmatch(r"  # v\d+\.\d+\.\d+", comment), name


def test_dependencies_have_upper_bounds():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    required = [*project["dependencies"], *(name for extra in extras for name in extra)]
    assert [name for name in required if "<" not in name] == []


def script(path: Path, body: str) -> None:
    path.write_text("#!/bin/bash\n" + body)
    path.chmod(0o755)


def test_pre_commit_blocks_a_conflict_and_accepts_the_repair(tmp_path):
    """Needs pre-commit and wheels of what the hook's environment installs."""
    if shutil.which("pre-commit") is None or "PIP_FIND_LINKS" not in os.environ:
        pytest.skip("needs pre-commit, and PIP_FIND_LINKS at a folder of wheels")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    for text, code in ((BAD, 1), (GOOD, 0)):
        (tmp_path / "k.cu").write_text(text)
        subprocess.run(["git", "add", "k.cu"], cwd=tmp_path, check=True)
        command = ["pre-commit", "try-repo", str(ROOT), "smemlint", "--all-files"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        assert ("32-way bank conflict reading `tile`" in done.stdout) is (code == 1)
