"""Loads that only one way of a branch reads: SASS of nvcc 13.0.88, -O3, sm_90."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind

KERNEL = """
__global__ void __launch_bounds__(128) k(const float *in, float *out, int n) {
  __shared__ float s[1024], q[1024];
  int t = threadIdx.x, lane = t % 32;
  for (int i = t; i < 1024; i += 128) { s[i] = in[i]; q[i] = in[i + 7]; }
  __syncthreads();
  BODY
}
"""
LOAD = "float v = s[8 * lane]; "


def wavefronts(text):
    """Returns the wavefronts of the first load; 1 if four threads load, 8 if all do."""
    found = accesses_of(KERNEL.replace("BODY", text))
    return next(a.wavefronts.mean for a in found if a.kind is AccessKind.LOAD)


@pytest.mark.parametrize(
    "text",
    [
        LOAD + "if (lane < 4) out[t] = v;",
        LOAD + "if (lane < 4) { out[t] = v; out[t + 77] = v * 3; }",
        LOAD + "if (lane < 4) for (int i = 0; i < n; i++) out[t + i] = v * i;",
        LOAD + "if (n > 5) { if (lane < 4) out[t] = v; }",
        LOAD + "if (lane >= 4) out[t] = 1; else out[t] = v;",
        LOAD + "if (lane >= 4) return; out[t] = v;",
        LOAD + "if (n > 5) out[t + 500] = in[t + 5]; if (lane < 4) out[t] = v;",
        LOAD + "out[t + 500] = 1; if (lane < 4) out[t] = v;",
        LOAD + "q[t] = 3; if (lane < 4) out[t] = v;",
        "float v = s[8 * lane], w = s[8 * lane + 3]; if (lane < 4) out[t] = v + w;",
        "int v = (int)*(short *)&s[8 * lane]; if (lane < 4) out[t] = v;",
    ],
)
def test_a_load_sinks_to_the_threads_that_read_it(text):
    assert wavefronts(text) == 1


@pytest.mark.parametrize(
    "text",
    [
        LOAD + "if (lane < 4) out[t] = v; else out[t] = v + 1;",
        LOAD + "float x = in[n]; if (lane < 4) x += v; out[t] = x;",
        LOAD + "if (lane < 4) out[t] = v; out[t + 500] = v;",
        LOAD + "__syncthreads(); if (lane < 4) out[t] = v;",
        LOAD + "s[t] = 3; if (lane < 4) out[t] = v;",
        LOAD + "for (int i = 0; i < n; i++) if (lane < 4) out[t * i] = v;",
        LOAD + "if (v < 4) out[t] = v;",
        "volatile float *p = s; float v = p[8 * lane]; if (lane < 4) out[t] = v;",
        "float v = s[8 * lane] * 2 + s[8 * lane + 3]; if (lane < 4) out[t] = v;",
    ],
)
def test_a_load_that_others_read_or_that_something_keeps_does_not_sink(text):
    assert wavefronts(text) == 8


@pytest.mark.parametrize(
    ("offset", "figures"),
    [
        (0, [(4, 4, 8.0), (4, 0, 8.0)]),
        (1, [(8, 4, 8.0), (8, 0, 8.0)]),
        (2, [(4, 4, 8.0), (4, 4, 8.0)]),
        (3, [(4, 4, 8.0), (4, 4, 8.0)]),
        (5, [(4, 4, 1.0), (4, 4, 8.0)]),
    ],
)
def test_a_load_stays_with_the_one_that_it_is_one_instruction_with(offset, figures):
    text = f"{LOAD} float w = s[8 * lane + {offset}]; if (lane < 4) out[t] = v; out[t + 500] = w;"
    found = accesses_of(KERNEL.replace("BODY", text))
    loads = [a for a in found if a.kind is AccessKind.LOAD]
    assert [(a.width_bytes, a.instructions, a.wavefronts.mean) for a in loads] == figures
