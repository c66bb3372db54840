"""Architectures are data with names, limits and honest gaps."""

from __future__ import annotations

import subprocess
import sys

import pytest

from smemlint.hardware.arch import ARCHITECTURES, architecture, assumption


def test_limits_of_shared_memory() -> None:
    limits = {name: a.shared_per_block // 1024 for name, a in ARCHITECTURES.items()}
    assert limits["sm_70"] == 96
    assert limits["sm_75"] == 64
    assert (limits["sm_80"], limits["sm_86"], limits["sm_89"]) == (163, 99, 99)
    assert (limits["sm_90"], limits["sm_100"], limits["sm_120"]) == (227, 227, 99)


def test_suffixes_name_the_same_architecture() -> None:
    assert architecture("sm_90a") is architecture("sm_90")
    assert architecture("sm_100f") is architecture("sm_100")
    with pytest.raises(ValueError, match="unknown architecture 'hopper': one of sm_70"):
        architecture("hopper")


def test_only_sm_90_is_measured() -> None:
    assert [name for name, a in ARCHITECTURES.items() if a.is_measured] == ["sm_90"]


@pytest.mark.parametrize(
    ("arch", "kind", "width", "is_assumed"),
    [
        ("sm_90", "load", 16, False),
        ("sm_90a", "async_copy", 16, False),
        ("sm_70", "load", 4, False),
        ("sm_120", "store", 2, False),
        ("sm_70", "load", 16, False),  # as NVIDIA says of 7.0 to 7.5
        ("sm_75", "load", 8, False),
        ("sm_75", "store", 8, True),
        ("sm_80", "load", 8, True),
        ("sm_80", "ldmatrix", 16, True),
        ("sm_86", "atomic", 4, True),
        ("sm_100", "stmatrix", 16, True),
        ("sm_120", "async_copy", 4, True),
    ],
)
def test_what_is_assumed_of_an_architecture(
    arch: str, kind: str, width: int, is_assumed: bool
) -> None:
    text = assumption(arch, kind, width)
    assert bool(text) == is_assumed
    assert not text or (text.startswith(arch) and "measured on sm_90" in text)


@pytest.mark.parametrize(
    ("arch", "kind"),
    [
        ("sm_70", "ldmatrix"),
        ("sm_75", "async_copy"),
        ("sm_80", "stmatrix"),
        ("sm_89", "stmatrix"),
    ],
)
def test_what_an_architecture_lacks(arch: str, kind: str) -> None:
    with pytest.raises(ValueError, match=f"{arch} has no"):
        assumption(arch, kind, 16)


def test_architectures_are_read_without_numpy() -> None:
    code = (
        "import sys; from smemlint.hardware.arch import architecture; print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
