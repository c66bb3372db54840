"""Overloads that conditions tell apart; which one is called is what g++ 12 -std=c++20 prints."""

import pytest
from conftest import accesses_of
from figures import kernel

TWO = "return s[threadIdx.x * 2];"
FOUR = "return s[threadIdx.x * 4];"


def _ways(small: str, large: str, call: str, before: str = "") -> list[float]:
    """Wavefronts of a call of `f`, of which one definition is for small types."""
    text = f"{before}{small} {{ {TWO} }}\n{large} {{ {FOUR} }}"
    return [a.wavefronts.mean for a in accesses_of(kernel(f"g[t] = {call};", before=text))]


F = "__device__ float f(float *s, T n"
HEAD = "template <class T>"
IF = "enable_if<sizeof(T) {} 4>::type"


@pytest.mark.parametrize(
    ("small", "large"),
    [
        (
            f"{HEAD} {F}, typename std::{IF.format('==')} * = 0)",
            f"{HEAD} {F}, typename std::{IF.format('!=')} * = 0)",
        ),
        (
            f"template <class T, std::enable_if_t<sizeof(T) <= 4, int> = 0> {F})",
            f"template <class T, std::enable_if_t<(sizeof(T) >= 5), int> = 0> {F})",
        ),
        (
            f"template <class T, std::enable_if_t<sizeof(T) < 5, int> = 0> {F})",
            f"template <class T, std::enable_if_t<sizeof(T) == 8, int> = 0> {F})",
        ),
        (
            f"template <class T, En<sizeof(T) == 4> = 0> {F})",
            f"template <class T, En<sizeof(T) == 8> = 0> {F})",
        ),
        (f"template <Small T> {F})", f"{HEAD} {F})"),
        (f"{HEAD} requires Small<T> {F})", f"{HEAD} requires (!Small<T>) {F})"),
        (f"{HEAD} requires(sizeof(T) == 4) {F})", f"{HEAD} requires(sizeof(T) == 8) {F})"),
    ],
)
def test_the_condition_that_holds_chooses(small, large):
    before = "template <bool B> using En = std::enable_if_t<B, int>;\n"
    before += "template <class T> concept Small = sizeof(T) <= 4;\n"
    assert _ways(small, large, "f(s, 1)", before) == [2]
    assert _ways(small, large, "f(s, 1.0)", before) == [4]


def test_a_condition_that_is_not_known_leaves_the_call_open():
    small = f"template <class T, std::enable_if_t<Elsewhere<T>::value, int> = 0> {F})"
    large = f"template <class T, std::enable_if_t<!Elsewhere<T>::value, int> = 0> {F})"
    assert _ways(small, large, "f(s, 1)") == []
    asked = f"template <Elsewhere T> {F})"
    assert (
        _ways(asked, f"{HEAD} {F})", "f(s, 1)", "template <class T> concept Elsewhere = X<T>;")
        == []
    )


def test_a_condition_that_is_not_known_holds_of_the_only_one_left():
    small = f"template <class T, std::enable_if_t<Elsewhere<T>::value, int> = 0> {F})"
    large = f"template <class T, std::enable_if_t<sizeof(T) == 8, int> = 0> {F})"
    assert _ways(small, large, "f(s, 1)") == [2]


@pytest.mark.parametrize(
    ("special", "call", "ways"),
    [
        ("float f<double>(float *s, double n)", "f(s, 1.0)", 4),
        ("float f<double>(float *s, double n)", "f(s, 1)", 2),
        ("float f(float *s, double n)", "f(s, 1.0)", 4),
        ("float f(float *s, double n)", "f(s, 1)", 2),
        ("float f<double>(float *s, double n)", "f<double>(s, 1)", 4),
        ("float f<double>(float *s, double n)", "f<float>(s, 1)", 2),
    ],
)
def test_deduced_arguments_choose_an_explicit_specialization(special, call, ways):
    primary = f"{HEAD} {F})"
    assert _ways(primary, f"template <> __device__ {special}", call) == [ways]


@pytest.mark.parametrize(
    ("call", "ways"), [("f<2>(s, 1.0)", 4), ("f<2>(s, 1)", 2), ("f<3>(s, 1.0)", 2)]
)
def test_arguments_that_are_spelled_in_part_choose_with_those_deduced(call, ways):
    primary = f"template <int N, class T> {F})"
    special = "template <> __device__ float f<2, double>(float *s, double n)"
    assert _ways(primary, special, call) == [ways]


def test_a_pointer_that_is_constant_is_no_pointer_to_a_constant():
    before = """
    template <class T> struct W { static constexpr int v = 1; };
    template <class T> struct W<T *> { static constexpr int v = 8; };
    template <class T> struct W<const T> { static constexpr int v = 16; };
    """
    body = "g[t] = s[t * W<{}>::v];"
    ways = [
        accesses_of(kernel(body.format(each), before=before))[0].wavefronts.mean
        for each in ("float *const", "const float *", "float const *", "const float", "float const")
    ]
    assert ways == [16, 8, 8, 16, 16]
