"""Records and compares golden outputs: what `analyze` and `check` print, byte for byte.

Recorded outputs of `fixtures` and `rules` lie beside this file; a test compares them.

    python tests/golden/golden.py record              # write them anew: the commit says why
    python tests/golden/golden.py compare REV FOLDER  # this tree against revision REV on FOLDERs

`compare` checks REV out into a temporary worktree, runs both on each folder (a fetched repository,
say), prints the first differing lines and the processor seconds of both, and exits with 1 where
they differ.
"""

from __future__ import annotations

import argparse
import difflib
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FOLDERS = ("fixtures", "rules")
COMMANDS = {
    "analyze.json": ("analyze", "--output-format", "json"),
    "check.txt": (
        "check",
        "--no-cache",
        "--show-notes",
        "--output-format",
        "full",
        "--color",
        "never",
    ),
}


def output(program: Path, command: tuple[str, ...], folders: tuple[str, ...], cwd: Path) -> bytes:
    """Returns what one run prints on standard output; `program` is the tree that holds smemlint."""
    environment = os.environ | {
        "PYTHONPATH": str(program), "PYTHONUTF8": "1", "NO_COLOR": "1", "COLUMNS": "100",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "smemlint", *command, "--isolated", "--jobs", "1", *folders],
        cwd=cwd,
        env=environment,
        capture_output=True,
        check=False,
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"{program}: exit {done.returncode}\n{done.stderr.decode()}")
    return done.stdout


def record() -> None:
    """Writes the golden outputs of this tree."""
    for name, command in COMMANDS.items():
        (HERE / name).write_bytes(output(ROOT, command, FOLDERS, ROOT))


def processor_seconds() -> float:
    """Returns the processor time of all ended child processes."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def compare(revision: str, folders: list[str]) -> int:
    """Compares this tree with a revision on folders; returns how many outputs differ."""
    differing = 0
    with tempfile.TemporaryDirectory() as holder:
        other = Path(holder, "tree")
        git = ("git", "-C", str(ROOT), "worktree")
        subprocess.run([*git, "add", "--detach", str(other), revision], check=True)
        try:
            for folder in folders:
                for name, command in COMMANDS.items():
                    differing += _compared(other, folder, name, command)
        finally:
            subprocess.run([*git, "remove", "--force", str(other)], check=True)
    return differing


def _compared(other: Path, folder: str, name: str, command: tuple[str, ...]) -> bool:
    """Runs both trees on one folder; returns whether their outputs differ."""
    outputs, seconds = [], []
    for program in (other, ROOT):
        start = processor_seconds()
        outputs.append(output(program, command, (".",), Path(folder)).decode().splitlines())
        seconds.append(processor_seconds() - start)
    is_equal = outputs[0] == outputs[1]
    state = "equal" if is_equal else "DIFFERENT"
    print(f"{folder} {name}: {state}; {seconds[0]:.1f} s before, {seconds[1]:.1f} s now")
    lines = difflib.unified_diff(*outputs, "before", "now", lineterm="", n=1)
    for _, line in zip(range(40), lines, strict=False):
        print(" ", line)
    return not is_equal


def main() -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("record")
    comparison = commands.add_parser("compare")
    comparison.add_argument("revision")
    comparison.add_argument("folders", nargs="+")
    arguments = parser.parse_args()
    if arguments.command == "record":
        record()
        return 0
    return bool(compare(arguments.revision, arguments.folders))


if __name__ == "__main__":
    sys.exit(main())
