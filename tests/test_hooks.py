"""The pre-commit hooks and the GitHub action, as their services would read and run them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).resolve().parent.parent
BAD = (ROOT / "rules/bank_conflict/bad.cu").read_text()
GOOD = (ROOT / "rules/bank_conflict/good.cu").read_text()


def test_the_manifest_names_hooks_that_the_command_line_understands(smemlint, tmp_path):
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    (tmp_path / "bad.cu").write_text(BAD)
    for hook in hooks:
        assert {"id", "name", "description", "entry", "language"} <= set(hook)
        assert hook["language"] == "python" and "cuda" in hook["types_or"]
        program, *arguments = hook["entry"].split()
        assert program == "smemlint"
        code, _, err = smemlint(*arguments, "bad.cu")
        assert (code, "error" in err) == (1, False), err


def step_of(action: dict[str, object], name: str) -> dict[str, object]:
    steps = action["runs"]["steps"]  # type: ignore[index]
    return next(s for s in steps if s.get("id") == name)


@pytest.mark.parametrize(("text", "code"), [(BAD, "1"), (GOOD, "0"), (None, "2")])
def test_the_action_writes_sarif_and_its_exit_code(tmp_path, text, code):
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    step = step_of(action, "check")
    if text is not None:
        (tmp_path / "k.cu").write_text(text)
    tools = tmp_path / "tools"
    tools.mkdir()
    script(tools / "python", f"""\
        bin=$3/bin; mkdir -p "$bin"
        printf '#!/bin/sh\\n' > "$bin/pip"
        printf '#!/bin/sh\\nexec {sys.executable} -m smemlint "$@"\\n' > "$bin/smemlint"
        chmod +x "$bin"/*""")  # fmt: skip
    variables = {
        "ACTION": str(ROOT), "PATHS": "k.cu", "ARGUMENTS": "--arch sm_90 --max-ways 2",
        "SARIF": "out.sarif", "RUNNER_TEMP": str(tmp_path / "temp"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
    }  # fmt: skip
    assert set(step["env"]) <= set(variables)
    env = {"PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), **variables}
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", step["run"]],
        cwd=tmp_path, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "output").read_text() == f"exit-code={code}\n"
    assert (tmp_path / "out.sarif").exists() is (code != "2")
    if code != "2":
        (run,) = json.loads((tmp_path / "out.sarif").read_text())["runs"]
        assert len(run["results"]) == int(code) == run["invocations"][0]["exitCode"]


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
