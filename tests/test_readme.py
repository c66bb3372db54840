"""The README's commands, outputs and tables are checked against what the program does."""

from __future__ import annotations

import re

import pytest
import readme
from readme import PAGES, PICTURE, ROOT, command, current, picture, printed, updated

README = current()


def test_what_it_shows_is_what_the_program_prints():
    assert updated(README) == README, "python tests/readme.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_show_what_the_program_prints(page):
    text = page.read_text(encoding="utf-8")
    assert updated(text) == text, "python tests/readme.py"
    assert "```text\n```" not in text


def test_questions_to_swizzle_that_pages_name_are_answered(smemlint):
    texts = [README, *(page.read_text(encoding="utf-8") for page in PAGES)]
    named = {found for text in texts for found in re.findall(r"`smemlint (swizzle [^`]*)`", text)}
    assert len(named) >= 8
    for arguments in sorted(named):
        code, out, err = smemlint(*arguments.split())
        assert (code, err) == (0, ""), arguments
        assert out, arguments


def test_its_picture_is_that_of_the_report():
    assert picture() == PICTURE.read_text(encoding="utf-8"), "python tests/readme.py"
    assert f"]({PICTURE.relative_to(ROOT)})" in README


def test_the_main_command_finds_what_the_readme_promises():
    arguments = command(README, "main job").rsplit("smemlint ", 1)[1].split()
    shown = printed(arguments)
    assert "32 wavefronts instead of 1" in shown and shown in README


def test_a_stale_block_is_found():
    for stale in ("32-way bank conflict reading", "bank-conflict | warning |"):
        assert updated(README.replace(stale, "nonsense")) == README


def test_its_links_lead_somewhere():
    for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", README):
        assert (ROOT / target).exists(), target


def test_ci_reads_its_test_command():
    assert command(README, "tests").endswith(".venv/bin/python -m pytest -n auto\n")
    assert readme.README.name == "README.md"
