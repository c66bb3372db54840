"""What a shell is offered; the protocol is that of argcomplete's own scripts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("argcomplete", reason="argcomplete is not installed: smemlint[completion]")

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("line", "offered", "not_offered"),
    [
        ("smemlint an", {"analyze"}, {"check"}),
        ("smemlint check --output-f", {"--output-format"}, set()),
        ("smemlint swizzle so", {"solve"}, {"show"}),
    ],
)
def test_words_that_may_follow(tmp_path, line, offered, not_offered):
    answer = tmp_path / "answer"
    variables = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
        "_ARGCOMPLETE_IFS": "\n",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    subprocess.run(
        [sys.executable, "-m", "smemlint"], cwd=ROOT, env=os.environ | variables, check=True
    )
    found = {word.strip() for word in answer.read_text().split("\n")}
    assert offered <= found and not found & not_offered
