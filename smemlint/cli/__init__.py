"""The sub-commands, one module each: `add_arguments` describes its own, its `run` does it.

Only the module of the command that is run is imported, and it imports what it needs when it runs,
so that `--help` and other commands stay fast.
"""

from __future__ import annotations

COMMANDS = {
    "check": "report what is wrong",
    "analyze": "list every shared access with its figures",
    "rule": "explain a rule, or list them",
    "config": "list the settings that configuration files may hold",
    "swizzle": "show, check, find and convert swizzles",
    "lsp": "serve an editor over standard input and output",
}
"""What there is: the names of modules here, and what each does."""
