"""Machine code against the kernels' own index arithmetic.

fixtures/sass/kernels.sass is what nvcc 13.0.88 and nvdisasm 13.5.37 make of kernels.cu for sm_90,
the files beside it what ptxas makes of it for other targets. Here the addresses of every access are
computed from the source once more.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from smemlint.analysis.compiled.machine import Machine
from smemlint.analysis.compiled.recorder import Group, Issued, Site
from smemlint.analysis.compiled.sass.targets import TARGETS, launched
from smemlint.analysis.compiled.sass.translate import translate
from smemlint.facts import AccessKind
from smemlint.frontend.sass.parser import Disassembly

FOLDER = Path(__file__).parents[3] / "fixtures/sass"
T = np.arange(256)


@pytest.fixture(params=["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"])
def arch(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@cache
def code(arch: str) -> Disassembly:
    name = "kernels.sass" if arch == "sm_90" else f"kernels_{arch}.sass"
    found = Disassembly((FOLDER / name).read_text(), lambda path: path != "kernels.cu")
    assert found.target == arch
    return found


def run(
    arch: str,
    kernel: str,
    block: tuple[int, int, int] = (256, 1, 1),
    arguments: dict[int, int] | None = None,
) -> dict[Site, Issued]:
    (name,) = [n for n in code(arch).kernels if kernel in n]
    target = TARGETS[arch]
    words = {target.parameters + at: word for at, word in (arguments or {}).items()}
    machine = Machine(translate(code(arch).function(name)), launched(target, block, words))
    machine.run()
    assert not machine.is_spent
    return machine.recorder.sites


def groups(sites: dict[Site, Issued], line: int, kind: AccessKind) -> list[Group]:
    found = [i for s, i in sites.items() if s.span.line == line and s.kind is kind]
    assert found
    assert all(i.undecided is None for i in found)
    return [group for issued in found for group in issued.groups.values()]


def addresses(
    arch: str, sites: dict[Site, Issued], line: int, kind: AccessKind
) -> NDArray[np.int64]:
    (group,) = groups(sites, line, kind)
    assert group.mask.all()
    return group.addresses.reshape(-1) - TARGETS[arch].reserved


def test_transpose(arch: str) -> None:
    sites = run(arch, "transpose", (32, 8, 1))
    x, y = T % 32, T // 32
    assert (addresses(arch, sites, 7, AccessKind.STORE) == 4 * (32 * y + x)).all()
    assert (addresses(arch, sites, 9, AccessKind.LOAD) == 4 * (32 * x + y)).all()


def test_division_by_constants(arch: str) -> None:
    sites = run(arch, "_Z8division")
    assert (addresses(arch, sites, 15, AccessKind.STORE) == 4 * (T * 7 // 3)).all()
    assert (addresses(arch, sites, 16, AccessKind.STORE) == 4 * (T % 5 + T // 12 * 3)).all()
    own, shared = sorted(groups(sites, 18, AccessKind.LOAD), key=lambda g: not g.exact)
    assert (own.addresses.reshape(-1) == TARGETS[arch].reserved + 4 * T).all()
    assert (shared.addresses == shared.addresses[0, 0]).all()


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_division_at_run_time(arch: str, rows: int) -> None:
    sites = run(arch, "run_time_division", (64, rows, 1))
    t = np.arange(64 * rows) % 64
    divisor = rows + 2
    expected = 4 * (t // divisor + t % divisor * 32)
    assert (addresses(arch, sites, 25, AccessKind.STORE) == expected).all()


def test_known_rounds_of_a_loop(arch: str) -> None:
    sites = run(arch, "reduction")
    masks = [g.mask.reshape(-1) for g in groups(sites, 36, AccessKind.STORE)]
    assert [m.sum() for m in masks] == [128, 64, 32, 16, 8, 4, 2, 1]
    for step, mask in zip((1, 2, 4, 8, 16, 32, 64, 128), masks, strict=True):
        assert (mask == (T % (2 * step) == 0)).all()


def test_a_loop_of_unknown_length(arch: str) -> None:
    sites = run(arch, "ring")
    loads = groups(sites, 49, AccessKind.LOAD)
    assert len(loads) == 5  # unrolled by four, and the rest with an unknown stage
    for group in loads:
        offsets = group.addresses.reshape(-1) - group.addresses[0, 0]
        assert (offsets == 4 * (T * 8 & 255)).all()
    assert sorted(g.exact for g in loads) == [False, True, True, True, True]


def test_shuffles_and_votes(arch: str) -> None:
    sites = run(arch, "shuffled")
    t = T % 32
    assert (addresses(arch, sites, 59, AccessKind.STORE) == 4 * ((t ^ 5) * 3 * 2)).all()
    before = (t + 2) // 3  # lanes below that are multiples of 3
    assert (addresses(arch, sites, 61, AccessKind.STORE) == 4 * before * 33).all()


def test_matrices(arch: str) -> None:
    sites = run(arch, "matrices", (32, 1, 1))
    (group,) = groups(sites, 72, AccessKind.LDMATRIX)
    t = np.arange(32)
    expected = TARGETS[arch].reserved + (t & 15) * 128 + (t >> 4) * 16
    assert (group.addresses.reshape(-1) == expected).all()
    (site,) = [s for s in sites if s.kind is AccessKind.LDMATRIX]
    assert (site.matrices, site.width) == (4, 16)


def test_generic_addresses_into_shared_memory(arch: str) -> None:
    sites = run(arch, "generic")
    assert (addresses(arch, sites, 80, AccessKind.STORE) == 4 * (T * 2 & 63)).all()


def test_calls_keep_what_the_callee_does_not_write(arch: str) -> None:
    sites = run(arch, "calls")
    assert (addresses(arch, sites, 92, AccessKind.STORE) == 16 * T).all()
    (found,) = [i for s, i in sites.items() if s.span.line == 93]
    assert found.undecided is not None


@pytest.mark.parametrize(
    ("line", "step", "first"), [(104, 1, 0), (105, 2, 0), (108, 16, 0), (109, 1, 8)]
)
def test_every_target_of_a_jump_table(arch: str, line: int, step: int, first: int) -> None:
    sites = run(arch, "table_jump")
    assert (addresses(arch, sites, line, AccessKind.LOAD) == 4 * (T * step + first)).all()


def test_known_parameters(arch: str) -> None:
    sites = run(arch, "ring", arguments={0x10: 6})
    loads = groups(sites, 49, AccessKind.LOAD)
    assert sum(g.count for g in loads) == 6
    assert all(g.exact for g in loads)


@pytest.mark.parametrize(
    "code",
    [
        "",
        "/*0000*/ IMAD R1, R2 ;",
        "/*0000*/ ISETP.GE.AND P0, PT ;",
        "/*0000*/ SHF.L.U32 R1, R2 ;",
        "/*0000*/ S2R R0, SR_TID.W ;",
        "/*0000*/ PLOP3.LUT P0 ;",
        "/*0000*/ VIMNMX R1, R2, PT ;",
    ],
)
def test_operands_that_no_target_has(code: str) -> None:
    """Found by random changes of nvdisasm's text: the rest of the kernel is still read."""
    text = f".section .text.k\n.text.k:\n{code}\n/*0010*/ STS [R4], R5 ;\n/*0020*/ EXIT ;\n"
    text = f'.target sm_90\n.other k,@"STO_CUDA_ENTRY STV_DEFAULT"\n{text if code else ".text.k:"}'
    function = Disassembly(text).function("k")
    machine = Machine(translate(function), launched(TARGETS["sm_90"], (32, 1, 1)))
    machine.run()
    assert [s.opcode for s in machine.recorder.sites] == ["STS"] * bool(code)


LANES_OF_DATA = "S2R R0, SR_TID.X", "IMAD.SHL.U32 R4, R0, 0x4, RZ", "LDG.E R2, [R6.64]"
ALL, FEW = set(range(32)), set(range(4))


@pytest.mark.parametrize(
    ("code", "lanes", "depends_on_data"),
    [
        (("ISETP.GE.AND P1, PT, R0, 0x4, PT", "ISETP.NE.AND P0, PT, R2, 0xb, !P1"), FEW, True),
        (("ISETP.GE.AND P1, PT, R0, 0x4, PT", "ISETP.NE.OR P0, PT, R2, 0xb, P1"), ALL, True),
        (("ISETP.GE.AND P1, PT, R0, RZ, PT", "ISETP.NE.OR P0, PT, R2, 0xb, P1"), ALL, False),
        (("ISETP.GE.AND P1, PT, R0, 0x4, PT", "FSETP.GT.AND P0, PT, R2, RZ, !P1"), FEW, True),
        (("ISETP.LT.AND P1, PT, R0, 0x4, PT", "DSETP.GT.AND P0, PT, R8, R2, P1"), FEW, True),
        (("FSETP.GT.AND P0, PT, R2, RZ, PT",), ALL, True),
        (("FSETP.GT.AND P0, PT, RZ, UR4, PT",), ALL, False),
        (
            (
                "ISETP.GE.AND P1, PT, R0, 0x4, PT",
                "ISETP.NE.AND P2, PT, R2, 0xb, PT",
                "PLOP3.LUT P0, PT, P2, P1, PT, 0x20, 0x2",
            ),
            FEW,
            True,
        ),
        (
            (
                "ISETP.GE.AND P1, PT, R0, 0x4, PT",
                "ISETP.NE.AND P2, PT, R2, 0xb, !P1",
                "ISETP.NE.AND P2, PT, R2, 0xc, P2",
                "PLOP3.LUT P0, PT, P2, P1, PT, 0xfc, 0x3",
            ),
            ALL,
            True,
        ),
    ],
)
def test_predicates_that_are_known_in_some_lanes(
    code: tuple[str, ...], lanes: set[int], depends_on_data: bool
) -> None:
    """False and what is not known is false, lane by lane."""
    lines = [*LANES_OF_DATA, *code, "@P0 STS [R4], R0", "EXIT"]
    text = "".join(f"/*{16 * at:04x}*/ {line} ;\n" for at, line in enumerate(lines))
    text = (
        f'.target sm_90\n.other k,@"STO_CUDA_ENTRY STV_DEFAULT"\n.section .text.k\n.text.k:\n{text}'
    )
    function = Disassembly(text).function("k")
    machine = Machine(translate(function), launched(TARGETS["sm_90"], (32, 1, 1)))
    machine.run()
    (issued,) = machine.recorder.sites.values()
    (group,) = issued.groups.values()
    assert set(np.flatnonzero(group.mask)) == lanes
    assert issued.depends_on_data is depends_on_data


def test_a_difference_carries_where_zero_is_subtracted() -> None:
    """What numba-cuda 0.30.4 makes of an index 255 - t that may count from the end (sm_90)."""
    lines = (
        "S2R R5, SR_TID.X",
        "IADD3 R8, P1, -R5.reuse, 0xff, RZ",
        "IMAD.X R7, RZ, RZ, ~RZ, P1",
        "LOP3.LUT R7, R7, 0x80000000, RZ, 0xc0, !PT",
        "LEA.HI R4, R7, R8, RZ, 0x9",
        "LEA R4, R4, RZ, 0x2",
        "STS [R4], R5",
        "EXIT",
    )
    text = '\t.target\tsm_90\n.text.k:\n\t//## File "k.py", line 1\n' + "".join(
        f"        /*{16 * n:04x}*/                   {line} ;\n" for n, line in enumerate(lines)
    )
    machine = Machine(
        translate(Disassembly(text).function("k")), launched(TARGETS["sm_90"], (256, 1, 1), {})
    )
    machine.run()
    (group,) = groups(machine.recorder.sites, 1, AccessKind.STORE)
    assert (group.addresses.reshape(-1) == 4 * (255 - T)).all()
