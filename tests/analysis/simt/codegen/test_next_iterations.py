"""Accesses of loops that run time ends: whether nvcc 13.0.88 (sm_90, -O3) fuses them is open.

The SASS of each kernel with loads has, beside those of single iterations: LDS.64 for pitches of 24,
32 and 34 floats, none for 33 and none under a condition. That of the stores has STS.64 for rows of
four floats, STS.128 for six doubles, STS (32 bits) for eight shorts; under `j < n && j < 4` and the
conditions of the last test only stores of single elements.
"""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty
from smemlint.reasons import ReasonCode

KERNEL = """\
__global__ void k(float *o, int n) {
  __shared__ float h[128][%d];
  int t = threadIdx.x;
  h[t][t & 15] = o[t];
  __syncthreads();
  float s = 0;
  %s
  for (int k = 0; k < n; ++k) { %s }
  o[t] = s;
}
void run(float *o, int n) { k<<<1, 128>>>(o, n); }
"""


def load(pitch: int, body: str = "s += h[t][k];", pragma: str = ""):
    found = accesses_of(KERNEL % (pitch, pragma, body))
    (access,) = (access for access in found if access.kind is AccessKind.LOAD)
    return access


@pytest.mark.parametrize(("pitch", "wavefronts"), [(24, 8), (32, 32), (34, 2)])
def test_a_figure_that_fusion_may_change_is_a_sample(pitch, wavefronts):
    access = load(pitch)
    assert (access.certainty, access.wavefronts.max) == (Certainty.SAMPLED, wavefronts)
    assert access.reason is not None and access.reason.code is ReasonCode.COMPILER


@pytest.mark.parametrize(
    ("pitch", "body", "pragma", "wavefronts"),
    [
        (33, "s += h[t][k];", "", 1),
        (32, "if (s > k) s += h[t][k];", "", 32),
        (32, "s += h[t][2 * k];", "", 32),
        (32, "s += h[t][k];", "#pragma unroll 1", 32),
        (32, "s += h[t][k]; __syncthreads();", "", 32),
        (24, "s += h[k][t];", "", 1),
    ],
)
def test_others_are_what_one_iteration_shows(pitch, body, pragma, wavefronts):
    access = load(pitch, body, pragma)
    assert (access.certainty, access.wavefronts.max) == (Certainty.ASSUMED, wavefronts)


STORES = """\
__global__ void k(const %(type)s *in, %(type)s *o, int n, int m) {
  __shared__ %(type)s s[1024 * %(pitch)d];
  __shared__ %(type)s q[1024];
  q[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  %(loop)s
  __syncthreads();
  o[threadIdx.x] = s[(threadIdx.x * 7) & 1023] + q[threadIdx.x];
}
void run(float *o, int n) { k<<<1, 1024>>>(0, 0, n, n); }
"""


def store(loop: str, element: str = "float", pitch: int = 4):
    found = accesses_of(STORES % {"type": element, "pitch": pitch, "loop": loop})
    (access,) = (
        a
        for a in found
        if a.kind is AccessKind.STORE and a.array is not None and a.array.name == "s"
    )
    return access


UP = "for (int j = 0; j < n; j++) s[threadIdx.x * %d + j] = in[j * 1024 + threadIdx.x];"


@pytest.mark.parametrize(
    ("loop", "element", "pitch", "wavefronts"),
    [
        (UP % 4, "float", 4, 4),
        (UP % 6, "double", 6, 4),
        (UP % 8, "short", 8, 4),
        ("for (int j = 0; j < n; j++) s[threadIdx.x * 4 + j] = 0;", "float", 4, 4),
        ("n = min(n, 4); " + UP % 4, "float", 4, 4),
    ],
)
def test_ascending_stores_of_a_row_may_be_fused(loop, element, pitch, wavefronts):
    access = store(loop, element, pitch)
    assert (access.certainty, access.wavefronts.max) == (Certainty.SAMPLED, wavefronts)


@pytest.mark.parametrize(
    ("loop", "pitch", "wavefronts"),
    [
        (UP % 5, 5, 1),
        ("for (int j = n - 1; j >= 0; j--) s[threadIdx.x * 4 + j] = in[j];", 4, 4),
        ("for (int j = m; j < n; j++) s[threadIdx.x * 4 + j] = in[j];", 4, 4),
        ("for (int j = 0; j < n; j++) s[threadIdx.x * 4 + j] += in[j];", 4, 4),
        ("for (int j = 0; j < n; j++) s[threadIdx.x * 4 + j] = q[(threadIdx.x * 5 + j) & 1023];", 4, 4),
        ("for (int j = 0; j < n; j++) if (threadIdx.x + j < m) s[threadIdx.x * 4 + j] = in[j];", 4, 4),
    ],
)  # fmt: skip
def test_other_stores_stay_alone(loop, pitch, wavefronts):
    access = store(loop, pitch=pitch)
    assert (access.certainty, access.wavefronts.max) == (Certainty.ASSUMED, wavefronts)


NEIGHBOURS = """\
__global__ void k(const float *in, float *o, int n, int m) {
  __shared__ float s[4096];
  int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  float v = 0;
  %s for (int i = %s; i < n; i++) { %s }
  o[t] = v;
}
void run(float *o, int n) { k<<<1, 128>>>(o, o, n, n); }
"""
PAIR = "v += s[33 * i + 2 * t] * s[33 * i + 2 * t + 1];"
FOUR = "v += s[%d * i + 4 * t] + s[%d * i + 4 * t + 1] + s[%d * i + 4 * t + 2] + s[%d * i + 4 * t + 3];"


def neighbours(body, start="0", pragma=""):
    """Returns how sure the loads of the loop are, and their wavefronts."""
    found = accesses_of(NEIGHBOURS % (pragma, start, body))
    read = {a.certainty: a.wavefronts.mean for a in found if a.kind is AccessKind.LOAD}
    ((certainty, wavefronts),) = read.items()
    return certainty, wavefronts


@pytest.mark.parametrize(
    ("body", "wavefronts"),
    [
        (PAIR, 2),  # LDS.64 14, LDS 30
        (f"if (in[i] > 1) {PAIR}", 2),  # LDS.64 14, LDS 30
        (f"{PAIR} __syncthreads();", 2),  # of 50 iterations 24 LDS.64, 52 LDS
        (f"{PAIR} __syncwarp();", 2),  # the same
        (FOUR % (33, 33, 33, 33), 4),  # LDS.64 42, LDS 32
        (FOUR % (34, 34, 34, 34), 4),  # LDS.128 14, LDS.64 30
    ],
)
def test_some_iterations_may_be_wider_than_others(body, wavefronts):
    assert neighbours(body) == (Certainty.SAMPLED, wavefronts)


@pytest.mark.parametrize(
    ("body", "start", "pragma", "wavefronts"),
    [
        (PAIR, "m", "", 2),
        (PAIR, "0", "#pragma unroll 1\n", 2),
        (PAIR.replace("33", "34"), "0", "", 2),  # all LDS.64
        (FOUR % (36, 36, 36, 36), "0", "", 4),  # all LDS.128
    ],
)
def test_all_iterations_are_alike(body, start, pragma, wavefronts):
    assert neighbours(body, start, pragma) == (Certainty.ASSUMED, wavefronts)


WEIGHTED = """
__global__ void k(float *g, float m) {
  extern __shared__ float v[];
  float *p = v + 32 * %(H)d;
  int t = threadIdx.x;
  float o[%(H)d] = {};
  for (int i = t; i < 32 * (%(H)d + 64); i += 64) v[i] = g[i];
  __syncthreads();
  for (int j = 0; j < 32; ++j) {
    float e = p[32 * t + j];
    for (int d = 0; d < %(H)d; ++d) o[d] += e * v[%(H)d * j + d];
  }
  for (int d = 0; d < %(H)d; ++d) g[t * %(H)d + d] = o[d];
}
void run(float *g) { k<<<1, 64, 60000>>>(g, 1.f); }
"""


@pytest.mark.parametrize("height", [8, 16, 24, 32, 48])
def test_how_far_a_loop_around_another_is_unrolled_is_open(height):
    """nvcc 13.0.88: LDS.128 of 32 wavefronts where four or more iterations meet, LDS of 32 at 48."""
    found = accesses_of(WEIGHTED % {"H": height})
    (load,) = (a for a in found if "p[32" in a.expression)
    assert load.certainty is Certainty.SAMPLED
    assert load.bounds is not None and (load.bounds.least, load.bounds.most) == (8, 32)


def test_rows_of_a_pitch_that_is_not_known_may_be_neighbours_lane_by_lane():
    text = """
    __global__ void k(const float *g, float *o, int n) {
      extern __shared__ float s[];
      float x = 0;
      for (int i = 0; i < 8; i++) {
        float y = 0;
        for (int j = 0; j < n; ++j) y += g[j] * s[(threadIdx.z * 8 + threadIdx.y) * n + i];
        x += y;
      }
      o[threadIdx.x] = x;
    }
    void run(float *g, int n) { k<<<1, dim3(8, 8, 4), 4096>>>(g, g, n); }
    """
    (access,) = accesses_of(text)
    assert access.certainty is Certainty.UNKNOWN
    assert access.reason.code is ReasonCode.RESIDUES
