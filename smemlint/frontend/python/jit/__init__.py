"""`cupyx.jit` and `numba.cuda` kernels, lowered to the nodes that CUDA kernels have.

Takes the syntax tree of a Python module.
Gives a unit of `ir` nodes.
"""
