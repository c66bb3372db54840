"""Desugars C++ to C tokens, which pycparser parses."""
