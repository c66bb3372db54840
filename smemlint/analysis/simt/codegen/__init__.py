"""What nvcc makes of a trace: unrolling, store forwarding, LLVM and ptxas fusion."""
