"""The scanner."""

from __future__ import annotations

import pytest

from smemlint.frontend.cuda.lexer.brackets import Brackets
from smemlint.frontend.cuda.lexer.tokens import Token, spelling_of
from smemlint.frontend.cuda.preprocessor.options import LoadOptions
from smemlint.frontend.cuda.preprocessor.preprocess import preprocess
from smemlint.frontend.cuda.scanner.definitions import FoundFunction, Scanned
from smemlint.frontend.cuda.scanner.local_records import local_records
from smemlint.frontend.cuda.scanner.scan import scan
from smemlint.frontend.program import TemplateParameter


def found(text: str) -> Scanned:
    source = preprocess("a.cu", text, LoadOptions())
    return scan(source.tokens, source.files)


def only(text: str) -> FoundFunction:
    (function,) = found(text).functions
    return function


@pytest.mark.parametrize(
    ("text", "name", "head", "params"),
    [
        ("__global__ void f(int a) {}", "f", "__global__ void", "int a"),
        ("void A<T>::g() const {}", "g", "void", ""),
        ("float4& A::operator()(int i) {}", "operator()", "float4&", "int i"),
        ("operator float*() {}", "operator float*", "", ""),
        ("bool operator==(A a, A b) {}", "operator==", "bool", "A a, A b"),
        ("A::A(int x) : m{x}, B<T>{}, n(2) {}", "A", "", "int x"),
        ("A::~A() {}", "~A", "", ""),
        ("auto f(int x) -> float* {}", "f", "float*", "int x"),
        ("__launch_bounds__(256, 2) __global__ void f() {}", "f", "__global__ void", ""),
        ("__global__ void __launch_bounds__(N) f() {}", "f", "__global__ void", ""),
        ("[[nodiscard]] __attribute__((x(1))) int f() noexcept(true) {}", "f", "int", ""),
        ("REGISTER(x)\n__global__ void f(int n) {}", "f", "__global__ void", "int n"),
        ("decltype(g(1)) f() {}", "f", "decltype(g(1))", ""),
        ('extern "C" __global__ void f(int (&a)[3], T<1, 2> b = {}) {}', "f",
         'extern "C" __global__ void', "int(&a)[3], T<1, 2>b={}"),
        ("struct P* f(struct P p) {}", "f", "struct P*", "struct P p"),
    ],
)  # fmt: skip
def test_function_heads(text: str, name: str, head: str, params: str) -> None:
    pieces = only(text).pieces
    assert (pieces.name, spelling_of(pieces.head), spelling_of(pieces.params)) == (
        name,
        head,
        params,
    )
    assert (pieces.body[0].text, pieces.body[-1].text) == ("{", "}")


def test_launch_bounds_and_specifiers() -> None:
    f = only("__global__ __launch_bounds__(32 * W, 2) void f() {}")
    assert f.launch_bounds == ("32*W", "2")
    assert f.specifiers == {"__global__", "void"}


def test_initializers() -> None:
    pieces = only("A::A() : m{1}, n(2) { go(); }").pieces
    assert spelling_of(pieces.initializers) == "m{1}, n(2)"
    assert spelling_of(pieces.body) == "{go();}"


def test_template_parameters() -> None:
    f = only(
        "template <typename T = float, int N = (3 > 2), class... Ts, template <class> class C,"
        " typename T::type V, auto* P = nullptr, typename = void, class U = class T::type, unsigned>"
        " requires (N > 1) && C1<T> __global__ void f() {}"
    )
    assert f.pieces.template == (
        TemplateParameter("T", "type", default="float"),
        TemplateParameter("N", "value", "int", "(3>2)"),
        TemplateParameter("Ts", "type", is_pack=True),
        TemplateParameter("C", "template"),
        TemplateParameter("V", "value", "typename T::type"),
        TemplateParameter("P", "value", "auto*", "nullptr"),
        TemplateParameter("", "type", default="void"),
        TemplateParameter("U", "type", default="typename T::type"),
        TemplateParameter("", "value", "unsigned", constraint="((N>1)&&C1<T>)"),
    )
    assert spelling_of(f.pieces.head) == "__global__ void"


def test_a_concept_constrains_a_type() -> None:
    f = only(
        "namespace d { template <class T> concept tile = true; }\ntemplate <d::tile R> void f() {}"
    )
    assert f.pieces.template == (TemplateParameter("R", "type", constraint="d::tile<R>"),)


def test_specializations() -> None:
    f = only("template <> void f<int, A<3>>(int x) {}")
    assert (f.pieces.name, f.specialization, f.pieces.template) == ("f", "int, A<3>", ())
    record, other = found(
        "template <class T> struct S<T*> {}; struct S<int> : B<1>, private C {};"
    ).records
    assert (record.name, record.specialization) == ("S", "T*")
    assert (other.specialization, other.bases) == ("int", ("B<1>", "C"))


def test_scopes_and_records() -> None:
    result = found(
        "namespace a::b { namespace { template <class T> struct __align__(16) S final : Base {\n"
        " public: static constexpr int N = 4; using V = T; T data[N]; S() = default;\n"
        " template <int K> __device__ T get(int i) const { return data[i]; }\n"
        " struct Inner { int x; void m() {} } inner; int f(int); friend void q(); T* p, q; }; } }\n"
        "template <class T> template <int K> void a::b::S<T>::out() {}"
    )
    get, out, m = sorted(result.functions, key=lambda f: f.pieces.name != "get")[:1] + [
        next(f for f in result.functions if f.pieces.name == n) for n in ("out", "m")
    ]
    assert (get.scope, get.pieces.record) == (("a", "b", "S"), "S")
    assert get.pieces.template == (TemplateParameter("K", "value", "int"),)
    assert get.pieces.outer == (TemplateParameter("T", "type"),)
    assert (out.scope, out.pieces.record) == (("a", "b", "S"), "S")
    assert out.pieces.template == (TemplateParameter("K", "value", "int"),)
    assert m.scope == ("a", "b", "S", "Inner")
    outer = result.records[0]
    assert (outer.kind, outer.name, outer.scope, outer.bases) == (
        "struct",
        "S",
        ("a", "b"),
        ("Base",),
    )
    assert spelling_of(outer.members()).replace("void m(){}", "") == (
        "static constexpr int N=4;using V=T;T data[N];struct Inner{int x;}inner;T*p, q;"
    )
    assert {(d.name, d.kind) for d in result.declarations} == {("N", "variable"), ("V", "alias")}
    assert {"S", "Inner", "V"} <= result.types
    assert {"S", "get"} <= result.templates


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int a = 1, *b;", [("variable", "a", "int a=1"), ("variable", "b", "int*b")]),
        ("__constant__ float c[N][2];", [("variable", "c", "__constant__ float c[N][2]")]),
        ("extern __shared__ alignas(16) T s[];",
         [("variable", "s", "extern __shared__ alignas(16)T s[]")]),
        ("constexpr int T{4};", [("variable", "T", "constexpr int T{4}")]),
        ("template <int N> constexpr int v = N < 2;", [("variable", "v", "constexpr int v=N<2")]),
        ("using V = A<1, 2>;", [("alias", "V", "using V=A<1, 2>")]),
        ("typedef float (*F)(int);", [("alias", "F", "typedef float(*F)(int)")]),
        ("typedef struct { int x; } P;", [("alias", "P", "typedef struct{int x;}P")]),
        ("const dim3 block(16, 16);", [("variable", "block", "const dim3 block(16, 16)")]),
        ("int (*p)[33];", [("variable", "p", "int(*p)[33]")]),
        ("int f(int); template <class T> void g(T t); struct X; MACRO(1); friend int q;", []),
        ("using namespace a; using b::c; template class X<1>; static_assert(1 < 2);", []),
        ("struct A { int x; } a;", [("variable", "a", "struct A{int x;}a")]),
        ("struct A { int x; };", []),
    ],
)  # fmt: skip
def test_declarations(text: str, expected: list[tuple[str, str, str]]) -> None:
    names = [(d.kind, d.name, spelling_of(d.tokens)) for d in found(text).declarations]
    assert names == expected


TWO = """__global__ void first(float* p) {
  __shared__ float s[32];
  if (p[0] > 0) {
    s[threadIdx.x] = f(p[1]);
  }
}

int helper(int x) {
  return x;
}

template <int N>
__global__ void second(float* p) {
  p[0] = 1;
}
__global__ void third(float* p) {}
"""


@pytest.mark.parametrize("lost", [i for i, c in enumerate(TWO) if c in "()[]{}" and 31 < i < 125])
def test_a_lost_bracket_costs_one_function(lost: int) -> None:
    names = [f.pieces.name for f in found(TWO[:lost] + TWO[lost + 1 :]).functions]
    assert names[-2:] == ["second", "third"]
    assert "helper" in names


@pytest.mark.parametrize("before", ["INSTANTIATE(float, 32)\n" * 800, "#" * 10_000 + "\n"])
def test_what_stands_in_front_hides_no_kernel(before: str) -> None:
    scanned = found(before + "__global__ void k(int n) {}\nint after() {}\n")
    names = [f.pieces.name for f in scanned.functions]
    assert (names, list(scanned.notices)) == (["k", "after"], [])


@pytest.mark.parametrize("before", ["", "LIBRARY_BEGIN\n", "REGISTER(a, (b))\n", "ONE(1)\nTWO()\n"])
@pytest.mark.parametrize(
    ("text", "name", "scope", "parameters"),
    [
        ("template <int N>\n__global__ void k(int n) {}", "k", (), 1),
        ("namespace a {\nvoid f() {}\n}", "f", ("a",), 0),
        ("inline namespace a {\nvoid f() {}\n}", "f", ("a",), 0),
        ('extern "C" {\nvoid f() {}\n}', "f", (), 0),
        ("struct S {\nvoid f() {}\n};", "f", ("S",), 0),
    ],
)
def test_a_macro_call_without_a_semicolon_costs_nothing(
    before: str, text: str, name: str, scope: tuple[str, ...], parameters: int
) -> None:
    (function,) = found(before + text).functions
    pieces = function.pieces
    assert (pieces.name, function.scope, len(pieces.template)) == (name, scope, parameters)


def test_attributes_stay_with_their_function() -> None:
    function = only("__launch_bounds__(256)\n__global__ void k(int n) {}")
    assert (function.launch_bounds, "__global__" in function.specifiers) == (("256",), True)


def test_scopes_that_are_nested_too_deeply_are_said() -> None:
    scanned = found("namespace a {" * 150 + "void f() {}" + "}" * 150)
    assert (scanned.functions, len(list(scanned.notices))) == ([], 1)


@pytest.mark.parametrize(
    "attribute",
    ['__attribute__((visibility("default")))', "__attribute__((aligned(16), packed))"],
)
@pytest.mark.parametrize("word", ["namespace", "struct"])
def test_definitions_at_the_margin_do_not_end_a_scope_with_attributes(attribute, word):
    scanned = found(f"{word} {attribute} raft {{\ntemplate <class T> void f(T x) {{}}\n}};")
    assert [(f.pieces.name, f.scope) for f in scanned.functions] == [("f", ("raft",))]
    assert not list(scanned.notices)


NO_BRACKETS = Brackets({}, frozenset(), frozenset())


class _CountedTokens(list[Token]):
    """Tokens that count how often one of them is read."""

    reads = 0

    def __getitem__(self, index):
        self.reads += 1
        return super().__getitem__(index)


@pytest.mark.parametrize("words", ["struct ", "struct a ", "class a : b "])
def test_heads_of_local_classes_that_never_end_are_read_once(words):
    source = preprocess("a.cu", words * 1000, LoadOptions())
    tokens = _CountedTokens(source.tokens)
    assert list(local_records(tokens, NO_BRACKETS, 0, len(tokens))) == []
    assert tokens.reads <= 3 * len(tokens)


def test_an_enum_of_a_class_names_its_enumerators_only():
    """`true` behind a comma of another member was an enumerator, and kernels lost their flags."""
    text = """
    template <int S> struct A {
      enum { N = S, M };
      typedef B<C<1, true>, D<(S > 4) ? 1 : 2, 0, false>> T;
      static int f(int a, int b);
    };
    typedef enum { P, Q } E;"""
    names = {n for d in found(text).declarations for n in (d.name, *d.enumerators) if n}
    assert names - {"enum"} == {"N", "M", "T", "P", "Q", "E"}


@pytest.mark.parametrize(
    ("text", "scope", "template", "params"),
    [
        ("namespace n { struct C { friend void f(C &a) {} }; }", ("n",), (), "C&a"),
        ("struct A { struct C { int f(C a, int b) { return 0; } friend int g(C a) {} }; };", (), (), "C a"),
        ("template <class T, int N> struct C { friend void f(C a, const C<T, 2> *b) {} };", (), ("T", "N"),
         "C<T, N>a, const C<T, 2>*b"),
        ("template <class... T> struct C { template <class U> friend void f(C a, U b) {} };", (), ("T", "U"),
         "C<T...>a, U b"),
        ("template <class T> struct C; template <class T> struct C<T *> { friend void f(C a) {} };", (), ("T",),
         "C<T*>a"),
    ],
)  # fmt: skip
def test_a_friend_is_a_function_of_the_namespace_around_its_class(text, scope, template, params):
    function = found(text).functions[-1]
    assert (function.scope, function.pieces.record, function.pieces.outer) == (scope, None, ())
    assert tuple(p.name for p in function.pieces.template) == template
    assert spelling_of(function.pieces.params) == params
