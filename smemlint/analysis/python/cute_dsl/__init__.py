"""Kernels of the CuTe DSL.

Takes a Python source and the files that it imports.
Gives the swizzles that it writes; with `execution`, its accesses.
"""
