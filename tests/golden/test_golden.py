"""Outputs are frozen: a refactoring changes no byte, and a changed figure shows in the diff."""

from __future__ import annotations

import pytest
from golden import COMMANDS, FOLDERS, HERE, ROOT, output


@pytest.mark.parametrize("name", COMMANDS)
def test_output_is_the_recorded_one(name: str) -> None:
    now = output(ROOT, COMMANDS[name], FOLDERS, ROOT).decode().splitlines()
    assert now == (HERE / name).read_text(encoding="utf-8").splitlines()
