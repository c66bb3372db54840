"""SML501: a dot operand that is contiguous along the wrong dimension."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from smemlint.config.settings import Settings
from smemlint.facts import DotOperand, DotUse
from smemlint.finding import Finding, Severity
from smemlint.lint.rule import Rule

_LEAST_ROWS = 64
"""Rows of a tile that make it one of `wgmma`."""
_SEEN = {
    (8, "sm_90"): "it leaves the asynchronous pipeline and is stored byte by byte",
    (32, "sm_90"): "it is copied 4 bytes a lane",
    (32, "sm_100"): "it is copied 4 bytes a lane",
}
"""What triton 3.9.0 makes of such an operand (fixtures/triton: dots.json, attention.json)."""
_EACH = {8: 16, 32: 4}
"""Elements of a row that one lane copies; their lanes meet in a bank."""
_LONGEST_ROW = 256
"""Elements; of longer rows no kernel was compiled."""
_SEEN_WITHOUT_CONFLICT = {
    8: "it is read byte by byte, 16 loads in place of each `ldmatrix`",
    32: "it is read 4 bytes a lane, 4 loads in place of each `ldmatrix`",
}
_READ_BY_LDMATRIX = frozenset(("sm_80", "sm_86", "sm_89", "sm_120"))
"""Targets whose `mma` takes operands from registers; recorded, too."""


class DotOperandMajor(Rule):
    """Checks that 8-bit and tf32 operands are contiguous along K."""

    code = "SML501"
    name = "dot-operand-major"
    summary = "an 8-bit or tf32 operand of a dot is not contiguous along K"

    def check_dot(self, dot: DotUse, settings: Settings) -> Iterator[Finding]:
        """Yields one finding for each such operand."""
        rows = dot.operands[0].shape[0]
        if rows is None or rows < _LEAST_ROWS:
            return
        for operand in dot.operands:
            kind = _kind(operand, dot)
            seen = _SEEN.get((kind, settings.arch))
            if seen is not None:
                ways = _ways(operand, kind, dot.warps)
                seen += f", {ways}-way" if ways else ", with bank conflicts"
            severity = self.severity
            if settings.arch in _READ_BY_LDMATRIX:
                seen, severity = _SEEN_WITHOUT_CONFLICT.get(kind), Severity.NOTE
            if seen is None or not operand.is_loaded or operand.contiguous not in ("m", "n"):
                continue
            found = self.finding(
                f"`{operand.name}` of {operand.element} is contiguous along "
                f"{operand.contiguous.upper()}, not along K",
                dot.span,
                notes=(f"triton 3.9 on {settings.arch}: {seen}", *dot.assumptions),
                help="store it with K contiguous, and transpose the tile in the kernel",
                weight=1.0,
            )
            yield replace(found, severity=severity)


def _kind(operand: DotOperand, dot: DotUse) -> int:
    """Returns the bits of an operand whose major dimension matters; 0 for others."""
    if operand.element_bits == 8:
        return 8
    return 32 if operand.element == "float32" and dot.precision == "tf32" else 0


def _ways(operand: DotOperand, kind: int, warps: int | None) -> int | None:
    """Returns wavefronts for each ideal one of what stores B; None where not recorded."""
    depth, row = operand.shape
    if operand.name != "b" or depth is None or row is None or warps is None:
        return None
    each = _EACH[kind]
    if row > _LONGEST_ROW or row * depth < each * 32 * warps:
        return None
    lanes = min(row // each, 32)
    return lanes if kind == 8 else max(lanes // 2, 1)


RULE = DotOperandMajor()
