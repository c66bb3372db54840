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


@pytest.mark.parametrize("step", [64, 16])
def test_the_general_iteration_stays_in_the_member_too(step):
    """Of 64 threads nine are in it at once, and none in later iterations."""
    loop = f"for (int i = 0; i < n; i += {step}) if (i + t < n) s->cache[i + t].b[0] = i;"
    text = KERNEL.format(statement=f"int t = threadIdx.x; {loop}").replace("<<<1, 32", "<<<1, 64")
    (kernel,) = facts_of(text).kernels
    (access,) = kernel.accesses
    assert access.wavefronts.max == 1


def test_a_member_behind_one_of_unknown_size_ends_too():
    """The extent counts from the member, wherever that begins."""
    loop = "for (int i = 0; i < n; i += 64) if (i + t < n) s->cache[i + t].b[0] = i;"
    text = KERNEL.format(statement=f"int t = threadIdx.x; {loop}").replace("<<<1, 32", "<<<1, 64")
    text = text.replace("int head[3];", "Unread head;").replace("states[2]", "state")
    (kernel,) = facts_of(text.replace("states[1]", "state")).kernels
    (access,) = kernel.accesses
    assert access.wavefronts.max == 1


@pytest.mark.parametrize(
    ("place", "wavefronts"),
    [
        ("rows[threadIdx.x].v[3]", 10),  # 20 rows of 16 words
        ("rows[2].v[4 * threadIdx.x]", 1),  # 4 words of one row
        ("rows[threadIdx.x / 16].v[threadIdx.x % 16]", 1),
    ],
)
def test_all_rows_are_in_the_member_whose_rows_have_arrays(place, wavefronts):
    text = f"""
struct Row {{ float v[16]; }};
struct Tile {{ Row rows[20]; float rest[500]; }};
__global__ void k(int n) {{ __shared__ Tile st; if (threadIdx.x < n) st.{place} = n; }}
void f(int n) {{ k<<<1, 32>>>(n); }}
"""
    (kernel,) = facts_of(text).kernels
    (access,) = kernel.accesses
    assert access.wavefronts.max == wavefronts


@pytest.mark.parametrize(("place", "wavefronts"), [("in.b", 2), ("in.c", 1)])
def test_a_member_of_that_name_in_another_class_is_not_meant(place, wavefronts):
    """All threads are in `in.b`, 2 words apart, and five in `in.c`."""
    text = f"""
struct Inner {{ Unread a; int c[9]; int b[300]; }};
struct Outer {{ Inner in; int c[400]; int b[2]; }};
__global__ void k(int n) {{
  __shared__ Outer st;
  if (threadIdx.x < n) st.{place}[threadIdx.x * 2] = n;
}}
void f(int n) {{ k<<<1, 32>>>(n); }}
"""
    (kernel,) = facts_of(text).kernels
    (access,) = kernel.accesses
    assert access.wavefronts.max == wavefronts
