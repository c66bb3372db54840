"""Class templates whose base names templates of them: used, they are completed, named they are not."""

from __future__ import annotations

import pytest
from conftest import accesses_of

CLASSES = """
template <class X> struct Sum;
template <class X> struct Product;
template <class D> struct Base { typedef Sum<const D> OfSum; typedef Product<const D> OfProduct; };
template <class X> struct Sum : Base<Sum<X>> { float x[2]; };
template <class X> struct Product : Base<Product<X>> { float x[4]; };
struct Leaf : Base<Leaf> { float x; };
"""
KERNEL = """
__global__ void k(float *g) { __shared__ TYPE s[64]; s[threadIdx.x].x[0] = g[0]; }
void run(float *g) { k<<<1, 64>>>(g); }
"""


@pytest.mark.parametrize(
    ("ctype", "ways"),
    [
        ("Leaf::OfSum", 2),
        ("Leaf::OfProduct::OfSum", 2),
        ("Leaf::OfSum::OfSum::OfProduct", 4),
        ("Sum<Leaf>::OfSum::OfProduct::OfProduct", 4),
    ],
)
def test_classes_that_name_each_other_without_end_have_their_sizes(ctype, ways):
    (access,) = accesses_of(CLASSES + KERNEL.replace("TYPE", ctype))
    assert access.wavefronts.mean == ways


def test_a_template_parameter_is_no_type_of_its_name_elsewhere():
    classes = """
struct Other { typedef double Scalar; };
template <class Scalar> struct Traits { enum { Size = sizeof(Scalar) }; };
"""
    (access,) = accesses_of(
        classes
        + KERNEL.replace(
            "TYPE s[64]; s[threadIdx.x].x[0]",
            """
float s[512]; s[threadIdx.x * (Traits<float>::Size / 2)]""",
        )
    )
    assert access.wavefronts.mean == 2
