"""Atomics of a warp on one address, by target: read off the SASS of nvcc 13.0.88.

sm_75 has neither REDUX nor ATOMS.POPC.INC. `wavefronts` is of all warps: one where one lane issues,
that of the active lanes where each issues its own.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from smemlint.analysis.analyze import analyze
from smemlint.analysis.compiled.files import compiled_facts
from smemlint.config.settings import Settings
from smemlint.facts import AccessKind
from smemlint.sources.source import Source

KERNEL = """
__global__ void k(int *out, int at) {{
    __shared__ int bins[64];
    bins[threadIdx.x] = 0;
    __syncthreads();
    {statement}
    __syncthreads();
    out[threadIdx.x] = bins[threadIdx.x];
}}
int main() {{ k<<<1, 64>>>(nullptr, 1); }}
"""
PTX = """
.version 8.0
.target {arch}
.address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)
.reqntid 64
{{
.reg .pred %p<2>;
.reg .b32 %r<8>;
.shared .align 4 .b8 bins[256];
mov.u32 %r1, %tid.x;
ld.param.u32 %r2, [k_param_1];
shl.b32 %r3, %r2, 2;
mov.u32 %r4, bins;
add.s32 %r5, %r4, %r3;
setp.lt.u32 %p1, %r1, 48;
{statement}
ret;
}}
"""
CASES = [
    ("atomicAdd(&bins[at], 1);", "red.shared.add.u32 [%r5], 1;", 2, 2),
    ("atomicAdd(&bins[at], at);", "red.shared.add.u32 [%r5], %r2;", 2, 2),
    ("atomicMax(&bins[at], threadIdx.x);", "red.shared.max.s32 [%r5], %r1;", 2, 2),
    ("if (threadIdx.x < 48) atomicMax(&bins[at], threadIdx.x);",
     "@%p1 red.shared.max.s32 [%r5], %r1;", 2, 17),
]  # fmt: skip


def spent(facts) -> float:
    (atomic,) = [
        a for k in facts.kernels for a in k.accesses if a.kind is AccessKind.ATOMIC and a.wavefronts
    ]
    return atomic.wavefronts.mean * atomic.instructions


@pytest.mark.parametrize(("statement", "instruction", "since_80", "before"), CASES)
def test_atomics_on_one_address(tmp_path, statement, instruction, since_80, before) -> None:
    for arch, figure in (("sm_75", before), ("sm_80", since_80), ("sm_90", since_80)):
        settings = Settings(arch=arch)
        source = Source(str(tmp_path / "k.cu"), KERNEL.format(statement=statement))
        assert spent(analyze([source], settings)[0]) == figure, arch
        text = PTX.format(arch=arch, statement=instruction)
        ptx = Source(str(tmp_path / "k.ptx"), text)
        assert spent(compiled_facts(ptx, settings, [], pytest.fail)) == figure, arch


def test_ones_on_words_of_lanes(tmp_path: Path) -> None:
    for arch, figure in (("sm_75", 16), ("sm_80", 2)):
        statement = "atomicAdd(&bins[threadIdx.x / 8], 1);"
        source = Source(str(tmp_path / "k.cu"), KERNEL.format(statement=statement))
        assert spent(analyze([source], Settings(arch=arch))[0]) == figure, arch
