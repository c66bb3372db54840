"""Front ends: text to program, without values.

Takes the text of a source.
Gives a `Unit`, whose functions are parsed to `ir` nodes on demand.
"""
