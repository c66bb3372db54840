"""Layouts as CuTe's Python DSL prints them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from smemlint.layout import cute

if TYPE_CHECKING:
    from smemlint.layout.cute import AnyLayout


def printed(text: str) -> cute.Layout:
    """The layout of `((2,2),1):((1,4),0)`; a swizzle in front is left out."""
    shape, stride = text.rpartition(" o ")[2].split(":")
    return cute.Layout(ast.literal_eval(shape), ast.literal_eval(stride))


def offsets(layout: AnyLayout) -> list[int]:
    """What a layout maps 0, 1, .. to."""
    return layout.offsets().tolist()
