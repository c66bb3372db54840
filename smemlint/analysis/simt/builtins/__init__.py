"""What is built in: CUDA intrinsics, WMMA, atomics, CuTe and Python operators.

Takes the call of a name in the table.
Gives its value, and events of the trace for what it accesses.
"""
