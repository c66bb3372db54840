"""CuTe DSL kernels."""
