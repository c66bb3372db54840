"""How wide two-byte accesses become: widths as in the SASS of nvcc 13.0.88 (-O3, sm_90)."""

from __future__ import annotations

from collections import Counter

import pytest
from conftest import accesses_of

from smemlint.facts import Certainty

KERNEL = """
#include <cuda_fp16.h>
__global__ void k(float *f, TYPE *o) {
  __shared__ ALIGN TYPE s[128 * 128];
  __shared__ ALIGN TYPE r[32][128];
  int t = threadIdx.x;
  BODY
}
void go(float *f, TYPE *o) { k<<<1, 32>>>(f, o); }
"""
FILL = "s[threadIdx.y] = o[t]; __syncthreads(); "
SUM = FILL + "float a = 0; for (int i = 0; i < 8; ++i) a += {}; f[t] = a;"
COPY = FILL + "for (int i = 0; i < {}; ++i) o[i * 128 + t] = s[t * 128 + i];"
STORES = (
    "for (int i = 0; i < 8; ++i) {{ s[t * 128 + i] = {0}f[i * 128 + t]); r[t][i] = {0}f[t + i]); }}"
)
ADD = (
    FILL + "TYPE a = o[1]; for (int i = 0; i < 8; ++i) a = __hfma(s[t * 128 + i], a, a); o[t] = a;"
)
LONG = FILL + (
    "float a = 0; "
    "for (int i = 0; i < 64; ++i) a += (float)s[t * 72 + i] * (float)s[8192 + i * 72 + t]; f[t] = a;"
)
REGISTERS = """
  TYPE v[8];
  for (int i = 0; i < 8; ++i) v[i] = s[t * 128 + i];
  float a = 0;
  for (int i = 0; i < 8; ++i) a += (float)v[i];
  f[t] = a;
"""


@pytest.mark.parametrize(
    ("type_", "alignment", "body", "expected"),
    [
        ("half", 16, COPY.format(8), {"load 16": 1}),
        ("half", 16, COPY.format(5), {"load 16": 1}),
        ("half", 16, COPY.format(3), {"load 8": 1}),
        ("half", 16, COPY.format(2), {"load 4": 1}),
        ("half", 8, COPY.format(8), {"load 16": 1}),
        ("half", 4, COPY.format(8), {"load 16": 1}),
        ("half", 2, COPY.format(8), {"load 8": 2}),
        ("half", 16, FILL + REGISTERS, {"load 16": 1}),
        ("half", 16, SUM.format("__half2float(s[t * 128 + i])"), {"load 8": 2}),
        ("half", 16, SUM.format("(float)s[t * 128 + i]"), {"load 8": 2}),
        ("half", 16, ADD, {"load 8": 2}),
        ("half", 16, LONG, {"load 8": 16, "load 2": 64}),
        ("short", 16, SUM.format("s[t * 128 + i]"), {"load 16": 1}),
        ("short", 16, COPY.format(3), {"load 8": 1}),
        ("unsigned short", 16, SUM.format("s[t * 128 + i]"), {"load 16": 1}),
    ],
)
def test_llvm_fuses_two_byte_loads_where_no_assembly_stands_between(
    type_: str, alignment: int, body: str, expected: dict[str, int]
) -> None:
    found = widths(body, type_, alignment)
    assert {k: n for k, n in found.items() if k.startswith("load")} == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("__float2half(", {"store 2": 16}),
        ("half(", {"store 2": 16}),
        ("((half *)", {"store 16": 2}),
    ],
)
def test_assembly_between_stores_keeps_them_apart(value: str, expected: dict[str, int]) -> None:
    body = STORES.format(value).replace("((half *)f[", "(((half *)f)[")
    assert widths(body, "half", 16) == expected


@pytest.mark.parametrize(
    ("type_", "body", "is_open"),
    [
        ("half", COPY.format(8), False),  # 2 LDS.64
        ("half", SUM.format("__half2float(s[t * 128 + i])"), False),  # 2 LDS.64
        ("short", COPY.format(8), False),  # 2 LDS.64
        ("unsigned short", COPY.format(8), False),  # 2 LDS.64
        ("unsigned short", SUM.format("(int)s[t * 128 + i]"), True),  # 2 LDS.64
        ("unsigned short", SUM.replace("float a", "int a").format("s[t * 128 + i]"), False),  # 8
        ("short", SUM.replace("float a", "int a").format("s[t * 128 + i]"), False),  # 8 LDS.S16
        ("__nv_bfloat16", COPY.format(8), False),  # 2 LDS.64
        ("__nv_bfloat16", SUM.format("__bfloat162float(s[t * 128 + i])"), True),  # 8 LDS.U16
        ("cutlass::bfloat16_t", SUM.format("float(s[t * 128 + i])"), True),  # 8 LDS.U16
    ],
)
def test_whether_ptxas_fuses_what_it_may_extend_is_open(
    type_: str, body: str, is_open: bool
) -> None:
    text = KERNEL.replace("BODY", body).replace("TYPE", type_).replace("ALIGN", "")
    loads = [a for a in accesses_of(text) if str(a.kind) == "load"]
    assert [a.certainty is Certainty.SAMPLED for a in loads] == [is_open]


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        ("o[i * 128 + t] = s[t * 128 + i];", {("load", 8): 1}),
        ("((int *)f)[i * 128 + t] = s[t * 128 + i];", {("load", 2): 4}),
        (
            "o[i * 128 + t] = s[t * 128 + i]; a += s[t * 128 + i];",
            {("load", 2): 4},
        ),
        ("short x = s[t * 128 + i] - o[t]; a += x * x;", {("load", 2): 4}),
        ("o[i * 128 + t] = s[t * 128 + i] + 1;", {("load", 2): 4}),
        ("o[i * 128 + t] = o[t] ^ s[t * 128 + i];", {("load", 2): 4}),
        ("a += s[t * 128 + i] - s[t * 128 + i + 64];", {("load", 2): 8}),
    ],
)
def test_two_bytes_are_fused_if_they_are_copied_and_not_if_they_are_summed(use, expected) -> None:
    body = FILL + f"int a = 0; for (int i = 0; i < 4; ++i) {{ {use} }} o[9999 + t] = a;"
    text = KERNEL.replace("BODY", body).replace("TYPE", "short").replace("ALIGN", "")
    found: Counter[tuple[str, int]] = Counter()
    for access in accesses_of(text):
        if access.instructions and str(access.kind) == "load":
            assert access.certainty is Certainty.ASSUMED
            found[str(access.kind), access.width_bytes] += access.instructions
    assert found == expected


def widths(body: str, type_: str, alignment: int, arch: str = "sm_90") -> dict[str, int]:
    """Instructions of the warp by kind and bytes of a lane, e.g. `{"load 16": 1}`."""
    text = KERNEL.replace("BODY", body).replace("TYPE", type_)
    text = text.replace("ALIGN", f"__align__({alignment})")
    found: Counter[str] = Counter()
    for access in accesses_of(text, arch=arch):
        if access.instructions:
            found[f"{access.kind} {access.width_bytes}"] += access.instructions
    return dict(found)


SUM_OF_HALVES = (
    "TYPE a = o[9]; for (int i = 0; i < 8; ++i) a = __hadd(a, s[t * 128 + i]); o[t] = a;"
)
SHIFTED = "for (int i = 0; i < 8; ++i) s[t * 64 + i] = __hadd(s[t * 64 + i], o[t]);"


@pytest.mark.parametrize(
    ("body", "old", "new"),
    [
        (SUM.format("__half2float(s[t * 128 + i])"), {"load 8": 2}, {"load 16": 1}),
        (FILL + SUM_OF_HALVES, {"load 8": 2}, {"load 16": 1}),
        (SHIFTED, {"load 2": 8, "store 2": 8}, {"load 16": 1, "store 16": 1}),
        (STORES.format("__float2half("), {"store 2": 16}, {"store 16": 2}),
    ],
)
def test_from_sm_100_on_llvm_fuses_across_assembly(
    body: str, old: dict[str, int], new: dict[str, int]
) -> None:
    """nvcc 13.0.88 for sm_90, sm_100 and sm_120."""
    for arch, expected in (("sm_90", old), ("sm_100", new), ("sm_120", new)):
        found = widths(body.removeprefix(FILL), "half", 16, arch=arch)
        assert found == expected
