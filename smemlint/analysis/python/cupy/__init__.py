"""CuPy: raw kernels in strings, generated kernels and `cupyx.jit`.

Takes a Python source.
Gives CUDA sources with the places and launches that Python gives them.
"""
