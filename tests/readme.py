"""What the README shows of the program: `python tests/readme.py --write` brings it up to date.

`<!-- output: ARGUMENTS -->` stands before a code block that has what `smemlint ARGUMENTS` prints, and
`<!-- table: ARGUMENTS -->` before a table. The arguments of `main job` are those of the README's
first command.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
_SHOWN = re.compile(
    r"(?P<mark><!-- output: (?P<output>.*?) -->\n```\w*\n)(?P<text>.*?)(?=^```$)"
    r"|(?P<head><!-- table: (?P<table>.*?) -->\n)(?P<rows>(?:\|[^\n]*\n)*)",
    re.M | re.S,
)


def current() -> str:
    """The README as it is."""
    return README.read_text(encoding="utf-8")


def command(readme: str, name: str) -> str:
    """The code block under `<!-- command: NAME -->`."""
    found = re.search(rf"<!-- command: {name} -->\n```\w*\n(.*?)```", readme, re.S)
    assert found is not None, name
    return found[1]


def updated(readme: str) -> str:
    """The README with every output and table as the program prints them now."""

    def replace(match: re.Match[str]) -> str:
        arguments = match["output"] or match["table"]
        if arguments == "main job":
            arguments = command(readme, "main job").rsplit("smemlint ", 1)[1]
        return (match["mark"] or match["head"]) + printed(arguments.split())

    return _SHOWN.sub(replace, readme)


def printed(arguments: list[str]) -> str:
    """What smemlint prints on both streams."""
    env = {"PYTHONUTF8": "1", "PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "smemlint", *arguments],
        cwd=ROOT, capture_output=True, encoding="utf-8", check=False, env=env,
    )  # fmt: skip
    return done.stdout + done.stderr


if __name__ == "__main__":
    before, after = current(), updated(current())
    if "--write" in sys.argv:
        README.write_text(after, encoding="utf-8")
    sys.exit(before != after and "--write" not in sys.argv)
