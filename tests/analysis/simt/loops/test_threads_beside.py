"""What threads hold that do not run a loop of run-time length: it stays what it was."""

from __future__ import annotations

from conftest import accesses_of

from smemlint.facts import Certainty

SOURCE = """
__global__ void k(int n) {
  __shared__ volatile int s[4096];
  int t = threadIdx.x, v = 33;
  if ((t & 3) != 3)
    for (int i = 0; i < (n & 3); i++) v = 3 * i;
  s[v + t] = 1;
}
void f(int n) { k<<<1, 64>>>(n); }
"""


def test_what_a_loop_gives_some_threads_is_not_what_all_hold() -> None:
    """Of n = 1 lane 3 holds 33 and stores beside the word of lane 4: two wavefronts."""
    (store,) = accesses_of(SOURCE)
    assert store.certainty is Certainty.UNKNOWN
