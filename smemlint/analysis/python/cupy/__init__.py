"""CuPy: raw kernels in strings, generated kernels and `cupyx.jit`."""
