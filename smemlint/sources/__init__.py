"""Source files: which ones, their text, notebooks and pragmas."""
