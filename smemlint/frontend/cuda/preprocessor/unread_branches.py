"""Kernels and shared memory in branches of `#if` that another build may read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from smemlint.frontend.cuda.lexer.tokens import Token, matching
from smemlint.frontend.cuda.preprocessor.conditions import Assumptions, Condition, truth
from smemlint.frontend.cuda.preprocessor.directives import KERNEL, PreparedFile
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_CHAINS, MAX_TOKENS_TO_NAME


@dataclass(frozen=True, slots=True)
class UnreadBranches:
    """What the branches of a chain hold that were not read, though no condition forbids it.

    Attributes:
        condition_of: the condition of a directive, where nothing is assumed.
        text_of: that condition as it is written.
    """

    prepared: PreparedFile
    condition_of: Callable[[int], Condition]
    text_of: Callable[[int], str]

    def beside(self, chosen: int, first: int) -> Iterator[tuple[Token, str]]:
        """Yields kernels and shared memory outside of the branch that is read, with the reason.

        Args:
            chosen: the directive whose branch is read; -1 for none.
            first: the directive that opens the chain.
        """
        unknown = ""
        for k, is_known in self._possible(first):
            if not is_known and not unknown:
                unknown = self.text_of(k)
            if k != chosen and unknown:
                yield from _declared(self.prepared.tokens, self._readable(k, 0), unknown)

    def _possible(self, first: int) -> Iterator[tuple[int, bool]]:
        """Yields the branches of a chain that may be read, and whether their condition is known."""
        directives = self.prepared.directives
        k = first
        while k < directives[first].end:
            is_else = directives[k].name == "else"
            value = True if is_else else truth(self.condition_of(k), Assumptions())[0]
            if value is not False:
                yield k, value is not None
            if value:
                return
            k = directives[k].next

    def _readable(self, k: int, depth: int) -> list[int]:
        """Returns the marks of a branch without those in chains that no build reads."""
        directives = self.prepared.directives
        stop, at = directives[k].next, directives[k].stop
        if depth == MAX_CHAINS:
            return self.prepared.gpu_marks_between(at, self._begin(stop))
        found: list[int] = []
        j = k + 1
        while j < stop:
            nested = directives[j]
            if nested.name in ("if", "ifdef", "ifndef") and nested.end >= 0:
                found += self.prepared.gpu_marks_between(at, nested.at)
                at = directives[nested.end].stop if nested.end < len(directives) else -1
                if self.prepared.gpu_marks_between(nested.stop, self._begin(nested.end)):
                    for branch, _ in self._possible(j):
                        found += self._readable(branch, depth + 1)
                j = nested.end
            j += 1
        return found + self.prepared.gpu_marks_between(at, self._begin(stop)) if at >= 0 else found

    def _begin(self, k: int) -> int:
        """Returns the token with which a directive begins; the end of the file behind the last."""
        directives = self.prepared.directives
        return directives[k].at if k < len(directives) else len(self.prepared.tokens)


def _declared(
    tokens: Sequence[Token], marks: Sequence[int], unknown: str
) -> Iterator[tuple[Token, str]]:
    """Yields each kernel by its name, and shared memory that stands before the first of them."""
    why = f"in a branch that was not read, since `{unknown}` is unknown (--define or --undefine it)"
    kernels = [i for i in marks if tokens[i].text == KERNEL]
    if marks and marks[0] not in kernels:
        yield tokens[marks[0]], f"shared memory {why}"
    for i in kernels:
        name = _defined_name(tokens, i)
        if name is not None:
            yield name, f"kernel `{name.text}` {why}"


def _defined_name(tokens: Sequence[Token], mark: int) -> Token | None:
    """Returns the name of the kernel that `__global__` begins; None for a mere declaration."""
    i = mark + 1
    while i + 1 < min(len(tokens), mark + MAX_TOKENS_TO_NAME) and tokens[i].text not in ("{", ";"):
        if tokens[i + 1].text == "(":
            close = matching(tokens, i + 1)
            after = tokens[close + 1].text if close + 1 < len(tokens) else ""
            if tokens[i].kind == "identifier" and after in ("{", ";"):
                return tokens[i] if after == "{" else None
            i = close
        i += 1
    return tokens[mark]  # of a form that is not known here
