"""Parsing with recovery: what the C grammar does not take is replaced, and it is tried again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.frontend.cuda.parser import markers
from smemlint.frontend.cuda.parser.token_stream import GrammarToken, SyntaxFailure, parse
from smemlint.frontend.program import Dropped
from smemlint.limits.budgets import MAX_DROPS, MAX_SMALL_DROPS, MAX_TOKENS_AGAIN
from smemlint.reasons import Reason, ReasonCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pycparser import c_ast

    from smemlint.frontend.cuda.parser.grammar import Region

    pass
    from smemlint.frontend.cuda.parser.spans import SpanTable


def parse_with_recovery(
    tokens: Sequence[GrammarToken], regions: Sequence[Region], table: SpanTable
) -> tuple[c_ast.FileAST | None, list[Dropped]]:
    """Returns the tree, and what was replaced; no tree when even the frame does not parse.

    At an error the innermost region around it becomes an empty statement or `Unparsed`.
    """
    dropped: list[Dropped] = []
    places = list(range(len(tokens)))  # of the tokens that are left, in `tokens`
    left = list(tokens)
    candidates = [region for region in regions if region.begin < region.end]
    budget = MAX_TOKENS_AGAIN
    while True:
        try:
            return parse(left), dropped
        except SyntaxFailure as error:
            failure = error
        at = places[min(failure.position, len(places) - 1)]
        around = [r for r in candidates if r.begin <= at < r.end]
        budget -= len(left)
        if not around or len(dropped) >= MAX_DROPS or budget < 0:
            text = f"cannot be parsed: {failure}" if not around else "too many errors"
            reason = Reason(ReasonCode.SYNTAX, text)
            number = tokens[at].lineno - 1
            return None, [*dropped, Dropped(table.span_of(number, number), reason)]
        choose = min if len(dropped) < MAX_SMALL_DROPS else max
        region = choose(around, key=lambda r: r.end - r.begin)
        candidates = [r for r in candidates if not _is_inside(r, region)]
        span = table.span_of(region.word.first, region.word.last)
        dropped.append(Dropped(span, Reason(ReasonCode.SYNTAX, f"cannot be parsed: {failure}")))
        keep = [k for k, place in enumerate(places) if not region.begin < place < region.end]
        left = [_stand_in(region, left[k]) if places[k] == region.begin else left[k] for k in keep]
        places = [places[k] for k in keep]


def _is_inside(region: Region, outer: Region) -> bool:
    return outer.begin <= region.begin and region.end <= outer.end


def _stand_in(region: Region, token: GrammarToken) -> GrammarToken:
    role, text = ("ID", markers.UNPARSED) if region.is_expression else ("SEMI", ";")
    return GrammarToken(role, text, token.lineno)
