"""What is built in: CUDA intrinsics, inline PTX, WMMA, atomics, CuTe and Python operators."""
