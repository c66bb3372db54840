"""Threads outside of an array that is a member: a divergent condition lets none of them through."""

import pytest
from conftest import facts_of

KERNEL = """
struct Info {{ int a[7]; int level; int b[6]; }};
struct State {{ int head[3]; Info cache[9]; int tail[400]; }};
__global__ void k(State *g, int n) {{
  __shared__ State states[2];
  State *s = &states[1];
  {statement}
}}
void f(State *g, int n) {{ k<<<1, 32>>>(g, n); }}
"""


@pytest.mark.parametrize(
    ("statement", "wavefronts"),
    [
        ("if (threadIdx.x < n) s->cache[threadIdx.x].level = n;", 1),  # 9 threads, 56 bytes apart
        ("if (n > 3) s->cache[threadIdx.x].level = n;", 2),  # all threads or none
        ("if (threadIdx.x < n) s->cache[threadIdx.x].b[3] = n;", 1),
        ("if (threadIdx.x < n) s->tail[threadIdx.x * 32] = n;", 13),
        ("if (threadIdx.x < n) ((int *)s)[threadIdx.x * 32] = n;", 17),  # bytes of all members
    ],
)
def test_threads_stay_in_the_member_that_is_indexed(statement, wavefronts):
    (kernel,) = facts_of(KERNEL.format(statement=statement)).kernels
    (access,) = kernel.accesses
    assert access.wavefronts.max == wavefronts


@pytest.mark.parametrize(("step", "wavefronts"), [(64, 1), (16, 2)])
def test_the_general_iteration_stays_in_the_member_too(step, wavefronts):
    """Of 64 threads nine are in it at once, and none in later iterations."""
    loop = f"for (int i = 0; i < n; i += {step}) if (i + t < n) s->cache[i + t].b[0] = i;"
    text = KERNEL.format(statement=f"int t = threadIdx.x; {loop}").replace("<<<1, 32", "<<<1, 64")
    (kernel,) = facts_of(text).kernels
    (access,) = kernel.accesses
    assert access.wavefronts.max == wavefronts


def test_a_member_behind_one_of_unknown_size_ends_too():
    """The extent counts from the member, wherever that begins."""
    loop = "for (int i = 0; i < n; i += 64) if (i + t < n) s->cache[i + t].b[0] = i;"
    text = KERNEL.format(statement=f"int t = threadIdx.x; {loop}").replace("<<<1, 32", "<<<1, 64")
    text = text.replace("int head[3];", "Unread head;").replace("states[2]", "state")
    (kernel,) = facts_of(text.replace("states[1]", "state")).kernels
    (access,) = kernel.accesses
    assert access.wavefronts.max == 1
