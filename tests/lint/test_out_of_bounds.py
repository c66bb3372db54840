"""SML401 in loops whose length is not known: what every iteration reaches, nothing that is guarded."""

import re

import pytest
from conftest import facts_of

from smemlint.config.settings import Settings
from smemlint.lint.check import deduplicate, run_rules

BODY = """
__global__ void k(float *o, int n, int m) {{
  __shared__ float s[16][128], q[128];
  int t = threadIdx.x;
  {loop} {{ {access} }}
}}
void run(float *o, int n) {{ k<<<1, 256>>>(o, n, n); }}
"""
EACH = "for (int i = 0; i < n; i++)"
ROWS = """
for (int j = 0; j < 16; j++)
  for (int e = 0; e < 8; e++) o[t] += s[j][t / 32 * 16 + e * LONG + t % 32];"""


@pytest.mark.parametrize(
    ("loop", "access", "outside"),
    [
        (EACH, "q[t] = 1;", [4]),
        # 1,024 patterns; row 15 alone leaves the array, from warp 4 on, and warp 7 reaches farthest
        (EACH, ROWS.replace("LONG", "8"), [7]),
        (EACH, ROWS.replace("LONG", "0"), [7]),
        (EACH, "q[t / 2] = 1;", []),
        (EACH, "q[128 + i] = 1;", []),  # the counter moves it
        (EACH, "if (n > 5) q[t] = 1;", []),
        ("for (int i = t; i < n; i += 256)", "q[t] = 1;", []),  # some threads only
        ("for (int i = 0; i < n && t < m; i++)", "q[t] = 1;", []),
        ("if (t < n)", "q[t] = 1;", []),
    ],
)
def test_what_every_iteration_reaches(loop, access, outside):
    settings = Settings()
    findings = run_rules(facts_of(BODY.format(loop=loop, access=access)), lambda _: settings)
    found = [f for f in findings if f.code == "SML401"]
    assert [int(re.search(r"warp (\d+)", f.notes[0])[1]) for f in found] == outside


def test_the_room_that_is_asked_for_suits_every_instance():
    text = """
template <int R> __global__ void k(float *o) {
  __shared__ float s[R];
  if (threadIdx.x < 2 * R) s[threadIdx.x] = 1;
  __syncthreads();
  o[threadIdx.x] = s[threadIdx.x % R];
}
void run(float *o) { k<1><<<1, 32>>>(o); k<4><<<1, 32>>>(o); k<2><<<1, 32>>>(o); }
"""
    settings = Settings()
    findings = run_rules(facts_of(text), lambda _: settings)
    (found,) = deduplicate([f for f in findings if f.code == "SML401"])
    assert len(found.others) == 2
    assert [int(n) for n in re.findall(r"\d+", found.help or "")] == [2 * 4 * 4]
