"""Statements of Python 2: rewritten in place, so that kernels beside them keep their figures."""

import ast

import pytest

from smemlint.analysis.analyze import analyze
from smemlint.config.settings import Settings
from smemlint.frontend.python.python2 import as_python_3
from smemlint.sources.source import Source

KERNELS = '''import pycuda.autoinit
from pycuda.compiler import SourceModule
try:
    import missing
except ImportError, error:
    print error
print "compiling", 1
m = SourceModule("""
print nothing
__global__ void k(float *g) {
  __shared__ float s[64];
  s[threadIdx.x * 2] = g[0];
}
""")
f = m.get_function("k")
if not f: raise ValueError, "no kernel"
f(g, block=(32, 1, 1)); print "done",
'''


def test_kernels_beside_them_are_analysed_where_they_stand(tmp_path):
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS.replace("print nothing\n", ""))
    facts, _ = analyze([Source(str(path))], Settings())
    (access,) = [a for kernel in facts.kernels for a in kernel.accesses]
    assert (access.span.line, access.span.column, access.instance.block) == (11, 3, (32, 1, 1))
    assert (access.wavefronts.max, access.ideal.max) == (2, 1)


def test_columns_and_texts_are_kept():
    again = as_python_3(KERNELS)
    assert again is not None
    assert list(map(len, again.splitlines())) == list(map(len, KERNELS.splitlines()))
    assert "print nothing" in again
    ast.parse(again)


@pytest.mark.parametrize(
    "text",
    ["print(1)", "print", "print >>f, 1", "x = print", "except_ = 1, 2", "raise E(1, 2)", "("],
)
def test_what_is_python_3_stays(text):
    assert as_python_3(text + "\n") is None
