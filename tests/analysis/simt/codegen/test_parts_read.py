"""Vectors of which parts are read: what is loaded, by SASS of nvcc 13.0.88, -O3, sm_90."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind

KERNEL = """
__device__ float sum(float &x) { return (&x)[1] + (&x)[2] + (&x)[3]; }
__global__ void k(float *out, const float4 *in, int n) {
  __shared__ float4 s[512];
  int t = threadIdx.x;
  s[t] = in[t];
  s[t + 256] = in[t + 256];
  __syncthreads();
  BODY
}
void launch(float *out, const float4 *in, int n) { k<<<1, 256>>>(out, in, n); }
"""
ARRAY = "float f[4]; *(float4 *)f = s[t ^ 1]; "
UNION = "union { float4 v; float f[4]; } u; u.v = s[t ^ 1]; "
TWO = "float4 v[2]; for (int i = 0; i < 2; i++) v[i] = s[t ^ (i + 1)]; "


def _loads(body: str) -> list[tuple[int, float, bool]]:
    """Returns the instructions of a warp, their wavefronts and whether they are decided."""
    found = [a for a in accesses_of(KERNEL.replace("BODY", body)) if a.kind is AccessKind.LOAD]
    return [(a.instructions // 8, a.wavefronts.mean, a.certainty.is_decided) for a in found]


@pytest.mark.parametrize(
    ("body", "instructions", "wavefronts"),
    [
        (UNION + "out[t] = u.f[0];", 1, 4),
        (UNION + "float a = 0; for (int i = 0; i < 2; i++) a += u.f[i]; out[t] = a;", 1, 4),
        (ARRAY + "out[t] = f[1];", 1, 4),
        (ARRAY + "out[t] = f[0] + f[2];", 2, 4),
        (ARRAY + 'asm("st.f32 [%0], %1;" :: "l"(out), "f"(f[2]) : "memory");', 1, 4),
        ("float f[4]; *reinterpret_cast<float4 *>(&f[0]) = s[t ^ 1]; out[t] = f[3];", 1, 4),
        ("float4 v = s[t ^ 1]; int *p = (int *)&v; out[t] = p[0];", 1, 4),
        ("float f[4]; float *q = &f[0]; *(float4 *)f = s[t ^ 1]; out[t] = q[1];", 1, 4),
        ("union { float4 v; double d[2]; } u; u.v = s[t ^ 1]; out[t] = u.d[1];", 1, 4),
        (TWO + "out[t] = v[0].x + v[1].x;", 2, 4),
        (
            "float f[8]; for (int i = 0; i < 2; i++) *(float4 *)&f[4 * i] = s[t ^ (i + 1)];"
            "out[t] = f[0]; out[t + 256] = f[4];",
            2,
            4,
        ),
    ],
)
def test_only_what_is_read_is_loaded(body, instructions, wavefronts):
    [(count, mean, is_decided)] = _loads(body)
    assert (count, mean, is_decided) == (instructions, wavefronts, True)


def test_elements_of_one_width_are_one_load():
    """LDS.64: twice the wavefronts of its ideal, 4 for 256 bytes at a stride of 16."""
    assert _loads(TWO + "out[t] = v[0].x * v[0].y + v[1].x * v[1].y;") == [(2, 4, True)]


@pytest.mark.parametrize(
    "read",
    [
        "for (int i = 0; i < 4; i++) out[t + i] = f[i];",
        "for (int i = 0; i < n; i++) out[t + i] = f[i];",
        "out[t] = f[n];",
        "out[t] = f[0]; if (n > 5) { out[t + 1] = f[1]; out[t + 2] = f[2]; out[t + 3] = f[3]; }",
        "out[t] = f[0]; for (int i = 0; i < 0; i++) { out[t] = f[1] + f[2] + f[3]; }",
        "*(float4 *)(out + 4 * t) = *(float4 *)f;",
        "float *q = &f[0]; out[t] = q[0]; q++; out[t + 1] = q[n];",
        "float *q = (float *)f; out[t] = q[0]; out[t + 1] = *(q + n);",
        "float &r = f[0]; out[t] = r; out[t + 1] = (&r)[n];",
        "out[t] = f[0] + sum(f[0]);",
        "auto g = [&] { return f[n]; }; out[t] = f[0] + g();",
    ],
)
def test_all_may_be_read(read):
    [(count, mean, _)] = _loads(ARRAY + read)
    assert (count, mean) == (1, 4)
    assert _widths(ARRAY + read) == {16}


def _widths(body: str) -> set[int]:
    found = [a for a in accesses_of(KERNEL.replace("BODY", body)) if a.kind is AccessKind.LOAD]
    return {a.width_bytes for a in found}


@pytest.mark.parametrize(
    "body",
    [
        ARRAY + "if (t < 8) out[t] = f[1];",
        ARRAY + "if (t >= 8) return; out[t] = f[1];",
        ARRAY + "f[0] = n; out[t] = f[0] + f[1];",
        "float4 v[2]; v[0] = s[t ^ 1]; v[1] = s[t ^ 2]; v[0] = s[t ^ 3]; out[t] = v[0].x;",
    ],
)
def test_who_reads_what_is_open(body):
    assert not any(is_decided for *_, is_decided in _loads(body)[:1])


THREE = "float4 v = s[t ^ 1]; FIRST v = s[t ^ 2]; out[t] = v.x; v = s[t ^ 4]; out[t] += v.y + v.z;"


@pytest.mark.parametrize(
    ("first", "loads"),
    [
        ("out[t] = v.x + v.y + v.z + v.w;", {(16, 1), (4, 1), (4, 2)}),
        ("", {(4, 1), (4, 2)}),
        ("out[t] = v.x;", {(4, 1), (4, 2)}),
        ("v.x = n;", {(4, 1), (4, 2)}),
    ],
)
def test_a_variable_that_is_assigned_whole_is_another_one_from_there_on(first, loads):
    """SASS: LDS.128 (or LDS, or none), LDS, and two LDS for y and z."""
    found = accesses_of(KERNEL.replace("BODY", THREE.replace("FIRST", first)))
    read = [a for a in found if a.kind is AccessKind.LOAD and a.instructions]
    assert {(a.width_bytes, a.instructions // 8) for a in read} >= loads
    assert all(a.certainty.is_decided for a in read)


@pytest.mark.parametrize(
    "first",
    [
        "float4 *p = &v; v = s[t ^ 2]; out[t] = v.x + p->y;",
        "float4 &r = v; v = s[t ^ 2]; out[t] = v.x + r.y;",
        "if (n) v = s[t ^ 2]; out[t] = v.x;",
        "for (int i = 0; i < n; i++) { out[t] += v.x; v = s[t ^ i]; }",
    ],
)
def test_a_variable_that_is_referred_to_or_may_be_assigned_stays_one(first):
    found = accesses_of(KERNEL.replace("BODY", "float4 v = s[t ^ 1]; " + first))
    read = [a for a in found if a.kind is AccessKind.LOAD]
    assert not any(a.certainty.is_decided for a in read if a.width_bytes < 16)
