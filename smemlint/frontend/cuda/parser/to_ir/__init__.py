"""Converts pycparser's trees to the intermediate representation, in one walk after parsing.

pycparser knows no C++, so the desugarer hands it calls of names of its own; here those become the
nodes that they stand for. What no CUDA source can mean becomes `Unparsed`.
"""

from smemlint.frontend.cuda.parser.to_ir import cplusplus, expressions, statements, types
from smemlint.frontend.cuda.parser.to_ir.dispatch import to_ir
from smemlint.frontend.cuda.parser.to_ir.statements import convert_function

HANDLERS = (cplusplus, expressions, statements, types)
"""The modules whose functions convert nodes; they register when they are imported."""

__all__ = ["HANDLERS", "convert_function", "to_ir"]
