"""Searches through whole texts take time that grows with the text, whatever it holds."""

from __future__ import annotations

import gc
from contextlib import suppress
from time import process_time

import pytest

from smemlint.analysis.python.cupy.partial_texts import PartialText
from smemlint.analysis.python.cute_dsl.imported_layouts import find_imported_maker
from smemlint.analysis.simt.launches.written_calls import written_calls
from smemlint.frontend.cuda.build_system.cmake import flags_for
from smemlint.frontend.ptx.module import parse_module
from smemlint.frontend.text_heuristics import (
    instantiated_includes,
    launched_and_not_defined,
    library_kernels,
    names_another,
)
from smemlint.limits.documents import check_json, check_toml
from smemlint.limits.errors import TooLarge
from smemlint.sources.discovery import matches
from smemlint.sources.languages import CommentStyle
from smemlint.sources.pragmas import pragmas_in
from smemlint.sources.source import Source

LAUNCHES = '#include "k.cuh"\nvoid f() { j<<<1, 32>>>(0); }\n'
TEXTS = {
    "blanks behind a name": lambda n: LAUNCHES + "k" + " " * n,
    "lines": lambda n: "k<<<1, 32>>>();" + "\n" * n,
    "kernels without a body": lambda n: LAUNCHES + "__global__ " * n,
    "open brackets": lambda n: LAUNCHES + "k<" * n,
    "open brackets and blanks": lambda n: LAUNCHES + "k <a, b>" + " " * n + "k < " * n,
    "instantiations on one line": lambda n: "template x; " * n,
    "specializations": lambda n: "template <" + " " * n + "> " + "\n" * n,
    "includes on one line": lambda n: LAUNCHES + '#include "a" ' * n,
    "variables": lambda n: "auto " + "& " * n + "k " + " " * n,
}
FUNCTIONS = {
    "launches": launched_and_not_defined,
    "instantiations": instantiated_includes,
    "collectives": library_kernels,
    "names": lambda text: names_another(text, "k"),
    "calls": lambda text: list(written_calls(text, "k")),
    "imports": lambda text: find_imported_maker(Source("k.py", text.encode())),
    "cmake": lambda text: flags_for(text, "k.cu"),
    "ptx": parse_module,
    "ptx parameters": lambda text: (
        parse_module(f".entry k({text})\n{{\n}}").functions[0].parameters
    ),
    "pragmas of C++": lambda text: pragmas_in(f"{text} smemlint: {text}"),
    "pragmas of Python": lambda text: pragmas_in(f"{text} smemlint: {text}", CommentStyle.PYTHON),
    "toml": check_toml,
    "json": check_json,
    "glob": lambda text: matches(text, ["*".join("k" * 30) + "b"]),
    "pieces": PartialText(pieces=("", *"k" * 30, "b")).fits,
}
OPENINGS = ('"', '"\\', "'", "'\\", "/*", '"""', "''' ", "//\\\n", 'R"(')
REPEATED = {
    "cmake": ("#[[\n", '"', "[=[", "(", "set(a "),
    "toml": ('"\\', '"""', "'''", "''", '""a', "'''a\n"),
    "ptx": ("/*", ".entry k(\n", ".func (.param .b32 r) f;\n", '"'),
    "ptx parameters": (",", ".param .b8 p[,", ".param .u64 p,"),
    "pragmas of C++": OPENINGS,
    "pragmas of Python": OPENINGS,
    "json": ('"\\', '"', '""a'),
    "glob": ("k",),
    "pieces": ("k",),
}
CASES = [
    *(
        pytest.param(FUNCTIONS[name], text, id=f"{name}: {label}")
        for name in ("launches", "names", "calls", "imports")
        for label, text in TEXTS.items()
    ),
    *(
        pytest.param(FUNCTIONS[name], piece.__mul__, id=f"{name}: {piece!r}")
        for name, pieces in REPEATED.items()
        for piece in pieces
    ),
]


def seconds(function, text, times=3):
    """Returns the fewest processor seconds of calls with texts of almost one length.

    The texts differ because some functions remember a text; the collector waits, as what other
    tests left behind is not the function's time.
    """
    spent = []
    gc.disable()
    try:
        for extra in range(times):
            given = text(extra)
            began = process_time()
            with suppress(TooLarge):
                function(given)
            spent.append(process_time() - began)
    finally:
        gc.enable()
    return min(spent)


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("function", "text"), CASES)
def test_eight_times_the_text_takes_about_eight_times_as_long(function, text):
    short = seconds(function, lambda extra: text(5_000 + extra))
    assert seconds(function, lambda extra: text(40_000 + extra)) < 24 * short + 0.05
