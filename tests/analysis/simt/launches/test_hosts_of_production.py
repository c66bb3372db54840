"""Host code as libraries write it: which instances its launches give.

Each expected block and template argument is what g++ 12.2 and nvcc 13.0 make of the program.
"""

from __future__ import annotations

import pytest
from conftest import facts_of

KERNEL = """
template <class T, int N> __global__ void k(T *o) {
  __shared__ T s[2048];
  s[threadIdx.x * N % 2048] = o[0];
  o[0] = s[threadIdx.x];
}
"""


def instances(text: str) -> set[str]:
    """Returns `T,N,threads` of each instance, of guesses `T,N,?`."""
    facts = facts_of(KERNEL + text)
    found = set()
    for kernel in facts.kernels:
        template = [value for _, value in kernel.instance.template]
        x, y, z = kernel.instance.block
        found.add(",".join([*template, str(x * y * z) if kernel.instance.origin else "?"]))
    return found


@pytest.mark.parametrize(("text", "expected"), [
    # attributes
    ("using A [[maybe_unused]] = float; void f() { k<A, 1><<<1, 64>>>(nullptr); }", "float,1,64"),
    ("void f() { using A [[maybe_unused]] = float; k<A, 1><<<1, 64>>>(nullptr); }", "float,1,64"),
    ("enum E { A [[deprecated]] = 64 }; void f() { k<int, 1><<<1, A>>>(nullptr); }", "int,1,64"),
    ("[[nodiscard]] int g [[gnu::pure]] (int x [[maybe_unused]]) { return 64; }\n"
     "void f() { k<int, 1><<<1, g(1)>>>(nullptr); }", "int,1,64"),
    ("void f() { auto l = [] [[gnu::noinline]] (int n) { k<int, 1><<<1, n>>>(nullptr); }; l(64); }",
     "int,1,64"),
    # packs of class templates
    ("template <int... N> struct S;\n"
     "template <> struct S<> { static constexpr int size = 1; };\n"
     "template <int N, int... R> struct S<N, R...> { static constexpr int size = N * S<R...>::size; };\n"
     "void f() { k<int, 1><<<1, S<8, 4>::size>>>(nullptr); k<int, 2><<<1, S<96>::size>>>(nullptr); }",
     "int,1,32 int,2,96"),
    ("template <class... T> struct L {};\n"
     "void each(L<>) {}\n"
     "template <class T, class... R> void each(L<T, R...>) {\n"
     "  k<T, sizeof...(R)><<<1, 64>>>(nullptr); each(L<R...>{}); }\n"
     "void f() { each(L<float, double, char>{}); }", "float,2,64 double,1,64 char,0,64"),
    ("template <class... T> struct L {};\n"
     "template <class T> void each(L<T>) { k<T, 9><<<1, 32>>>(nullptr); }\n"
     "template <class T, class... R> void each(L<T, R...>) {\n"
     "  k<T, sizeof...(R)><<<1, 64>>>(nullptr); each(L<R...>{}); }\n"
     "void f() { each(L<float, double>{}); }", "float,1,64 double,9,32"),
    ("template <class T> void one(int n) { k<T, 1><<<1, n>>>(nullptr); }\n"
     "template <class... T> void all(int n) { (one<T>(n), ...); }\n"
     "template <int... N> struct Sizes {};\n"
     "template <int... N> void sweep(Sizes<N...>) { (all<float, int>(N), ...); }\n"
     "void f() { sweep(Sizes<32, 64>{}); }", "float,1,32 int,1,32 float,1,64 int,1,64"),
    # objects that are called where they are given
    ("template <class... T> struct L {};\n"
     "template <class F> bool pick(int, L<>, F &&) { return false; }\n"
     "template <class T, class... R, class F> bool pick(int i, L<T, R...>, F &&g) {\n"
     "  if (i == 0) { g(static_cast<T *>(nullptr)); return true; }\n"
     "  return pick(i - 1, L<R...>{}, g); }\n"
     "struct Run { template <class T> void operator()(T *p) const { k<T, 16 / sizeof(T)><<<1, 64>>>(p); } };\n"
     "void f() { for (int i = 0; i < 3; i++) pick(i, L<float, double, char>{}, Run{}); }",
     "float,4,64 double,2,64 char,16,64"),
    # conversions of objects
    ("struct E { int tag = 7; int v[2]; E(int a, int b) : v{a, b} {}\n"
     "  operator dim3() const { return dim3(v[0], v[1]); } };\n"
     "void run(dim3 b) { k<int, 1><<<1, b>>>(nullptr); }\n"
     "void refer(const dim3 &b) { k<int, 2><<<1, b>>>(nullptr); }\n"
     "void f() { E e(16, 4); run(e); refer(e); k<int, 3><<<1, e>>>(nullptr); dim3 b = e;\n"
     "  k<int, 4><<<1, b>>>(nullptr); dim3 c; c = e; k<int, 5><<<1, c>>>(nullptr);\n"
     "  k<int, 6><<<1, dim3(e)>>>(nullptr); }", " ".join(f"int,{n},64" for n in range(1, 7))),
    ("struct W { int n; operator unsigned() const { return n * 16; }\n"
     "  explicit operator int() const { return n * 32; } };\n"
     "void f() { W w{3}; int a = (int)w; unsigned b = w; k<int, 2><<<1, a>>>(nullptr);\n"
     "  k<int, 3><<<1, b>>>(nullptr); k<int, 4><<<1, static_cast<int>(w) * 2>>>(nullptr); }",
     "int,2,96 int,3,48 int,4,192"),
    ("struct U { int n; operator int() const { return n * 32; } };\n"
     "void run(int n) { k<int, 1><<<1, n>>>(nullptr); }\n"
     "void f() { run(U{2}); }", "int,1,64"),
    ("struct P { int a, b; }; void f() { P p{32, 2}; k<int, 1><<<1, p>>>(nullptr); }", "int,1,?"),
    # who calls what launches
    ("template <class D> struct Base { void operator()(int n) { static_cast<D *>(this)->launch(n); } };\n"
     "struct A : Base<A> { void launch(int n) { k<int, 1><<<1, n>>>(nullptr); } };\n"
     "struct B : Base<B> { void launch(int n) { k<int, 2><<<1, n / 2>>>(nullptr); } };\n"
     "void f() { A a; a(64); B b; b(64); }", "int,1,64 int,2,32"),
    ("template <class T> struct Buf { T *p; };\n"
     "using Any = std::variant<Buf<float>, Buf<double>>;\n"
     "void f(const Any &v) { std::visit([](auto &&b) {\n"
     "  using T = std::remove_pointer_t<decltype(b.p)>; k<T, 1><<<1, 64>>>(b.p); }, v); }",
     "float,1,64 double,1,64"),
    ("struct P { dim3 block{32, 2}; int n = 1; };\n"
     "void run(const P &p = {}) { k<int, 1><<<1, p.block>>>(nullptr); }\n"
     "void f() { run(); P q; q.block.y = 3; run(q); }", "int,1,64 int,1,96"),
    # tables, and pointers into them
    ("struct E { void (*fn)(int *); int threads, m; };\n"
     "static const E all[] = {{k<int, 1>, 32, 1}, {k<int, 2>, 64, 2}, {k<int, 4>, 96, 4}};\n"
     "const E *pick(int m) { const E *best = nullptr;\n"
     "  for (int i = 0; i < sizeof(all) / sizeof(all[0]); i++)\n"
     "    if (m % all[i].m == 0) if (!best || all[i].m > best->m) best = &all[i];\n"
     "  return best; }\n"
     "void run(int m) { const E *e = pick(m); if (!e) return; e->fn<<<1, e->threads>>>(nullptr); }\n"
     "void f() { run(3); run(6); run(8); }", "int,1,32 int,2,64 int,4,96"),
    # what classes have
    ("struct X : std::integral_constant<int, 32> {}; struct Other { static constexpr int value = 64; };\n"
     "void f() { k<int, 1><<<1, X::value>>>(nullptr); }", "int,1,32"),
    *((f"struct A {{ using type = int; static constexpr int threads = 64; }};\n"
       f"struct B {{ static constexpr int stages = 3; void run(int); }};\n"
       f"template <class P> concept C = {asked};\n"
       f"template <class P> constexpr int size() {{ if constexpr (C<P>) return 32; else return 64; }}\n"
       f"template <class P> void go() {{ k<int, size<P>() / 32><<<1, size<P>()>>>(nullptr); }}\n"
       f"void f() {{ go<{name}>(); }}", expected)
      for asked, in_a in [
          ("requires { P::threads; }", True), ("requires { typename P::type; }", True),
          ("requires { P::stages; }", False), ("requires(P p) { p.run(1); }", False),
          ("requires(const P &p) { p.threads; typename P::type; }", True),
          ("requires { { P::threads } -> std::convertible_to<int>; }", True)]
      for name, expected in [("A", "int,1,32" if in_a else "int,2,64"),
                             ("B", "int,2,64" if in_a else "int,1,32")]),
    *((f"struct A {{ using type = int; static constexpr int threads = 64; }};\n"
       f"struct B {{ static constexpr int stages = 3; void run(int); }};\n"
       f"template <class P, class = void> struct N : std::integral_constant<int, 64> {{}};\n"
       f"template <class P> struct N<P, {pattern}> : std::integral_constant<int, 32> {{}};\n"
       f"void f() {{ k<int, 1><<<1, N<A>::value>>>(nullptr); k<int, 2><<<1, N<B>::value>>>(nullptr); }}",
       f"int,1,{32 if in_a else 64} int,2,{64 if in_a else 32}")
      for pattern, in_a in [
          ("std::void_t<decltype(P::threads)>", True), ("std::void_t<typename P::type>", True),
          ("std::void_t<decltype(std::declval<P>().run(1))>", False)]),
    ("template <int B> struct R { static const int size, half; void go();\n"
     "  static int twice() { return 2 * size; } };\n"
     "template <int B> const int R<B>::size = B > 4 ? 64 : 128;\n"
     "template <int N> const int R<N>::half = R<N>::size / 2;\n"
     "template <int B> void R<B>::go() { k<int, B><<<1, size>>>(nullptr); k<int, 2 * B><<<1, half>>>(nullptr); }\n"
     "void f() { R<4>().go(); R<5>().go(); k<int, 1><<<1, R<6>::size>>>(nullptr);\n"
     "  k<int, 2><<<1, R<3>::twice()>>>(nullptr); }",
     "int,4,128 int,8,64 int,5,64 int,10,32 int,1,64 int,2,256"),
    ("template <class T, class = void> struct A { static constexpr int n = 32; };\n"
     "template <class T> struct A<T *> { static constexpr int n = 64; };\n"
     "void f() { k<int, 1><<<1, A<int>::n>>>(nullptr); k<int, 2><<<1, A<int *>::n>>>(nullptr);\n"
     "  k<int, 3><<<1, A<int *, int>::n>>>(nullptr); k<int, 4><<<1, A<int *, void>::n>>>(nullptr); }",
     "int,1,32 int,2,64 int,3,32 int,4,64"),
    # nodes of graphs
    ("void f(cudaGraph_t g) { int *o = nullptr; void *args[] = {&o}; cudaGraphNode_t a, b;\n"
     "  cudaKernelNodeParams p = {0}; p.func = (void *)k<int, 1>; p.gridDim = dim3(4);\n"
     "  p.blockDim = dim3(32, 2); p.kernelParams = args; cudaGraphAddKernelNode(&a, g, nullptr, 0, &p);\n"
     "  p.func = (void *)k<int, 2>; p.blockDim.x = 48; cudaGraphAddKernelNode(&b, g, &a, 1, &p); }",
     "int,1,64 int,2,96"),
    # methods for constant objects
    *((f"struct P {{ int n; int threads() {{ return 2 * n; }} int threads() const {{ return n; }}\n"
       f"  int &ref() {{ return n; }} const int &ref() const {{ return n; }}\n"
       f"  int only() const {{ return n; }} int by(int m) const {{ return m; }} int by(float) {{ return 7; }} }};\n"
       f"{function} {{ k<int, 1><<<1, p.{called}>>>(nullptr); }}\n"
       f"void f() {{ P p{{32}}; run(p); }}", f"int,1,{threads}")
      for function, called, threads in [
          ("void run(const P &p)", "threads()", 32), ("void run(P &p)", "threads()", 64),
          ("void run(P p)", "threads()", 64), ("void run(const P p)", "threads()", 32),
          ("void run(const P &p)", "ref()", 32), ("void run(P &p)", "only()", 32),
          ("void run(P &p)", "by(96)", 96), ("template <class T> void run(T &p)", "only()", 32)]),
    # a loop that is not run to its end gives no default
    ("int best(int n) { int b = 32; for (int t = 32; t <= 512; t += 32) if (n % t == 0) b = t; return b; }\n"
     "void f() { k<int, 1><<<1, best(1024)>>>(nullptr); }", "int,1,512"),
    ("int best(int n) { int b = 32; for (int t = 1; t <= 512; t += 1) if (n % t == 0) b = t; return b; }\n"
     "void f() { k<int, 1><<<1, best(1024)>>>(nullptr); }", "int,1,?"),
])  # fmt: skip
def test_instances_are_those_of_the_program(text, expected):
    assert instances(text) == set(expected.split())
