"""The HTML report: self-contained, readable in both schemes, banks before and after."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from samples import KERNEL, report, result_of, run_of, sample
from test_tools import ODD, bare

from smemlint.lint.passes import passes
from smemlint.report.bankmap import bank_map
from smemlint.report.formats import rendered

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
    assert not {"script", "link", "img", "iframe", "object"} & set(outline.tags)
    assert re.findall(r"url\(([^)]*)\)|@import", page) == ["#hatch"]
    assert page.count("prefers-color-scheme: dark") == 1


def test_it_says_what_the_terminal_says():
    words = Outline(report("html")).words
    for said in (
        "checked 1 file: 3 shared accesses decided, 1 not; 1 warning, 1 note (1 suppressed)",
        "warp 0: 32 lanes reach 32 words in 1 bank, 32 wavefronts instead of 1",
        "now: 32 wavefronts, 1 at best",
        "with the fix: 1 wavefront, 1 at best",
        "predicted 32, measured 32.0 +/- 0.25 (NVIDIA H200, sm_90): confirmed",
        "   2 -   __shared__ float tile[32][32];",
        "   2 +   __shared__ float tile[32][33];",
    ):
        assert said in words


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
    text = KERNEL.replace(
        "float v = tile[threadIdx.x][8]", "float4 v = *(float4 *)&tile[threadIdx.x][0]"
    ).replace("ignore[bank-conflict]", "")
    (wide,) = [
        f.access for f in result_of(text).findings if f.access and f.access.width_bytes == 16
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
    assert outline.open == [] and not {"script", "img", "b"} & set(outline.tags)
    assert "<b>" in outline.words and "</dl><img src=x>" in outline.words


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_shows_it(scheme, tmp_path):
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        pytest.skip("needs chromium")
    (tmp_path / "report.html").write_text(report("html"), encoding="utf-8")
    dark = ["--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []
    picture = tmp_path / f"{scheme}.png"
    subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=800,600",
         f"--user-data-dir={tmp_path}/profile", *dark, f"--screenshot={picture}",
         f"file://{tmp_path}/report.html"],
        capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    corner = corner_of(picture.read_bytes())
    assert corner == {"light": (255, 255, 255), "dark": (15, 19, 24)}[scheme]


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
