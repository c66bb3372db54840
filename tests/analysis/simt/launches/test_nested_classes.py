"""Instances by classes of one name that stand in other classes, functions and namespaces."""

import pytest
from conftest import facts_of

KERNEL = """
template <class P> __global__ void k(float* o) {
  __shared__ P s[32];
  o[threadIdx.x] = s[threadIdx.x].v[0];
}
"""
NESTED = "template <class T, int N> struct Traits { struct Params { T v[N]; }; };"
DEEP = "template <class T> struct A { struct C { struct Params { T v[32]; }; }; };"
SPECIAL = """
template <class T, int N> struct Traits { struct Params { T v[1]; }; };
template <int N> struct Traits<double, N> { struct Params { double v[N]; }; };
template <> struct Traits<int, 4> { struct Params { int v[32]; }; };
"""
LOCAL = """
template <class T, int N> void run(float* o) {
  struct Local { T v[N]; };
  k<Local><<<1, 32>>>(o);
}
"""
PLAIN = "struct A { struct P { float v[1]; }; }; struct B { struct P { float v[32]; }; };"


def instances(classes: str, *statements: str) -> list[tuple[str, int]]:
    """Returns the template argument of each instance and the wavefronts of its one load."""
    host = f"void f(float* o) {{ {' '.join(statements)} }}"
    return [
        (facts.instance.template[0][1], int(access.wavefronts.mean))
        for facts in facts_of(classes + host).kernels
        for access in facts.accesses
    ]


@pytest.mark.parametrize(
    ("classes", "arguments", "expected"),
    [
        (
            NESTED,
            ["typename Traits<float, 1>::Params", "Traits<float, 32>::Params"],
            [("Traits<float, 1>::Params", 1), ("Traits<float, 32>::Params", 32)],
        ),
        (
            DEEP,
            ["A<float>::C::Params", "A<double>::C::Params"],
            [("A<float>::C::Params", 32), ("A<double>::C::Params", 32)],
        ),
        (
            SPECIAL,
            ["Traits<float, 2>::Params", "Traits<double, 2>::Params", "Traits<int, 4>::Params"],
            [
                ("Traits<float, 2>::Params", 1),
                ("Traits<double, 2>::Params", 4),
                ("Traits<int, 4>::Params", 32),
            ],
        ),
        (PLAIN, ["A::P", "B::P"], [("A::P", 1), ("B::P", 32)]),
    ],
)
def test_a_nested_class_is_told_by_the_class_around_it(classes, arguments, expected):
    launches = [f"k<{a}><<<1, 32>>>(o);" for a in arguments]
    assert instances(KERNEL + classes, *launches) == expected


def test_an_alias_in_a_template_gives_an_instance_for_each_class():
    run = "template <class T, int N> void run(float* o) {"
    run += "using P = typename Traits<T, N>::Params; k<P><<<1, 32>>>(o); }"
    found = instances(KERNEL + NESTED + run, "run<float, 1>(o);", "run<float, 32>(o);")
    assert found == [("Traits<float, 1>::Params", 1), ("Traits<float, 32>::Params", 32)]


def test_a_class_of_a_function_template_is_told_by_its_arguments():
    found = instances(KERNEL + LOCAL, "run<float, 1>(o);", "run<double, 4>(o);")
    assert found == [("run<float, 1>::Local", 1), ("run<double, 4>::Local", 8)]


def test_a_variable_of_a_nested_class_has_the_class_of_its_instance():
    kernel = "template <class Q> __global__ void k(float* o) { __shared__ typename Q::Params s[32];"
    kernel += "typename Q::Params r = s[threadIdx.x]; o[threadIdx.x] = r.v[0]; }"
    launches = [f"k<Traits<float, {n}>><<<1, 32>>>(o);" for n in (1, 2, 3)]
    found = instances(NESTED + kernel, *launches)
    assert found == [("Traits<float, 1>", 1), ("Traits<float, 2>", 2), ("Traits<float, 3>", 1)]


def test_what_is_not_known_of_a_cute_type_is_a_question_mark():
    text = "#include <cute/tensor.hpp>\nusing namespace cute;\n"
    text += "template <class S> __global__ void k(S shape) {"
    text += " __shared__ float s[32]; s[threadIdx.x] = get<1>(shape); }"
    text += "void f(int n) { int m; k<<<1, 32>>>(make_shape(m, 4, make_shape(n, Int<3>{}))); }"
    (kernel,) = facts_of(text).kernels
    assert dict(kernel.instance.template) == {"S": "(?,4,(?,3))"}
