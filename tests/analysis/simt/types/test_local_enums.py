"""Enums that a function defines: scoped names, and numbers made values of them."""

from __future__ import annotations

import pytest
from conftest import ways_of

KERNEL = """
__global__ void k(float *o) {
  enum class Role : int { Producer, Consumer = 1, Rows = 8 };
  enum { Pitch = 4 };
  __shared__ float s[1024];
  Role role = ROLE;
  if (role == Role::Consumer) s[threadIdx.x % 32 * int(Role::Rows)] = o[0];
  else s[threadIdx.x % 32 * Pitch] = o[1];
}
void go(float *o) { k<<<1, 64>>>(o); }
"""


@pytest.mark.parametrize("role", ["Role(threadIdx.x / 32)", "static_cast<Role>(threadIdx.x / 32)"])
def test_each_warp_has_its_role(role):
    found = ways_of(KERNEL.replace("ROLE", role))
    assert [ways for _, kind, ways in found if kind == "store"] == [8, 4]


def test_an_unnamed_enum_with_a_type_is_no_label():
    found = ways_of(
        """
__global__ void k(float *o) {
  enum : int { First = 1, Pitch = 8 };
  __shared__ float s[1024];
  s[threadIdx.x * Pitch + First] = o[0];
}
void go(float *o) { k<<<1, 32>>>(o); }
"""
    )
    assert [ways for *_, ways in found] == [8]
