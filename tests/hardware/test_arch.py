"""Architectures are data with names, limits and honest gaps."""

from __future__ import annotations

import subprocess
import sys

import pytest

from smemlint.hardware.arch import ARCHITECTURES, architecture


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


def test_architectures_are_read_without_numpy() -> None:
    code = "import sys; from smemlint.hardware import architecture; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
