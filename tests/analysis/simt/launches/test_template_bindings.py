"""Template bindings as text, and whether they are known, of types that share their arguments."""

import pytest
from conftest import facts_of

from smemlint.analysis.simt.domain.ctypes import FLOAT, OpaqueType, RecordType, UnreadTemplate
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.analysis.simt.launches.bindings import is_known, scope_text
from smemlint.analysis.simt.types.template_arguments import bindings_text
from smemlint.frontend.cuda.preprocessor.options import LoadOptions
from smemlint.frontend.cuda.unit import load_unit

UNIT = load_unit(
    "k.cu",
    "template <class A, class B> struct Pair {}; template <class T, int N> __global__ void k() {}",
    LoadOptions(read=lambda _: None),
)
(KERNEL,) = UNIT.functions
(PAIR,) = UNIT.records["Pair"]


def nested(depth, leaf=FLOAT):
    """`Pair<Pair<..>, Pair<..>>`: the text without digests would be 2**depth leaves long."""
    for _ in range(depth):
        leaf = RecordType("Pair", (), 1, 1, {"A": leaf, "B": leaf}, PAIR)
    return leaf


def test_each_type_is_spelled_once():
    (of_t, of_n) = scope_text({"T": nested(60), "N": AffineInt(4)}, KERNEL)
    assert of_n == ("N", "4")
    assert of_t[1].startswith("Pair<Pair<Pair<")
    assert len(of_t[1]) == 90
    assert scope_text({"T": nested(2)}, KERNEL) == (
        ("T", "Pair<Pair<float, float>, Pair<float, float>>"),
    )


@pytest.mark.parametrize("depth", [0, 1, 8, 60])
@pytest.mark.parametrize(("leaf", "expected"), [(FLOAT, True), (OpaqueType("T"), False)])
def test_a_class_is_known_where_its_arguments_are(depth, leaf, expected):
    assert is_known({"T": nested(depth, leaf), "N": AffineInt(4)}, KERNEL) is expected


def test_a_number_that_is_missing_is_not_known():
    assert not is_known({"T": FLOAT}, KERNEL)


def test_an_unread_class_is_told_apart_by_its_arguments_in_few_characters():
    texts = {
        bindings_text({"T": UnreadTemplate("Tag<A, B>", template="Tag", arguments=arguments)})
        for arguments in ((nested(60), 3), (nested(60), 4), (FLOAT, None), ())
    }
    assert len(texts) == 4
    assert max(map(len, texts)) < 100


def test_a_default_argument_may_name_a_member_with_class():
    """A thread is 24 bytes behind the one before: lanes 0 and 16 meet, 2 ways by arithmetic."""
    facts = facts_of(
        "struct F { float v[3]; using mem_t = F; };\n"
        "template <class T> struct P { struct mem_t { T x, y; }; };\n"
        "template <class B, class H = class B::mem_t> __global__ void k(float *o) {\n"
        "  extern __shared__ float raw[];\n"
        "  reinterpret_cast<H *>(raw)[threadIdx.x].y.v[0] = 1;\n}\n"
        "void go(float *o) { k<P<F>><<<1, 32, 4096>>>(o); }\n"
    )
    (access,) = (a for kernel in facts.kernels for a in kernel.accesses)
    assert (access.width_bytes, access.ways) == (4, 2.0)
