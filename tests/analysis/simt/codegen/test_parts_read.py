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


WINDOW = """
  float raw[8] = {};
  *(float4 *)raw = s[t ^ 1];
  *(float4 *)(raw + 4) = in[t];
  float x[8];
  #pragma unroll
  for (int i = 0; i < 2 * 4; ++i) x[i] = 2 * raw[i];
  constexpr int width = WIDTH;
  for (int i = 0; i < 4; i++)
    for (int w = 0; w < width; w++) out[threadIdx.x + i] += x[4 + i - (width - w - 1)];
"""


@pytest.mark.parametrize(("width", "loads"), [(2, (1, 4)), (3, (1, 8)), (4, (1, 16))])
def test_what_is_copied_to_another_array_is_read_as_far_as_that_one(width, loads):
    """Mamba's causal_conv1d: the last one, two or three of four elements; LDS, .64, .128."""
    body = WINDOW.replace("constexpr int width = WIDTH;", "").replace("width", str(width))
    found = accesses_of(KERNEL.replace("BODY", body))
    [load] = [a for a in found if a.kind is AccessKind.LOAD]
    assert (load.instructions // 8, load.width_bytes) == loads


@pytest.mark.parametrize(
    "read",
    [
        "int k = 0; while (k < n) { out[t + k] = f[k]; k++; }",
        "int k = 0; do { out[t + k] = f[k]; } while (++k < n);",
        "for (int i = 0; i < n; i++) out[t + i] = f[i & 3];",
        "float x[4]; for (int i = 0; i < 4; i++) x[i] = f[i]; out[t] = x[n];",
        "float x[4]; for (int i = 0; i < 4; i++) x[i] = f[3 - i]; out[t] = x[0] + x[1] + x[2];",
        "#pragma unroll 1\n for (int i = 0; i < 2; i++) out[t + i] = f[i];",
    ],
)
def test_what_an_index_leaves_open_is_all(read):
    assert _widths(ARRAY + read) == {16}


LONG = KERNEL.replace("float4", "unsigned long long").replace("t ^ 1", "3 * t")


@pytest.mark.parametrize(
    ("body", "width"),
    [
        ("unsigned long long v = s[3 * t]; out[t] = (int)v;", 4),
        ("unsigned long long v = s[3 * t]; out[t] = (unsigned)(v >> 32);", 4),
        ("unsigned long long v = s[3 * t]; out[t] = (int)(v & 0xffff) + (short)v;", 4),
        ("unsigned long long v = s[3 * t]; unsigned lo = v, hi = v >> 32; out[t] = hi;", 4),
        ("unsigned v = s[3 * t]; out[t] = v;", 4),
        ("out[t] = (int)(s[3 * t] >> 40);", 4),
        ("unsigned long long v = s[3 * t]; out[t] = (int)v + (int)(v >> 32);", 8),
        ("unsigned long long v = s[3 * t]; out[t] = (int)(v >> 8);", 8),
        ("unsigned long long v = s[3 * t]; out[t] = (v >> 32) * 2;", 8),
        ("unsigned long long v = s[3 * t]; out[t] = (float)v;", 8),
        ("unsigned long long v = s[3 * t]; out[t] = (bool)v;", 8),
        ("bool v = s[3 * t]; out[t] = v;", 8),
        ("unsigned long long v = s[3 * t], u = v; out[t] = (int)(u >> 32);", 4),
        ("unsigned long long v = s[3 * t], u = v * 3; out[t] = (int)(u >> 32);", 8),
        ("unsigned long long v = s[3 * t]; unsigned u = (v + 5) >> 32; out[t] = u;", 8),
        ("unsigned long long v = s[3 * t]; unsigned u = v / 7; out[t] = u;", 8),
        ("unsigned long long v = s[3 * t]; int u = v == 7; out[t] = u;", 8),
        ("unsigned long long v = s[3 * t], u = (float)v; out[t] = (int)u;", 8),
        ("unsigned long long v = s[3 * t]; out[t] = (int)(float)v;", 8),
        ("out[t] = (int)(float)s[3 * t];", 8),
    ],
)
def test_of_a_number_of_64_bits_the_word_that_is_read_is_loaded(body, width):
    """SASS of nvcc 13.5.37, sm_90: one LDS or LDS.64; 24 bytes apart words have conflicts."""
    [load] = [a for a in accesses_of(LONG.replace("BODY", body)) if a.kind is AccessKind.LOAD]
    assert (load.width_bytes, load.instructions) == (width, 8)
    assert load.wavefronts.mean == 2


DOUBLE = LONG.replace("unsigned long long", "double")
UNION_OF_DOUBLE = "union { double d; float f[2]; long long l; } u; u.d = v; "


@pytest.mark.parametrize(
    ("body", "width"),
    [
        ("double v = s[3 * t]; " + UNION_OF_DOUBLE + "out[t] = u.f[1];", 4),
        (UNION_OF_DOUBLE.replace("v;", "s[3 * t];") + "out[t] = u.f[0];", 4),
        ("double v = s[3 * t]; out[t] = __double2hiint(v);", 4),
        ("double v = s[3 * t]; out[t] = __double2loint(v) * 3;", 4),
        ("double v = s[3 * t]; out[t] = (int)(__double_as_longlong(v) >> 32);", 4),
        ("double v = s[3 * t]; out[t] = (int)v;", 8),
        ("long long v = s[3 * t]; out[t] = (int)v;", 8),
        ("long long v = s[3 * t]; union { double d; int i[2]; } u; u.d = v; out[t] = u.i[0];", 8),
        ("float v = s[3 * t]; out[t] = v;", 8),
    ],
)
def test_of_a_double_the_word_that_is_read_is_loaded(body, width):
    """SASS of nvcc 13.5.37, sm_90, -O3: one LDS or LDS.64."""
    [load] = [a for a in accesses_of(DOUBLE.replace("BODY", body)) if a.kind is AccessKind.LOAD]
    assert (load.width_bytes, load.instructions) == (width, 8)


@pytest.mark.parametrize(
    ("body", "width"),
    [
        ("float4 v = s[t ^ 1]; v.x += 1; v.y *= 2; out[t] = v.z;", 4),
        ("float4 v = s[t ^ 1]; float x = 0, y = 0; x += v.x; y += v.y; out[t] = x;", 4),
        ("float4 v = s[t ^ 1]; float2 r = {v.x, v.y}; out[t] = r.y;", 4),
        ("float4 v = s[t ^ 1]; float r[2] = {v.x * 2, v.w * 3}; out[t] = r[1];", 4),
        ("float4 v = s[t ^ 1]; float2 r = make_float2(v.z, v.w); out[t] = r.x + r.y;", 8),
    ],
)
def test_what_is_made_of_members_is_read_as_far_as_that_is(body, width):
    """SASS of nvcc 13.5.37, sm_90, -O3."""
    assert _widths(body) == {width}


COMPLEX = """
struct C { float x, y; };
__device__ C operator*(C a, C b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }
__global__ void k(float *out) {
  __shared__ __align__(8) C s[1024];
  int t = threadIdx.x;
  C a = s[3 * t], b = s[t], c = a * b;
  out[t] = c.x;
}
"""


def test_an_operator_may_need_all_of_its_operands():
    """SASS of nvcc 13.5.37, sm_90: two LDS.64."""
    assert {a.width_bytes for a in accesses_of(COMPLEX)} == {8}
