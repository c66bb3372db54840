"""Calls of the texts that stand for the headers of CUTLASS and CUB, as the user writes them."""

from __future__ import annotations

from collections.abc import Iterable

from smemlint.frontend import ir
from smemlint.frontend.cuda.preprocessor.cub_headers import is_cub_header
from smemlint.frontend.cuda.preprocessor.cutlass_headers import is_cutlass_header
from smemlint.frontend.program import Unit


def is_of_library(unit: Unit, node: ir.Node) -> bool:
    """Returns whether a node stands in a text of our own."""
    path = unit.span(node).path
    return is_cutlass_header(path) or is_cub_header(path)


def users_call(unit: Unit, calls: Iterable[ir.Node]) -> tuple[int, ir.Node] | None:
    """Returns the first of some calls that stands in no text of our own, and its number from 0."""
    return next((found for found in enumerate(calls) if not is_of_library(unit, found[1])), None)
