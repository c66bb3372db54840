"""What findings cost: shares of a kernel, loops of unknown length, one finding for one cause."""

from __future__ import annotations

import json
import re

import pytest

from smemlint.config.settings import Settings
from smemlint.driver.run import check
from smemlint.facts import sites_of
from smemlint.finding import MINOR_SHARE, Severity
from smemlint.lint.causes import joined_by_cause
from smemlint.lint.cost import OPEN_LOOP_TRIPS, total
from smemlint.sources.source import Source


def result(body: str, threads: int = 64):
    text = f"""\
__global__ void k(float *o, const float *in, int n) {{
  __shared__ __align__(16) float s[2048];
  __shared__ float t[64];
  int x = threadIdx.x;
{body}
}}
void run(float *o, const float *i, int n) {{ k<<<1, {threads}>>>(o, i, n); }}
"""
    return check([Source("k.cu", text)], Settings())


def test_the_share_of_a_kernel_is_arithmetic():
    # two warps: 2 wavefronts without a conflict, and 2 x 32 of which 2 are ideal
    found = result("  t[x] = 1;\n  s[x * 32 % 2048] = 2;")
    (finding,) = found.findings
    cost = finding.cost
    assert (cost.wavefronts, cost.ideal, cost.wasted) == (64, 2, 62)
    assert cost.share == pytest.approx(62 / 66)
    assert (cost.executions, cost.lanes, cost.warps, cost.of_warps) == (1, 32, 2, 2)
    (kernel,) = found.facts.kernels
    all_of_it = total(kernel)
    assert (all_of_it.wavefronts, all_of_it.ideal, all_of_it.is_complete) == (66, 4, True)
    assert all_of_it.efficiency == pytest.approx(4 / 66)
    assert len(sites_of([kernel])) == 2


def test_lanes_and_warps_that_take_part_are_counted():
    (finding,) = result("  if (x < 8) s[x * 32] = 2;").findings
    assert (finding.cost.lanes, finding.cost.warps, finding.cost.of_warps) == (8, 1, 2)
    assert finding.cost.wavefronts == 8


def test_a_loop_of_unknown_length_counts_several_times():
    body = "  s[x * 2] = 1;\n  for (int i = 0; i < n; ++i) {\n    o[i] = s[x * 32];\n    __syncthreads();\n  }"
    by_line = {f.span.line: f.cost for f in result(body).findings}
    assert [by_line[n].repeats for n in (5, 7)] == [False, True]
    assert [by_line[n].wavefronts for n in (5, 7)] == [4, 64 * OPEN_LOOP_TRIPS]


def severities(conflicts: str, iterations: int) -> dict[int, Severity]:
    """Severities by line, where a loop takes 4 wavefronts an iteration besides the conflicts."""
    loop = f"for (int i = 0; i < {iterations}; ++i) {{ t[x] += in[i]; __syncthreads(); }}"
    return {f.span.line: f.severity for f in result(f"{conflicts}\n  {loop}").findings}


@pytest.mark.parametrize(
    ("iterations", "severity"), [(9, Severity.WARNING), (10, Severity.NOTE), (60, Severity.NOTE)]
)
def test_a_conflict_that_wastes_less_than_the_threshold_is_a_note(iterations, severity):
    # 2 of 4 wavefronts are wasted: of 40 in all, 5 %; of 44, less
    share = 2 / (4 + 4 * iterations)
    assert (share < MINOR_SHARE) is (severity is Severity.NOTE)
    assert severities("  s[x * 2] = 1;", iterations) == {5: severity}


@pytest.mark.parametrize(("iterations", "severity"), [(24, Severity.WARNING), (80, Severity.NOTE)])
def test_a_short_loop_of_known_length_can_cost_little(iterations, severity):
    # 3 times 2 of 4 wavefronts: 6 of 12 + 4 x iterations
    loop = "  for (int i = 0; i < 3; ++i) { s[x * 2] = i; __syncthreads(); }"
    assert severities(loop, iterations) == {5: severity}


def test_conflicts_that_cost_little_one_by_one_are_warnings_if_they_cost_much_together():
    # each wastes 2 of 4 wavefronts, of 4 x (conflicts + iterations)
    lines = [f"  s[x * 2 + {64 * n % 1024}] = {n}; __syncthreads();" for n in range(3)]
    for conflicts, iterations in ((1, 20), (2, 20), (3, 20), (3, 40)):
        share = 2 * conflicts / (4 * (conflicts + iterations))
        expected = Severity.NOTE if share < MINOR_SHARE else Severity.WARNING
        found = severities("\n".join(lines[:conflicts]), iterations)
        assert set(found.values()) == {expected}, (conflicts, iterations)


def test_the_cheapest_conflicts_are_notes_beside_a_costly_one():
    # 2 and 62 wavefronts are wasted of 4 + 64 + 4 x 20
    found = severities("  s[x * 2] = 1;\n  __syncthreads();\n  s[x * 32 % 2048] = 2;", 20)
    assert found == {5: Severity.NOTE, 7: Severity.WARNING}


def test_a_conflict_in_a_loop_of_unknown_length_is_a_warning_however_cheap():
    loop = "  for (int i = 0; i < n; ++i) { s[x * 2] = i; __syncthreads(); }"
    assert severities(loop, 2000) == {5: Severity.WARNING}


def test_neighbouring_lines_that_scatter_alike_are_one_finding():
    lines = "\n".join(f"  s[x * 32 % 1024 + {n} * 4] = in[{n}];\n  o[0] = in[x];" for n in range(4))
    apart = result(lines).findings
    assert len(joined_by_cause(apart)) == 4  # other statements are between them
    lines = "\n".join(f"  s[x * 32 % 1024 + {n * 4}] = in[{n}];" for n in range(4))
    (finding,) = joined_by_cause(result(lines).findings)
    assert sorted([finding.span.line, *(p.line for p in finding.places)]) == [5, 6, 7, 8]
    assert finding.cost.wavefronts == 4 * 2 * 32
    pair = "\n".join(lines.splitlines()[:2])
    assert len(joined_by_cause(result(pair).findings)) == 2


def test_parts_of_one_instruction_are_one_finding(smemlint, tmp_path):
    text = """\
__global__ void k(float *o, const float4 *in) {
  __shared__ __align__(16) float s[4096];
  float4 v = in[threadIdx.x];
  float *p = s + threadIdx.x * 32;
  p[0] = v.x;
  p[1] = v.y;
  p[2] = v.z;
  p[3] = v.w;
}
void run(float *o, const float4 *i) { k<<<1, 128>>>(o, i); }
"""
    (tmp_path / "k.cu").write_text(text)
    _, out, _ = smemlint("check", "k.cu", "--output-format", "json")
    (finding,) = json.loads(out)["findings"]
    assert (finding["line"], finding["places"]) == (8, [])  # the STS.128 stands on its last line
    assert (finding["cost"]["wavefronts"], finding["cost"]["ideal"]) == (128, 16)
    ignored = re.sub(r"(= v\.w;)", r"\1  // smemlint: ignore[bank-conflict]", text)
    (tmp_path / "k.cu").write_text(ignored)
    code, out, closing = smemlint("check", "k.cu")
    assert (code, out) == (0, "") and "(1 suppressed)" in closing


def test_the_summary_of_a_kernel_is_in_the_table_and_on_the_page(smemlint, tmp_path):
    (tmp_path / "k.cu").write_text(
        "__global__ void k(float *o) { __shared__ float s[1024]; s[threadIdx.x * 32] = 1;\n"
        "  o[0] = s[threadIdx.x]; }\nvoid run(float *o) { k<<<1, 32>>>(o); }\n"
    )
    _, out, _ = smemlint("analyze", "k.cu")
    assert re.findall(r"[\d.]+%?", out.splitlines()[-1]) == ["33", "2", "6%"]
    shares = [re.search(r"(\d+)%", line)[1] for line in out.splitlines()[2:4]]  # type: ignore[index]
    assert shares == ["97", "3"]
    _, page, _ = smemlint("analyze", "k.cu", "--output-format", "html")
    assert re.findall(r"<td>(\d+%?)", page)[:4] == ["33", "2", "31", "6%"]


def test_full_reports_begin_with_what_costs_most(smemlint, tmp_path):
    (tmp_path / "k.cu").write_text(
        "__global__ void k(float *o) { __shared__ float s[1024];\n  s[threadIdx.x * 2] = 1;\n"
        "  o[0] = s[threadIdx.x * 32]; }\nvoid run(float *o) { k<<<1, 32>>>(o); }\n"
    )
    _, out, _ = smemlint("check", "k.cu")
    assert re.findall(r"SML101 bank-conflict(?: \(note\))?: (\d+)-way", out) == ["32", "2"]
    _, out, _ = smemlint("check", "k.cu", "--output-format", "concise")
    assert re.findall(r"(\d+)-way", out) == ["2", "32"]
