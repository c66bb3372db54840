"""Which of many instances of a kernel are evaluated."""

from __future__ import annotations

from itertools import product

from conftest import facts_of

from smemlint.limits.budgets import MAX_INSTANCES

BITS = 6


def test_each_arm_that_an_argument_chooses_is_seen():
    """Of 64 instances the first 24 leave the arms of the first two arguments out."""
    names = [f"B{k}" for k in range(BITS)]
    body = "\n".join(f"if (B{k}) s[{k + 2} * threadIdx.x] = 1.f;" for k in range(BITS))
    head = ", ".join(f"bool {name}" for name in names)
    launches = "\n".join(
        f"k<{', '.join(map(str, bits))}><<<1, 32>>>();" for bits in product((0, 1), repeat=BITS)
    )
    facts = facts_of(
        f"template <{head}> __global__ void k() {{ __shared__ float s[512];\n{body}\n}}\n"
        f"void go() {{\n{launches}\n}}\n"
    )
    assert len(facts.kernels) <= MAX_INSTANCES
    strides = {a.span.line: a.wavefronts.mean for k in facts.kernels for a in k.accesses}
    assert strides == {2: 2, 3: 1, 4: 4, 5: 1, 6: 2, 7: 1}


def test_classes_of_other_arguments_are_other_instances():
    """A class template with a default and a specialization: launched by names of parameters."""
    source = """
    template <class T, int N, int M = 2 * N> struct Traits { enum { STRIDE = N }; };
    template <class T, int N> struct Traits<T, N, 1> { enum { STRIDE = N }; };
    template <class K> __global__ void k() {
      __shared__ float s[2048];
      s[K::STRIDE * threadIdx.x] = 1.f;
    }
    template <class T, int N> void launch() { k<Traits<T, N>><<<1, 32>>>(); }
    template <class T, int N> void special() { k<Traits<T, N, 1>><<<1, 32>>>(); }
    void run() { launch<float, 2>(); launch<float, 8>(); special<float, 4>(); special<int, 16>(); }
    """
    facts = facts_of(source)
    assert {a.wavefronts.mean for k in facts.kernels for a in k.accesses} == {2, 8, 4, 16}


def test_each_family_shows_other_arms_first():
    """Each class is a family: that each is seen once does not leave an arm of `B` out."""
    source = f"""
    template <int N> struct Traits {{ static constexpr int STRIDE = 1; }};
    template <class K, bool B> __global__ void k() {{
      __shared__ float s[2048];
      if (B) s[K::STRIDE * threadIdx.x] = 1.f;
      else s[2 * threadIdx.x] = 1.f;
    }}
    void run() {{
      {" ".join(f"k<Traits<{n}>, {b}><<<1, 32>>>();" for n, b in product(range(30), (1, 0)))}
    }}
    """
    facts = facts_of(source)
    assert {a.wavefronts.mean for k in facts.kernels for a in k.accesses} == {1, 2}


def test_known_blocks_come_before_guesses():
    """Of 30 strides with a block of `n` threads and one of 32, that one is evaluated."""
    source = f"""
    template <int N, bool Known> __global__ void k() {{
      __shared__ float s[4096];
      if (Known) s[N * threadIdx.x] = 1.f;
    }}
    void open(int n) {{ {" ".join(f"k<{n}, false><<<1, n>>>();" for n in range(30))} }}
    void run() {{ k<8, true><<<1, 32>>>(); }}
    """
    facts = facts_of(source)
    assert {(k.instance.block, k.instance.template[0]) for k in facts.kernels if k.accesses} == {
        ((32, 1, 1), ("N", "8"))
    }
    assert facts.kernels[0].instance.block == (32, 1, 1)
    assert {a.wavefronts.mean for k in facts.kernels for a in k.accesses} == {8}
