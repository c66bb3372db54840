"""What compiled code does under the arguments that a launch in the sources passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.facts import Certainty

if TYPE_CHECKING:
    from collections.abc import Callable

    from smemlint.analysis.compiled.launch import Passed
    from smemlint.facts import KernelFacts


def with_passed(
    evaluate: Callable[[Passed | None], KernelFacts], passed: Passed | None
) -> KernelFacts:
    """Returns the facts of a kernel for any arguments; where those leave accesses open, for these.

    The arguments are assumed only where they decide more.

    Args:
        evaluate: the kernel, under arguments or none.
        passed: those of its launch; None where none is known.
    """
    facts = evaluate(None)
    is_open = any(a.certainty is Certainty.UNKNOWN for a in facts.accesses)
    if passed is None or not is_open:
        return facts
    closer = evaluate(passed)
    return closer if _decided(closer) > _decided(facts) else facts


def _decided(facts: KernelFacts) -> int:
    return sum(a.certainty.is_decided for a in facts.accesses)
