"""Launches inside of PyTorch's dispatch macros: the cases of ATen/Dispatch.h (2.5), unread."""

import pytest
from conftest import facts_of

FLOATING = {"double", "float"}
INTEGRAL = {"unsigned char", "char", "int", "long long", "short"}
KERNEL = """
#include <torch/extension.h>
template <typename T, typename A> __global__ void C10_LAUNCH_BOUNDS_1(256) k(const T *x, T *y) {
  __shared__ T s[C10_WARP_SIZE * 32];
  __shared__ A t[32];
  s[threadIdx.x * 32] = x[0];
  t[threadIdx.x] = s[0];
  y[0] = t[0];
}
"""


def types_of(dispatch: str) -> set[str]:
    """Returns the element types that the kernel is launched with."""
    launch = "k<scalar_t, A><<<1, 32>>>(x.data_ptr<scalar_t>(), x.data_ptr<scalar_t>())"
    text = f"""{KERNEL}
    torch::Tensor run(torch::Tensor x) {{
      {dispatch.replace("LAUNCH", f"using A = at::opmath_type<scalar_t>; {launch};")}
    }}"""
    kernels = facts_of(text).kernels
    assert all(k.instance.block == (32, 1, 1) for k in kernels)
    return {k.instance.template[0][1] for k in kernels}


@pytest.mark.parametrize(
    ("dispatch", "types"),
    [
        ('AT_DISPATCH_FLOATING_TYPES(x.type(), "f", ([&] { LAUNCH }));', FLOATING),
        (
            'AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "f", [&] { LAUNCH });',
            {*FLOATING, "c10::Half"},
        ),
        (
            "AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::ScalarType::BFloat16, "
            'x.scalar_type(), "f", [&] { LAUNCH });',
            {*FLOATING, "c10::Half", "c10::BFloat16"},
        ),
        ('return AT_DISPATCH_INTEGRAL_TYPES(x.type(), "f", [&] { LAUNCH return x; });', INTEGRAL),
        (
            'AT_DISPATCH_SWITCH(x.type(), "f", AT_DISPATCH_CASE(at::ScalarType::Half, [&] '
            "{ LAUNCH }) AT_DISPATCH_CASE_FLOATING_TYPES([&] { LAUNCH }));",
            {*FLOATING, "c10::Half"},
        ),
    ],
)
def test_each_type_of_a_dispatch_is_an_instance(dispatch, types):
    assert types_of(dispatch) == types


def test_the_elements_have_their_sizes():
    text = f"""{KERNEL}
    void run(torch::Tensor x) {{
      AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.type(), "f", [&] {{
        k<scalar_t, at::acc_type<scalar_t, true>><<<1, 32>>>(x.data_ptr<scalar_t>(), nullptr);
      }});
    }}"""
    stores = {
        k.instance.template[0][1]: [
            (a.patterns[0].width, a.wavefronts.mean / a.ideal.mean)
            for a in k.accesses
            if str(a.kind) == "store"
        ]
        for k in facts_of(text).kernels
    }
    assert stores == {
        "double": [(8, 16), (8, 1)],
        "float": [(4, 32), (4, 1)],
        "c10::Half": [(2, 16), (4, 1)],
    }


def test_a_project_may_define_the_macros_itself():
    text = (
        KERNEL
        + """
    #define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) { using scalar_t = int; __VA_ARGS__(); }
    void run(torch::Tensor x) {
      AT_DISPATCH_FLOATING_TYPES(x.type(), "f", [&] { k<scalar_t, int><<<1, 32>>>(0, 0); });
    }"""
    )
    (kernel,) = facts_of(text).kernels
    assert kernel.instance.template[0][1] == "int"
