"""Which launches of the sources are those of a compiled instance."""

import pytest

from smemlint.analysis.compiled.launch import Bounds, LaunchInfo, SourceLaunch
from smemlint.config.settings import Settings

NARROW, WIDE = (16, 1, 1), (32, 1, 1)


@pytest.mark.parametrize(
    ("template", "largest", "blocks"),
    [
        (("2", "true"), NARROW, [NARROW]),  # `vm<2, true>`, whose source says `2, 1`
        (("16", "false"), WIDE, [WIDE]),
        (("16", "false"), None, [WIDE]),
        (("8", "true"), NARROW, [NARROW]),  # the only block that its launch bounds admit
        (("8", "true"), WIDE, [WIDE]),  # no launch is its own: the largest block
        (("8", "true"), None, []),
    ],
)
def test_an_instance_has_the_blocks_that_it_is_launched_with(template, largest, blocks):
    """Blocks of `vm<16>` were taken for `vm<2>`, whose array they exceed: SML401."""
    launches = tuple(
        SourceLaunch(block, (width, flag), "launch")
        for width, block in (("2", NARROW), ("16", WIDE))
        for flag in ("0", "1")
    )
    info = LaunchInfo(Settings(), launches={"vm": launches})
    found = info.blocks("vm", template, Bounds(largest=largest))
    assert (list(found) if isinstance(found, dict) else []) == blocks
