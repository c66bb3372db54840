"""The README's commands, output and table are checked against what the program does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from smemlint.registry import entries

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(mark: str) -> str:
    found = re.search(rf"<!-- {mark} -->\n```\w*\n(.*?)```", README, re.S)
    assert found is not None, mark
    return found[1]


def test_the_shown_output_is_what_the_main_command_prints():
    arguments = block("command: main job").rsplit("smemlint ", 1)[1].split()
    done = subprocess.run(
        [sys.executable, "-m", "smemlint", *arguments],
        cwd=ROOT, capture_output=True, encoding="utf-8", check=False,
        env={"PYTHONUTF8": "1", "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stdout + done.stderr == block("output: main job")


def test_the_table_of_rules_is_that_of_the_registry():
    rows = re.search(r"<!-- table: rules -->\n\|.*\n\| --- .*\n((?:\|.*\n)*)", README)
    assert rows is not None
    expected = [
        f"| [{e.rule.code}](rules/{e.folder.name}/README.md) | {e.rule.name} | {e.rule.summary} |"
        for e in entries()
    ]
    assert rows[1].splitlines() == expected
