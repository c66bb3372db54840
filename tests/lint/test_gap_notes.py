"""What SML901 says of a template that nothing launches."""

from __future__ import annotations

import re

from smemlint.config.settings import Settings
from smemlint.driver.run import check
from smemlint.reasons import ReasonCode
from smemlint.sources.source import Source

TEMPLATE = """\
#include <cute/tensor.hpp>
using namespace cute;
template <class Traits> __global__ void k(half_t *in) {
  extern __shared__ char smem[];
  Tensor s = make_tensor(make_smem_ptr((half_t *)smem), Layout<Shape<_64, _64>>{});
  Tensor g = make_tensor(make_gmem_ptr(in), Layout<Shape<_64, _64>>{});
  typename Traits::First first;
  copy(first, g, s);
  typename Traits::Second second;
  copy(second, g, s);
  auto third = make_tiled_copy(typename Traits::Third{}, Layout<_32>{}, Layout<_8>{});
  copy(third, g, s);
}
"""


def test_types_that_no_launch_gives_are_one_note() -> None:
    (found,) = check([Source("k.cu", TEMPLATE)], Settings()).findings
    assert [(g.span.line, g.reason.code) for g in found.gaps] == [
        (line, ReasonCode.UNKNOWN_TYPE) for line in (8, 10, 12)
    ]
    (note,) = found.notes
    assert [int(n) for n in re.findall(r"\d+", note)] == [8, 10, 12, 2]
    assert "launch(" in found.help


def test_help_for_python_is_python() -> None:
    """Headers and template arguments are none of it, and `//` is no comment."""
    kernel = (
        "from numba import cuda, float32\n# smemlint: launch(block=32)\n@cuda.jit\n"
        "def {name}(a, n):\n    s = cuda.shared.array({size}, float32)\n    s[{index}] = a[0]\n"
    )
    text = kernel.format(name="open", size=1024, index="cuda.threadIdx.x * n")
    text += kernel.format(name="lost", size="(SIZE, SIZE)", index="cuda.threadIdx.x, 0")
    found = {f.span.line: f.help for f in check([Source("k.py", text)], Settings()).findings}
    assert found.keys() == {4, 10}
    assert "# smemlint" in found[4]
    assert "//" not in found[4]
    assert not found[10]
