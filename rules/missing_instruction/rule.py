"""SML504: an instruction that the target does not have."""

from __future__ import annotations

from collections.abc import Iterator

from smemlint.config.settings import Settings
from smemlint.facts import Access, Facts
from smemlint.finding import Finding, Severity
from smemlint.hardware.arch import ARCHITECTURES, architecture, spelled
from smemlint.lint.rule import Rule


class MissingInstruction(Rule):
    """Compares the kinds of accesses with what the target has."""

    code = "SML504"
    name = "missing-instruction"
    summary = "an instruction that the target does not have"
    severity = Severity.ERROR

    def check(self, facts: Facts, settings: Settings) -> Iterator[Finding]:
        """Yields one finding for each access; what only other targets compile was not read."""
        if "arch" not in settings.given:
            return
        for kernel in facts.kernels:
            for access in kernel.accesses:
                if not access.origin and not access.conditions:
                    yield from self._judged(access, settings.arch)

    def _judged(self, access: Access, arch: str) -> Iterator[Finding]:
        kind = str(access.kind)
        if architecture(arch).has(kind):
            return
        first = next(a.name for a in ARCHITECTURES.values() if a.has(kind))
        yield self.finding(
            f"{arch} has no {spelled(kind)}: it came with {first}",
            access.span,
            access=access,
            help=f"guard it with `#if __CUDA_ARCH__ >= {first.removeprefix('sm_')}0`, or build for"
            f" {first} and later only",
        )


RULE = MissingInstruction()
