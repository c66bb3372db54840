"""One run with everything that a report can show, made by the real analysis."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from smemlint.analysis.analyze import analyze
from smemlint.config.settings import Settings
from smemlint.driver.run import check
from smemlint.facts import Span
from smemlint.finding import Edit, Finding, Fix, Measurement, Verdict
from smemlint.lint.result import Result
from smemlint.report.context import Run
from smemlint.report.formats import rendered
from smemlint.report.terminal import Terminal
from smemlint.sources.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

KERNEL = """\
__global__ void column(float *out, const float *in, const int *where) {
  __shared__ float tile[32][32];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x][0];
  out[threadIdx.y] = tile[where[threadIdx.x]][0];
  out[1] = tile[threadIdx.x][8];  // smemlint: ignore[bank-conflict] cold, "once" <a block>
}
void run(float *o, const float *i, const int *w) { column<<<1, dim3(32, 32)>>>(o, i, w); }
"""
WIDE = KERNEL.replace(
    "out[1] = tile[threadIdx.x][8]", "*(float4 *)out = *(float4 *)&tile[threadIdx.x][0]"
).replace("ignore[bank-conflict]", "")
"""With a conflict of an access of 16 bytes in place of the one that is suppressed."""
MEASURED = Measurement(Verdict.CONFIRMED, 32, 32.0, 0.25, "NVIDIA H200, sm_90")


def result_of(texts: Mapping[str, str] | str, **settings: object) -> Result:
    """What `check` finds in texts by path; one text is `k.cu`."""
    texts = {"k.cu": texts} if isinstance(texts, str) else texts
    return check([Source(p, t) for p, t in texts.items()], Settings(**settings))  # type: ignore[arg-type]


def padded(finding: Finding, text: str) -> Finding:
    """The finding with a fix that pads `tile`, evaluated, and a measurement."""
    fixed = text.replace("tile[32][32]", "tile[32][33]")
    facts, crashed = analyze([Source("k.cu", fixed)], Settings())
    assert not crashed
    after = next(a for a in facts.kernels[0].accesses if a.span == finding.span)
    edit = Edit(Span("k.cu", 2, 29, 2, 31), "33")
    title = "pad the rows of `tile` to 33 elements"
    fix = Fix(title, (edit,), False, "128 bytes more shared memory", after)
    return replace(finding, fix=fix, measurement=MEASURED)


def run_of(
    result: Result, text_of: Callable[[str], str], term: Terminal | None = None, exit_code: int = 1
) -> Run:
    return Run(result, "sm_90", text_of, exit_code, term or Terminal(), Path.cwd())


def sample(term: Terminal | None = None) -> Run:
    """A conflict with fix and measurement, one that is suppressed, and something undecided."""
    result = result_of(KERNEL)
    first, *rest = result.findings
    findings = [padded(f, KERNEL) if f.code == "SML101" else f for f in (first, *rest)]
    return run_of(replace(result, findings=tuple(findings)), lambda _: KERNEL, term)


def report(name: str, run: Run | None = None) -> str:
    return rendered(name, run or sample())
