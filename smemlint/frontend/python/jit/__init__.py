"""`cupyx.jit` and `numba.cuda` kernels, lowered to the tree that CUDA kernels have."""
