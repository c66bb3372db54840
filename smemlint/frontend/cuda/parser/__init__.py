"""Desugars C++ to C tokens with markers, which pycparser parses.

Takes the tokens of one function, record or declaration.
Gives its `ir` node, and what could not be parsed.
"""
