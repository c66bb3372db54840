"""Kernels whose block nobody knows, and that end early with some blocks."""

from __future__ import annotations

import pytest
from conftest import accesses_of
from figures import facts_in

from smemlint.facts import Certainty

KERNEL = """
__global__ void sums(float *g) {{
  if (blockDim.x <= {least}) return;
  __shared__ float partial[32][33];
  partial[threadIdx.x][threadIdx.y] = 1;
}}
void run(float *g, int x, int y) {{ dim3 block({block}); sums<<<1, block>>>(g); }}
"""


@pytest.mark.parametrize(("block", "least", "decided", "noted"), [
    ("x, y", 16, 0, []),
    ("x, y", 32, 0, ["unknown-block"]),
    ("32, 8", 16, 1, []),
    ("32, 8", 32, 0, []),
])  # fmt: skip
def test_a_kernel_that_reaches_nothing_with_any_guess_is_noted(block, least, decided, noted):
    facts = facts_in(a_cu=KERNEL.format(block=block, least=least))
    (kernel,) = facts.kernels
    assert sum(a.certainty.is_decided for a in kernel.accesses) == decided
    assert [n.reason.code for n in facts.not_analysed] == noted


def test_a_guess_that_reaches_something_stands_for_those_that_do_not():
    text = KERNEL.format(block="x, y", least=16)
    (kernel,) = facts_in(a_cu=text).kernels
    (access,) = kernel.accesses
    assert (kernel.instance.block, access.certainty, access.instructions) == (
        (32, 8, 1),
        "sampled",
        8,
    )


SWITCHED = """
__global__ void blur(unsigned char *out) {{
  __shared__ unsigned char rows[10][64];
  out[threadIdx.x] = rows[threadIdx.y + 6][threadIdx.x];
}}
dim3 shape(int version) {{
  {body}
}}
void run(unsigned char *out, int version) {{ blur<<<64, shape(version)>>>(out); }}
"""


@pytest.mark.parametrize(("body", "certainty"), [
    # (32, 8) on the path that is taken where `version` is not known: row 13 of 10
    ("if (version == 1) return dim3(version, version); return dim3(32, 8);", "sampled"),
    ("if (version == 1) return dim3(version, version); return dim3(32, 4);", "assumed"),
    ("return dim3(32, 8);", "assumed"),  # a bug of the program, and an error
])  # fmt: skip
def test_a_default_path_that_leaves_an_array_is_not_taken(body, certainty):
    (kernel, *_) = facts_in(a_cu=SWITCHED.format(body=body)).kernels
    (access,) = kernel.accesses
    assert access.certainty == certainty


ROWS = """
__global__ void k(float *g) {{
  __shared__ float s[2048];
  s[threadIdx.y * 33 + threadIdx.x * 2] = g[0];
}}
void run(int n, unknown u, float *g) {{ k<<<1, {block}>>>(g); }}
"""


@pytest.mark.parametrize(("block", "shape", "certainty", "wavefronts"), [
    ("n", (256, 1, 1), "assumed", 2),  # lane t stores to word 2t, whatever n is
    ("n + 1", (256, 1, 1), "assumed", 2),
    ("dim3(n)", (256, 1, 1), "assumed", 2),
    ("dim3(n, n)", (32, 8, 1), "sampled", 2),  # half warps in two rows would take fewer
    ("u", (32, 8, 1), "sampled", 2),
])  # fmt: skip
def test_a_block_that_is_one_number_is_a_row(block, shape, certainty, wavefronts):
    (kernel,) = facts_in(a_cu=ROWS.format(block=block)).kernels
    (access,) = kernel.accesses
    assert (kernel.instance.block, access.certainty) == (shape, certainty)
    assert access.wavefronts.mean == wavefronts


def test_a_row_is_as_long_as_the_bounds_of_the_launch():
    bounded = ROWS.replace("void k", "__launch_bounds__(64) void k").format(block="n")
    (kernel,) = facts_in(a_cu=bounded).kernels
    assert kernel.instance.block == (64, 1, 1)
    assert kernel.accesses[0].instructions == 2


TIED = """
template <unsigned T> __global__ void firsts(float *out) {{
  __shared__ float s[4096];
  if (threadIdx.x < 32 && threadIdx.x * {stride} < T) out[threadIdx.x] = s[threadIdx.x * {stride}];
}}
{launch}
"""
OF_FUNCTION = "template <unsigned T> void run(float *g) {{ firsts<T><<<1, {block}>>>(g); }}"
OF_CLASS = (
    "template <unsigned T> struct R {{"
    " void run(float *g) {{ dim3 b({block}); firsts<T><<<1, b>>>(g); }} }};"
)


@pytest.mark.parametrize("launch", [OF_FUNCTION, OF_CLASS])
@pytest.mark.parametrize(
    ("stride", "block", "certainty", "wavefronts"),
    [
        (64, "T", "sampled", 4),  # 4 lanes of a block of 256, 2 of one of 128
        (4, "T", "assumed", 4),
        (64, "T * 2", "assumed", 32),  # T may be any number
    ],
)
def test_a_template_argument_that_is_the_block_is_guessed_with_it(
    launch, stride, block, certainty, wavefronts
):
    text = TIED.format(stride=stride, launch=launch.format(block=block))
    ((access,),) = [kernel.accesses for kernel in facts_in(a_cu=text).kernels]
    assert (access.certainty, access.wavefronts.mean) == (certainty, wavefronts)


@pytest.mark.parametrize(("rows", "block"), [(16, (16, 16, 1)), (32, (32, 8, 1))])
def test_a_guess_that_leaves_an_array_is_not_the_one_that_is_named(rows, block):
    """Rows are 128 bytes apart: 16 ways of 64 bits with every guess, 32 x 8 leaves 16 rows."""
    text = "__global__ void k(double *g, int n) {\n"
    text += f"  __shared__ double s[{rows}][16];\n"
    text += "  if (n > 3) s[threadIdx.x][threadIdx.y] = 1;\n}\n"
    (kernel,) = facts_in(a_cu=text).kernels
    (access,) = kernel.accesses
    assert (access.instance.block, access.certainty, access.ways) == (block, "assumed", 16)


DEEP = """
__global__ {bounds} void k(double *g) {{
  __shared__ double s[8192];
  s[{row} * threadIdx.z + 16 * threadIdx.x + threadIdx.y] = g[0];
}}
void run(dim3 block, double *g) {{ k<<<1, block>>>(g); }}
"""


@pytest.mark.parametrize("bounds", ["", "__launch_bounds__(256)"])
def test_a_kernel_that_names_the_third_axis_may_have_short_rows(bounds):
    """16 ways of 8 bytes at rows of 16 lanes or more, 8 at rows of eight: block (8, 8, 4)."""
    (kernel, *_) = facts_in(a_cu=DEEP.format(bounds=bounds, row=128)).kernels
    (access,) = kernel.accesses
    assert access.certainty == "sampled"
    text = DEEP.format(bounds=bounds, row=128).replace("128 * threadIdx.z + ", "")
    (kernel, *_) = facts_in(a_cu=text).kernels
    assert [a.certainty for a in kernel.accesses] == ["assumed" if bounds else "sampled"]


@pytest.mark.parametrize(
    ("launch", "certainty"),
    [
        ("", "assumed"),  # rows of 16 and of 32 lanes
        (
            "void run(double *g, int n) { int y = 1 << n; k<<<1, dim3(512 / y, y)>>>(g); }",
            "sampled",
        ),
        ("void run(double *g, int n) { k<<<1, dim3(16, n)>>>(g); }", "assumed"),
    ],
)
def test_a_launch_that_computes_its_rows_may_have_short_ones(launch, certainty):
    """16 ways of 8 bytes at rows of 16 lanes or more, 8 at rows of eight: block (8, 32)."""
    text = "__global__ void k(double *g) { __shared__ double s[8192];\n"
    text += f"s[threadIdx.y + threadIdx.x * 16] = g[0]; }}\n{launch}\n"
    ((access,),) = [kernel.accesses for kernel in facts_in(a_cu=text).kernels]
    assert (access.certainty, access.ways) == (certainty, 16)


GROUP = """
namespace cg = cooperative_groups;
__global__ void k(float *g) {{
  __shared__ float s[32][32];
  auto block = cg::this_thread_block();
  {declared}
  g[0] = s[{x}][{y}];
}}
"""


@pytest.mark.parametrize(
    ("declared", "x", "y"),
    [
        ("", "block.thread_index().x", "block.thread_index().y"),
        ("auto at = block.thread_index();", "at.x", "at.y"),
        ("", "threadIdx.x", "threadIdx.y"),
    ],
)
def test_a_kernel_names_its_axes_by_a_group(declared: str, x: str, y: str):
    """Rows of 32 threads read a column, which is 32-way, and rows of 16 half of two: 16-way."""
    (kernel,) = facts_in(a_cu=GROUP.format(declared=declared, x=x, y=y)).kernels
    (access,) = kernel.accesses
    assert (kernel.instance.block, access.certainty) == ((32, 8, 1), "sampled")


@pytest.mark.parametrize(("most", "certainty"), [(256, "sampled"), (64, "assumed")])
def test_the_most_threads_of_a_launch_are_not_those_of_a_block_that_leaves_its_array(
    most, certainty
):
    text = f"""
__global__ void __launch_bounds__({most}) k(float4 *g) {{
  __shared__ float4 s[64];
  s[threadIdx.x] = g[threadIdx.x];
}}"""
    (access,) = accesses_of(text)
    assert access.certainty.value == certainty


@pytest.mark.parametrize(
    ("factor", "expected"),
    [("1 + (w & 1)", Certainty.SAMPLED), ("2 - (w & 1)", Certainty.ASSUMED)],
)
def test_a_block_may_be_one_warp(factor, expected):
    """Of odd warps only, or of even ones, two lanes meet in a bank."""
    (load,) = accesses_of(
        "__global__ void k(float *o) { __shared__ float s[64]; int t = threadIdx.x, w = t / 32;"
        f" o[t] = s[t % 32 * ({factor})]; }}"
        "void f(float *o, int n) { k<<<1, 32 * n>>>(o); }"
    )
    assert (load.certainty, load.wavefronts.mean) == (expected, 1.5)
