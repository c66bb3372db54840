"""Triton: what its compiler has to guess.

Takes a Python source.
Gives matrix products with hidden strides, and accesses at declared offsets.
"""
