"""Overloads chosen by whether a class has a member; what g++ 12 -std=c++17 prints, doubled."""

import pytest
from conftest import accesses_of

CLASSES = """#include <type_traits>
#include <utility>
struct With {
  static constexpr int X = 3;
  using type = int;
  int f() const { return 1; }
  struct C { static constexpr int X = 3; };
};
struct Without { int other; };
struct Hollow { struct C {}; };
struct Derived : With { int y; };
"""
T = "template <class D"
ANY = "template <class> static constexpr int test(...) { return 2; }"
FORMS = {
    "cast": f"{T}> static constexpr auto test(int) -> decltype((unsigned)D::X)",
    "comma": f"{T}> static constexpr auto test(int) -> decltype(D::X, bool())",
    "nested": f"{T}> static constexpr auto test(int) -> decltype(D::C::X)",
    "default": f"{T}, class = decltype(D::X)> static constexpr int test(int)",
    "void": f"{T}, typename = std::void_t<decltype(D::X)>> static constexpr int test(int)",
    "typename": f"{T}, typename = typename D::type> static constexpr int test(int)",
    "result": f"{T}> static constexpr typename D::type test(int)",
    "operand": f"{T}> static constexpr int test(int, typename D::type * = nullptr)",
    "method": f"{T}> static constexpr auto test(int) -> decltype(std::declval<D>().f())",
    "pointer": f"{T}> static constexpr auto test(D *) -> decltype(D::X)",
    "long": f"{T}> static constexpr auto test(long) -> decltype(D::X)",
}


def _store(members: str, kind: str, operand: str = "0"):
    text = f"""{CLASSES}
    template <class T> struct Has {{
      {members}
      static constexpr int value = test<T>({operand});
    }};
    template <class T> __global__ void k() {{
      __shared__ float p[1024];
      p[threadIdx.x * Has<T>::value * 2] = 1;
    }}
    void run() {{ k<{kind}><<<1, 32>>>(); }}"""
    (access,) = accesses_of(text)
    return access


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("kind", "ways"), [("With", 2), ("Without", 4), ("Hollow", 4), ("Derived", 2)]
)
def test_a_class_that_lacks_a_member_takes_the_ellipsis(form, kind, ways):
    operand = "(T *)nullptr" if form == "pointer" else "0"
    access = _store(f"{FORMS[form]} {{ return 1; }} {ANY}", kind, operand)
    assert access.certainty.is_decided
    assert access.ways == ways


@pytest.mark.parametrize(("kind", "ways"), [("With", None), ("Without", 4)])
def test_an_expression_that_does_more_is_not_guessed(kind, ways):
    form = f"{T}> static constexpr auto test(int) -> decltype(g(D::X))"
    access = _store(f"{form} {{ return 1; }} {ANY}", kind)
    assert access.ways == ways if ways else not access.certainty.is_decided


def test_a_class_that_may_have_to_convert_is_not_guessed():
    access = _store(f"{T}> static constexpr int test(With) {{ return 1; }} {ANY}", "With")
    assert not access.certainty.is_decided


@pytest.mark.parametrize("kind", ["With", "Without"])
def test_an_ellipsis_alone_is_called(kind):
    assert _store(ANY, kind).ways == 4


@pytest.mark.parametrize(("kind", "ways"), [("With", 2), ("Hollow", 4)])
def test_a_specialization_asks_for_a_member_of_a_member(kind, ways):
    text = f"""{CLASSES}
    template <class T, class = void> struct Has {{ static constexpr int value = 4; }};
    template <class T> struct Has<T, std::void_t<decltype(T::C::X)>> {{
      static constexpr int value = 2;
    }};
    template <class T> __global__ void k() {{
      __shared__ float p[1024];
      p[threadIdx.x * Has<T>::value] = 1;
    }}
    void run() {{ k<{kind}><<<1, 32>>>(); }}"""
    (access,) = accesses_of(text)
    assert access.ways == ways
