"""Abstract interpretation of Python sources, one package for each dialect.

Takes the syntax tree of a file.
Gives the facts of its kernels, found by the dialect that `dialects.py` names.
"""
