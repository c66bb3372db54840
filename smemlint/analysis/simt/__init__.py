"""Symbolic execution of CUDA kernels for all threads of a block at once.

Takes units and settings.
Gives `KernelFacts`: which bytes the lanes of every warp touch, and what that costs.
"""
