"""Which launches of the sources are those of a compiled instance."""

import pytest

from smemlint.analysis.compiled.launch import Bounds, LaunchInfo, SourceLaunch
from smemlint.config.settings import Settings
from smemlint.facts import Instance, Span

SPAN = Span("vm.ptx", 1, 1, 1, 1)
NARROW, WIDE = (16, 1, 1), (32, 1, 1)


@pytest.mark.parametrize(
    ("template", "largest", "blocks", "is_launched"),
    [
        (("2", "true"), NARROW, [NARROW], True),  # `vm<2, true>`, whose source says `2, 1`
        (("16", "false"), WIDE, [WIDE], True),
        (("16", "false"), None, [WIDE], True),
        (("8", "true"), NARROW, [NARROW], True),  # the only block that its launch bounds admit
        (("8", "true"), WIDE, [WIDE], False),  # no launch is its own: the largest block, a guess
        (("8", "true"), None, [], False),
    ],
)
def test_an_instance_has_the_blocks_that_it_is_launched_with(
    template, largest, blocks, is_launched
):
    """Blocks of `vm<16>` were taken for `vm<2>`, whose array they exceed: SML401."""
    launches = tuple(
        SourceLaunch(block, (width, flag), "launch")
        for width, block in (("2", NARROW), ("16", WIDE))
        for flag in ("0", "1")
    )
    info = LaunchInfo(Settings(), launches={"vm": launches})
    instance = Instance(
        "vm", SPAN, (("0", template[0]), ("1", template[1])), given_by="vm.ptx (sm_90)"
    )
    found = info.launched(instance, Bounds(largest=largest))
    launched = found if isinstance(found, list) else []
    assert [each.block for each, _ in launched] == blocks
    assert [bool(each.origin) for each, _ in launched] == [is_launched] * len(blocks)
