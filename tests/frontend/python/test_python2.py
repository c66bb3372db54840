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


DIVIDED = '''{head}
from pycuda.compiler import SourceModule
print "compiling"
n = 33
n /= 2
m = SourceModule("""
__global__ void k(float *g) {{
  __shared__ float s[4096];
  s[threadIdx.x * %s] = g[0];
}}
""" % (n / 3 * 2 - 2))
m.get_function("k")(g, block=(129 / 2, 1, 1))
'''
JIT = """{head}
from numba import cuda, float32
print "compiling"
@cuda.jit
def k(a):
    s = cuda.shared.array(1024, float32)
    n = 9 / 2
    s[cuda.threadIdx.x / 8 * n] = 0
k[1, 32](a)
"""


def test_quotients_of_integers_are_integers(tmp_path):
    (tmp_path / "a.py").write_text(DIVIDED.format(head=""))
    (tmp_path / "b.py").write_text(JIT.format(head=""))
    sources = [Source(str(tmp_path / name)) for name in ("a.py", "b.py")]
    accesses = [a for k in analyze(sources, Settings())[0].kernels for a in k.accesses]
    found = {(a.wavefronts.max, a.ideal.max, a.instance.block[0]) for a in accesses}
    assert found == {(8, 1, 64), (1, 1, 32)}


@pytest.mark.parametrize("text", [DIVIDED, JIT])
def test_divisions_of_python_3_may_be_imported(tmp_path, text):
    path = tmp_path / "a.py"
    path.write_text(text.format(head="from __future__ import division"))
    facts, _ = analyze([Source(str(path))], Settings())
    assert not any(a.wavefronts for kernel in facts.kernels for a in kernel.accesses)


@pytest.mark.parametrize(
    "text",
    ["print(1)", "print", "print >>f, 1", "x = print", "except_ = 1, 2", "raise E(1, 2)", "("],
)
def test_what_is_python_3_stays(text):
    assert as_python_3(text + "\n") is None


@pytest.mark.parametrize("line", ["!pip install -q numpy", "%matplotlib inline", "%%time"])
def test_lines_for_ipython_of_a_saved_notebook_are_passed_over(line):
    for text in (KERNELS, KERNELS.replace("print ", "pass;").replace(", error", "")):
        text = text.replace("print nothing\n", "").replace("pass;nothing\n", "")
        found = facts_of(f"{line}\n{text.replace('ValueError, ', 'ValueError or ')}")
        assert [(a.span.line, a.span.column, a.wavefronts.max) for a in found] == [(12, 3, 2)]


def facts_of(text):
    facts, _ = analyze([Source("k.py", text)], Settings())
    assert not facts.not_analysed
    return [a for kernel in facts.kernels for a in kernel.accesses]
