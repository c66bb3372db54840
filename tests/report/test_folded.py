"""Notices of what was not analysed: folded for people, listed where somebody asks, and known."""

from __future__ import annotations

import json
import re

import pytest

KERNEL = """\
__global__ void k{n}(float *o, const int *w) {{
  __shared__ float s[64];
  s[w[threadIdx.x]] = 1;
  s[w[threadIdx.x + 1]] = 2;
  o[0] = s[threadIdx.x * 2];
}}
void run{n}(float *o, const int *w) {{ k{n}<<<1, 32>>>(o, w); }}
"""


def write(folder, count: int) -> None:
    (folder / "k.cu").write_text("".join(KERNEL.format(n=n) for n in range(count)))


@pytest.mark.parametrize("name", ["full", "concise"])
def test_many_are_folded_into_counts_by_reason(smemlint, tmp_path, name):
    write(tmp_path, 4)
    code, out, closing = smemlint("check", "k.cu", "--output-format", name)
    *_, head, row = out.splitlines()
    assert re.findall(r"SML901|\d+ notes?|\d+ kernels?", head) == ["SML901", "4 notes", "4 kernels"]
    assert row.split()[0] == "8"
    assert (code, out.count("SML901"), out.count("SML101")) == (1, 1, 8 if name == "full" else 4)
    assert "4 notes" in closing


@pytest.mark.parametrize("flag", ["--show-notes", "--strict", "--pedantic"])
def test_they_are_listed_on_demand(smemlint, tmp_path, flag):
    write(tmp_path, 4)
    _, out, _ = smemlint("check", "k.cu", "--output-format", "concise", flag)
    assert len(re.findall(r"^k\.cu:\d+:17: SML901 note", out, re.M)) == 4


def test_few_are_shown_and_formats_for_tools_have_all(smemlint, tmp_path):
    write(tmp_path, 3)
    _, out, _ = smemlint("check", "k.cu", "--output-format", "concise")
    assert len(re.findall(r"^k\.cu:\d+:17: SML901 note", out, re.M)) == 3
    write(tmp_path, 5)
    _, out, _ = smemlint("check", "k.cu", "--output-format", "json")
    gaps = [f["gaps"] for f in json.loads(out)["findings"] if f["code"] == "SML901"]
    assert [[(g["line"] % 7, g["kernel"]) for g in found] for found in gaps] == [
        [(3, f"k{n}"), (4, f"k{n}")] for n in range(5)
    ]


def test_a_reason_is_given_once_with_its_lines(smemlint, tmp_path):
    write(tmp_path, 1)
    _, out, _ = smemlint("check", "k.cu", "--output-format", "json")
    (note,) = next(f for f in json.loads(out)["findings"] if f["code"] == "SML901")["notes"]
    assert re.findall(r"\d+", note) == ["3", "4"]


def test_a_baseline_knows_them_until_a_reason_is_new(smemlint, tmp_path):
    write(tmp_path, 2)
    assert smemlint("check", "k.cu", "--write-baseline")[0] == 0
    known = ("check", "k.cu", "--baseline", "smemlint-baseline.json", "--strict")
    code, out, closing = smemlint(*known)
    assert (code, out) == (0, "") and "(4 suppressed)" in closing
    text = (tmp_path / "k.cu").read_text()
    (tmp_path / "k.cu").write_text("// a comment\n" + text)
    assert smemlint(*known)[:2] == (0, "")
    (tmp_path / "k.cu").write_text(
        text.replace("s[w[threadIdx.x]]", "s[unread(1) + threadIdx.x]", 1)
    )
    code, out, _ = smemlint(*known, "--output-format", "concise")
    assert (code, [line.split()[1] for line in out.splitlines()]) == (1, ["SML901"])
