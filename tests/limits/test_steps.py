"""Step budgets: the same work takes the same steps, whatever the process did before."""

from __future__ import annotations

import pytest

from smemlint.config.settings import Configuration
from smemlint.driver.run import check_run
from smemlint.driver.tasks import UnitTask
from smemlint.limits import guard
from smemlint.limits.errors import OutOfSteps
from smemlint.limits.guard import Allowance
from smemlint.limits.steps import current, spend, step_limit
from smemlint.sources.source import Source

KERNEL = """
#include "shape.cuh"
template <int N> __device__ int grown(int i) {
  int s = 0;
  for (int k = 0; k < N; k++) s += i;
  return s;
}
__global__ void kOWN(float *out) {
  __shared__ float s[SIZE][SIZE];
  out[threadIdx.x] = s[threadIdx.x][grown<4>(0)];
}
void runOWN(float *out) { kNEXT<<<1, 32>>>(out); }
"""


def sources(count: int) -> list[Source]:
    """Files of which each launches the kernel of the next."""
    texts = {"shape.cuh": "#define SIZE 32\n"}
    for i in range(count):
        text = KERNEL.replace("OWN", str(i)).replace("NEXT", str((i + 1) % count))
        texts[f"f{i}.cu"] = text
    return [Source(path, text) for path, text in texts.items()]


def test_a_budget_ends_at_its_last_step():
    with step_limit(10_000) as budget:
        spend(9_999)
        spend()
        with pytest.raises(OutOfSteps):
            spend()
        with pytest.raises(OutOfSteps):
            spend()
    assert budget.spent == 10_002
    assert current() is not budget


def test_a_file_takes_as_many_steps_after_any_other():
    given, configuration = sources(4), Configuration(isolated=True)
    paths = [s.path for s in given if s.path != "shape.cuh"]
    alone = {path: UnitTask(given, configuration)(path).spent.steps for path in paths}
    for order in (sorted(alone), sorted(alone, reverse=True)):
        work = UnitTask(given, configuration)
        assert {path: work(path).spent.steps for path in order} == alone
    assert min(alone.values()) > 100


@pytest.mark.parametrize("steps_per_second", [1, 2, 4])
def test_where_the_budget_strikes_depends_on_the_source_alone(monkeypatch, steps_per_second):
    monkeypatch.setattr(guard, "STEPS_PER_SECOND", steps_per_second)
    found = []
    for jobs in (1, 2, 1):
        configuration = Configuration({"no-cache": True, "jobs": jobs}, isolated=True)
        settings = configuration.for_file("f0.cu")
        result = check_run(sources(6), configuration, settings)
        found.append([(f.code, f.span, f.message, f.notes, f.help) for f in result.findings])
    assert found[0] == found[1] == found[2]
    assert any("SML901" in finding for finding in found[0])


def test_later_phases_get_what_earlier_ones_left():
    assert Allowance(1_000, 30.0).after(Allowance(400, 10.0)) == Allowance(600, 20.0)
    assert Allowance(1_000, 30.0).after(Allowance(1_200, 31.0)) == Allowance(0, 3.0)
