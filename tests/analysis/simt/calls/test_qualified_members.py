"""Members and enumerators behind a qualifier; counted in sm_90 code of nvcc 13.0."""

import pytest
from conftest import accesses_of
from figures import kernel

BEFORE = """
struct A { int pad[3]; };
struct B { int n = 4; __device__ int w() { return n; } };
struct D : A, B {
  int n = 8;
  __device__ int w() { return 8; }
  __device__ int both() { return w() / B::w(); }
};
enum Old { A1 = 2, B1 = 4, C1 = 8 };
enum class New { A1 = 8, B1 = 16, C1 = 8 };
"""


@pytest.mark.parametrize(
    ("index", "ways"),
    [
        ("d.w()", 8),
        ("d.B::w()", 4),
        ("p->B::w()", 4),
        ("d.D::w()", 8),
        ("d.both()", 2),
        ("B1", 4),
        ("Old::B1", 4),
        ("(int)New::B1", 16),
        ("(int)Local::C1", 8),
    ],
)
def test_what_the_qualifier_names_is_meant(index, ways):
    body = f"D d;\nD *p = &d;\nusing Local = New;\ng[t] = s[t * {index}];"
    (access,) = accesses_of(kernel(body, before=BEFORE))
    assert access.wavefronts.mean == ways


def test_an_enumerator_of_an_alias_is_not_that_of_another_enum():
    body = "using Local = New;\ng[t] = s[t * (int)Local::B1];"
    (access,) = accesses_of(kernel(body, before=BEFORE))
    assert not access.certainty.is_decided
