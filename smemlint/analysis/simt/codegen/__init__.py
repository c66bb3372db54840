"""What nvcc makes of a trace: unrolling, store forwarding, LLVM and ptxas fusion.

Takes the events of a kernel.
Gives the instructions that stand for them.
"""
