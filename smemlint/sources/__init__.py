"""Source files: what is known before parsing.

Takes paths of the command line.
Gives `Source`s: text, cells of notebooks, pragmas.
"""
