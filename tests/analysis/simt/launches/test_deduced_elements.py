"""Template arguments of a launch that the classes of unread libraries tell."""

import pytest
from conftest import facts_of

KERNEL = """
template <typename T> __global__ void k(const T* x) {
  __shared__ T s[64];
  s[threadIdx.x] = x[threadIdx.x];
}
"""


def element(host: str, kernel: str = KERNEL) -> list[str]:
    """Returns what `T` is in each instance that host code launches."""
    return [k.instance.template[0][1] for k in facts_of(kernel + host).kernels]


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("x.data_ptr<double>()", "double"),
        ("x.data_ptr<const int>()", "int"),
        ("v[0].data_ptr<at::Half>()", "c10::Half"),
        ("x.view({3}).mutable_data<float>()", "float"),
        ("static_cast<const float*>(x.data_ptr())", "float"),
        ("x.numel<double>()", "T"),
    ],
)
def test_accessors_of_tensors_give_pointers(argument, expected):
    host = f"void f(at::Tensor x, std::vector<at::Tensor> v) {{ k<<<1, 64>>>({argument}); }}"
    assert element(host) == [expected]


def test_a_pointer_of_an_accessor_keeps_its_type_in_a_variable():
    host = "void f(at::Tensor x) { auto* p = x.data_ptr<short>(); k<<<1, 64>>>(p); }"
    assert element(host) == ["short"]


@pytest.mark.parametrize("bits", ["", "32", "64"])
def test_accessors_of_tensors_are_of_a_class_template(bits):
    kernel = f"""template <int N, typename T>
    __global__ void k(const at::PackedTensorAccessor{bits}<T, 2, at::RestrictPtrTraits> x) {{
      __shared__ T s[N];
      s[threadIdx.x] = x[0][threadIdx.x];
    }}"""
    argument = f"x.packed_accessor{bits}<S, 2, at::RestrictPtrTraits>()"
    host = f"""template <typename S> void f(at::Tensor x) {{ k<64><<<1, 64>>>({argument}); }}
    void g(at::Tensor x) {{ f<double>(x); }}"""
    [analysed] = facts_of(kernel + host).kernels
    assert analysed.instance.template == (("N", "64"), ("T", "double"))


@pytest.mark.parametrize("parameter", ["Image image", "const Image& image", "Image* p"])
@pytest.mark.parametrize(
    ("argument", "expected"),
    [("image.row<short>(1)", "short"), ("image.first()", "double"), ("image.given", "double")],
)
def test_pointers_that_methods_of_a_class_return_have_its_type(parameter, argument, expected):
    record = """struct Image {
      template <typename U> const U* row(int y) const { return (U*)data + y * step; }
      double* first() const { return given; }
      void* data; double* given; int step;
    };"""
    body = f"k<<<1, 64>>>({argument});"
    if "*" in parameter:
        body = f"Image& image = *p; {body}"
    assert element(f"{record} void f({parameter}) {{ {body} }}") == [expected]


@pytest.mark.parametrize(
    "argument",
    [
        "v.data().get()",
        "thrust::raw_pointer_cast(v.data())",
        "thrust::raw_pointer_cast(&v[0])",
        "thrust::raw_pointer_cast(&*v.begin())",
    ],
)
def test_vectors_of_thrust_tell_their_elements(argument):
    host = f"int main() {{ thrust::device_vector<double> v(64); k<<<1, 64>>>({argument}); }}"
    assert element(host) == ["double"]


@pytest.mark.parametrize(
    ("parameter", "argument", "expected"),
    [
        ("const std::vector<T>& v", "std::vector<float> v(9);", "float"),
        ("const std::vector<T>& v", "std::vector<double> v;", "double"),
        ("other::Buffer<T, 3> v", "other::Buffer<int, 3> v(9);", "int"),
        ("other::Buffer<T, 3> v", "other::Pool<int, 3> v(9);", None),
    ],
)
def test_classes_that_were_not_read_tell_template_arguments(parameter, argument, expected):
    host = f"""
    template <typename T> void go({parameter}) {{
      T* p;
      k<<<1, 64>>>(p);
    }}
    int main() {{ {argument} go(v); }}"""
    assert element(host) == ["T" if expected is None else expected]


def test_elements_are_those_of_the_place_where_the_class_was_spelled():
    host = """
    template <typename U, typename T> void inner(std::vector<U>& v) { k<<<1, 64>>>(v.data()); }
    template <typename T> void outer(std::vector<T>& v) { inner<T, char>(v); }
    int main() { std::vector<double> v; outer(v); }"""
    assert element(host) == ["double"]


def test_a_pointer_without_its_star():
    kernel = """
    template <typename T> __global__ void k(T x) {
      __shared__ typename std::remove_pointer<T>::type s[64];
      s[threadIdx.x * 2 % 64] = x[threadIdx.x];
    }"""
    (facts,) = facts_of(f"{kernel} void f(double* p) {{ k<<<1, 64>>>(p); }}").kernels
    assert [a.patterns[0].width for a in facts.accesses] == [8]


TABLE = """
#include <memory>
template <typename U> struct Table { U *data; U first; Table(int); U value() const { return first; } };
template <typename U> void by_reference(const Table<U>& t) { k<U><<<1, 64>>>(nullptr); }
template <typename U> void by_pointer(const Table<U>* t) { k<U><<<1, 64>>>(nullptr); }
"""


@pytest.mark.parametrize(
    "made",
    [
        "std::unique_ptr<Table<short>> p(new Table<short>(n));",
        "std::unique_ptr<const Table<short>> p; p.reset(new Table<short>(n));",
        "std::shared_ptr<Table<short>> p = make(n);",
        "Table<short>* p = new Table<short>(n);",
    ],
)
@pytest.mark.parametrize("call", ["by_reference(*p)", "k<<<1, 64>>>(p->data)", "by_pointer(%s)"])
def test_what_a_pointer_of_unknown_value_holds_has_its_declared_type(made, call):
    call = call.replace("%s", "p.get()" if "_ptr" in made else "p")
    assert element(f"{TABLE} void f(int n) {{ {made} {call}; }}") == ["short"]


def test_a_smart_pointer_that_is_a_member_has_its_declared_type():
    text = "struct S { std::unique_ptr<Table<double>> t; void run() { by_pointer(t.get()); } };"
    assert element(TABLE + text) == ["double"]
