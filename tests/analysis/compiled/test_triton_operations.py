"""Operations of Triton kernels by the TTGIR beside their PTX, as Triton 3.9.0 writes it."""

from __future__ import annotations

import json
import time

from smemlint.analysis.compiled.triton_operations import Place, operations_in
from smemlint.facts import AccessKind

TTGIR = """\
#loc10 = loc("/lib/triton/language/standard.py":216:16)
#loc18 = loc("/home/me/kernel.py":95:32)
module {
    %a = ttg.local_alloc : () -> !ttg.memdesc<3x128x64xf16, #shared, #smem, mutable> loc(#loc66)
    %a_44 = ttg.async_copy_global_to_local %ap_26, %a_41 mask %acc_43 : x -> <128x64xf16, #shared> loc(#loc66)
      %k_99 = ttg.local_load %k_97 token %k_96 : !ttg.memdesc<64x64xf16> -> tensor<64x64xf16, #ttg.dot_op<{opIdx = 1}>> loc(#loc66)
      %m_ij = "tt.reduce"(%qk_101) <{axis = 1 : i32}> ({
      ^bb0(%m_ij_144: f32 loc(callsite(#loc1 at #loc71)), %m_ij_145: f32 loc(callsite(#loc1 at #loc71))):
        %m_ij_146 = arith.maxnumf %m_ij_144, %m_ij_145 : f32 loc(#loc93)
        tt.reduce.return %m_ij_146 : f32 loc(#loc93)
      }) : (tensor<128x64xf32, #mma>) -> tensor<128xf32> loc(#loc38)
    %18 = ttg.convert_layout %c : tensor<128x128xf16, #mma> -> tensor<128x128xf16, #blocked> loc(#loc37)
    tt.store %17, %18, %10 : tensor<128x128x!tt.ptr<f16>, #blocked> loc(#loc37)
}
#loc22 = loc("/home/me/kernel.py":18:13)
#loc37 = loc("/home/me/kernel.py":26:5)
#loc38 = loc(callsite(#loc10 at #loc18))
#loc66 = loc("a"(#loc22))
"""
PTX = """
.version 8.7
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 global_smem[];
.visible .entry column() .reqntid 32
{
.reg .b32 %r<5>;
.loc 1 26 5
mov.u32 %r1, %tid.x;
shl.b32 %r2, %r1, 7;
mov.b32 %r3, global_smem;
add.s32 %r4, %r3, %r2;
st.shared.b32 [%r4], %r1;
ret;
}
.file 1 "/home/me/kernel.py"
"""


def shown(operations: dict[Place, tuple[object, ...]]) -> dict[Place, list[str]]:
    return {place: [o.shown for o in found] for place, found in operations.items()}  # type: ignore[attr-defined]


def test_operations_stand_at_all_of_their_callers() -> None:
    found = operations_in(TTGIR)
    assert shown(found) == {  # type: ignore[arg-type]
        Place("kernel.py", 18, 13): [
            "copy of `a` to shared memory in the loop's pipeline",
            "dot operand `k`",
        ],
        Place("standard.py", 216, 16): ["reduction of `qk`"],
        Place("kernel.py", 95, 32): ["reduction of `qk`"],
        Place("kernel.py", 26, 5): ["change of the layout of `c` for a store"],
    }
    copy, load = found[Place("kernel.py", 18, 13)]
    assert (copy.kinds, AccessKind.LDMATRIX in load.kinds) == ((AccessKind.ASYNC_COPY,), True)


def test_findings_name_them(smemlint, tmp_path):
    (tmp_path / "column.ptx").write_text(PTX)
    (tmp_path / "column.ttgir").write_text(TTGIR)

    def operation() -> object:
        _, out, _ = smemlint("analyze", "column.ptx", "--output-format", "json")
        (access,) = json.loads(out)["accesses"]
        return access["operation"]

    assert operation() is None  # without Triton's JSON it may be anybody's
    (tmp_path / "column.json").write_text(json.dumps({"num_warps": 1}))
    assert operation() == "change of the layout of `c` for a store"
    _, out, _ = smemlint("check", "column.ptx", "--output-format", "json")
    (finding,) = json.loads(out)["findings"]
    assert "operation: change of the layout of `c` for a store" in finding["notes"]
    assert "num_warps" in finding["help"]


def test_locations_that_lead_nowhere_cost_little() -> None:
    chain = "".join(f"#loc{i} = loc(callsite(#loc{i + 1} at #loc{i + 2}))\n" for i in range(3000))
    start = time.process_time()
    assert operations_in(chain + "%a = tt.scan %b loc(#loc1)\n" * 3000) == {}
    assert operations_in('%a = "tt.reduce"(%b) ({\n' * 3000) == {}
    assert time.process_time() - start < 5
