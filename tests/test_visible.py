"""Text of strangers steers no terminal, no log and no workflow, in whatever it is printed."""

from __future__ import annotations

import ast
import json
import logging
import os
import re
import subprocess
import sys
from io import BytesIO, StringIO, TextIOWrapper

import pytest
from conftest import ROOT
from syntax_trees import tree_of

from smemlint.errors import ConfigError
from smemlint.visible import inert, print_lines, visible, without_commands

BAD = (ROOT / "rules/bank_conflict/bad.cu").read_text()
FIXABLE = (ROOT / "fixtures/transpose.cu").read_text()
STEERING = "\x00\x07\x08\x0b\x0c\x1b\x7f\x80\x85\x9b\u061c\u200f\u2028\u202e\u2066\u2069"
COMMAND = re.compile(r"^\s*::(?:error|stop-commands|warning)|##(?:vso)?\[", re.MULTILINE)


def steers(output: str) -> list[str]:
    """What of an output a terminal or a CI server would obey."""
    found = [c for c in output if c in STEERING or "\ud800" <= c <= "\udfff"]
    return found + COMMAND.findall(output)


def test_each_steering_character_has_a_sign():
    text = visible(f"a{STEERING}\r\n\ud800\tb")
    assert len(text) == len(STEERING) + 6 and text[-2] == "\t"
    assert steers(text) == [] and "\n" not in text and "\r" not in text
    assert visible(f"a{STEERING}", unicode=False) == "a" + "?" * len(STEERING)
    assert visible("plain, é 漢 ∷") == "plain, é 漢 ∷"


@pytest.mark.parametrize(
    "line",
    [
        "::error::x",
        "  ::stop-commands::t",
        "\t::Warning file=a::",
        "a ##[error]x",
        "##vso[task.x]y",
    ],
)
def test_commands_are_none_any_more(line):
    assert steers(without_commands(f"first\n{line}")) == []
    assert steers(without_commands(line, unicode=False)) == []
    assert steers(inert(line)) == []


@pytest.mark.parametrize(
    "line",
    [
        " ::std::move(x)",
        " ::errors::A a;",
        "a##b[i]",
        "::",
        " x\r",
        "+\tint x;",
        " \udcb0",
        " 漢\u3000",
    ],
)
def test_ordinary_lines_stay_as_they_are(line):
    assert without_commands(line) == line and inert(line) == line


def test_a_line_that_is_printed_is_one_line_in_any_encoding():
    for encoding in ("utf-8", "ascii", "latin-1"):
        data = BytesIO()
        stream = TextIOWrapper(data, encoding=encoding)
        print_lines(f"::error::{STEERING}\n\ud800é漢", stream=stream)
        stream.flush()
        shown = data.getvalue().decode(encoding)
        assert (shown.count("\n"), steers(shown)) == (1, [])
    out = StringIO()
    print_lines("::error::a\nb", "c", stream=out)
    assert (out.getvalue().count("\n"), steers(out.getvalue())) == (2, [])


def test_errors_quote_no_controls():
    error = ConfigError("a\n::error::b\x1b[2J", hint="c\n::error::d", where="e\r::f")
    assert str(error).count("\n") == 1 and steers(str(error)) == []


HOSTILE = ["nl\x1b]0;x\x07\n::error::F.cu", "::error file=x::F.cu", "##[error]F.cu", "r\u202eF.cu"]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no such names")
@pytest.mark.parametrize(
    "command",
    ["check", "check --output-format concise", "check --show-files", "check --diff --unsafe-fixes",
     "analyze", "check --add-ignore", "check --write-baseline", "check --statistics"],
)  # fmt: skip
def test_names_of_files_steer_nothing(smemlint, tmp_path, command):
    foreign = [] if "--diff" in command else [os.fsdecode(b"\xff.cu")]  # patch reads the byte
    for name in [*HOSTILE, *foreign]:
        (tmp_path / name).write_text(FIXABLE)
    code, out, err = smemlint(*command.split(), "--isolated")
    assert code in (0, 1) and out + err and steers(out + err) == []


@pytest.mark.parametrize(
    "text",
    [
        'baseline = "x\\u001b[31m\\n::error file=a,line=1::F\\n::stop-commands::t.json"',
        '"a\\n::error::\\u001b" = 1',
        'select = ["a\\n::error::b\\u001b"]',
        'arch = "a\\r::error::b\\u202e"',
        '[kernels."k\\n::error::"]\nblock = "\\u001b"',
        'exclude = ["a\\n::error::b\\u001b"]',
    ],
)
@pytest.mark.parametrize("flags", [(), ("--show-settings",)])
def test_configurations_steer_nothing(smemlint, tmp_path, text, flags):
    (tmp_path / "k.cu").write_text(BAD)
    (tmp_path / "smemlint.toml").write_text(text + "\n")
    code, out, err = smemlint("check", ".", "--no-cache", *flags)
    assert code in (0, 1, 2) and out + err and steers(out + err) == []


def test_github_annotations_escape_controls(smemlint, tmp_path):
    text = '#include "a\x1b[2J\u202e.h"\n' + BAD
    (tmp_path / "k.cu").write_text(text, encoding="utf-8")
    _, out, _ = smemlint("check", "k.cu", "--no-cache", "--output-format", "github")
    assert all(line.startswith(("::notice ", "::warning ")) for line in out.splitlines())
    assert [c for c in out if c in STEERING] == []


def test_json_stays_exact(smemlint, tmp_path):
    (tmp_path / "##[error]\u202e.cu").write_text(BAD)
    for command in ("check", "analyze"):
        _, out, _ = smemlint(command, "--output-format", "json")
        assert "##[error]\\u202e.cu" in out or "##[error]\u202e.cu" in out
        assert "##[error]\u202e.cu" in json.dumps(json.loads(out), ensure_ascii=False)


def test_a_diff_of_hostile_lines_is_refused_by_patch_and_said(smemlint, tmp_path):
    declaration = next(line for line in FIXABLE.split("\n") if "__shared__" in line)
    hostile = FIXABLE.replace(
        declaration, f"  // ::error::F\n  ::error::F; //\x1b[2J\n{declaration}"
    )
    (tmp_path / "k.cu").write_text(hostile)
    _, out, err = smemlint("check", "k.cu", "--no-cache", "--diff", "--unsafe-fixes")
    assert "@@" in out and steers(out + err) == [] and "k.cu" in err.split("\n")[0]
    (tmp_path / "k.cu").write_text(FIXABLE)
    _, out, err = smemlint("check", "k.cu", "--no-cache", "--diff", "--unsafe-fixes")
    assert len(err.splitlines()) == 1
    done = subprocess.run(["patch", "-p0"], cwd=tmp_path, input=out.encode(), check=False)
    assert (done.returncode, "TILE + 1" in (tmp_path / "k.cu").read_text()) == (0, True)


def test_log_records_of_the_server_are_one_line():
    pytest.importorskip("pygls")
    from smemlint.lsp.server import _VisibleFormatter

    try:
        raise ValueError("a\n::error::b\x1b")
    except ValueError:
        record = logging.LogRecord("n", 40, "f", 1, "%s", ("u\n::error::\x1b",), sys.exc_info())
    shown = _VisibleFormatter("smemlint: %(message)s").format(record)
    assert steers(shown) == [] and shown.split("\n")[1].startswith("Traceback")


def test_nothing_else_prints_what_a_file_says():
    """`print` is left to commands that show text of our own and to processes beside a GPU."""
    printing = set()
    for path in (ROOT / "smemlint").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(tree_of(path)) if "print" in text else ():
            if isinstance(node, ast.Name) and node.id == "print":
                printing.add(path.relative_to(ROOT / "smemlint").as_posix())
    own = {"visible.py", "cli/config.py", "cli/swizzle.py"}
    assert {p for p in printing if not p.startswith("verify/")} == own
