"""The HTML report: self-contained, readable in both schemes, banks before and after."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import pytest
from samples import KERNEL, WIDE, report, result_of, run_of, sample
from test_tools import ODD, bare

from smemlint.lint.passes import passes
from smemlint.report.analysis_html import analysis_html
from smemlint.report.bankmap import bank_map
from smemlint.report.formats import rendered
from smemlint.report.page import cell, page, table

VOID = {"meta", "link", "br", "img", "th", "td", "tr", "path", "rect", "line"}


class Outline(HTMLParser):
    """Elements and text; complains of ends without a start."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.urls: list[str] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.urls += [v or "" for k, v in attrs if k in ("href", "src", "srcset", "action")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data


def test_it_is_one_page_that_loads_nothing():
    page = report("html")
    outline = Outline(page)
    assert outline.open == []
    assert outline.urls == ["#f0", "#f1"]
    assert not {"link", "img", "iframe", "object"} & set(outline.tags)
    assert outline.tags.count("script") == 1
    assert re.findall(r"url\(([^)]*)\)|@import", page) == ["#hatch"]
    assert page.count("prefers-color-scheme: dark") == 1


def test_it_says_what_the_terminal_says():
    words = Outline(report("html")).words
    for message in (
        "checked 1 file: 3 shared accesses decided, 1 not; 1 warning, 1 note (1 suppressed)",
        "warp 0: 32 lanes reach 32 words in 1 bank, 32 wavefronts instead of 1",
        "now: 32 wavefronts, 1 at best",
        "with the fix: 1 wavefront, 1 at best",
        "predicted 32, measured 32.0 +/- 0.25 (NVIDIA H200, sm_90): confirmed",
        "   2 -   __shared__ float tile[32][32];",
        "   2 +   __shared__ float tile[32][33];",
    ):
        assert message in words


def test_the_map_has_a_cell_for_every_lane_and_bank():
    finding = sample().result.findings[1]
    for access, crowded, cool in ((finding.access, 32, 0), (finding.fix.after, 0, 32)):
        drawing = bank_map(access, access.worst)
        assert cells(drawing, "crowded") == crowded and cells(drawing, "cool") == cool


def cells(drawing: str, kind: str) -> int:
    found = re.search(rf"<path class='{kind}' d='([^']*)'", drawing)
    assert found is not None
    return found[1].count("M")


def test_a_wide_access_is_split_into_its_passes():
    (wide,) = [
        f.access for f in result_of(WIDE).findings if f.access and f.access.width_bytes == 16
    ]
    split = passes(wide, wide.worst)
    assert [(p.first, p.last, p.turns, sum(p.words)) for p in split] == [
        (0, 7, 8, 32), (8, 15, 8, 32), (16, 23, 8, 32), (24, 31, 8, 32),
    ]  # fmt: skip
    assert cells(bank_map(wide, wide.worst), "crowded") == 32 * 4


def test_linted_text_is_text():
    evil = "<script>alert(1)</script>\n" * 4
    finding = replace(ODD, message='`<b>` & "x"', notes=("</dl><img src=x>",))
    page = rendered("html", bare(finding, text=evil))
    outline = Outline(page)
    assert outline.open == [] and not {"img", "b"} & set(outline.tags)
    assert "<b>" in outline.words and "</dl><img src=x>" in outline.words


@pytest.fixture
def browser(tmp_path):
    """Shows a page in Chromium, with further options; returns what it prints."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("needs chromium")

    def show(page: str, *options: str) -> str:
        (tmp_path / "report.html").write_text(page, encoding="utf-8")
        return subprocess.run(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=800,600",
             f"--user-data-dir={tmp_path}/profile", *options, f"file://{tmp_path}/report.html"],
            capture_output=True, timeout=60, check=True, text=True,
        ).stdout  # fmt: skip

    return show


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_shows_it(scheme, browser, tmp_path):
    dark = ["--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []
    picture = tmp_path / f"{scheme}.png"
    browser(report("html"), *dark, f"--screenshot={picture}")
    corner = corner_of(picture.read_bytes())
    assert corner == {"light": (255, 255, 255), "dark": (15, 19, 24)}[scheme]


def evaluated(browser, page: str, script: str):
    """What a script returns, run at the end of the page."""
    print_it = f"document.body.textContent = JSON.stringify((() => {{ {script} }})());"
    dom = browser(page.replace("</body>", f"<script>{print_it}</script></body>"), "--dump-dom")
    return json.loads(unescape(re.search("<body>(.*)</body>", dom, re.DOTALL)[1]))


def test_a_click_sorts_and_a_second_one_turns_the_order(browser):
    rows = [("a.cu:9", "50%", "0.5"), ("a.cu:10", "7%", "-"), ("a.cu:2", "100%", "12")]
    cells = [cell(p, f"a.cu:{int(p[5:]):09}") + cell(s) + cell(f) for p, s, f in rows]
    click = """
      return [0, 0, 1, 2, 2].map((column) => {
        document.querySelectorAll("th")[column].click();
        return [...document.querySelector("tbody").rows].map((row) => row.cells[0].textContent);
      });"""
    assert evaluated(browser, page("t", [table(("place", "share", "figure"), cells)]), click) == [
        ["a.cu:2", "a.cu:9", "a.cu:10"],
        ["a.cu:10", "a.cu:9", "a.cu:2"],
        ["a.cu:10", "a.cu:9", "a.cu:2"],
        ["a.cu:10", "a.cu:9", "a.cu:2"],
        ["a.cu:2", "a.cu:9", "a.cu:10"],
    ]


def test_the_contents_and_what_they_link_to_are_filtered(browser):
    action = """
      const filter = document.querySelector("input");
      filter.value = "CONFLICT";
      filter.dispatchEvent(new Event("input"));
      return [...document.querySelectorAll("tr, article")].map((shown) => shown.hidden);"""
    assert evaluated(browser, report("html"), action) == [False, False, True, False, True]


def test_both_pages_have_tables_to_sort():
    analysis = analysis_html({"sm_90": sample().result.facts})
    for text, tables in ((report("html"), 1), (analysis, 2)):
        tags = Outline(text).tags
        assert (tags.count("table"), tags.count("script")) == (tables, 1)


def corner_of(png: bytes) -> tuple[int, int, int]:
    """The top left pixel of an RGB or RGBA picture: no filter touches the first one."""
    import zlib

    data = b""
    at = 8
    while at < len(png):
        size = int.from_bytes(png[at : at + 4], "big")
        if png[at + 4 : at + 8] == b"IDAT":
            data += png[at + 8 : at + 8 + size]
        at += 12 + size
    first = zlib.decompress(data)[1:4]
    return first[0], first[1], first[2]


def test_an_access_without_a_figure_draws_nothing():
    finding = sample().result.findings[1]
    bare_access = replace(finding.access, patterns=())
    page = rendered("html", bare(replace(finding, access=bare_access, fix=None), text=KERNEL))
    assert "<figure" not in page


def test_run_of_no_findings_has_no_table():
    assert "<table" not in rendered("html", run_of(result_of("int x;"), lambda _: ""))
