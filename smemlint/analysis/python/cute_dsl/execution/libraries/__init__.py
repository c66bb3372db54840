"""Libraries beside `cutlass.cute`: helpers of `cutlass.utils`, QuACK's, PyTorch on the host."""
