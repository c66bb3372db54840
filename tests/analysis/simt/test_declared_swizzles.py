"""Declared swizzles: pragmas and configuration move addresses by exactly the swizzle."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import accesses_of, facts_of

from smemlint.config.settings import KernelSettings
from smemlint.layout.declared import declared_in
from smemlint.layout.swizzle import Swizzle

KERNEL = """
__global__ void k(float *out) {{
  __shared__ float tile[32][32];{pragma}
  tile[threadIdx.y][threadIdx.x] = 1.f;
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}}
void launch(float *o) {{ k<<<1, dim3(32, 32)>>>(o); }}
"""


def pragma(text: str) -> str:
    return KERNEL.format(pragma=f"  // smemlint: {text}")


@pytest.mark.parametrize(
    ("text", "wavefronts"),
    [
        ("swizzle(5, 0, 5) elements", (1, 1)),
        ("swizzle(5, 2, 5) bytes", (1, 1)),
        ("swizzle(2, 0, 3) elements", (1, 32)),  # reads the column, not the row
        ("swizzle(3, 4, 3) bytes", (1, 4)),
        ("swizzle(0, 4, 3) bytes", (1, 32)),
    ],
)
def test_a_pragma_moves_every_access(text, wavefronts):
    store, load = accesses_of(pragma(text))
    assert (store.worst.wavefronts, load.worst.wavefronts) == wavefronts
    assert ("layout", "tile") in [(a.topic, a.subject) for a in load.assumptions]


def test_addresses_are_those_of_the_swizzle():
    plain = accesses_of(KERNEL.format(pragma=""))[1].worst.addresses
    moved = accesses_of(pragma("swizzle(3, 4, 3) bytes"))[1].worst.addresses
    assert (moved == Swizzle(3, 4, 3)(plain)).all() and (moved != plain).sum() == 28


def test_the_configuration_does_the_same():
    kernels = {"k": KernelSettings(swizzle={"tile": "5,0,5 elements"})}
    load = accesses_of(KERNEL.format(pragma=""), kernels=kernels)[1]
    assert (load.worst.wavefronts, load.layout.swizzle) == (1, (5, 0, 5))


def test_an_unknown_offset_passes_where_it_is_a_multiple_of_the_period():
    text = pragma("swizzle(5, 0, 5) elements").replace(
        "out) {", "out, int stage) {"
    ).replace("tile[32][32]", "tile[64][32]").replace(
        "tile[threadIdx.x][", "tile[32 * stage + threadIdx.x]["
    )  # fmt: skip
    load = next(a for a in accesses_of(text) if a.span.line == 6)
    assert (load.certainty, load.worst.wavefronts) == ("assumed", 1)
    undecided = accesses_of(text.replace("32 * stage", "stage"))[1]
    assert undecided.worst is None or undecided.certainty == "assumed"


def test_a_pragma_on_the_line_before_and_one_that_stands_nowhere():
    text = KERNEL.format(pragma="").replace(
        "  __shared__", "  // smemlint: swizzle(5, 0, 5) elements\n  __shared__"
    )
    assert accesses_of(text)[1].worst.wavefronts == 1
    facts = facts_of("// smemlint: swizzle(5, 0, 5) elements\nint x;\n" + text)
    assert [n.span.line for n in facts.not_analysed] == [2]
    assert facts.not_analysed[0].reason.code == "wrong-pragma"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("swizzle(3, 4) bytes", "three numbers"),
        ("swizzle(3, x, 3) bytes", "three numbers"),
        ("swizzle(3, 4, 2) bytes", "at least BBits"),
        ("swizzle(3, 4, 3)", "`bytes` or `elements`"),
        ("swizzle(3, 4, 3) words", "`bytes` or `elements`"),
    ],
)
def test_malformed_pragmas_say_what_to_write(text, message, smemlint, tmp_path):
    (tmp_path / "k.cu").write_text(pragma(text))
    _, out, _ = smemlint("check", "k.cu", "--select", "SML9", "--output-format", "concise")
    assert out.startswith("k.cu:3:") and message in out


def test_a_malformed_configuration_names_its_line(smemlint, tmp_path):
    (tmp_path / "smemlint.toml").write_text('[kernels.k.swizzle]\ntile = "3,4,2 bytes"\n')
    (tmp_path / "k.cu").write_text(KERNEL.format(pragma=""))
    code, _, err = smemlint("check", "k.cu")
    assert code == 2 and "smemlint.toml:" in err and "at least BBits" in err


def test_declared_in_reads_what_the_configuration_spells():
    declared = declared_in(" 3,4,3  bytes ")
    assert (declared.swizzle, declared.units) == (Swizzle(3, 4, 3), "bytes")
    assert declared_in("3,3,3 elements").in_bytes(2) == Swizzle(3, 4, 3)


def test_a_swizzle_by_hand_is_evaluated_like_the_declared_one():
    by_hand = KERNEL.format(pragma="").replace(
        "tile[threadIdx.x][threadIdx.y]", "tile[threadIdx.x][threadIdx.y ^ threadIdx.x]"
    ).replace("tile[threadIdx.y][threadIdx.x]", "tile[threadIdx.y][threadIdx.x ^ threadIdx.y]")  # fmt: skip
    declared = accesses_of(pragma("swizzle(5, 0, 5) elements"))
    for mine, theirs in zip(accesses_of(by_hand), declared, strict=True):
        assert mine.worst.wavefronts == theirs.worst.wavefronts == 1
        assert np.array_equal(mine.worst.addresses, theirs.worst.addresses)


def test_bits_that_do_not_vary_in_a_pass_free_nothing(smemlint, tmp_path):
    (tmp_path / "k.cu").write_text(pragma("swizzle(2, 0, 3) elements"))
    _, out, _ = smemlint("check", "k.cu", "--select", "SML203")
    assert "takes 32 wavefronts with it and without it" in out
    assert "bits 5 to 6 of the byte offset, which it reads, do not vary within a pass" in out
