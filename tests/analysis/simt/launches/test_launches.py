"""Block shapes and template values are found where programs state them, and said."""

from __future__ import annotations

import re

import pytest
from conftest import accesses_of, facts_of
from figures import facts_in

from smemlint.config.settings import KernelSettings
from smemlint.facts import Certainty
from smemlint.limits.steps import step_limit
from smemlint.reasons import ReasonCode, Topic

BODY = "__shared__ float s[4096]; s[threadIdx.x] = g[threadIdx.x]; g[0] = s[threadIdx.x ^ 1];"
K = f"__global__ void k(float *g) {{ {BODY} }}\n"


def instances(facts):
    """(kernel, template values, block) of every instance, sorted."""
    found = [
        (i.kernel, tuple(v for _, v in i.template), i.block)
        for i in (k.instance for k in facts.kernels)
    ]
    return sorted(found, key=str)


def blocks(text, **settings):
    return [block for _, _, block in instances(facts_of(text, **settings))]


@pytest.mark.parametrize(
    ("before", "host", "block"),
    [
        ("", "k<<<4, 128>>>(g);", (128, 1, 1)),
        ("", "k<<<dim3(2, 2), dim3(32, 8)>>>(g);", (32, 8, 1)),
        ("", "k << <dim3(2, 2), dim3(32, 8) >> >(g);", (32, 8, 1)),  # as Visual Studio formats it
        ("", "dim3 b(16, 16, 2); k<<<1, b>>>(g);", (16, 16, 2)),
        ("", "dim3 b = dim3(8, 4); k<<<1, b>>>(g);", (8, 4, 1)),
        ("", "dim3 b{8, 8, 4}; k<<<1, b>>>(g);", (8, 8, 4)),
        ("", "const dim3 b = {64, 2}; k<<<1, b>>>(g);", (64, 2, 1)),
        ("", "dim3 b; b.x = 64; b.y = 2; k<<<1, b>>>(g);", (64, 2, 1)),
        ("", "dim3 b(48); k<<<n, b, 0, 0>>>(g);", (48, 1, 1)),
        ("", "int w = 32; dim3 b(w, 256 / w); k<<<(n + w - 1) / w, b>>>(g);", (32, 8, 1)),
        ("", "unsigned t = 1u << 7; t -= 32; k<<<1, t>>>(g);", (96, 1, 1)),
        ("", "int t = 100; t = (t + 31) / 32 * 32; k<<<1, t>>>(g);", (128, 1, 1)),
        ("", "auto t = 3 * 64; k<<<1, t>>>(g);", (192, 1, 1)),
        ("const int W = 64; constexpr int T = W * 2;", "k<<<1, T>>>(g);", (128, 1, 1)),
        ("constexpr int halved(int x) { return x / 2; }", "k<<<1, halved(320)>>>(g);", (160, 1, 1)),
        ("enum { WARPS = 4, THREADS = WARPS * 32 };", "k<<<1, THREADS>>>(g);", (128, 1, 1)),
        ("enum class E : int { n = 96 };", "k<<<1, (int)E::n>>>(g);", (96, 1, 1)),
        ("struct C { static constexpr int n = 224; };", "k<<<1, C::n>>>(g);", (224, 1, 1)),
        ("#define BS 16", "dim3 b(BS, BS / 2); k<<<1, b>>>(g);", (16, 8, 1)),
        ("#define GO(n) k<<<1, n>>>(g)", "GO(64);", (64, 1, 1)),
        ("#define GO(f, n) (f)<<<1, (n)>>>(g)", "GO(k, 192);", (192, 1, 1)),
        ("", "(&k)<<<1, 64>>>(g);", (64, 1, 1)),
        ("#define GO(f, n) f##_<<<1, n>>>(g)\n#define k_ k", "GO(k, 320);", (320, 1, 1)),
        ("", "for (int i = 0; i < 3; i++) k<<<1, 64>>>(g);", (64, 1, 1)),
        ("", "if (n > 3) { k<<<1, 64>>>(g); }", (64, 1, 1)),
        ("", "void *a[] = {&g}; cudaLaunchKernel((void *)k, dim3(2), dim3(96), a, 0, 0);", (96, 1, 1)),
        ("", "void *a[] = {&g}; dim3 b(32, 3); cudaLaunchCooperativeKernel((const void *)&k, 1, b, a);", (32, 3, 1)),
        ("", "void (*f)(float *) = k; f<<<1, 256>>>(g);", (256, 1, 1)),
        ("", "auto f = &k; f<<<1, 352>>>(g);", (352, 1, 1)),
        ("", "auto &f = k; f<<<1, 352>>>(g);", (352, 1, 1)),
        ("", "([&] { const auto &f = (k); return f<<<1, 64>>>(g); }());", (64, 1, 1)),
        ("", "auto go = [&](int t) { k<<<1, t>>>(g); }; go(64);", (64, 1, 1)),
    ],
)  # fmt: skip
def test_the_block_of_a_launch(before, host, block):
    facts = facts_of(f"{before}\n{K}void run(float *g, int n) {{\n{host}\n}}\n")
    assert instances(facts) == [("k", (), block)]
    (kernel,) = facts.kernels
    line = 3 + before.count("\n") + 1
    assert kernel.instance.origin == f"launch at k.cu:{line}"
    for access in kernel.accesses:
        assert access.certainty is Certainty.ASSUMED
        assert access.assumptions[0].topic is Topic.BLOCK
        assert access.instructions == -(-block[0] * block[1] * block[2] // 32)


def test_two_launches_are_two_instances_and_equal_ones_are_one():
    host = "void run(float *g) { k<<<1, 64>>>(g); k<<<9, 64>>>(g); k<<<1, dim3(16, 16)>>>(g); }"
    assert blocks(K + host) == [(16, 16, 1), (64, 1, 1)]


def test_function_pointers_that_a_switch_assigns_name_all_their_kernels():
    text = f"""
__global__ void a(float *g) {{ {BODY} }}
__global__ void b(float *g) {{ {BODY} }}
__global__ void c(float *g) {{ {BODY} }}
void run(int which, float *g) {{
  void (*f)(float *);
  switch (which) {{ case 0: f = &a; break; case 1: f = &b; break; }}
  f<<<1, 64>>>(g);
  c<<<1, 32>>>(g);
}}"""
    assert instances(facts_of(text)) == [("a", (), (64, 1, 1)), ("b", (), (64, 1, 1)), ("c", (), (32, 1, 1))]  # fmt: skip


@pytest.mark.parametrize(
    ("template", "host", "found"),
    [
        ("int N", "k<64><<<1, 64>>>(g);", [(("64",), 64)]),
        ("int N = 32", "k<><<<1, N0>>>(g);", [(("32",), 96)]),
        ("class T, int N", "k<float, 8><<<1, 32>>>(g);", [(("float", "8"), 32)]),
        ("typename T", "k<<<1, 32>>>(g);", [(("float",), 32)]),
        ("bool B", "if (n) k<true><<<1, 32>>>(g); else k<false><<<1, 32>>>(g);", [(("0",), 32), (("1",), 32)]),
        ("int N", "switch (n) { case 512: k<512><<<1, n>>>(g); break; case 256: k<256><<<1, n>>>(g); break; }",
         [(("256",), 256), (("512",), 512)]),
        ("int N", "int m = n > 256 ? 256 : n; switch (n) { case 512: k<512><<<1, m>>>(g); break; case 64: k<64><<<1, m>>>(g); break; }",
         [(("512",), 256), (("64",), 64)]),
        ("int N", "int m = max(n, 96); if (n == 128) k<128><<<1, m>>>(g); else if (n == 64) k<64><<<1, m>>>(g);",
         [(("128",), 128), (("64",), 96)]),
        ("int A, int B", "constexpr int q = 4; k<q * 2, (q > 3)><<<1, q * 8>>>(g);", [(("8", "1"), 32)]),
    ],
)  # fmt: skip
def test_template_arguments_of_a_launch(template, host, found):
    text = (
        "const int N0 = 96;\n"
        f"template <{template}> __global__ void k({'T' if ' T' in template else 'float'} *g) {{ "
        "__shared__ float s[4096]; s[threadIdx.x] = 1; }\n"
        f"void run(float *g, int n) {{ {host} }}\n"
    )
    got = [(template, block[0]) for _, template, block in instances(facts_of(text))]
    assert [(tuple(_as_number(v) for v in t), b) for t, b in got] == found


def _as_number(text):
    return {"true": "1", "false": "0"}.get(text, text)


def test_each_template_value_has_its_own_figure():
    text = """
template <int STRIDE> __global__ void k(float *g) {
  __shared__ float s[1024];
  s[threadIdx.x * STRIDE] = g[0];
}
void run(float *g) { k<1><<<1, 32>>>(g); k<2><<<1, 32>>>(g); k<8><<<1, 32>>>(g); }"""
    figures = {k.instance.title: k.accesses[0].wavefronts.mean for k in facts_of(text).kernels}
    assert figures == {"k<1>": 1, "k<2>": 2, "k<8>": 8}


def test_a_launch_in_another_file_of_the_run():
    host = "extern __global__ void k(float *g);\nvoid run(float *g) { k<<<1, 160>>>(g); }"
    facts = facts_in(kernels_cu=K, main_cu=host)
    assert instances(facts) == [("k", (), (160, 1, 1))]
    assert facts.kernels[0].instance.origin == "launch at main.cu:2"


def test_a_launch_in_another_folder_is_found_where_a_header_declares_the_kernel(tmp_path):
    from smemlint.analysis.analyze import analyze
    from smemlint.config.settings import Settings
    from smemlint.sources.source import Source

    declared = "__global__ void k(float *g)"
    texts = {
        "kernels/k.cu": f'#include "k.h"\n{declared} {{ __shared__ float s[512]; s[threadIdx.x] = *g; }}',
        "kernels/k.h": f"{declared};",
        "main.cu": '#include "kernels/k.h"\nint main() { float *g; k<<<1, 168>>>(g); }',
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    facts, _ = analyze([Source(str(tmp_path / name)) for name in texts], Settings())
    assert instances(facts) == [("k", (), (168, 1, 1))]


def test_a_launch_with_numbers_that_its_caller_passes():
    host = "void go(int threads, float *g) { k<<<1, threads>>>(g); }\nint main() { go(192, 0); }"
    assert blocks(K + host) == [(192, 1, 1)]


def test_an_included_kernel_has_the_macros_of_its_includer(tmp_path):
    from smemlint.analysis.analyze import analyze
    from smemlint.config.settings import Settings
    from smemlint.sources.source import Source

    (tmp_path / "k.cuh").write_text(
        "__global__ void k(float *g) { __shared__ float s[1024]; s[threadIdx.x * STEP] = g[0]; }\n"
    )
    (tmp_path / "a.cu").write_text(
        '#define STEP 4\n#include "k.cuh"\nvoid run(float *g) { k<<<1, 64>>>(g); }\n'
    )
    files = [Source((tmp_path / name).as_posix()) for name in ("a.cu", "k.cuh")]
    (kernel,) = analyze(files, Settings())[0].kernels
    assert kernel.instance.block == (64, 1, 1)
    (access,) = kernel.accesses
    assert access.span.path.endswith("k.cuh")
    assert (access.wavefronts.mean, access.ideal.mean) == (4, 1)


@pytest.mark.parametrize(
    ("bounds", "index", "block"),
    [
        ("128", "[threadIdx.x][0]", (128, 1, 1)),
        ("256, 2", "[threadIdx.y][threadIdx.x]", (32, 8, 1)),
    ],
)
def test_launch_bounds_stand_in_for_a_launch(bounds, index, block):
    text = (
        f"__global__ void __launch_bounds__({bounds}) k(float *g) "
        f"{{ __shared__ float s[{block[1] if block[1] > 1 else 128}][33]; s{index} = g[0]; }}"
    )
    (kernel,) = facts_of(text).kernels
    assert kernel.instance.block == block
    assert [a.topic for a in kernel.accesses[0].assumptions] == ["block"]
    assert kernel.instance.origin == "__launch_bounds__"
    named = re.findall(r"\((\d+), (\d+), 1\)", str(kernel.accesses[0].assumptions[0]))
    assert [int(x) * int(y) for x, y in named] == [block[0] * block[1]] * (1 + ("y" in index))


def test_launch_bounds_are_computed_once_for_all_launches_of_an_instance():
    trips = 64

    def steps_for(launches):
        text = f"""
template <int N> constexpr int threads() {{
  int n = 0;
  for (int i = 0; i < {trips}; ++i) n += N;
  return n;
}}
template <int N> __global__ void __launch_bounds__(threads<N>()) k(float *g) {{ {BODY} }}
void f(float *g, int n) {{ {launches * "k<2><<<1, n>>>(g);"} }}"""
        with step_limit(1_000_000) as steps:
            assert blocks(text) == [(2 * trips, 1, 1)]
        return steps.spent

    assert steps_for(5) - steps_for(1) < 4 * trips


@pytest.mark.parametrize(
    ("threads", "index", "extents", "block", "ways"),
    [
        # 32 rows of 2 threads and 16 of 4 leave the array: 8 words a row, 32 lanes in 8 rows
        (64, "[threadIdx.x][threadIdx.y]", "[8][8]", (8, 8, 1), 2),
        (256, "[threadIdx.y][threadIdx.x]", "[8][40]", (32, 8, 1), 1),
        # both (32, 8) and (16, 16) fit: 1 and 2 ways
        (256, "[threadIdx.y][threadIdx.x]", "[16][40]", (32, 8, 1), None),
    ],
)
def test_bounds_count_threads_and_leave_the_shape_open(threads, index, extents, block, ways):
    text = f"""
    __device__ void fill(float (*s){extents[extents.index("]") + 1 :]}, float v) {{ s{index} = v; }}
    __global__ void __launch_bounds__({threads}) k(float *g) {{
      __shared__ float s{extents};
      fill(s, g[0]);
    }}"""
    kernel = next(iter(facts_of(text).kernels))
    assert kernel.instance.block == block
    assert [a.ways if a.certainty is Certainty.ASSUMED else None for a in kernel.accesses] == [ways]


@pytest.mark.parametrize(
    ("given", "block"),
    [
        ("dim3(32, n)", (32, 4, 1)),
        ("dim3(n, 8)", (16, 8, 1)),
        ("dim3(8, 2, n)", (8, 2, 8)),
        ("dim3(32, std::min(n, 2))", (32, 2, 1)),  # no more rows, whatever the bounds are
        ("dim3(devices()[n].warp_size, 2, 2)", (32, 2, 2)),
        ("dim3(info->warpSize, 1, n)", (32, 1, 4)),
    ],
)
def test_bounds_tell_the_extent_that_a_launch_leaves_open(given, block):
    text = """
struct Device { int sms, warp_size; };
Device *devices();
__global__ void __launch_bounds__(128) k(float *g) {
  __shared__ float s[64][33];
  s[threadIdx.x][threadIdx.y] = g[0];
}
void run(float *g, int n, cudaDeviceProp *info) { k<<<1, BLOCK>>>(g); }"""
    assert blocks(text.replace("BLOCK", given))[0] == block


def test_without_a_launch_only_figures_that_no_block_changes_are_reported():
    text = """
__global__ void k(float *g) {
  __shared__ float s[4096];
  s[threadIdx.x * 2] = g[0];
  s[threadIdx.x * (blockDim.x / 128)] = g[0];
}"""
    always, by_block = (a for k in facts_of(text).kernels for a in k.accesses)
    assert always.certainty is Certainty.ASSUMED
    assert always.wavefronts.mean / always.ideal.mean == 2
    assert [a.topic for a in always.assumptions] == ["block"]
    assert "(256, 1, 1), (128, 1, 1) and (512, 1, 1)" in always.assumptions[0].text
    assert always.instance.origin == ""
    assert by_block.certainty is Certainty.SAMPLED
    assert by_block.reason.code == "unknown-block"


def test_a_launch_whose_block_is_not_known_is_like_none():
    text = K.replace("threadIdx.x ^ 1", "threadIdx.x * (blockDim.x / 128)")
    facts = facts_of(text + "void run(float *g, int n) { k<<<1, n>>>(g); }")
    by_kind = {str(a.kind): a for k in facts.kernels for a in k.accesses}
    assert by_kind["store"].certainty is Certainty.ASSUMED
    assert by_kind["load"].certainty is Certainty.SAMPLED


@pytest.mark.parametrize(
    ("block", "shape", "ways"),
    [
        ("std::min(16, std::max(n, 1))", (16, 1, 1), 1),  # 16 lanes, half of them active
        ("std::min(256, n)", (256, 1, 1), 2),
        ("dim3(std::min(16, n), 1)", (16, 1, 1), 1),
        ("n", (256, 1, 1), 2),
    ],
)
def test_a_block_is_not_guessed_above_its_limit(block, shape, ways):
    text = """
__global__ void k(float *g) {
  __shared__ double s[1024];
  int t = threadIdx.x;
  if (t % 2 == 0) g[t] = s[t];
}
void run(float *g, int n) { k<<<1, BLOCK>>>(g); }"""
    (access,) = accesses_of(text.replace("BLOCK", block))
    assert access.instance.block == shape
    assert (access.ways if access.certainty is Certainty.ASSUMED else None) == ways


class TestOverrides:
    """What the user says wins over what the code says."""

    TEXT = "template <class T, int N> __global__ void k(T *g) {\n__shared__ T s[N]; s[threadIdx.x * 2] = g[0]; }"

    def test_block_dim(self):
        assert blocks(K, block_dim=(48, 2, 1)) == [(48, 2, 1)]
        assert blocks(K + "void r(float *g) { k<<<1, 64>>>(g); }", block_dim=(48, 2, 1)) == [(48, 2, 1)]  # fmt: skip

    def test_configuration_of_one_kernel(self):
        settings = KernelSettings((64, 1, 1), {"T": "double", "N": "512"})
        facts = facts_of(self.TEXT, kernels={"k": settings})
        assert instances(facts) == [("k", ("double", "512"), (64, 1, 1))]
        (access,) = facts.kernels[0].accesses
        assert access.width_bytes == 8
        assert access.wavefronts.mean == 4  # 32 doubles at a stride of 16 bytes
        assert access.ideal.mean == 2

    def test_pragma(self):
        pragma = "// smemlint: launch(block=(32,4), T=short, N=256)\n"
        facts = facts_of(pragma + self.TEXT)
        assert instances(facts) == [("k", ("short", "256"), (32, 4, 1))]
        (access,) = facts.kernels[0].accesses
        assert (access.width_bytes, access.wavefronts.mean) == (2, 1)

    def test_define(self):
        text = (
            K.replace("threadIdx.x ^ 1", "threadIdx.x * STRIDE")
            + "void r(float *g) { k<<<1, 32>>>(g); }"
        )
        load = facts_of(text, define={"STRIDE": "4"}).kernels[0].accesses[1]
        assert load.wavefronts.mean == 4


@pytest.mark.parametrize(("launches", "left"), [(25, 1), (27, 3)])
def test_more_instances_than_are_evaluated_are_counted(launches, left):
    calls = " ".join(f"k<<<1, {32 * i}>>>(g);" for i in range(1, launches + 1))
    facts = facts_of(K + f"void run(float *g) {{ {calls} }}")
    assert len(facts.kernels) == 24
    (note,) = facts.not_analysed
    assert (note.reason.code, int(note.reason.text.split()[0])) == ("left-out", left)


def instances_of_a_heavy_kernel(stride):
    """Facts of five instances of one block shape, some 6,000 statements each."""
    text = f"""
template <int N> __global__ void k(int *g) {{
  __shared__ int s[4096];
  int t = threadIdx.x;
  for (int i = 0; i < 1000; i++) {{
    int a = i * i * 7; int b = a ^ (i >> 2); int c = b & 31;
    s[{stride} * t + c] = a;
  }}
}}
void run(int *g) {{ {" ".join(f"k<{n}><<<1, 32>>>(g);" for n in (1, 2, 4, 8, 16))} }}"""
    return facts_of(text)


def test_heavy_instances_that_agree_are_not_all_evaluated_and_that_is_said():
    facts = instances_of_a_heavy_kernel("1")
    assert len(facts.kernels) == 2 and sum(k.steps for k in facts.kernels) > 10_000
    assert "left-out" in [n.reason.code for n in facts.not_analysed]


def test_heavy_instances_that_differ_are_evaluated():
    facts = instances_of_a_heavy_kernel("N")
    ways = [k.accesses[0].wavefronts.mean for k in facts.kernels]
    assert ways == [1, 2, 4, 8, 16]


def test_a_global_that_nothing_writes_keeps_its_value() -> None:
    text = """
unsigned size = 64;
__global__ void k(double *g) { __shared__ double s[8]; s[threadIdx.x] = g[0]; }
int main() { unsigned long local = size / 8; k<<<1, local>>>(0); }
"""
    (access,) = accesses_of(text)
    assert access.instance.block == (8, 1, 1)
    assert (Topic.HOST, "size") in [(a.topic, a.subject) for a in access.assumptions]
    for write in ('scanf("%u", &size);', "size += 8;", "size = 32;", "std::cin >> size;"):
        (access,) = accesses_of(text.replace("main() {", f"main() {{ {write}"))
        assert access.instance.block != (8, 1, 1) or not access.certainty.is_decided


def test_nests_of_loops_that_fill_data_do_not_hide_the_launch_behind_them() -> None:
    loops = "".join(f"for (int i{n} = 0; i{n} < 11; i{n}++) " for n in range(5))
    text = f"""
__global__ void k(double *g) {{ __shared__ double s[8]; s[threadIdx.x] = g[0]; }}
int main() {{
  double a[1];
  {loops} a[0] = rand();
  {loops} a[0] += rand();
  k<<<1, 8>>>(a);
}}
"""
    (access,) = accesses_of(text)
    assert (access.instance.block, access.certainty) == ((8, 1, 1), "assumed")


def test_a_call_that_is_not_run_to_its_end_keeps_what_it_takes_by_value() -> None:
    loop = "for (int i = 0; i < 1000; i++) a[i] = weight(n + i % 7);"
    text = f"""
__global__ void k(double *g) {{ __shared__ double s[64]; s[threadIdx.x] = g[0]; }}
float weight(int at) {{ at += 1; at += 2; at += 3; at += 4; at += 5; return at * 0.5f; }}
int fill(float *a, int n HOW) {{ {loop} {loop} return n; }}
int main() {{ float a[1000]; int n = 64; fill(a, n GIVEN); k<<<1, n>>>(0); }}
"""
    (access,) = accesses_of(text.replace("HOW", "").replace("GIVEN", ""))
    assert (access.instance.block, access.certainty) == ((64, 1, 1), "assumed")
    for how, given in ((", int *m", ", &n"), (", int &m", ", n")):
        (access,) = accesses_of(text.replace("HOW", how).replace("GIVEN", given))
        assert access.instance.origin == ""


@pytest.mark.parametrize(
    ("block", "write", "read"),
    [
        ("dim3(32, n)", 32, 1),
        ("dim3(32, n, n)", 32, 1),
        ("dim3(8, n)", 8, None),  # each row of 8 lanes in a bank of its own
        ("dim3(n, 8)", None, None),
    ],
)
def test_the_known_row_of_a_block_decides_what_it_can(block, write, read):
    text = """
    __global__ void k(float *o) {
        __shared__ float s[32][32];
        s[threadIdx.x][threadIdx.y] = 1;
        __syncthreads();
        o[threadIdx.x] = s[threadIdx.y * 2][threadIdx.x];
    }
    void run(float *o, int n) { k<<<1, BLOCK>>>(o); }
    """.replace("BLOCK", block)
    found = accesses_of(text)
    decided = [a.ways if a.certainty is Certainty.ASSUMED else None for a in found]
    assert decided == [write, read]
    if write is not None:
        assert f"block of {block[4:-1].replace('n', '?')}" in found[0].assumptions[0].text


@pytest.mark.parametrize(("shape", "threads"), [("H", 1), ("H / 4", 4), ("(H + 3) / 4", 4)])
def test_a_case_tells_what_was_computed_before_the_switch(shape, threads):
    cases = "".join(f"case {n}: k<{n}><<<1, block>>>(g); break;" for n in (256, 512))
    text = f"""
template <int N> __global__ void k(float *g) {{ {BODY} }}
void run(Tensor x, float *g) {{
  const int H = x.size(1);
  dim3 block({shape});
  switch (H) {{ {cases} default: throw 0; }}
}}
"""
    assert instances(facts_of(text)) == [
        ("k", ("256",), (256 // threads, 1, 1)),
        ("k", ("512",), (512 // threads, 1, 1)),
    ]


@pytest.mark.parametrize(
    ("shape", "blocks"),
    [
        ("(H + 31) / 32 * 32", {32: 32, 96: 96}),  # 1024 once stood for the 32 of the first case
        ("H * 8 - 64", {32: 32, 96: 96}),
        ("H * 64 + 32", {32: 32, 96: 96}),
    ],
)
def test_a_case_tells_a_multiple_of_what_is_not_known(shape, blocks):
    cases = "".join(f"case {n}: k<{n}><<<1, block>>>(g); break;" for n in (32, 96))
    text = f"""
template <int N> __global__ void k(float *g) {{ {BODY} }}
void run(float *g, long H) {{
  dim3 block;
  block.x = {shape};
  switch (block.x) {{ {cases} default: throw 0; }}
}}
"""
    found = {int(t[0]): block[0] for _, t, block in instances(facts_of(text))}
    assert found == blocks


def test_a_template_whose_block_is_open_is_evaluated_beside_one_of_a_known_block():
    text = f"""
template <int N> __global__ void k(float *g) {{ {BODY} }}
void run(float *g, int n) {{ k<1><<<1, 96>>>(g); k<2><<<1, n>>>(g); k<1><<<1, n>>>(g); }}
"""
    found = instances(facts_of(text))
    assert ("k", ("1",), (96, 1, 1)) in found
    assert [block for _, template, block in found if template == ("2",)]
    assert [block for _, template, block in found if template == ("1",)] == [(96, 1, 1)]


@pytest.mark.parametrize(
    ("host", "block", "count"),
    [
        ("void a(float *g) { k<<<1, 96>>>(g); } void b(float *g, int n) { k<<<1, n>>>(g); }", 96, 1),
        ("void c(float *g, int n) { k<<<1, n>>>(g); }"
         "void a(float *g) { c(g, 96); } void b(float *g) { c(g, lib::get()); }", 96, 1),
        ("void c(float *g, int n) { k<<<1, n>>>(g); }"
         "void a(float *g) { c(g, 96); c(g, lib::get()); }", 96, 1),
        ("void a(float *g, int w) { for (int t : {32, 64}) for (auto b : lib::all()) {"
         " k<<<1, w>>>(g); w = t == 32 ? lib::one() : lib::other(); } k<<<1, 96>>>(g); }", 96, 1),
        ("void a(float *g, bool f) { int n = 96; if (f) n = lib::get(); k<<<1, n>>>(g); }", 96, 0),
        ("void c(float *g, int n) { k<<<1, n>>>(g); }"
         "void bench(void (*f)(float *, int), float *g) { f(g, 96); }"
         "void a(float *g) { bench(c, g); }", 96, 0),
        ("void a(float *g, bool f) { int n = 96; if (f) n = 96; k<<<1, n>>>(g); }", 96, 0),
    ],
)  # fmt: skip
def test_an_open_block_beside_a_known_one_is_said(host, block, count):
    facts = facts_of(f"__global__ void k(float *g) {{ {BODY} }} {host}")
    assert [found for _, _, found in instances(facts)] == [(block, 1, 1)]
    assert [n.reason.code for n in facts.not_analysed] == [ReasonCode.LEFT_OUT] * count


def test_a_block_that_the_user_gives_leaves_none_open():
    text = f"__global__ void k(float *g) {{ {BODY} }}"
    host = "void a(float *g) { k<<<1, 96>>>(g); } void b(float *g, int n) { k<<<1, n>>>(g); }"
    assert not facts_of(text + host, block_dim=(64, 1, 1)).not_analysed


def test_a_switched_number_that_was_mixed_forty_times_is_not_followed():
    mix = "H ^= H >> 3;" * 40
    text = f"""
__global__ void k(float *g) {{ {BODY} }}
void run(Tensor x, float *g) {{
  unsigned H = x.size(1);
  unsigned n = H;
  {mix}
  switch (n) {{ case 7: k<<<1, H>>>(g); break; default: throw 0; }}
}}
"""
    assert instances(facts_of(text)) == [("k", (), (256, 1, 1))]  # the guess


def test_units_are_linked_as_long_as_memory_allows(monkeypatch):
    kernel = "__global__ void k(float *o) { __shared__ float s[64]; o[0] = s[threadIdx.x]; }\n"
    launch = "__global__ void k(float *o);\nvoid f(float *o) { k<<<1, 64>>>(o); }\n"

    def origins():
        return {k.instance.origin for k in facts_in(a_cu=kernel, b_cu=launch).kernels}

    assert origins() == {"launch at b.cu:2"}
    monkeypatch.setattr("smemlint.analysis.simt.launches.search.MAX_LINKED_CHARACTERS", 0)
    assert origins() == {""}


TYPED = """
template <typename T, int N> __global__ void k(T *g) {
  __shared__ T s[N * 4];
  s[threadIdx.x] = g[threadIdx.x];
  g[0] = s[threadIdx.x ^ 1];
}
template <typename T> void launch(T *g) { k<T, 64><<<1, 64>>>(g); }
"""


def test_an_explicit_instantiation_tells_the_types_of_a_launch() -> None:
    written = "template void launch<float>(float *);\ntemplate void launch<double>(double *);"
    assert instances(facts_of(TYPED + written)) == [
        ("k", ("double", "64"), (64, 1, 1)),
        ("k", ("float", "64"), (64, 1, 1)),
    ]


def test_an_address_of_a_template_function_tells_the_types_of_a_launch() -> None:
    table = "struct Entry { const char *name; void (*run)(double *); };\n"
    table += 'Entry entries[] = {{"double", launch<double>}};'
    assert instances(facts_of(TYPED + table)) == [("k", ("double", "64"), (64, 1, 1))]


def test_a_call_that_is_seen_tells_more_than_what_is_written_elsewhere() -> None:
    called = "void run(double *g) { launch(g); }\ntemplate void launch<float>(float *);"
    assert instances(facts_of(TYPED + called)) == [("k", ("double", "64"), (64, 1, 1))]


def test_a_kernel_that_is_passed_to_what_launches_it_has_its_block() -> None:
    two = K + K.replace(" k(", " other(")
    run = "float run(void (*f)(float *), dim3 b, float *g) { f<<<1, b>>>(g); return 0; }\n"
    main = "int main() { float *g; void (*f)(float *) = k; run(f, dim3(32, 4), g); "
    main += "run(other, 96, g); }"
    assert instances(facts_of(two + run + main)) == [
        ("k", (), (32, 4, 1)),
        ("other", (), (96, 1, 1)),
    ]


TABLE = (
    K
    + K.replace(" k(", " other(")
    + """
dim3 shapes[2][2];
void prepare(int width) {
  shapes[0][0] = dim3(width, 4);
  shapes[0][1] = dim3(8, 8);
  shapes[1][0] = dim3(128);
  shapes[1][1] = dim3(32, 2);
}
void run(int row, float *g) {
  void (*table[2])(float *);
  switch (row) {
    case 0: table[0] = k; table[1] = other; break;
    case 1: table[0] = other; table[1] = k; break;
  }
  for (int i = 0; i < 2; i++) table[i]<<<1, shapes[row][i]>>>(g);
}
"""
)


def test_an_entry_of_a_table_of_kernels_has_the_shape_that_was_put_into_a_variable() -> None:
    main = "int main() { float *g; prepare(64); run(0, g); run(1, g); }"
    facts = facts_of(TABLE + main)
    assert instances(facts) == [
        ("k", (), (32, 2, 1)),
        ("k", (), (64, 4, 1)),
        ("other", (), (128, 1, 1)),
        ("other", (), (8, 8, 1)),
    ]
    assert all(
        (Topic.HOST, "shapes") in [(t.topic, t.subject) for t in a.assumptions]
        for kernel in facts.kernels
        for a in kernel.accesses
    )


def test_a_shape_that_nothing_seen_sets_is_not_known() -> None:
    facts = facts_of(TABLE + "int main() { float *g; run(0, g); run(1, g); }")
    origins = {k.instance.origin for k in facts.kernels}
    assert origins == {""}


def test_a_shape_that_hangs_on_what_is_not_known_is_not_known() -> None:
    main = "int main(int n, char **) { float *g; prepare(n); run(0, g); }"
    facts = facts_of(TABLE + main)
    assert [k.instance.origin for k in facts.kernels if k.instance.kernel == "k"] == [""]


CONFIGURED = """\
template <int N> __global__ void rows(float *out, int pitch) {
  __shared__ float s[1024];
  out[threadIdx.x] = s[threadIdx.x * pitch % 1024 * N];
}
void run(float *out) {
  cudaLaunchConfig_t config = {0};
  cudaLaunchAttribute attribute[1];
  BLOCK
  config.attrs = attribute;
  LAUNCH
}
"""


@pytest.mark.parametrize(
    ("block", "launch"),
    [
        ("config.blockDim = dim3(32, 2);", "cudaLaunchKernelEx(&config, rows<1>, out, 8);"),
        (
            "auto *c = &config; c->blockDim = dim3(32, 2);",
            "return check(cudaLaunchKernelEx(c, rows<1>, out, 8));",
        ),
        (
            "config.blockDim = dim3(32, 2);",
            "void *args[] = {&out}; cudaLaunchKernelExC(&config, (void *)rows<1>, args);",
        ),
    ],
)
def test_a_launch_that_a_configuration_describes(block, launch):
    facts = facts_of(CONFIGURED.replace("BLOCK", block).replace("LAUNCH", launch))
    (kernel,) = facts.kernels
    assert kernel.instance.block == (32, 2, 1)
    assert kernel.instance.template == (("N", "1"),)
    if "KernelExC" not in launch:
        assert [a.ways for a in kernel.accesses] == [8.0]


SIZES = """
#include <vector>
struct Config { int threads; const char *name; };
static const int kSizes[] = {64, 128};
__global__ void k(float *g) { __shared__ float s[1024]; s[threadIdx.x * 2] = g[0]; }
void f(float *g, int n) { %s }
"""


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("int a[] = {64, 96}; for (int t : a) k<<<1, t>>>(g);", [64, 96]),
        ("int a[3] = {64, 96}; for (int t : a) if (t) k<<<1, t>>>(g);", [64, 96]),
        ("for (auto t : kSizes) k<<<1, t>>>(g);", [64, 128]),
        ("for (int i = 0; i < sizeof(kSizes) / sizeof(*kSizes); i++) k<<<1, kSizes[i]>>>(g);", [64, 128]),
        ("int a[] = {64, 96}; for (int i = 0; i < sizeof(a) / sizeof(int); i++) k<<<1, a[i]>>>(g);", [64, 96]),
        ("for (int t : {32, 64, 96}) k<<<1, t>>>(g);", [32, 64, 96]),
        ("std::array<int, 2> a = {64, 96}; for (const int &t : a) k<<<1, t>>>(g);", [64, 96]),
        ("std::vector<int> a{64, 96}; for (int t : a) k<<<1, t>>>(g);", [64, 96]),
        ("const std::vector<unsigned> a = {64u, 96u}; for (auto t : a) k<<<1, t>>>(g);", [64, 96]),
        ("std::vector<int> a = {64, 96}; for (size_t i = 0; i < a.size(); i++) k<<<1, a[i]>>>(g);", [64, 96]),
        ("std::vector<int> a = {64, 96}; k<<<1, a.at(1)>>>(g);", [96]),
        ("std::vector<Config> a = {{64, \"a\"}, {96, \"b\"}}; for (auto &c : a) k<<<1, c.threads>>>(g);", [64, 96]),
        ("Config a[] = {{64, \"a\"}, {96, \"b\"}}; for (auto &c : a) k<<<1, c.threads>>>(g);", [64, 96]),
        ("std::vector<int> a{64, 96}; a.front(); for (int t : a) { if (t > 64) break; k<<<1, t>>>(g); }", [64]),
    ],
)  # fmt: skip
def test_loops_over_lists_of_sizes(host, expected):
    assert sorted(x for x, _, _ in blocks(SIZES % host)) == expected


@pytest.mark.parametrize(
    "host",
    [
        "std::vector<int> a{64, 96}; a.assign(n, n); for (int t : a) k<<<1, t>>>(g);",
        "std::vector<int> a(2, 96); for (int t : a) k<<<1, t>>>(g);",
        "for (int t : {n, 2 * n}) k<<<1, t>>>(g);",
    ],
)
def test_what_may_have_changed_a_list_leaves_its_sizes_unknown(host):
    assert {k.instance.origin for k in facts_of(SIZES % host).kernels} == {""}


def test_a_function_of_another_file_wins_over_a_builtin_of_its_name():
    kernels = """
template <class T> __global__ void k(T *g) { __shared__ T s[1024]; s[threadIdx.x * 2] = g[0]; }
template <class T> void reduce(int threads, T *g) { k<T><<<1, threads>>>(g); }
"""
    host = """
template <class T> void reduce(int threads, T *g);
int main() { double *g = 0; reduce<double>(96, g); }
"""
    facts = facts_in(kernels_cu=kernels, main_cu=host)
    assert instances(facts) == [("k", ("double",), (96, 1, 1))]


def test_a_method_of_an_unknown_object_may_write_what_it_is_pointed_to():
    """The number of blocks is 0 at first, and the launch is not skipped for it."""
    facts = facts_of(f"""{K}
void run(float *g) {{
  auto device = Device::get();
  int blocks = 0;
  device->copy(&blocks, sizeof(int));
  if (blocks != 0) {{ k<<<blocks, 96>>>(g); }}
}}
""")
    assert instances(facts) == [("k", (), (96, 1, 1))]


def test_an_instance_of_an_unknown_block_beside_another_one_at_the_same_place():
    text = """
    template <int N> __global__ void k(float *o) {
      __shared__ float s[256 * N];
      s[threadIdx.x * N] = o[0];
    }
    template <int N> void run(float *o, int n) { k<N><<<1, n>>>(o); }
    void both(float *o) { run<1>(o, 64); run<2>(o, get()); }
    """
    found = facts_of(text)
    assert [a.wavefronts.mean for k in found.kernels for a in k.accesses] == [1, 2]
    assert [k.instance.template for k in found.kernels] == [(("N", "1"),), (("N", "2"),)]
    assert found.kernels[0].instance.block == (64, 1, 1)
    assert not found.not_analysed


@pytest.mark.parametrize(
    ("declared", "cost"), [("constexpr unsigned n", 1), ("const unsigned n", 1), ("unsigned n", 2)]
)
def test_what_is_declared_constant_is_written_by_no_function_that_was_not_read(declared, cost):
    """Seven lanes are in no conflict; six words apart, every 16th lane meets the first."""
    kernel = """
template <typename T> __global__ void k(unsigned n, T* o) {
  extern __shared__ float s[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) o[i] = s[6 * i];
}
template <typename T> void solve(const unsigned n, T* o) { k<T><<<1, 128, 4096>>>(n, o); }
"""
    main = f"int main() {{ {declared} = 7; check((void*)0, n); float* o; solve<float>(n, o); }}"
    (access,) = accesses_of(f'#include "absent.cuh"\n{kernel}{main}')
    assert access.wavefronts.mean == cost


@pytest.mark.parametrize(
    ("launches", "failing"),
    [
        ("k<<<4, 2048>>>(g);", 1),
        ("k<<<4, dim3(16, 16, 8)>>>(g);", 1),
        ("k<<<4, dim3(n, 2048)>>>(g);", 1),
        ("k<<<4, 1024>>>(g);", 0),
        ("k<<<4, n>>>(g);", 0),
        ("k<<<4, dim3(2048, n - n)>>>(g);", 0),  # no thread
        ("k<<<4, 2048>>>(g);\n k<<<4, 128>>>(g);", 1),
        ("k<<<4, 2048>>>(g);\n k<<<4, 1025>>>(g);", 1),  # one note
    ],
)
def test_launches_of_too_many_threads_fail(launches, failing):
    facts = facts_of(f"{K} int main(int n, char **v) {{ float *g; {launches} }}")
    notes = [n for n in facts.not_analysed if n.reason.code is ReasonCode.LEFT_OUT]
    assert sum("1024" in n.reason.text for n in notes) == failing == len(notes)
