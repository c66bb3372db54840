"""Loads that both ways of an open branch begin with: SASS of nvcc 13.5.37, sm_90."""

from __future__ import annotations

import pytest
from conftest import facts_of

from smemlint.facts import AccessKind, KernelFacts

KERNEL = """
struct Cx {
  float2 d;
  __device__ const float &re() const { return d.x; }
  __device__ const float &im() const { return d.y; }
  __device__ Cx() {}
  __device__ Cx(float a, float b) { d.x = a; d.y = b; }
  __device__ Cx operator*(const Cx &o) const {
    return Cx(re() * o.re() - im() * o.im(), re() * o.im() + im() * o.re());
  }
};
__device__ float norm(const float2 &a) { return a.x * a.x + a.y * a.y; }
__global__ void k(const TYPE *in, float *out, int n, float2 m, Cx z) {
  extern __shared__ TYPE s[];
  int t = threadIdx.x;
  s[t] = in[t];
  s[t + 64] = in[t + 64];
  __syncthreads();
  BODY
}
void f(const TYPE *in, float *out, int n, float2 m, Cx z) { k<<<1, 64, 4096>>>(in, out, n, m, z); }
"""


def _kernel(type_name: str, body: str) -> KernelFacts:
    (kernel,) = facts_of(KERNEL.replace("TYPE", type_name).replace("BODY", body)).kernels
    return kernel


def _loads(kernel: KernelFacts) -> list[tuple[int, int, float]]:
    """Returns the width, the instructions of a warp and the ways of each load that is issued."""
    found = [a for a in kernel.accesses if a.kind is AccessKind.LOAD and a.instructions]
    assert all(a.wavefronts is not None and a.ideal is not None for a in found)
    return sorted(
        (a.width_bytes, (a.instructions or 0) // 2, a.wavefronts.mean / a.ideal.mean)
        for a in found
        if a.wavefronts is not None and a.ideal is not None
    )


FREE, PAIR, FOUR = (8, 1, 1.0), (4, 1, 2.0), (16, 1, 1.0)


@pytest.mark.parametrize(
    ("type_name", "condition", "one", "other", "loads"),
    [
        ("float", "n > 3", "s[2 * t] * 3.f + s[2 * t + 1]", "s[2 * t]", [FREE]),
        ("float", "n > 3", "s[2 * t]", "s[2 * t] * 3.f + s[2 * t + 1]", [FREE]),
        ("float", "n > 3", "s[2 * t] * 3.f + s[2 * t + 1]", "s[2 * t + 1]", [PAIR, FREE]),
        ("float", "n > 3", "s[2 * t] * 3.f", "s[2 * t] + 7.f", [PAIR]),
        ("float", "in[t + 99] > 3.f", "s[2 * t] * 3.f + s[2 * t + 1]", "s[2 * t]", [FREE]),
        ("float2", "n > 3", "s[t ^ 1].x * m.x - s[t ^ 1].y * m.y", "s[t ^ 1].x", [FREE]),
        ("float2", "n > 3", "s[t ^ 1].x", "s[t ^ 1].x * m.x - s[t ^ 1].y * m.y", [FREE]),
        ("float2", "n > 3", "s[t ^ 1].x * m.x - s[t ^ 1].y * m.y", "s[t ^ 1].y", [PAIR, FREE]),
        (
            "float4",
            "n > 3",
            "s[t ^ 1].x * m.x - s[t ^ 1].y * m.y + s[t ^ 1].z * s[t ^ 1].w",
            "s[t ^ 1].x",
            [FOUR],
        ),
    ],
)
def test_a_load_of_both_ways_is_fused_with_those_of_one(
    type_name: str, condition: str, one: str, other: str, loads: list[tuple[int, int, float]]
) -> None:
    for body in (
        f"if ({condition}) out[t] = {one}; else out[t] = {other};",
        f"out[t] = {condition} ? {one} : {other};",
    ):
        assert _loads(_kernel(type_name, body)) == loads


def test_what_follows_on_both_ways_stays_there() -> None:
    """SASS: LDS.64 in front, LDS.64 on the first way, LDS on the other."""
    sums = [f"s[t ^ {i}].x * m.x - s[t ^ {i}].y * m.y" for i in (1, 3)]
    body = f"""
    if (n > 3) {{ out[t] = {sums[0]}; out[t + 64] = {sums[1]}; }}
    else {{ out[t] = s[t ^ 1].x; out[t + 64] = s[t ^ 3].x; }}
    """
    assert _loads(_kernel("float2", body)) == [PAIR, FREE, FREE]


@pytest.mark.parametrize(
    ("type_name", "one", "other"),
    [
        ("Cx", "(s[t ^ 1] * z).re()", "s[t ^ 1].re()"),  # LDS.64
        ("Cx", "(s[t ^ 1] * z).im()", "s[t ^ 1].re()"),  # LDS.64, LDS
        ("float2", "norm(s[t ^ 1])", "s[t ^ 1].x"),  # LDS.64
        ("float2", "s[t ^ 1].x * 3.f", "norm(s[t ^ 1])"),  # LDS.64
    ],
)
def test_loads_in_inlined_functions_are_open(type_name: str, one: str, other: str) -> None:
    kernel = _kernel(type_name, f"if (n > 3) out[t] = {one}; else out[t] = {other};")
    narrow = [a for a in kernel.accesses if a.width_bytes == 4 and a.instructions]
    assert {a.certainty.value for a in narrow} == {"sampled"}


@pytest.mark.parametrize("condition", ["n > 3", "t & 1", "in[t + 99] > 3.f"])
@pytest.mark.parametrize(
    ("type_name", "one", "other", "certainties"),
    [
        ("float2", "v.y", "v.x", {"sampled"}),  # LDS.64
        ("float2", "v.y * 3.f", "v.x + m.x", {"sampled"}),  # LDS.64
        ("float2", "expf(v.y)", "sinf(v.x)", {"sampled"}),  # LDS.64
        ("float4", "v.y", "v.x", {"sampled"}),  # LDS.64
        ("float4", "v.x + v.y", "v.z + v.w", {"sampled"}),  # LDS.128
        ("float2", "v.x", "v.x * 3.f", {"assumed"}),  # LDS
    ],
)
def test_other_members_of_one_vector_are_open(
    condition: str, type_name: str, one: str, other: str, certainties: set[str]
) -> None:
    load = f"{type_name} v = s[t ^ 1];"
    ways = f"{{ {load} out[t] = {one}; }} else {{ {load} out[t] = {other}; }}"
    kernel = _kernel(type_name, f"if ({condition}) {ways}")
    loads = [a for a in kernel.accesses if a.kind.value == "load" and a.instructions]
    assert {a.certainty.value for a in loads} == certainties
