"""Where a logical element lands in shared memory: swizzles, CuTe layouts, F2, Triton, synthesis."""
