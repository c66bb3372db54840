"""Reports for people: whole outputs, so that every change of them is seen in review."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from samples import KERNEL, WIDE, report, result_of, run_of, sample

from smemlint.facts import Span
from smemlint.finding import Edit, Finding, Measurement, Severity, Verdict
from smemlint.report.diff import changes
from smemlint.report.full import full
from smemlint.report.phrases import measurement_text
from smemlint.report.terminal import Terminal, terminal

FULL = """\
SML101 bank-conflict: 32-way bank conflict reading `tile` in `column`
 --> k.cu:5:22
  |
2 |   __shared__ float tile[32][32];
  |                    ------------ `tile` is declared here
 ...
5 |   out[threadIdx.x] = tile[threadIdx.x][0];
  |                      ^^^^^^^^^^^^^^^^^^^^
  |
  = banks: |█                               | 1 of 32 busy, up to 32 words in one bank
  = proof: warp 0: 32 lanes reach 32 words in 1 bank, 32 wavefronts instead of 1
  = cost: 992 of 1024 wavefronts wasted in a block, by 32 of 32 warps: 48% of the kernel's
  = note: lanes 0 to 31 are 128 bytes apart, so all 32 meet in bank 0
  = note: block (32, 32, 1) (launch at k.cu:9)
  = certainty: assumed
  = measured: predicted 32, measured 32.0 +/- 0.25 (NVIDIA H200, sm_90): confirmed
  = help: pad the rows of `tile` to 33 elements (--fix --unsafe-fixes applies it: 128 bytes more shared memory)
2 -   __shared__ float tile[32][32];
2 +   __shared__ float tile[32][33];
  = more: smemlint rule SML101

SML901 not-analysed: not fully analysed: `column`, 1 undecided
 --> k.cu:1:17
  |
1 | __global__ void column(float *out, const float *in, const int *where) {
  |                 ^^^^^^
  |
  = note: line 6: a value read from global memory
  = more: smemlint rule SML901
"""


def test_the_full_report():
    assert report("full") + "\n" == FULL


def test_without_unicode_the_strip_has_digits_and_nothing_else_changes():
    ascii_report = report("full", sample(Terminal(unicode=False)))
    assert ascii_report.isascii()
    strip = "|" + "#" + "." * 31 + "| 1 of 32 busy, up to 32 words in one bank"
    assert ascii_report == FULL.rstrip("\n").replace(
        "|█                               | 1 of 32 busy, up to 32 words in one bank", strip
    )


def test_colour_changes_no_character_of_the_text():
    import re

    painted = report("full", sample(Terminal(colour=True)))
    assert "\x1b[1;33mSML101 bank-conflict\x1b[0m" in painted
    assert re.sub(r"\x1b\[[\d;]*m", "", painted) + "\n" == FULL
    painted = report("concise", sample(Terminal(colour=True)))
    assert "\x1b[1;33mSML101 warning\x1b[0m: " in painted
    plain = report("concise", sample(Terminal()))
    assert re.sub(r"\x1b\[[\d;]*m", "", painted) == plain != painted


def test_notes_wrap_at_the_width_of_the_window():
    narrow = report("full", sample(Terminal(width=60))).splitlines()
    source = KERNEL.splitlines()[0]
    assert all(len(line) <= 60 for line in narrow if source not in line)
    start = next(i for i, x in enumerate(narrow) if "= help:" in x)
    assert narrow[start : start + 3] == [
        "  = help: pad the rows of `tile` to 33 elements (--fix",
        "          --unsafe-fixes applies it: 128 bytes more shared",
        "          memory)",
    ]


def test_concise_is_one_line_a_finding():
    assert report("concise").splitlines() == [
        "k.cu:1:17: SML901 note: not fully analysed: `column`, 1 undecided",
        "k.cu:5:22: SML101 warning: 32-way bank conflict reading `tile` in `column` [assumed]",
    ]


# ---- frames


def framed(text: str, span: Span, term: Terminal | None = None) -> list[str]:
    finding = Finding("SML999", "sample", Severity.NOTE, "a sample", span)
    return full(finding, lambda _: text, term or Terminal()).splitlines()[3:-1]


def test_the_underline_stands_under_tabs_and_wide_characters():
    text = '\tf("\u6f22\u5b57", \U0001f600, s[i]);\n'
    start = text.index("s[i]") + 1
    source, under = framed(text, Span("k.cu", 1, start, 1, start + 4))
    assert source == "1 | " + text.rstrip()
    assert under == "  | \t" + " " * (3 + 2 * 2 + 3 + 2 + 2) + "^^^^"


def test_a_long_line_is_cut_around_the_place():
    text = "x" * 5000 + "s[threadIdx.x]" + "y" * 5000
    source, under = framed(text, Span("k.cu", 1, 5001, 1, 5015))
    assert len(source) == 204 and source.startswith("1 | ...x") and source.endswith("...")
    assert source[under.index("^") : under.rindex("^") + 1] == "s[threadIdx.x]"


def test_linted_text_cannot_steer_the_terminal():
    source, _ = framed("a\x1b[31m\x07\x9b;s[i]", Span("k\x1b.cu", 1, 10, 1, 14))
    assert source == "1 | a\u241b[31m\u2407\ufffd;s[i]"
    plain, _ = framed("a\x1bb", Span("k.cu", 1, 1, 1, 2), Terminal(unicode=False))
    assert plain == "1 | a?b"


def test_several_lines_have_a_bracket_and_form_feeds_are_no_lines():
    text = "\x0c\nf(a,\n    b,\n  c);\n"
    assert framed(text, Span("k.cu", 2, 1, 4, 5)) == [
        "2 | / f(a,",
        "3 | |     b,",
        "4 | |   c);",
        "  | |____^",
    ]


def test_a_declaration_in_another_file_has_a_frame_of_its_own():
    header = "#pragma once\nstruct Tile { float data[32][32]; };\n"
    kernel = '#include "tile.cuh"\n' + "__global__ void k(float *o, Tile *t) { o[0] = s[9]; }\n"
    start = kernel.splitlines()[1].index("s[9]") + 1
    finding = Finding(
        "SML999", "sample", Severity.NOTE, "a sample", Span("k.cu", 2, start, 2, start + 4),
        related=((Span("tile.cuh", 2, 21, 2, 33), "`data` is declared here"),),
    )  # fmt: skip
    shown = full(finding, {"k.cu": kernel, "tile.cuh": header}.__getitem__, Terminal())
    assert shown.splitlines()[1:] == [
        " --> k.cu:2:47",
        "  |",
        "2 | __global__ void k(float *o, Tile *t) { o[0] = s[9]; }",
        "  |                                               ^^^^",
        "  |",
        " ::: tile.cuh:2:21",
        "  |",
        "2 | struct Tile { float data[32][32]; };",
        "  |                     ------------ `data` is declared here",
        "  |",
    ]


def test_a_place_outside_the_text_is_still_reported():
    assert framed("", Span("gone.cu", 7, 1, 7, 2)) == []


# ---- parts


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ([("33", (1, 3, 1, 5))], [(1, ("a 32 b",), ("a 33 b",))]),
        ([("x", (1, 1, 1, 2)), ("y", (1, 6, 1, 7))], [(1, ("a 32 b",), ("x 32 y",))]),
        ([("new\n", (2, 1, 2, 1))], [(2, (), ("new",))]),
        ([("", (2, 1, 3, 1))], [(2, ("second",), ())]),
        ([("\nnew", (1, 7, 1, 7))], [(2, (), ("new",))]),
        ([("z", (1, 1, 1, 2)), ("3", (3, 1, 3, 6))],
         [(1, ("a 32 b",), ("z 32 b",)), (3, ("third",), ("3",))]),
        ([("+", (1, 7, 2, 1))], [(1, ("a 32 b", "second"), ("a 32 b+second",))]),
    ],
)  # fmt: skip
def test_a_fix_shows_the_lines_that_it_changes(edits, expected):
    text = "a 32 b\nsecond\nthird\n"
    changed = [Edit(Span("k.cu", *place), new) for new, place in edits]
    assert [(c.line, c.before, c.after) for c in changes(changed, "k.cu", text)] == expected


@pytest.mark.parametrize(
    ("measurement", "text"),
    [
        (
            Measurement(Verdict.CONFIRMED, 32, 32.0, 0.0, "H200"),
            "predicted 32, measured 32.0 (H200): confirmed",
        ),
        (
            Measurement(Verdict.REFUTED, 4, 2.04, 0.1, "H200"),
            "predicted 4, measured 2.0 +/- 0.1 (H200): refuted",
        ),
        (
            Measurement(Verdict.NOT_REPLAYABLE, 4, None, 0.0, "H200", "addresses are symbolic"),
            "not replayable on H200: addresses are symbolic",
        ),
    ],
)
def test_measurements_are_said_with_both_figures(measurement, text):
    assert measurement_text(measurement) == text


class Window(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("color", "is_window", "env", "expected"),
    [
        ("auto", True, {}, True),
        ("auto", False, {}, False),
        ("auto", True, {"NO_COLOR": "1"}, False),
        ("auto", True, {"NO_COLOR": ""}, True),
        ("auto", False, {"FORCE_COLOR": "1"}, True),
        ("auto", False, {"FORCE_COLOR": "0"}, False),
        ("auto", False, {"CLICOLOR_FORCE": "1"}, True),
        ("auto", False, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ("auto", True, {"CLICOLOR": "0"}, False),
        ("auto", True, {"TERM": "dumb"}, False),
        ("always", False, {"NO_COLOR": "1"}, True),
        ("never", True, {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colour_rules(color, is_window, env, expected):
    stream = Window() if is_window else io.StringIO()
    assert terminal(color, stream, env).colour is expected


def test_width_is_that_of_a_window_only():
    assert terminal("auto", io.StringIO(), {"COLUMNS": "90"}).width == 0
    assert terminal("auto", Window(), {"COLUMNS": "90"}).width == 90
    assert terminal("auto", Window(), {"COLUMNS": "9"}).width == 60


def test_a_wide_access_shows_its_costliest_pass():
    result = result_of(WIDE)
    wide = [f for f in result.findings if f.access is not None and f.access.width_bytes == 16]
    run = run_of(replace(result, findings=tuple(wide)), lambda _: WIDE)
    assert "up to 8 words in one bank, lanes 0-7" in report("full", run)


def test_what_a_mark_says_stands_beneath_where_the_window_is_narrow():
    text = "  call(" + "x" * 30 + ");\n"
    related = ((Span("k.cu", 1, 3, 1, 39), "called from `somewhere`"),)
    finding = Finding(
        "SML999", "sample", Severity.NOTE, "x", Span("k.cu", 2, 1, 2, 2), related=related
    )
    wide = full(finding, lambda _: text + "y\n", Terminal(width=80)).splitlines()[3:5]
    assert wide[1] == "  |   " + "-" * 36 + " called from `somewhere`"
    narrow = full(finding, lambda _: text + "y\n", Terminal(width=60)).splitlines()[3:6]
    assert narrow[1:] == ["  |   " + "-" * 36, "  |   called from `somewhere`"]
