"""PTX as Triton writes it, of a kernel whose lanes store a power of two apart."""

from __future__ import annotations

FILE = "/somewhere/else/kernel.py"
_TEXT = """
.version 8.7
.target sm_90a
.address_size 64
.extern .shared .align 16 .b8 global_smem[];
.visible .entry column(.param .u64 column_param_0)
.reqntid 64
{
.reg .b32 %r<5>;
.reg .b64 %rd<2>;
.loc 1 7 22
mov.u32 %r1, %tid.x;
shl.b32 %r2, %r1, SHIFT;
mov.b32 %r3, global_smem;
add.s32 %r4, %r3, %r2;
st.shared.b32 [%r4], %r1; // kernel.py:7:22
ret;
}
.file 1 "FILE"
"""


def column(file: str = FILE, shift: int = 7) -> str:
    """Returns the text of a kernel in line 7 of a file, whose lanes store `1 << shift` bytes apart."""
    return _TEXT.replace("SHIFT", str(shift)).replace("FILE", file)
