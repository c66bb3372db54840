"""Macros of a Makefile beside the sources: taken where every build has them, and said."""

from __future__ import annotations

import pytest

from smemlint.analysis.analyze import analyze
from smemlint.config.settings import Settings
from smemlint.frontend.cuda.build_system.makefile import macros_of
from smemlint.sources.discovery import find_sources


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("CFLAGS := -O3 -Dreal=double -DUNIX", {"real": "double", "UNIX": "1"}),
        ("CFLAGS = -O3 \\\n  -DN=64", {"N": "64"}),
        ("CFLAGS = -D N=64\nCFLAGS += -DM=2", {"N": "64", "M": "2"}),
        ("CFLAGS = -DN=64\nOTHER = -DN=32", {}),
        ("ifeq ($(DEBUG),yes)\nCFLAGS += -DDEBUG\nendif\nX = -DN=1", {"N": "1"}),
        ("CFLAGS = -DN=$(N) # -DM=1", {}),
        ("all:\n\tnvcc -DN=64 a.cu", {}),
        ("CFLAGS = -O3-DN=64 x-DM", {}),
        ("", {}),
    ],
)
def test_macros_that_every_build_has(text, found):
    assert macros_of(text) == found


def test_the_macros_decide_and_are_said(tmp_path):
    (tmp_path / "a.cu").write_text(
        "__global__ void k(real *g) { __shared__ real s[64]; s[2 * threadIdx.x] = g[0]; }\n"
        "void f(real *g) { k<<<1, 32>>>(g); }\n"
    )

    def figures(**settings):
        facts, _ = analyze(find_sources([str(tmp_path)]), Settings(**settings))
        (access,) = facts.kernels[0].accesses
        spent = access.wavefronts.mean if access.wavefronts else None
        return access.width_bytes, spent, [(a.topic, a.subject) for a in access.assumptions[1:]]

    assert figures()[1] is None
    (tmp_path / "Makefile").write_text("CFLAGS = -Dreal=double -Dunused=1\n")
    assert figures() == (8, 4, [("build", "real")])
    assert figures(define={"real": "float"}) == (4, 2, [])
