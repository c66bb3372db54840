"""The abstract interpreter of Python: statements and expressions over constants and unknowns.

Importing it registers the handlers of all nodes that it knows.
"""

from smemlint.analysis.python.interpreter import expressions, statements
from smemlint.analysis.python.interpreter.interpreter import Interpreter, OverBudget, Policy
from smemlint.analysis.python.interpreter.model import LibraryModel, RecordingModel

__all__ = [
    "Interpreter", "LibraryModel", "OverBudget", "Policy", "RecordingModel", "expressions",
    "statements",
]  # fmt: skip
