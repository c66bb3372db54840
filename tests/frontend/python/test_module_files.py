"""Where the modules that a Python file imports are looked for."""

from __future__ import annotations

import pytest

from smemlint.frontend.python.module_files import files_of


@pytest.mark.parametrize(
    ("home", "name", "path"),
    [
        ("pack/kernels/gemm.py", "pack.layouts.atom", "pack/layouts.py"),
        ("pack/gemm.py", "pack.layouts.atom", "pack/layouts.py"),
        ("gemm.py", "layouts.atom", "layouts.py"),
        ("/root/pack/gemm.py", "pack.layouts.atom", "/root/pack/layouts.py"),
        ("a/b/c/d/e/pack/gemm.py", "pack.layouts.atom", "a/b/c/d/e/pack/layouts.py"),
        ("pack/kernels/gemm.py", "..layouts.atom", "pack/layouts.py"),
    ],
)
def test_the_working_folder_is_a_root_as_any_other(home: str, name: str, path: str) -> None:
    """`smemlint .` in a checkout reads what `smemlint /the/checkout` reads."""
    assert path in files_of(home, name)


def test_nothing_is_looked_for_at_the_root_of_the_file_system() -> None:
    assert all(p.startswith("/root/") for p in files_of("/root/pack/gemm.py", "pack.layouts.atom"))
