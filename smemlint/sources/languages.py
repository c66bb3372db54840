"""The two languages that sources are in: by the name of a file, with their comments."""

from __future__ import annotations

from enum import Enum

PYTHON_SUFFIXES = (".py", ".ipynb")
"""Names of files that are read as Python; of a notebook, the cells."""
TEMPLATE_SUFFIXES = (".mako", ".jinja", ".jinja2", ".j2")
"""Names of files that a program makes texts of: Mako's and Jinja's."""
PTX_SUFFIX = ".ptx"
CUBIN_SUFFIX = ".cubin"

_C = (
    r"//(?P<line>(?:\\\r?\n|[^\n])*)|/\*(?P<block>.*?)(?:\*/|\Z)"
    r"|\"(?:[^\"\\\n]|\\.)*+\"?|'(?:[^'\\\n]|\\.){0,16}'"
)
# A string that is not closed ends with its line; `1'000` holds no character constant.
_PYTHON = (
    r"\#(?P<line>[^\n]*)|(?P<block>(?!))"
    r"|(?P<string>\"{3}(?:[^\\]|\\.)*?(?:\"{3}|\Z)|'{3}(?:[^\\]|\\.)*?(?:'{3}|\Z)"
    r"|\"(?:[^\"\\\n]|\\.)*+\"?|'(?:[^'\\\n]|\\.)*+'?)"
)


class CommentStyle(Enum):
    """How a language writes comments and strings."""

    C = _C
    PYTHON = _PYTHON

    @staticmethod
    def of(path: str) -> CommentStyle:
        """Returns the style of a file."""
        return CommentStyle.PYTHON if is_python_path(path) else CommentStyle.C


def is_python_path(path: str) -> bool:
    """Returns whether a file of this name is read as Python."""
    return path.endswith(PYTHON_SUFFIXES)


def is_template_path(path: str) -> bool:
    """Returns whether a file of this name is a template, which is in no language yet."""
    return path.endswith(TEMPLATE_SUFFIXES)
